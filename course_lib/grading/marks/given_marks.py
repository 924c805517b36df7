"""The marks that a person gave in a CSV file, and what is known of each.

The columns are student, item and points; where points is empty, nothing was decided yet. A column
answer_id, as in the report's list of what is to be marked, tells whether the answer is still the
one that was marked. Other columns are ignored.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from course_lib.checks.table import TABLE
from course_lib.errors import CourseError
from course_lib.grading.results import (
    ItemResult,
    SubmissionResult,
    clean_name,
    list_names,
    shown_points,
)
from course_lib.grading.safe_csv import read_csv
from course_lib.wording import did_you_mean

MARKS_FILES = "marks*.csv"  # beside the results of an assignment; one for each round of marking
UNREAD, NOT_RUN = "unread", "not-run"  # in place of an answer's id
GivenMarks = Mapping[tuple[str, str], "GivenMark"]  # by student and item id


@dataclass(frozen=True)
class GivenMark:
    """A person's mark.

    ``answer_id`` says what was marked (see ``marked_id``), "" if not stated; ``review`` why a
    person should look at the mark again, "" for no reason.
    """

    points: float
    _: KW_ONLY
    answer_id: str = ""
    review: str = ""


def answer_id(answer: str) -> str:
    """A short name of an answer in words, another one for each text; "" for no answer."""
    return "a" + hashlib.sha256(answer.encode()).hexdigest()[:12] if answer else ""


def marked_id(item: ItemResult, *, readable: bool) -> str:
    """What a person marks: an answer, by its id, or that it could not be read or run."""
    if not readable:
        return UNREAD
    if item.reason:
        return f"{NOT_RUN}-{item.code}" if item.code else NOT_RUN
    return answer_id(item.text) or item.code


def list_items(result: SubmissionResult) -> Sequence[ItemResult]:
    """The items of a result; of one that could not be read, those of the course."""
    return result.items or [
        ItemResult(id=entry.id, title=entry.title, status="not run", points=None, most=entry.points)
        for entry in TABLE.values()
        if entry.id.split(".")[0] == result.assignment.split("_")[0]
    ]


def read_marks(
    path: Path, results: Iterable[SubmissionResult], *, assignment: str = ""
) -> dict[tuple[str, str], GivenMark]:
    """The marks that a person gave in a file, by student and item id.

    Args:
        path: a CSV file.
        results: those of everybody that it may be about.
        assignment: rows that name another one in a column ``assignment`` are passed over.

    Raises:
        CourseError: the file can't be read; or a student, an item or a number is not possible, or
            is there twice: the message names each.
    """
    items = {
        (result.student, item.id): item.most for result in results for item in list_items(result)
    }
    students = {student for student, _ in items}
    given: dict[tuple[str, str], GivenMark] = {}
    wrong = []
    for row in read_csv(path, ("student", "item", "points")):
        student, item, text = clean_name(row["student"]), row["item"], row["points"]
        if not text or (assignment and row.get("assignment", assignment) not in ("", assignment)):
            continue
        points, most = _number(text), items.get((student, item), 0.0)
        if student not in students:
            wrong.append(f"{student!r} handed in nothing" + did_you_mean(student, students))
        elif (student, item) not in items:
            wrong.append(f"{item!r} is no item of what {student!r} handed in")
        elif points is None or not 0 <= points <= most:
            wrong.append(f"{text!r} for {item} of {student!r} is no number from 0 to {most:g}")
        elif (student, item) in given:
            wrong.append(f"{item} of {student!r} is there twice")
        else:
            given[student, item] = GivenMark(points, answer_id=row.get("answer_id", ""))
    if wrong:
        raise CourseError(
            f"expected a student's folder name, an item and its points in each row of {path}, got: "
            f"{list_names(wrong)}. Correct these rows"
        )
    return given


def read_line(path: Path, given: GivenMarks) -> str:
    """How many marks a file has, for a person to compare."""
    return f"{len(given)} mark{'s' * (len(given) != 1)} read from {path}"


def read_marks_beside(
    folder: Path, results: Sequence[SubmissionResult]
) -> tuple[dict[tuple[str, str], GivenMark], list[str]]:
    """The marks in all ``MARKS_FILES`` of an assignment's folder, and how many each file has.

    Raises:
        CourseError: as ``read_marks``; or two files have different points for the same item.
    """
    given: dict[tuple[str, str], GivenMark] = {}
    remarks = []
    for path in sorted(folder.glob(MARKS_FILES)):
        found = read_marks(path, results, assignment=folder.name)
        if different := _different(found, given, where="in another file"):
            raise CourseError(
                f"expected each item's points in one of the files {folder / MARKS_FILES}, or the "
                f"same points in all, got in {path}: {list_names(different)}. "
                "Delete one of the rows"
            )
        given |= found
        remarks.append(read_line(path, found))
    return given, remarks


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _different(here: GivenMarks, there: GivenMarks, *, where: str) -> list[str]:
    """The items that have other points here than ``where`` the others are."""
    return [
        f"{item} of {student!r} has {shown_points(here[student, item].points)} there and "
        f"{shown_points(there[student, item].points)} {where}"
        for student, item in sorted(here.keys() & there.keys())
        if here[student, item].points != there[student, item].points
    ]


def merge_marks(in_file: GivenMarks, in_formgrader: GivenMarks, *, path: Path) -> GivenMarks:
    """The marks of a file and of formgrader; where both have one, they must be the same.

    Raises:
        CourseError: they are not; it names each.
    """
    if different := _different(in_file, in_formgrader, where="in formgrader"):
        raise CourseError(
            f"expected the marks in {path} to agree with those given in formgrader, got: "
            f"{list_names(different)}. Delete the row, or give the same points in both"
        )
    # Of two equal marks, the one counts that is known to be of the present answer.
    known = {
        key
        for key in in_file.keys() & in_formgrader.keys()
        if in_file[key].answer_id and in_formgrader[key].review
    }
    return {**in_file, **{k: mark for k, mark in in_formgrader.items() if k not in known}}
