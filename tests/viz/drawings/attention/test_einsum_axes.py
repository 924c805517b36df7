import xml.etree.ElementTree as ElementTree

import pytest
import torch

from course_lib.viz.drawings.attention.einsum_axes import draw_einsum
from course_lib.viz.drawings.drawing import WIDTH
from course_lib.viz.drawings.marks import text_width

SVG = "{http://www.w3.org/2000/svg}"
SCORES = ("bhqe,bhke->bhqk", (2, 3, 5, 4), (2, 3, 7, 4))
NAMES = ("query", "key", "scores")
LESSON = {  # subscripts: the shapes of the operands
    "qe,ke->qk": [(2, 2), (3, 2)],
    "bhqe,bhke->bhqk": [(2, 3, 5, 4), (2, 3, 7, 4)],
    "bsd,dhe->bhse": [(2, 5, 6), (6, 3, 2)],
    "i,j->ij": [(2,), (3,)],
    "ij,ij->i": [(2, 3), (2, 3)],
    "ie,je->ij": [(2, 3), (2, 3)],
    "bhqe,bhke->bhk": [(2, 3, 5, 4), (2, 3, 7, 4)],
    "bhqe,bhke->bhqke": [(2, 3, 5, 4), (2, 3, 7, 4)],
    "bhqe,bhke->kq": [(2, 3, 5, 4), (2, 3, 7, 4)],
    "d,dhe->he": [(2,), (2, 2, 1)],
    "he,hed->hd": [(2, 1), (2, 1, 2)],
    "he,hed->d": [(2, 1), (2, 1, 2)],
    "bhqk,bhke->bhqe": [(2, 3, 5, 7), (2, 3, 7, 4)],
    "bhqk,bhve->bhqe": [(2, 3, 5, 7), (2, 3, 7, 4)],
    "bhqe,hed->bqd": [(2, 3, 5, 4), (3, 4, 8)],
    "bhqe,hed->bhqd": [(2, 3, 5, 4), (3, 4, 8)],
    "bqhe,bkhe->bqhk": [(2, 5, 3, 4), (2, 7, 3, 4)],
    "k,ke->e": [(7,), (7, 4)],
    "i,i->": [(4,), (4,)],
}


def elements(panel, name):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + name))


def texts(panel):
    return [element.text for element in elements(panel, "text")]


def blocks(panel):
    """The front sheets as (x, y, width, height): left, right, result."""
    found = []
    rects = elements(panel, "rect")
    for rect in rects:
        if rect.get("stroke") == "var(--line)" and rect.get("rx") is None:
            found.append(tuple(float(rect.get(k)) for k in ("x", "y", "width", "height")))
    n = len(found) // 3
    return [found[n * (i + 1) - 1] for i in range(3)]


@pytest.mark.parametrize("subscripts", LESSON)
def test_the_shapes_are_those_of_torch_einsum(subscripts):
    shapes = LESSON[subscripts]
    result = torch.einsum(subscripts, *map(torch.ones, shapes)).shape
    description = draw_einsum(subscripts, *shapes, names=("A", "B", "C")).panels[0].description
    for name, shape in zip("ABC", [*shapes, result], strict=True):
        assert f"{name} has the shape ({', '.join(map(str, shape))})" in description


