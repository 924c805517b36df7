"""The marks that a person gave in nbgrader's formgrader, read for reports and exports.

`course grade --gradebook` notes beside the results in which course folder it put which of them
(``gradebook.csv``), so that the marks are found there. A mark stays when the work changes; what is
no longer sure to be about the present answer says so. Nothing is written to the gradebook.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from course_lib.errors import CourseError
from course_lib.grading.marks.given_marks import UNREAD, GivenMark, GivenMarks, list_items
from course_lib.grading.nbgrader.course_folder import open_course_folder, student_id
from course_lib.grading.nbgrader.nbgrader_settings import CONFIG_FILE
from course_lib.grading.results import SubmissionResult, clean_name, list_names
from course_lib.grading.safe_csv import Rows, read_csv, write_csv
from course_lib.grading.submissions.exercise import item_and_role

RECORD_FILE = "gradebook.csv"
CHANGED = "the answer or its automatic points have changed since a person marked it in formgrader"
GRADED_AGAIN = "graded again since it was put into nbgrader's gradebook, where a person marked it"
_COLUMNS = ("student", "key", "nbgrader_id", "course_folder")


@dataclass(frozen=True, kw_only=True)
class StoredResult:
    """Where a student's result was put: the course folder, the id there, and the result's key.

    ``key`` is "" if it is not known, and ``UNREAD`` of what could not be read.
    """

    course: Path
    nbgrader_id: str
    key: str = ""


def record_stored(folder: Path, course: Path, *, results: Sequence[SubmissionResult]) -> list[Path]:
    """Note that results are in the gradebook of a course folder now.

    Args:
        folder: of the assignment's results.
        course: the course folder.
        results: that were put there.

    Returns:
        The other course folders in which results of these students were before.

    Raises:
        CourseError: the note can't be read or written.
    """
    stored = recorded(folder)
    course = course.resolve()
    now = {
        clean_name(r.student): StoredResult(
            course=course, nbgrader_id=student_id(r.student), key=_recorded_key(r)
        )
        for r in results
    }
    before = {stored[student].course for student in now if student in stored}
    rows: Rows = [list(_COLUMNS)]
    for student, each in sorted({**stored, **now}.items()):
        where = os.path.relpath(each.course, folder.resolve())  # both may be moved together
        rows.append([student, each.key, each.nbgrader_id, where])
    write_csv(folder / RECORD_FILE, rows)
    return sorted(before - {course})


def _recorded_key(result: SubmissionResult) -> str:
    return result.key if result.readable else UNREAD


def recorded(folder: Path) -> dict[str, StoredResult]:
    """Where the results of an assignment were put, by student; empty if nowhere.

    Raises:
        CourseError: the note can't be read.
    """
    path = folder / RECORD_FILE
    if not path.exists():
        return {}
    return {
        clean_name(row["student"]): StoredResult(
            course=(folder / row["course_folder"]).resolve(),
            nbgrader_id=row["nbgrader_id"],
            key=row["key"],
        )
        for row in read_csv(path, _COLUMNS)
    }


def read_formgrader(
    folder: Path, results: Sequence[SubmissionResult], *, course: Path | None = None
) -> tuple[GivenMarks, list[str]]:
    """The marks that a person gave in formgrader, and remarks about what was read.

    Args:
        folder: of the assignment's results.
        results: all of them.
        course: the course folder of nbgrader, or the gradebook in it; by default that into which
            each result was put.

    Raises:
        CourseError: a gradebook is not there or can't be read, or a mark in it is not possible.
    """
    stored = recorded(folder)
    if course is not None:
        course = (course.parent if course.is_file() else course).resolve()
        unrecorded = {
            r.student: StoredResult(course=course, nbgrader_id=student_id(r.student))
            for r in results
        }
        stored = unrecorded | {name: replace(each, course=course) for name, each in stored.items()}
    students = {result.student: result for result in results}
    given: dict[tuple[str, str], GivenMark] = {}
    remarks: list[str] = []
    for each in sorted({one.course for one in stored.values()}):
        there = {one.nbgrader_id: name for name, one in stored.items() if one.course == each}
        elsewhere = {one.nbgrader_id for one in stored.values()} - there.keys()
        found = _MarksInGradebook(assignment=folder.name)
        with _gradebook_of(each, folder) as gradebook:
            for submission in gradebook.assignment_submissions(folder.name):
                name = there.get(submission.student_id, "")
                if name in students:
                    found.add(submission, students[name], stored[name].key)
                elif submission.student_id not in elsewhere and _given_grades(submission):
                    found.unknown.append(submission.student_id)
        given |= found.checked(each)
        remarks += found.remarks(each)
    return given, remarks


@contextlib.contextmanager
def _gradebook_of(course: Path, folder: Path) -> Iterator[Any]:
    """The gradebook in a course folder of nbgrader, to be read.

    Args:
        course: the course folder.
        folder: of the assignment's results.

    Raises:
        CourseError: there is no gradebook that can be read.
    """
    missing = CourseError(
        f"expected nbgrader's gradebook in {course}, into which course grade put the results, and "
        "there is none: name its folder with --gradebook; if nobody marked anything there, delete "
        f"{folder / RECORD_FILE} instead"
    )
    if not (course / CONFIG_FILE).is_file():
        raise missing
    directory = open_course_folder(course).directory
    from nbgrader.api import Gradebook
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    url = make_url(directory.db_url)
    if url.drivername.startswith("sqlite") and not Path(url.database or "").is_file():
        raise missing  # opening it would make an empty one
    try:
        with Gradebook(directory.db_url, directory.course_id) as gradebook:
            yield gradebook
    except SQLAlchemyError as error:
        raise CourseError(
            f"expected nbgrader's gradebook in {course}, and could not read it "
            f"({type(error).__name__}: {error}): if nbgrader was updated since, run `nbgrader db "
            "upgrade` there"
        ) from None


def _given_grades(submission: Any) -> list[Any]:
    """The grades of a submission in the gradebook to which a person gave something."""
    return [
        grade
        for notebook in submission.notebooks
        for grade in notebook.grades
        if grade.manual_score is not None or grade.extra_credit
    ]


@dataclass(kw_only=True)
class _MarksInGradebook:
    """What is found in one gradebook."""

    assignment: str
    given: dict[tuple[str, str], GivenMark] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # students, or items of them
    late: list[str] = field(default_factory=list)

    def add(self, submission: Any, result: SubmissionResult, key: str) -> None:
        """Add the marks of nbgrader's submission whose result was put there with this key."""
        items = {item.id: item for item in list_items(result)}
        again = key not in ("", _recorded_key(result))
        if any(notebook.late_submission_penalty for notebook in submission.notebooks):
            self.late.append(result.student)
        for grade in _given_grades(submission):
            item_id, _ = item_and_role(grade.name)
            item = items.get(item_id)
            if item is None:
                self.unknown.append(f"{result.student}, {item_id or grade.name}")
                continue
            points = item.points if grade.manual_score is None else grade.manual_score
            if points is None:
                continue  # extra credit for what has no points yet
            extra = grade.extra_credit or 0.0
            whose = f"{item.id} of {result.student!r}"
            if not 0 <= points <= item.most:
                self.wrong.append(f"{points:g} for {whose} is no number from 0 to {item.most:g}")
            elif not 0 <= extra < math.inf:
                self.wrong.append(f"{extra:g} for {whose} is no extra credit")
            review = CHANGED if grade.needs_manual_grade else ""
            if not review and (again or grade.auto_score != item.points):
                review = GRADED_AGAIN
            self.given[result.student, item.id] = GivenMark(points + extra, review=review)

    def checked(self, course: Path) -> GivenMarks:
        """The marks.

        Raises:
            CourseError: some are not possible; it names each.
        """
        if self.wrong:
            raise CourseError(
                f"expected points that an item can have in the gradebook in {course}, got: "
                f"{list_names(self.wrong)}. Correct them in formgrader, and give what goes beyond "
                "as extra credit"
            )
        return self.given

    def remarks(self, course: Path) -> list[str]:
        """What a person should know of it."""
        count = len(self.given)
        read = f"{count} mark{'s' * (count != 1)} given in formgrader"
        lines = [f"{self.assignment}: read {read}, from the gradebook in {course}."]
        if self.unknown:
            lines.append(
                f"{self.assignment}: passed over marks in {course} of students or items without "
                f"results here: {list_names(self.unknown)}."
            )
        if self.late:
            lines.append(
                f"{self.assignment}: the late penalties in {course} are not taken off these "
                f"points: {list_names(self.late)}."
            )
        return lines
