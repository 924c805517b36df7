import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import torch

from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.model.bug_tests import ALSO, draw_test_matrix, draw_test_order

SVG = "{http://www.w3.org/2000/svg}"
BUGS = ["a wrong root", "a bare mask", "a late norm"]
TESTS = ["it runs", "the loss falls", "roots", "masks", "norms"]
READINGS = torch.tensor([[0, 0, 0.8, 0, 0.4], [0, 0, math.inf, 3.0, 0], [0, 0, 0, 0, 0]])


def matrix(readings=READINGS, usual=2):
    return draw_test_matrix(readings, bugs=BUGS, tests=TESTS, usual=usual).panels[0]


def elements(panel, name):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + name))


def order(sees, start=1):
    return draw_test_order(["roots", "masks", "norms"], sees, bugs=BUGS, start=start)


SEES = {"roots": {0}, "masks": {0, 1}, "norms": set()}


def state(film, at):
    """For each row its mark and words, and the heading, when so many tests are used."""
    texts = []
    for group in elements(film.panels[0], "g"):
        first, last = (group.get(f"data-{end}") for end in ("from", "to"))
        if int(first) <= at and (last is None or at <= int(last)):
            texts.append(" ".join(text.text for text in group))
    return texts


def rows(panel):
    """The words and marks of each row, from left to right."""
    found = {}
    for text in elements(panel, "text"):
        found.setdefault(text.get("y"), []).append((float(text.get("x")), text.text))
    return [[words for _, words in sorted(row)] for row in found.values()]


def test_a_row_names_the_bugs_own_test_and_numbers_the_others():
    found = [row for row in rows(matrix()) if row[0][0].isdigit()]
    assert found == [
        ["1. a wrong root", "✗", "✗", "✓", "roots", "3"],
        ["2. a bare mask", "✗", "✗", "✓", "masks", "1"],
        ["3. a late norm", "✗", "✗", "✗", "norms"],
    ]


def test_other_tests_stand_below_the_way_in_which_they_see_the_bug():
    at = {text.text: text.get("x") for text in elements(matrix(), "text")}
    assert at["3"] == at[ALSO[0]] and at["1"] == at[ALSO[1]]


def test_a_usual_test_that_sees_a_bug_has_a_tick():
    readings = READINGS.clone()
    readings[2, 1] = 1
    assert ["3. a late norm", "✗", "✓", "✗", "norms"] in rows(matrix(readings))
    assert matrix(readings).title == "The 2 usual tests see 1 of the 3 bugs"


def test_the_title_counts_the_bugs_that_usual_tests_see():
    assert matrix().title == "The 2 usual tests see none of the 3 bugs"


def test_the_description_names_each_bug_with_its_tests():
    assert matrix().description == (
        "1. a wrong root: roots, norms. 2. a bare mask: roots (by an error), masks. "
        "3. a late norm: no test."
    )


LETTERS = list("abcdefghijklmn")
FULL = draw_test_matrix(
    torch.full((14, 15), math.inf), bugs=LETTERS, tests=["it runs", *LETTERS], usual=1
)


@pytest.mark.parametrize("panel", [matrix(), FULL.panels[0]])
def test_words_of_the_matrix_stay_inside_and_apart(panel):
    spans = {}
    for text in elements(panel, "text"):
        small, bold = (word in text.get("class", "") for word in ("aside", "bold"))
        width = text_width(text.text, 12 if small else 14, bold=bold)
        shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
        left = float(text.get("x")) - shift
        spans.setdefault(text.get("y"), []).append((left, left + width))
        assert left + width <= panel.width
    for row in spans.values():
        assert all(a[1] + 2 <= b[0] for a, b in pairwise(sorted(row)))


def test_readings_of_other_tests_are_refused():
    with pytest.raises(ValueError, match="3 bugs by 2 usual tests"):
        matrix(READINGS[:, :3])


def test_a_bug_escapes_until_the_first_test_that_sees_it():
    film = order(SEES)
    assert state(film, 0) == ["1 test sees 1 of 3 bugs", "✓ roots", "✗ escapes", "✗ escapes"]
    assert state(film, 1) == ["2 tests see 2 of 3 bugs", "✓ roots", "✓ masks", "✗ escapes"]
    assert state(film, 2) == ["3 tests see 2 of 3 bugs", "✓ roots", "✓ masks", "✗ escapes"]


def test_what_is_stored_is_the_last_state_and_scripts_begin_at_the_one_asked_for():
    film = order(SEES, start=2)
    shown = [g for g in elements(film.panels[0], "g") if g.get("class") != "off"]
    assert [" ".join(text.text for text in group) for group in shown] == state(film, 2)
    assert 'data-start="1"' in film.to_html()
    assert film.says[1] == "2 tests see 2 of 3 bugs. The newest: masks."


def test_verdicts_have_their_colours_beside_their_marks():
    for text in elements(order(SEES).panels[0], "text"):
        if text.text in "✓✗":
            assert ("right" if text.text == "✓" else "wrong") in text.get("style")
