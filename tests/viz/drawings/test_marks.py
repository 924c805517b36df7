"""Marks: what is drawn where, and in which colour."""

import re
from xml.etree import ElementTree

import pytest

from course_lib.viz.drawings import marks


def rectangles(markup):
    root = ElementTree.fromstring(f"<g>{markup}</g>")
    return [dict(each.items()) for each in root.iter("rect")]


def test_zero_is_the_page_and_the_largest_value_the_full_colour():
    negative, zero, half, most = rectangles(marks.vector((0, 0), [-1, 0, 2, 4], largest=4))
    assert (negative["fill"], negative["fill-opacity"]) == ("var(--negative)", "0.25")
    assert zero["fill"] == "none" and "fill-opacity" not in zero
    assert (half["fill"], half["fill-opacity"]) == ("var(--positive)", "0.50")
    assert most["fill-opacity"] == "1.00"


def test_a_value_beyond_the_largest_has_the_full_colour_and_no_more():
    [cell] = rectangles(marks.vector((0, 0), [9.0], largest=4))
    assert cell["fill-opacity"] == "1.00"


def test_zeros_are_grey_where_they_are_to_be_quiet():
    for quiet, zero in ((True, "aside"), (False, "aside bold")):
        strip = marks.vector((0, 0), [0, 2], largest=2, digits=0, quiet_zeros=quiet)
        assert re.findall(r'<text [^>]*class="([^"]+)"', strip) == [zero, "aside bold"]


def test_cells_lie_side_by_side_or_below_each_other():
    across = rectangles(marks.vector((5, 7), [1, 1], largest=1, cell=10))
    down = rectangles(marks.vector((5, 7), [1, 1], largest=1, cell=10, vertical=True))
    assert [(each["x"], each["y"]) for each in across] == [("5.0", "7.0"), ("15.0", "7.0")]
    assert [(each["x"], each["y"]) for each in down] == [("5.0", "7.0"), ("5.0", "17.0")]


def test_a_matrix_is_a_vector_in_each_row():
    cells = rectangles(marks.matrix((0, 0), [[1, 2], [3, 4]], largest=4, cell=10, gap=2))
    assert [each["y"] for each in cells] == ["0.0", "0.0", "12.0", "12.0"]
    assert [each["fill-opacity"] for each in cells] == ["0.25", "0.50", "0.75", "1.00"]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(3, 0, "3"), (-1.26, 1, "−1.3"), (-0.04, 1, "0.0"), (-0.0, 0, "0"), (0.5, 2, "0.50")],
)
def test_a_number_has_a_true_minus_and_no_negative_zero(value, digits, text):
    assert marks.signed(value, digits) == text


def test_padding_is_hatched_and_dashed():
    [box] = rectangles(marks.token((0, 0), "pad", language="padding"))
    assert box["fill"] == "url(#hidden)" and box["stroke-dasharray"] == "3 3"


@pytest.mark.parametrize("word", ["ich", "Wahrscheinlichkeit", "MWMWMW", "illiterate"])
def test_a_word_fits_into_its_box(word):
    [box] = rectangles(marks.token((0, 0), word))
    assert float(box["width"]) >= marks.text_width(word) + 16


def test_an_arrow_ends_where_it_should():
    markup = marks.arrow((0, 0), (50, 0), (50, 40))
    head = re.findall(r'd="(M[^"]*)z"', markup)[0]
    assert head.startswith("M50.0 40.0L")


def test_markup_in_words_is_shown_and_not_read():
    assert "&lt;b&gt;" in marks.label((0, 0), "<b>")


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.0, 2, "0"), (-0.004, 2, "0"), (0.006, 2, "0.01"), (-1.0, 1, "−1.0"), (0.0, 0, "0")],
)
def test_a_cell_shows_no_zeros_after_a_zero(value, digits, text):
    assert marks.in_cell(value, digits) == text
    assert f">{text}</text>" in marks.vector((0, 0), [value], largest=1, digits=digits)


def test_a_cell_may_be_wider_than_high():
    first, second = rectangles(marks.vector((5, 7), [1, 1], largest=1, cell=30, height=10))
    assert (first["width"], first["height"]) == ("30.0", "10.0")
    assert (second["x"], second["y"]) == ("35.0", "7.0")
