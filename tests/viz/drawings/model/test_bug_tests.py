import math
from xml.etree import ElementTree

import pytest
import torch

from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.model.bug_tests import draw_test_matrix, draw_test_order

SVG = "{http://www.w3.org/2000/svg}"
BUGS = ["a wrong root", "a bare mask", "a late norm"]
TESTS = ["it runs", "the loss falls", "roots", "masks"]
READINGS = torch.tensor([[0, 0, 0.8, 0], [0, 0, math.inf, 3.0], [0, 0, 0, 0]])


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


def test_a_mark_stands_in_the_row_of_its_bug_below_the_name_of_its_test():
    panel = matrix()
    heads = {
        group.find(SVG + "text").text: float(group.get("transform").split("(")[1].split()[0])
        for group in elements(panel, "g")
    }
    rows = {text.text: float(text.get("y")) - 4.6 for text in elements(panel, "text")}
    squares = [rect for rect in elements(panel, "rect") if "attention" in rect.get("fill")]
    found = {
        tuple(
            float(r.get(at)) + float(r.get(side)) / 2
            for at, side in (("x", "width"), ("y", "height"))
        )
        for r in squares
    }
    expected = {(heads["roots"], rows["1. a wrong root"]), (heads["masks"], rows["2. a bare mask"])}
    assert {(round(x), round(y)) for x, y in found} == {(round(x), round(y)) for x, y in expected}
    (error,) = (text for text in elements(panel, "text") if text.text == "E")
    assert float(error.get("x")) == pytest.approx(heads["roots"], abs=0.1)
    assert float(error.get("y")) - 4.6 == pytest.approx(rows["2. a bare mask"], abs=0.1)


def test_the_frame_holds_the_usual_tests_and_no_other():
    panel = matrix()
    frame = next(r for r in elements(panel, "rect") if "accent" in r.get("stroke", ""))
    left, right = float(frame.get("x")), float(frame.get("x")) + float(frame.get("width"))
    starts = [
        float(group.get("transform").split("(")[1].split()[0]) for group in elements(panel, "g")
    ]
    assert [left < x < right for x in starts] == [True, True, False, False]


def test_the_title_counts_the_bugs_that_usual_tests_see():
    assert matrix().title == "The 2 usual tests see none of the 3 bugs"
    assert matrix(usual=3).title == "The 3 usual tests see 2 of the 3 bugs"


def test_the_description_names_each_bug_with_its_tests():
    assert matrix().description == (
        "1. a wrong root: roots. 2. a bare mask: roots (by an error), masks. "
        "3. a late norm: no test."
    )


def test_words_of_the_matrix_stay_inside():
    panel = matrix()
    for group in elements(panel, "g"):
        x, y = map(float, group.get("transform").split("(")[1].split(")")[0].split())
        reach = text_width(group.find(SVG + "text").text, 12) / math.sqrt(2)
        assert x + reach <= panel.width and y - reach > 20


def test_readings_of_other_tests_are_refused():
    with pytest.raises(ValueError, match="3 bugs by 4 tests"):
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