@pytest.mark.parametrize("subscripts", LESSON)
def test_every_letter_is_listed_with_its_size_and_all_lies_in_the_panel(subscripts):
    panel = draw_einsum(subscripts, *LESSON[subscripts]).panels[0]
    letters = subscripts.partition("->")[0].split(",")
    for operand, shape in zip(letters, LESSON[subscripts], strict=True):
        for letter, size in zip(operand, shape, strict=True):
            assert f"{letter} {size}" in texts(panel)
    for text in elements(panel, "text"):
        share = {None: 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")]
        width = text_width(text.text, 12 if "aside" in text.get("class", "") else 14)
        left = float(text.get("x")) - share * width
        assert left > -2 and left + width < WIDTH + 2
        assert float(text.get("y")) < panel.height < 420
    assert all(float(rect.get("x")) >= 0 for rect in elements(panel, "rect"))


def test_the_list_of_letters_may_stand_in_a_panel_of_its_own():
    (alone,) = draw_einsum(*SCORES).panels
    blocks, letters = draw_einsum(*SCORES, list_beside=True).panels
    assert sorted(texts(alone)) == sorted([*texts(blocks), *texts(letters)[1:]])
    assert blocks.height < alone.height and letters.title == "What becomes of each letter"
    assert all(float(text.get("y")) < letters.height for text in elements(letters, "text"))


def test_edges_that_stay_line_up_with_the_result():
    left, right, result = blocks(draw_einsum(*SCORES).panels[0])
    assert (left[1], left[3]) == (result[1], result[3])  # q
    assert (right[0], right[2]) == (result[0], result[2])  # k
    assert left[2] == right[3]  # e: as wide as the other is high
    assert left[3] / left[2] == pytest.approx(5 / 4, abs=0.01)


def test_a_letter_that_all_have_counts_sheets():
    def sheets(panel):
        rects = elements(panel, "rect")
        return sum(r.get("stroke") == "var(--line)" and r.get("rx") is None for r in rects) / 3

    assert sheets(draw_einsum("qe,ke->qk", (2, 2), (3, 2)).panels[0]) == 1
    assert sheets(draw_einsum("bqe,bke->bqk", (2, 2, 2), (2, 3, 2)).panels[0]) == 2
    assert sheets(draw_einsum(*SCORES).panels[0]) == 3  # of six


def test_what_vanishes_is_in_the_accent_and_what_stays_is_not():
    panel = draw_einsum(*SCORES, names=NAMES).panels[0]
    accent = {t.text for t in elements(panel, "text") if "accent" in t.get("style", "")}
    assert accent == {"e 4"}
    assert panel.title == "e vanishes; b, h, q and k stay"
    description = panel.description
    assert "e in both, not in the result: summed" in description
    assert "q only in query: stays" in description and "k only in key: stays" in description
    assert "b, h in all three" in description


def test_letters_that_should_be_one_are_seen_not_to_meet():
    panel = draw_einsum("bhqk,bhve->bhqe", *LESSON["bhqk,bhve->bhqe"]).panels[0]
    assert panel.title.startswith("k and v vanish")
    heads = [p for p in elements(panel, "path") if p.get("fill") == "var(--accent)"]
    assert not heads  # no arrows join the edges
    joined = draw_einsum(*SCORES).panels[0]
    assert [p for p in elements(joined, "path") if p.get("fill") == "var(--accent)"]


def test_rows_that_are_summed_are_all_coloured():
    panel = draw_einsum("bhqe,bhke->bhk", *LESSON["bhqe,bhke->bhk"]).panels[0]
    left = blocks(panel)[0]
    coloured = [r for r in elements(panel, "rect") if r.get("fill-opacity") == "0.25"]
    assert float(coloured[0].get("height")) == pytest.approx(left[3], abs=0.1)


def test_titles_say_when_nothing_is_summed_and_when_one_number_stays():
    assert draw_einsum("i,j->ij", (2,), (3,)).panels[0].title == "Nothing is summed; i and j stay"
    assert draw_einsum("i,i->", (4,), (4,)).panels[0].title == "i vanishes; one number stays"


def test_blanks_between_letters_do_not_matter():
    spaced = draw_einsum("b h q e, b h k e -> b h q k", *SCORES[1:]).panels[0]
    assert spaced.svg() == draw_einsum(*SCORES).panels[0].svg()


def test_large_sizes_are_drawn_without_cells():
    panel = draw_einsum("qe,ke->qk", (512, 64), (512, 64)).panels[0]
    assert {"q 512", "k 512", "e 64"} <= set(texts(panel))
    assert panel.height < 420


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("qe,ke", [(2, 2), (3, 2)], "expected two operands and a result"),
        ("qe->q", [(2, 2)], "expected two operands and a result"),
        ("i,j,k->ijk", [(2,), (3,), (4,)], "expected two operands and a result"),
        ("ii,ij->j", [(2, 2), (2, 3)], "each letter once in 'ii'"),
        ("...e,ke->k", [(2, 2), (3, 2)], "letters only"),
        ("qe,ke->qx", [(2, 2), (3, 2)], "got x in"),
        ("qe,ke->qk", [(2, 2)], "a size for each letter"),
        ("qe,ke->qk", [(2, 2), (3,)], "a size for each letter"),
        ("qe,ke->qk", [(2, 2), (3, 4)], "one size of at least 1 for e"),
        ("qe,ke->qk", [(2, 0), (3, 0)], "one size of at least 1 for e"),
    ],
)
def test_what_is_no_einsum_of_two_operands_is_refused(subscripts, shapes, message):
    with pytest.raises(ValueError, match=message):
        draw_einsum(subscripts, *shapes)


def test_names_without_room_are_refused():
    with pytest.raises(ValueError, match="choose shorter"):
        draw_einsum(*SCORES, names=("all the queries of all heads", "keys", "scores"))
    with pytest.raises(ValueError, match="choose shorter"):
        draw_einsum(*SCORES, names=("query", "the keys of all heads, side by side", "scores"))
    with pytest.raises(ValueError, match="choose shorter names"):
        sizes = dict.fromkeys("abcdefghi", 1)
        shape = tuple(sizes.values())
        draw_einsum("abcdefghi,abcdefghi->abcdefghi", shape, shape)
