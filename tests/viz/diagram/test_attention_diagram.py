"""The drawing of one head and of several: legible, inside its frame, and linked to its lesson."""

import base64
import itertools
import re
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from bs4 import BeautifulSoup

from course_lib.viz.diagram.attention_diagram import (
    ARROWS,
    BOX,
    HEIGHT,
    PARTS,
    WIDTH,
    attention_diagram,
)

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
SVG = "{http://www.w3.org/2000/svg}"


def drawing():
    return ElementTree.fromstring(attention_diagram().to_svg())


def test_every_box_stands_inside_the_frame():
    for part in PARTS:
        assert part.width / 2 <= part.x <= WIDTH - part.width / 2
        assert BOX / 2 <= part.y <= HEIGHT - BOX / 2


def test_every_text_fits_into_the_frame():
    for text in drawing().iter(f"{SVG}text"):
        width = 0.62 * int(text.get("font-size")) * len(text.text)
        shift = {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
        assert int(text.get("x")) - shift >= 0
        assert int(text.get("x")) - shift + width <= WIDTH


def test_no_two_boxes_overlap():
    for i, one in enumerate(PARTS):
        for other in PARTS[i + 1 :]:
            apart = abs(one.x - other.x) >= (one.width + other.width) / 2
            assert apart or abs(one.y - other.y) >= BOX


def test_no_arrow_crosses_a_box():
    for points in ARROWS:
        for (x, y), (x_end, y_end) in itertools.pairwise(points):
            for part in PARTS:
                left, right = part.x - part.width / 2, part.x + part.width / 2
                top, bottom = part.y - BOX / 2, part.y + BOX / 2
                beside = max(x, x_end) < left or min(x, x_end) > right
                assert beside or min(y, y_end) >= bottom or max(y, y_end) <= top


def test_the_page_has_the_drawing_as_one_picture_with_its_words():
    page = BeautifulSoup(attention_diagram().to_html(), "html.parser")
    (image,) = page.find_all("img")
    assert image["alt"] == repr(attention_diagram()) == page.figcaption.text
    kind, _, code = image["src"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(code).decode() == attention_diagram().to_svg()


def test_each_part_says_which_question_or_lesson_builds_it():
    words = [text.text for text in drawing().iter(f"{SVG}text")]
    for part in PARTS:
        assert words[words.index(part.text) + 1].removeprefix("lesson ") == part.built_in


def test_its_links_lead_to_questions_of_the_lesson_and_to_other_lessons():
    lesson = nbformat.read(NOTEBOOKS / "04_attention_matmul.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in lesson.cells if cell.cell_type == "markdown")
    headings = {h.replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    links = BeautifulSoup(attention_diagram().to_html(), "html.parser").find_all("a")
    assert {link.text for link in links} == {"Q4a", "Q4b", "Q4d", "lesson 06"}
    for link in links:
        path, _, anchor = link["href"].partition("#")
        assert anchor in headings if anchor else (NOTEBOOKS / path).exists()


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_a_notebook_stores_the_same_text_each_time(kind):
    first, second = (attention_diagram()._repr_mimebundle_() for _ in range(2))
    assert first[kind] == second[kind]
