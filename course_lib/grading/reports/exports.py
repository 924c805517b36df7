"""A class's points in the formats of learning platforms.

Points that are not known yet, or of somebody who handed in nothing, are empty and never 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from course_lib.checks import TABLE
from course_lib.errors import CourseError
from course_lib.grading.marks.class_marks import Assignment, ItemMark, Mark
from course_lib.grading.reports.roster import Roster, column
from course_lib.grading.results import list_names
from course_lib.grading.safe_csv import Cell, Rows


def refuse_unfinished(assignments: Sequence[Assignment]) -> None:
    """Check that all points are known.

    Raises:
        CourseError: some are not; it names who waits for what.
    """
    waiting = [
        f"{mark.student}, {assignment.name} ({mark.waits_for})"
        for assignment in assignments
        for mark in assignment.waiting
    ]
    if waiting:
        raise CourseError(
            "expected all points to be known, got submissions that wait for a person "
            f"({len(waiting)}): {list_names(waiting)}. Give their points in marks.csv or in "
            "formgrader, or leave them empty with --partial"
        )


def _points_by_student(
    assignments: Sequence[Assignment], roster: Roster | None
) -> dict[str, list[Cell]]:
    """Each student's points in each assignment, sorted by student."""
    points = {(m.student, each.name): m.points for each in assignments for m in each.marks}
    students = sorted({student for student, _ in points} | set(roster or ()))
    return {s: [points.get((s, each.name)) for each in assignments] for s in students}


def csv_rows(assignments: Sequence[Assignment], roster: Roster | None) -> Rows:
    """A row for each student and item, with all that is known: for your own evaluation."""
    header: list[Cell] = ["student", "assignment", "item", "title", "points", "max_points"]
    rows = [[*header, "kind", "by_person", "status", "misconceptions", "handed_in", "flags"]]
    for assignment in assignments:
        for mark in assignment.marks:
            rows += [_csv_row(mark, item) for item in mark.items]
    return rows


def _csv_row(mark: Mark, item: ItemMark) -> list[Cell]:
    result = item.result
    return [
        mark.student,
        mark.result.assignment,
        item.id,
        item.title,
        item.points,
        item.most,
        TABLE[item.id].kind if item.id in TABLE else "",
        "yes" if item.by_person else "no",
        result.status if result else "could not be read",
        ", ".join(result.misconceptions) if result else "",
        mark.result.handed_in,
        "; ".join(item.flags),
    ]


_NBGRADER = """assignment duedate timestamp student_id last_name first_name email
    raw_score late_submission_penalty score max_score"""


def nbgrader_rows(assignments: Sequence[Assignment], roster: Roster | None) -> Rows:
    """The columns of nbgrader's own exporter, ``nbgrader.plugins.export.CsvExportPlugin``.

    Names and email come from the roster. Due dates and penalties are not known here, so they are
    empty, and the score is the raw score.
    """
    rows: Rows = [[*_NBGRADER.split()]]
    by_student = _points_by_student(assignments, roster)
    times = {(m.student, each.name): m.result.handed_in for each in assignments for m in each.marks}
    for number, assignment in enumerate(assignments):
        for student, points in by_student.items():
            row = (roster or {}).get(student, {})
            person: list[Cell] = [row.get(n, "") for n in ("last_name", "first_name", "email")]
            time = times.get((student, assignment.name), "")
            scores = [points[number], "", points[number], assignment.most]
            rows.append([assignment.name, "", time, student, *person, *scores])
    return rows


_CANVAS_IDS = ("ID", "SIS User ID", "SIS Login ID")


def canvas_rows(assignments: Sequence[Assignment], roster: Roster | None) -> Rows:
    """The file that Canvas's gradebook imports: who, then a column for each assignment.

    https://community.canvaslms.com/t5/Instructor-Guide/How-do-I-import-grades-in-the-Gradebook/ta-p/807
    asks for the student's name, ID or SIS ID, login and section as in a gradebook that Canvas has
    exported: that export is a good roster once it has the column ``student``. If it has a heading
    such as "06_masks (1234)", that is used; otherwise Canvas asks which assignment a column is.

    Raises:
        CourseError: there is no roster with ID, SIS User ID or SIS Login ID for everybody.
    """
    roster = roster or {}
    column(roster, _CANVAS_IDS, purpose="Canvas")
    heading: list[Cell] = ["Student", *_CANVAS_IDS, "Section"]
    most: list[Cell] = ["    Points Possible", "", "", "", ""]
    rows = [
        heading + [_canvas_heading(assignment.name, roster) for assignment in assignments],
        most + [assignment.most for assignment in assignments],
    ]
    for student, points in _points_by_student(assignments, roster).items():
        known = roster[student]
        identity: list[Cell] = [known.get("Student") or student]
        identity += [known.get(name, "") for name in (*_CANVAS_IDS, "Section")]
        rows.append(identity + points)
    return rows


def _canvas_heading(assignment: str, roster: Roster) -> str:
    """An assignment's name with its number in Canvas, if the roster has it."""
    columns = next(iter(roster.values()), {})
    pattern = re.compile(re.escape(assignment) + r" \(\d+\)")
    return next((name for name in columns if pattern.fullmatch(name)), assignment)


_MOODLE_IDS = {
    "email": "Email address",
    "Email address": "Email address",
    "username": "Username",
    "Username": "Username",
    "idnumber": "ID number",
    "ID number": "ID number",
}


def moodle_rows(assignments: Sequence[Assignment], roster: Roster | None) -> Rows:
    """The file that Moodle's "Import: CSV file" reads: one column says who, the others what.

    https://docs.moodle.org/en/Grade_import: "Map from" the first column to the user's email
    address, username or ID number, and each of the others to a grade item.

    Raises:
        CourseError: there is no roster with email, username or ID number for everybody.
    """
    roster = roster or {}
    identity = column(roster, list(_MOODLE_IDS), purpose="Moodle")
    by_student = _points_by_student(assignments, roster)
    rows: Rows = [[_MOODLE_IDS[identity], *(assignment.name for assignment in assignments)]]
    return rows + [[roster[s][identity], *points] for s, points in by_student.items()]


def gradescope_json(mark: Mark) -> str:
    """A student's results.json, in the format that Gradescope's autograders write.

    https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format: a test for each
    item, shown once grades are published. An item that waits for a person has no score, and says
    so.
    """
    return json.dumps({"tests": [_gradescope_test(item) for item in mark.items]}, indent=1) + "\n"


def _gradescope_test(item: ItemMark) -> dict[str, object]:
    test: dict[str, object] = {
        "name": f"{item.id} {item.title}",
        "output": _gradescope_output(item),
        "output_format": "text",  # what comes from a learner is never HTML or Markdown
        "visibility": "after_published",
    }
    if item.points is not None:
        test |= {"score": item.points, "max_score": item.most}
    return test


def _gradescope_output(item: ItemMark) -> str:
    if item.points is None:
        return "A person has not marked this yet."
    if item.by_person:
        return "Marked by a person."
    result = item.result
    lines = [f"Status: {result.status}"] if result else []
    for test in result.tests if result else ():
        lines.append(f"{'not yet' if test.difference else 'passed'}: {test.property}")
    return "\n".join(lines)


FORMATS: dict[str, Callable[[Sequence[Assignment], Roster | None], Rows]] = {
    "csv": csv_rows,
    "nbgrader": nbgrader_rows,
    "canvas": canvas_rows,
    "moodle": moodle_rows,
}
