from io import BytesIO

import numpy as np
import torch
from PIL import Image

from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.explorer.explorer import explore_attention
from course_lib.viz.explorer.explorer_picture import layout_of
from course_lib.viz.explorer.explorer_words import heading, shown_part

FRAME = tuple(bytes.fromhex(COLOURS["ink"].light[1:]))


def explorer(**given):
    """Each query attends to one key: x, z, x."""
    weights = torch.tensor([[0.998, 0.001, 0.001], [0.001, 0.001, 0.998], [0.998, 0.001, 0.001]])
    return explore_attention(weights, ["a", "b", "c"], ["x", "y", "z"], **given)


def drawn(shown):
    """The picture as an array, and where its cells are."""
    data, state = shown.data, shown.state
    at = layout_of(shown_part(data, state), heading({data.kind: data}, state))
    return np.asarray(Image.open(BytesIO(shown.to_png())).convert("RGB")).astype(int), at


def cell(pixels, at, query, key):
    return pixels[
        at.top + query * at.cell : at.top + (query + 1) * at.cell,
        at.left + key * at.cell : at.left + (key + 1) * at.cell,
    ]


def test_one_lit_cell_is_dark_in_its_row_and_column():
    pixels, at = drawn(explorer())
    lit = {(q, k) for q in range(3) for k in range(3) if np.median(cell(pixels, at, q, k)) < 80}
    assert lit == {(0, 0), (1, 2), (2, 0)}


def test_gold_links_are_framed_at_the_edge_of_their_cell_and_nowhere_else():
    pixels, at = drawn(explorer(gold=[(2, 0)]))
    plain, _ = drawn(explorer())
    changed = np.abs(pixels[: plain.shape[0] - 34] - plain[: plain.shape[0] - 34]).sum(-1) > 0
    rows, columns = np.nonzero(changed)
    cells = set(zip((rows - at.top) // at.cell, (columns - at.left) // at.cell, strict=True))
    assert cells == {(0, 2)}
    framed = cell(pixels, at, 0, 2)
    assert np.abs(framed[0] - FRAME).max() < 12
    assert (np.abs(framed[4:-4, 4:-4] - cell(plain, at, 0, 2)[4:-4, 4:-4]) == 0).all()
    hidden, _ = drawn(explorer(gold=[(2, 0)]).select(gold=False))
    assert (cell(hidden, at, 0, 2) == cell(plain, at, 0, 2)).all()


def test_weights_that_would_be_written_as_zero_have_no_number():
    pixels, at = drawn(explorer())
    assert len(np.unique(cell(pixels, at, 0, 1).reshape(-1, 3), axis=0)) == 1
    assert len(np.unique(cell(pixels, at, 0, 0).reshape(-1, 3), axis=0)) > 1


def test_words_have_the_colour_of_their_language():
    def drawn_in(colour, **given):
        pixels, at = drawn(explorer(**given))
        near = np.abs(pixels - tuple(bytes.fromhex(COLOURS[colour].light[1:]))).max(-1) < 12
        return near[at.top :, : at.left].any(), near[: at.top, at.left :].any()

    given = {"languages": ("english", "german")}
    assert drawn_in("english", **given) == (True, False)
    assert drawn_in("german", **given) == (False, True)
    assert drawn_in("english") == drawn_in("german") == (False, False)


def test_masked_cells_are_hatched():
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    pixels, at = drawn(explore_attention(weights, ["a", "b"], kind="causal"))
    hatched = cell(pixels, at, 0, 1).reshape(-1, 3)
    assert {tuple(colour) for colour in hatched} == {(236, 238, 241), (154, 163, 174)}


def test_the_picture_shows_the_chosen_head_and_palette():
    weights = torch.stack([torch.eye(3), torch.eye(3).flip(0)])
    shown = explore_attention(weights, list("abc"))
    first, at = drawn(shown)
    second, _ = drawn(shown.select(head=1))
    assert cell(first, at, 0, 0).mean() < 100 < cell(second, at, 0, 0).mean()
    grey, _ = drawn(shown.select(palette="grey"))
    matrix = grey[at.top : at.top + 3 * at.cell, at.left : at.left + 3 * at.cell]
    assert (np.ptp(matrix, axis=-1) < 25).all()  # the dark ink of numbers is bluish


def test_the_picture_is_small_and_of_few_colours():
    image = Image.open(BytesIO(explorer().to_png()))
    assert image.mode == "P"
    assert len(image.getcolors()) <= 64


def test_a_long_title_and_long_tokens_stay_inside_the_picture():
    tokens = ["Donaudampfschifffahrtsgesellschaft", "a", "b"]
    long = explore_attention(torch.eye(3), tokens, title="A title of many words, " * 6)
    pixels, at = drawn(long)
    assert len(at.heading) > 1
    assert (pixels[:, -4:] == 255).all()
    assert (pixels[:, :4] == 255).all()


def test_a_token_of_one_comma_or_of_nothing_has_a_label_that_can_be_seen():
    def label(token):
        pixels, at = drawn(explore_attention(torch.eye(2), [token, "b"]))
        return (pixels[at.top : at.top + at.cell, : at.left] < 128).all(-1).sum()

    assert label(",") > 1.5 * (label("i") - 4)
    assert all(label(blank) > 0 for blank in ("", " ", "\n", "\t"))


def test_the_picture_of_two_sentences_is_that_of_the_chosen_rows_and_columns():
    weights = torch.tensor([[0, 0.5, 0.5], [0, 0, 1], [1, 0, 0]])
    shown = explore_attention(weights, list("abc"), second_sentence=2, gold=[(2, 1), (0, 0)])
    seen = shown_part(shown.select(sentences="AB").data, shown.state)
    pixels, at = drawn(shown)
    assert pixels.shape == (at.height, at.width, 3)
    lit = {query for query in range(2) if np.median(cell(pixels, at, query, 0)) < 80}
    assert lit == {1}
    assert seen.gold == ((0, 1),)
    assert np.abs(cell(pixels, at, 1, 0)[0] - FRAME).max() < 12
    assert np.abs(cell(pixels, at, 0, 0)[0] - FRAME).max() > 12
    words = repr(shown).splitlines()[0]
    assert words == (
        "Attention, layer 0, head 0, from sentence A to sentence B. Heatmap of 2 queries by 1 "
        "keys, on which 0.75 of a row's weight lies on average. The largest weight is 1.00: 'b' "
        "attends to 'c'. Here, sentence A: tokens 0 to 1, B: tokens 2 to 2; part of each row, not "
        "renormalised."
    )
    assert seen.weights.tolist() == [[0.5], [1.0]]
    assert (seen.query_tokens, seen.key_tokens) == (("a", "b"), ("c",))
