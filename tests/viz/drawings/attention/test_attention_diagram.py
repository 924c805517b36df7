"""The drawing of one head and of several: legible, inside its frame, in the order of the code."""

import re
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import torch

from course_lib.model import MultiHeadAttention
from course_lib.viz.drawings.attention.attention_diagram import (
    BOX,
    BUILT_NOW,
    HEADS,
    HEIGHT,
    LATER,
    ONE_HEAD,
    attention_diagram,
)
from course_lib.viz.drawings.drawing import WIDTH
from course_lib.viz.drawings.marks import text_width

NOTEBOOKS = Path(__file__).parents[4] / "notebooks"
SVG = "{http://www.w3.org/2000/svg}"
PANELS = list(zip(attention_diagram().panels, (ONE_HEAD, HEADS), strict=True))
each_panel = pytest.mark.parametrize(("panel", "parts"), PANELS)


def texts(panel):
    return list(ElementTree.fromstring(panel.svg()).iter(f"{SVG}text"))


@each_panel
def test_every_box_stands_inside_the_panel_and_overlaps_no_other(panel, parts):
    for i, one in enumerate(parts):
        assert one.x >= 0 and one.x + one.width <= WIDTH
        assert one.y >= 0 and one.y + BOX <= HEIGHT
        for other in parts[i + 1 :]:
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert beside or abs(one.y - other.y) > BOX


@each_panel
def test_every_text_fits_into_the_panel_and_a_part_s_name_into_its_box(panel, parts):
    for text in texts(panel):
        width = text_width(text.text, 12 if text.get("class") == "aside" else 14)
        left = float(text.get("x")) - (width / 2 if text.get("text-anchor") == "middle" else 0)
        assert left >= 0 and left + width <= WIDTH, text.text
    for part in parts:
        assert text_width(part.text) <= part.width - 8


@each_panel
def test_each_part_says_below_its_name_which_question_or_lesson_builds_it(panel, parts):
    words = [text.text for text in texts(panel)]
    for part in parts:
        below = words[words.index(part.text) + 1]
        assert below == (f"lesson {LATER}" if part.built_in == LATER else part.built_in)


def test_the_questions_are_those_of_the_lesson():
    lesson = nbformat.read(NOTEBOOKS / "04_attention_matmul.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in lesson.cells if cell.cell_type == "markdown")
    asked = set(re.findall(r"^#+ (Q4[a-z])\.", text, re.MULTILINE))
    assert {part.built_in for part in (*ONE_HEAD, *HEADS)} <= asked | {LATER}


def test_what_the_lesson_builds_here_is_lit_and_nothing_else():
    for panel, parts in PANELS:
        lit = panel.body.count('stroke="var(--accent)"')
        assert lit == sum(part.built_in == BUILT_NOW for part in parts)


def test_the_linear_layers_stand_in_the_order_in_which_attention_calls_them():
    layer = MultiHeadAttention(8, n_heads=2)
    called = []
    for name, module in layer.named_children():
        module.register_forward_hook(lambda *_, name=name: called.append(name))
    layer(*[torch.randn(1, 3, 8)] * 3)
    from_below = sorted(HEADS, key=lambda part: (-part.level, part.x))
    assert [part.text for part in from_below if part.text in called] == [
        name for name in called if name.endswith("proj")
    ]
