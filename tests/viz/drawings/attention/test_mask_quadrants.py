"""The drawn quadrants are the masks of the models, for each length of the prefix."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import torch

from course_lib.model import causal_mask
from course_lib.modern import prefix_mask
from course_lib.viz.drawings.attention.mask_quadrants import (
    COLOURS,
    GAP,
    NAMES,
    TOP,
    draw_mask_quadrants,
    quadrant,
)
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH
from course_lib.viz.drawings.marks import text_width

SVG = "{http://www.w3.org/2000/svg}"
SOURCE = "weil der hund schläft".split()
TARGET = "<bos> because the dog sleeps".split()
N, ALL = len(SOURCE), len(SOURCE) + len(TARGET)
FILLS = {ink(colour): where for where, colour in COLOURS.items()}


def draw(source=SOURCE, target=TARGET, lit=3):
    return draw_mask_quadrants(source, target, lit=lit)


def cells(panel, state=N):
    """The drawn cells in a state: (x, y) to the quadrant whose colour it has, None if hatched."""
    found = {}

    def walk(part, *, is_shown):
        first, last = int(part.get("data-from", 0)), int(part.get("data-to", N))
        is_shown = is_shown and first <= state <= last
        if part.tag == f"{SVG}rect" and part.get("stroke") == "var(--page)" and is_shown:
            at = (float(part.get("x")), float(part.get("y")))
            if part.get("width") != "14":  # of the legend
                found[at] = FILLS.get(part.get("fill"))
        for child in part:
            walk(child, is_shown=is_shown)

    walk(ElementTree.fromstring(panel.svg()), is_shown=True)
    return found


def as_map(found):
    """Rows of quadrants from cells on a grid."""
    xs, ys = (sorted({at[i] for at in found}) for i in (0, 1))
    return [[found.get((x, y), "nothing") for x in xs] for y in ys]


@pytest.mark.parametrize("state", range(N + 1))
def test_one_stack_shows_the_prefix_mask_of_its_state(state):
    drawn = as_map(cells(draw().panels[1], state))
    mask = prefix_mask(torch.tensor([state]), ALL)[0, 0]
    assert [[cell is not None for cell in row] for row in drawn] == mask.tolist()


def test_with_no_prefix_it_is_the_causal_mask():
    drawn = as_map(cells(draw().panels[1], 0))
    assert [[cell is not None for cell in row] for row in drawn] == causal_mask(ALL)[0, 0].tolist()


def test_each_cell_has_the_colour_of_its_quadrant():
    drawn = as_map(cells(draw().panels[1]))
    for q, row in enumerate(drawn):
        for k, where in enumerate(row):
            assert where in (None, quadrant(q, k, N))


def test_two_stacks_show_the_same_map_without_the_quadrant_that_no_model_has():
    two, one = (as_map(cells(panel)) for panel in draw().panels)
    for q in range(ALL):
        for k in range(ALL):
            empty = quadrant(q, k, N) == "empty"
            assert two[q][k] == ("nothing" if empty else one[q][k])


def test_two_stacks_do_not_change_with_the_slider():
    panel = draw().panels[0]
    assert cells(panel, 0) == cells(panel, N) and "data-from" not in panel.body


def frames(panel):
    """The width of each frame around cells."""
    found = re.findall(r'width="([\d.]+)"[^>]*fill="none" stroke="var\(--accent\)"', panel.body)
    return [float(width) for width in found if width != "13.0"]


def test_a_frame_is_drawn_around_what_one_softmax_adds_up():
    (source, target), (joined,) = (frames(panel) for panel in draw().panels)
    assert source / N == target / len(TARGET) == joined / ALL


def test_without_a_script_the_whole_source_is_the_prefix():
    panel = draw().panels[1]
    body = re.sub(r'<g class="off".*?</g>', "", panel.body)
    assert re.findall(r"prefix \d of 4 source tokens", body) == ["prefix 4 of 4 source tokens"]
    assert "off" not in re.sub(r'<g class="off" data-from="\d+" data-to="\d+">', "", panel.body)


def test_each_state_says_its_prefix_and_the_last_is_the_source():
    says = draw().says
    assert [int(re.search(r"\d+", each)[0]) for each in says] == list(range(N + 1))
    assert "causal" in says[0] and "weil, der see one another" in says[2]
    assert "as in an encoder" in says[N]


@pytest.mark.parametrize(
    ("panel", "legend"),
    [
        (0, [maps for _, maps in NAMES.values()] + ["two softmaxes"]),
        (1, [reads for reads, _ in NAMES.values()] + ["one softmax"]),
    ],
)
def test_the_legend_names_every_quadrant_and_the_softmaxes(panel, legend):
    svg = ElementTree.fromstring(draw().panels[panel].svg())
    words = [text.text for text in svg.iter(f"{SVG}text")]
    assert words[-len(legend) :] == legend


@pytest.mark.parametrize(
    ("source", "target"),
    [(SOURCE, TARGET), ("dass die lehrerin den hund sieht".split(), TARGET), (["ja"], ["<bos>"])],
)
def test_words_and_cells_lie_inside_the_panel_and_apart(source, target):
    for panel in draw_mask_quadrants(source, target, lit=0).panels:
        svg = ElementTree.fromstring(panel.svg())
        left = min(x for x, _ in cells(panel))
        for text in svg.iter(f"{SVG}text"):
            classes = text.get("class") or ""
            width = text_width(text.text, 12 if "aside" in classes else 14, bold="bold" in classes)
            shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
            start = float(text.get("x")) - shift
            assert start >= 0 and start + width <= WIDTH, text.text
            assert float(text.get("y")) < panel.height
            if text.text in (*source, *target):
                assert start + width <= left
        size = float(next(r.get("width") for r in svg.iter(f"{SVG}rect")))
        assert max(x for x, _ in cells(panel)) + size <= WIDTH
        assert min(y for _, y in cells(panel)) == TOP


def test_the_gap_is_between_source_and_target_alone():
    xs = sorted({x for x, _ in cells(draw().panels[0])})
    steps = [round(b - a) for a, b in pairwise(xs)]
    assert sorted(set(steps)) == [steps[0], steps[0] + GAP] and steps.index(max(steps)) == N - 1


def test_more_tokens_than_there_is_room_for_are_refused():
    with pytest.raises(ValueError, match=r"40 tokens, .* have no room in a panel of 340 pixels"):
        draw(["wort"] * 20, ["word"] * 20)


@pytest.mark.parametrize(("source", "lit"), [([], 0), (SOURCE, 5), (SOURCE, -1)])
def test_a_row_that_does_not_exist_is_refused(source, lit):
    with pytest.raises(ValueError, match="expected source tokens and an index of one of 5"):
        draw(source, lit=lit)
