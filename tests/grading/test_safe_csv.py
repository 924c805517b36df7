"""CSV files hold what was put into them, and no formulas."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.errors import CourseError
from course_lib.grading.safe_csv import csv_text, read_csv, write_csv
from tests.grading.synthetic_class import HOSTILE_NAMES

pytestmark = pytest.mark.usefixtures("own_messages")
NASTY = [*HOSTILE_NAMES, "+1", "-1", "@sum", "\t=1", "\r=1", "a;=cmd()", "two\nlines", "'=1", "＝1"]


def parsed(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", NASTY)
def test_no_cell_begins_like_a_formula_whatever_separates_cells(text):
    ((cell,),) = parsed(csv_text([[text]]))
    assert cell.replace("'", "") == text.replace("'", "")
    for part in (cell, *cell.split(";"), *cell.splitlines()):
        assert not part.startswith(("=", "+", "-", "@", "\t", "\r", "＝"))


def test_numbers_stay_numbers_and_nothing_is_empty():
    assert csv_text([[-1.5, 2, None, "3"]]) == '-1.5,2,"","3"\r\n'


@pytest.mark.parametrize("byte_order_mark", [False, True])
def test_what_was_written_is_read_again(tmp_path, byte_order_mark):
    path = tmp_path / "x.csv"
    texts = [text.strip() for text in NASTY]
    rows = [["student", "n"], *([text, number] for number, text in enumerate(texts))]
    write_csv(path, rows, byte_order_mark=byte_order_mark)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf") == byte_order_mark
    assert [row["student"] for row in read_csv(path, ["student"])] == texts


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_any_text_survives(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    write_csv(path, [["student", "n"], [text, 1]])
    assert read_csv(path, ["student"]) == [{"student": text.strip(), "n": "1"}]


def test_a_spreadsheet_may_use_semicolons_and_leave_cells_out(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("student;points;note\nana;1,5\n;;\n")
    assert read_csv(path, ["student"]) == [{"student": "ana", "points": "1,5", "note": ""}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "expected a header and rows"),
        (b"a,b\n", "got a, b: add student"),
        (b"student,b\nJo, Ann,1\n", "expected 2 cells in row 2"),
        (b"student\n\xff\n", "saved as CSV UTF-8"),
        (b'student\n"a', "is it a CSV file"),
        (None, "is the path right"),
    ],
)
def test_a_file_that_does_not_fit_is_described(tmp_path, content, words):
    path = tmp_path / "x.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CourseError, match=words):
        read_csv(path, ["student"])
