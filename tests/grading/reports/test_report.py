"""The class at a glance: a page that shows hostile names as text, and CSV files."""

import re
from html.parser import HTMLParser

import pytest

from course_lib import cli
from course_lib.checks.engine.item import name_in_words
from course_lib.grading.marks.class_marks import load_class, mark_assignment
from course_lib.grading.marks.given_marks import GivenMark
from course_lib.grading.reports.report_command import csv_files, misconception_sentence
from course_lib.grading.reports.report_page import report_page
from course_lib.grading.safe_csv import write_csv
from tests.grading.made_results import item_result, submission_result, to_be_marked
from tests.grading.synthetic_class import HOSTILE_NAMES, store, synthetic_class


class Page(HTMLParser):
    """The tags, ids, addresses and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.addresses, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        names = ("src", "href", "xlink:href", "action", "data")
        self.addresses += [values[name] for name in names if name in values]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def assignments(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    store(synthetic_class(24, ("06",)), folder)
    return load_class(folder)


@pytest.fixture(scope="module")
def text(assignments):
    numbers = {"share": "0.85", "usual_share": "0.2", "surprise_bits": "30"}
    pair = {"first": HOSTILE_NAMES[0], "second": "=cmd()", **numbers, "where": "<b>line</b>"}
    return report_page(assignments, misconception_sentence, similar={"06_masks": [pair]})


def test_no_name_becomes_a_tag_and_nothing_is_loaded_from_elsewhere(text):
    page = Page(text)
    assert not {"script", "iframe", "img", "object", "b"} & set(page.tags)
    assert all(address.startswith("#") or address == "data:," for address in page.addresses)
    assert not re.search(r"url\((?!#)", text)
    assert "<script>alert(1)</script>" in "".join(page.text)
    assert "\u202e" not in text
    assert "long " * 20 not in text


def test_every_id_is_there_once_and_every_link_has_its_target(text):
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert {address[1:] for address in page.addresses if address[:1] == "#"} <= set(page.ids)


def test_pictures_take_their_colours_from_the_page_and_say_what_they_show(text):
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(pictures) == 4  # overview, distribution, items, misconceptions
    for picture in pictures:
        assert "currentColor" in picture
        assert "#0a0b0" not in picture  # a colour that stands for one of the page
        assert not re.search(r"(fill|stroke): #", picture)
        assert re.match(r'<svg role="img" aria-label="[^"]{20,}"', picture)


def test_the_page_says_who_needs_a_person_and_what_nobody_solved():
    unread = submission_result("eva", notebook="", notes=("expected a <notebook>",))
    failed = item_result("06.causal_mask", 0.0, misconceptions=("past_hidden",))
    other = submission_result("ana", failed)
    text = report_page([mark_assignment("06_masks", [other, unread])], misconception_sentence)
    assert "1 could not be read" in text
    assert "expected a &lt;notebook&gt;" in text
    assert "Nobody solved 06.causal_mask" in text
    assert "Your mask allows the future and masks the past." in text
    assert "ran without isolation" in text
    assert "needs 20 students" in text


def test_what_is_known_of_a_submission_is_shown_while_the_rest_waits():
    ana = submission_result("ana", item_result("06.causal_mask", 2.0), to_be_marked())
    text = report_page([mark_assignment("06_masks", [ana])], misconception_sentence)
    assert "2 + ?" in text and "2 of 2" in text
    assert "In 1 a written answer is to be marked." in text
    assert "could not be read" not in text and "Nobody solved" not in text


def test_before_marking_the_pictures_show_everybody_s_automatic_points_and_say_so():
    wrong = {"misconceptions": ("one_number",), "seen": "It is one number."}
    no_answer = item_result("06.why_not_rows", 0.0, status="no answer")
    results = [
        submission_result(
            f"s{number}",
            item_result("06.causal_mask", float(number), status="not yet", most=4, **wrong),
            to_be_marked() if number else no_answer,
        )
        for number in range(5)
    ]
    assignment = mark_assignment("06_masks", results)
    shown = assignment.distribution
    assert (shown.points, shown.most, shown.automatic) == ([0, 1, 2, 3, 4], 4, True)
    page = report_page([assignment], misconception_sentence)
    assert page.count("06_masks, automatic points  (n = 5)") == 2
    row = ["5", "5", "2", "1 to 3", "4"]
    assert "automatic points</span></th>" + "".join(f'<td class="n">{x}</td>' for x in row) in page
    assert "One number: It is one number." in page
    given = {(f"s{n}", "06.why_not_rows"): GivenMark(points=1.0) for n in range(5)}
    marked = mark_assignment("06_masks", results, given=given).distribution
    assert (marked.points, marked.most, marked.automatic) == ([1, 2, 3, 4, 5], 6, False)


def test_one_submission_without_any_known_points_still_gives_a_page():
    unread = submission_result("eva", notebook="")
    text = report_page([mark_assignment("06_masks", [unread])], misconception_sentence)
    assert "no points known yet" in text
    assert "None was recognised." in text


def test_the_command_writes_the_page_and_tables(tmp_path, capsys):
    store(synthetic_class(3, ("06",)), tmp_path / "results")
    command = ["report", str(tmp_path / "results"), "--output", str(tmp_path / "out")]
    assert cli.main(command) == 0
    assert str(tmp_path / "out" / "class.html") in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"class.html", *csv_files([])}
    assert cli.main(["report", str(tmp_path / "none")]) == 1
    assert "grade first" in capsys.readouterr().err


def test_the_tables_hold_every_submission_and_every_misconception(assignments):
    files = csv_files(assignments)
    points = files["points.csv"][1:]
    assert len(points) == sum(len(mark.items) for mark in assignments[0].marks)
    assert HOSTILE_NAMES[5].strip() in {row[0] for row in points}  # the long name, whole
    misconceptions = sum(
        len(i.result.misconceptions) for m in assignments[0].marks for i in m.items if i.result
    )
    assert len(files["misconceptions.csv"]) == 1 + misconceptions
    assert all(len(row) == len(rows[0]) for rows in files.values() for row in rows)


def test_the_list_of_what_is_to_be_marked_becomes_the_marks_once_filled_in(tmp_path):
    store(synthetic_class(40, ("06", "07")), tmp_path)
    header, *rows = csv_files(load_class(tmp_path))["to_mark.csv"]
    assert header[:3] == ["student", "item", "points"]
    assert "Because." in {row[6] for row in rows}
    write_csv(tmp_path / "marks.csv", [header, *([*row[:2], 1, *row[3:]] for row in rows)])
    assert any(each.waiting for each in load_class(tmp_path))
    marked = load_class(tmp_path, marks=tmp_path / "marks.csv")
    assert not any(each.waiting for each in marked)


def test_points_filled_into_the_list_are_not_overwritten(tmp_path, capsys):
    store(synthetic_class(40, ("06",)), tmp_path / "results")
    command = ["report", str(tmp_path / "results"), "--output", str(tmp_path / "out")]
    assert cli.main(command) == 0
    header, first, *_ = csv_files(load_class(tmp_path / "results"))["to_mark.csv"]
    filled = [header, [*first[:2], 1, *first[3:]]]
    write_csv(tmp_path / "out" / "to_mark.csv", filled)
    assert cli.main(command) == 1
    assert "got one with points in it that are in no file of marks (1)" in capsys.readouterr().err
    write_csv(tmp_path / "results" / "06_masks" / "marks.csv", filled)
    assert cli.main(command) == 0
    assert "1 mark read from" in capsys.readouterr().err


def test_points_filled_in_for_an_assignment_that_is_not_asked_for_are_not_overwritten(
    tmp_path, capsys
):
    store(synthetic_class(40, ("06", "07")), tmp_path / "results")
    command = ["report", str(tmp_path / "results"), "--output", str(tmp_path / "out")]
    header, *rows = csv_files(load_class(tmp_path / "results"))["to_mark.csv"]
    row = next(row for row in rows if row[4].startswith("07_"))
    filled = [header, [*row[:2], 1, *row[3:]]]
    (tmp_path / "out").mkdir()
    write_csv(tmp_path / "out" / "to_mark.csv", filled)
    only = [*command, "--assignment", "06_masks"]
    assert cli.main(only) == 1
    assert f"{row[1]} of {row[0]!r}" in capsys.readouterr().err
    marks = tmp_path / "results" / row[4] / "marks.csv"
    marks.write_text("student,item\n")  # of no use, so that nobody knows what is kept
    assert cli.main(only) == 1
    write_csv(marks, filled)
    assert cli.main(only) == 0


def test_a_misconception_has_its_sentence_and_another_error_its_name_in_words():
    assert misconception_sentence("06.causal_mask", "past_hidden").startswith(
        "Your mask allows the future"
    )
    assert misconception_sentence("06.causal_mask", "nothing_returned") == "Nothing returned."
    assert misconception_sentence("06.why_not_rows", "anything") == "Anything."
    seen = "Your function returns the same number for all inputs."
    assert misconception_sentence("06.causal_mask", "one_number", seen) == f"One number: {seen}"
    assert name_in_words("MadeAParameter") == "made a parameter"
