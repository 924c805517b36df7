"""What ``course report`` does: the class at a glance, as a page and as CSV files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from course_lib.atomic import write_atomically
from course_lib.checks import load_item
from course_lib.checks.conventions.variant_item import forgotten
from course_lib.checks.engine.item import name_in_words
from course_lib.checks.table import TOPICS
from course_lib.errors import CourseError
from course_lib.grading.marks.class_marks import Assignment, load_class
from course_lib.grading.marks.given_marks import UNREAD, marked_id
from course_lib.grading.options import ReportOptions
from course_lib.grading.reports.export_command import list_remarks
from course_lib.grading.reports.exports import csv_rows
from course_lib.grading.reports.item_statistics import count_confusions, item_statistics
from course_lib.grading.reports.report_page import list_class_flags, report_page
from course_lib.grading.reports.similarity_file import stored_pairs
from course_lib.grading.results import clean_name, list_names
from course_lib.grading.safe_csv import Cell, Rows, read_csv, write_csv
from course_lib.terminal import say

TO_MARK = "to_mark.csv"


def report(options: ReportOptions) -> list[Path]:
    """Write the page and the CSV files, and say where.

    Raises:
        CourseError: there are no results, something can't be read, or nothing can be written.
    """
    assignments = load_class(
        options.results, options.assignments, marks=options.marks, gradebook=options.gradebook
    )
    say(*list_remarks(assignments), error=True)
    _refuse_to_lose_points(options, assignments)
    page = options.output / "class.html"
    stored = {each.name: stored_pairs(options.results / each.name) for each in assignments}
    similar = {name: pairs for name, pairs in stored.items() if pairs is not None}
    write_atomically(page, report_page(assignments, misconception_sentence, similar=similar))
    written = [page]
    for name, rows in csv_files(assignments).items():
        written.append(options.output / name)
        write_csv(written[-1], rows, byte_order_mark=True)  # they are for a spreadsheet
    return written


def _refuse_to_lose_points(options: ReportOptions, loaded: Sequence[Assignment]) -> None:
    """Raise a CourseError if somebody filled points into the last list of what is to be marked, and
    they are in no file of marks. The list may be of more assignments than are loaded.
    """
    path = options.output / TO_MARK
    rows = read_csv(path, ("student", "item", "points")) if path.exists() else []
    filled = [(clean_name(row["student"]), row["item"]) for row in rows if row["points"]]
    names = {item: _assignment_name(item) for _, item in filled}
    missing = sorted(set(names.values()) - {each.name for each in loaded} - {""})
    others: list[Assignment] = []
    for name in missing:
        with contextlib.suppress(CourseError):  # then none of its marks is known to be kept
            others += load_class(
                options.results, [name], marks=options.marks, gradebook=options.gradebook
            )
    unknown = set(missing) - {each.name for each in others}
    open_items = {
        (mark.student, item.id)
        for each in (*loaded, *others)
        for mark in each.waiting
        for item in mark.open_items
    }
    lost = [
        f"{item} of {student!r}"
        for student, item in filled
        if (student, item) in open_items or names[item] in unknown
    ]
    if lost:
        raise CourseError(
            f"expected to write {path} anew, got one with points in it that are in no file of "
            f"marks ({len(lost)}): {list_names(lost)}. Save it as marks.csv beside the "
            "assignment's results, or as marks_2.csv if there is one, or delete it"
        )


def _assignment_name(item: str) -> str:
    """The assignment of an item; "" if there is none."""
    number = item.partition(".")[0]
    return f"{number}_{TOPICS[number]}" if number in TOPICS else ""


def csv_files(assignments: Sequence[Assignment]) -> dict[str, Rows]:
    """The rows of each CSV file of the report."""
    flags: Rows = [["student", "item", "flag"]]
    flags += [list(row) for row in list_class_flags(assignments)]
    return {
        "points.csv": csv_rows(assignments, None),
        "items.csv": _item_rows(assignments),
        "misconceptions.csv": _confusion_rows(assignments),
        TO_MARK: _rows_to_mark(assignments),
        "flags.csv": flags,
    }


def _rows_to_mark(assignments: Sequence[Assignment]) -> Rows:
    """A row for each item that waits for a person: with its points filled in, it is marks.csv."""
    rows: Rows = [["student", "item", "points", "max_points", "assignment", "why", "answer"]]
    rows[0].append("answer_id")
    for assignment in assignments:
        for mark in assignment.waiting:
            for item in mark.open_items:
                result = item.result
                why = f"{result.status} {result.reason}".strip() if result else mark.waits_for
                text = result.text if result else ""
                marked = marked_id(result, readable=True) if result else UNREAD
                row: list[Cell] = [mark.student, item.id, None, item.most, assignment.name, why]
                rows.append([*row, text, marked])
    return rows


def _item_rows(assignments: Sequence[Assignment]) -> Rows:
    header = "assignment item title max_points passed known share low high discrimination"
    rows: Rows = [[*header.split(), "undefined", "lines_found", "lines_missed"]]
    for assignment in assignments:
        for each in item_statistics(assignment):
            row: list[Cell] = [assignment.name, each.id, each.title, each.most, each.passed]
            row += [each.known, each.share, each.low, each.high, each.discrimination]
            rows.append([*row, each.undefined, each.lines_found, each.lines_missed])
    return rows


def _confusion_rows(assignments: Sequence[Assignment]) -> Rows:
    rows: Rows = [["assignment", "item", "misconception", "sentence", "student"]]
    for assignment in assignments:
        for each in count_confusions(assignment):
            sentence = misconception_sentence(each.item, each.misconception, each.seen)
            rows += [
                [assignment.name, each.item, each.misconception, sentence, student]
                for student in each.students
            ]
    return rows


@cache
def misconception_sentence(item_id: str, name: str, seen: str = "") -> str:
    """What a learner was told of a misconception; of another kind of error its name in words, and
    what one learner was told, whose sentence ``seen`` is.
    """
    if sentence := forgotten(name):
        return sentence
    try:
        known = load_item(item_id).misconceptions
    except (CourseError, ImportError):
        known = []
    symptom = next((each.symptom for each in known if each.name == name), None)
    return symptom or f"{name_in_words(name).capitalize()}{': ' if seen else ''}{seen or '.'}"
