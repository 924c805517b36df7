"""What ``course export`` does: check that all is known, then write the file of a platform."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from course_lib.atomic import below, write_atomically
from course_lib.errors import CourseError
from course_lib.grading.marks.class_marks import (
    ANSWER_CHANGED,
    POINTS_CHANGED,
    Assignment,
    load_class,
)
from course_lib.grading.marks.formgrader_marks import CHANGED, GRADED_AGAIN
from course_lib.grading.options import ExportOptions
from course_lib.grading.reports.exports import FORMATS, gradescope_json, refuse_unfinished
from course_lib.grading.reports.roster import Roster, load_roster, match
from course_lib.grading.results import list_names
from course_lib.grading.safe_csv import write_csv
from course_lib.terminal import say

# What to do about a mark that is not sure to be about the present answer, by the reason.
_LOOK_AGAIN = {
    ANSWER_CHANGED: (
        "marked by a person have another answer now",
        "Look at them again, and empty or correct their answer_id in marks.csv",
    ),
    POINTS_CHANGED: (
        "marked by a person without an answer_id have other automatic points than once",
        "Look at them again, and put the answer_id that flags.csv of the report has into marks.csv",
    ),
    CHANGED: (
        "marked in formgrader have another answer or other automatic points now",
        "Look at them again there, and confirm each with Resolve or give another mark",
    ),
    GRADED_AGAIN: (
        "marked in formgrader were graded again without --gradebook since",
        "Run course grade with --gradebook: then it is known which answers have changed",
    ),
}


def export(options: ExportOptions) -> Path:
    """Write the points of a class for a platform, and say where.

    Raises:
        CourseError: points are not known yet, the roster doesn't fit, or nothing can be written.
    """
    assignments = load_class(
        options.results, options.assignments, marks=options.marks, gradebook=options.gradebook
    )
    say(*list_remarks(assignments), *_marks_to_review(assignments), error=True)
    if not options.partial:
        refuse_unfinished(assignments)
    roster = load_roster(options.roster) if options.roster else None
    if roster is not None:
        students = {mark.student for each in assignments for mark in each.marks}
        match(roster, sorted(students), partial=options.partial)
    say(*_handed_in_nothing(assignments, roster), error=True)
    if options.format == "gradescope":
        return _write_gradescope(assignments, options.output or Path("gradescope"))
    name = "points" if options.format == "csv" else options.format
    output = options.output or Path(f"{name}.csv")
    rows = FORMATS[options.format](assignments, roster)
    # Only the general format is meant for a spreadsheet; the platforms expect plain UTF-8.
    mark = options.format == "csv"
    write_csv(output, rows, byte_order_mark=mark, through_link=True)
    return output


def list_remarks(assignments: Sequence[Assignment]) -> list[str]:
    """What a person should know about where the marks come from."""
    return [remark for each in assignments for remark in each.remarks]


def _handed_in_nothing(assignments: Sequence[Assignment], roster: Roster | None) -> Iterator[str]:
    """For each assignment, how many of the class have no points because they handed in nothing."""
    handed_in = {each.name: {mark.student for mark in each.marks} for each in assignments}
    everybody = set().union(*handed_in.values(), roster or ())
    for name, students in handed_in.items():
        if absent := sorted(everybody - students):
            yield (
                f"{name}: {len(absent)} of {len(everybody)} handed in nothing and get no points, "
                f"which is not 0: {list_names(absent)}"
            )


def _marks_to_review(assignments: Sequence[Assignment]) -> Iterator[str]:
    for reason, (what, advice) in _LOOK_AGAIN.items():
        found = [
            f"{mark.student}, {item.id}"
            for each in assignments
            for mark in each.marks
            for item in mark.items
            if item.review == reason
        ]
        if found:
            yield f"{len(found)} {what}: {list_names(found)}. {advice}"


def _write_gradescope(assignments: Sequence[Assignment], folder: Path) -> Path:
    if folder.is_file():
        raise CourseError(
            f"expected a folder at {folder} for a results.json for each student, got a file: name "
            "another with --output"
        )
    for assignment in assignments:
        for mark in assignment.marks:
            path = below(folder, assignment.name, _folder_name(mark.student), "results.json")
            write_atomically(path, gradescope_json(mark))
    return folder


def _folder_name(student: str) -> str:
    """A student's name as that of a folder on every system; different names stay different."""
    plain = re.sub(r"[^\w.@ -]", "_", student)[:80].strip(". ")
    if plain == student:
        return plain
    return f"{plain}-{hashlib.sha256(student.encode()).hexdigest()[:8]}"
