"""What a regrade changes: points that were stored, and what they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path

from course_lib.atomic import below
from course_lib.errors import CourseError
from course_lib.grading.results import SubmissionResult, aligned, shown_points, shown_text
from course_lib.grading.safe_csv import Rows, csv_text

CHANGES_FILE = "changes.csv"
_COLUMNS = ("time", "student", "item", "before", "before_points", "after", "after_points")
_MOST_NAME = 32  # characters of a name in the table


@dataclass(frozen=True, kw_only=True)
class Change:
    """An item whose points are no longer what they were; None for points that are not known.

    ``before`` and ``after`` are its status, or that the submission could not be read.
    """

    student: str
    item: str
    before: str
    before_points: float | None
    after: str
    after_points: float | None


def changes_between(before: SubmissionResult | None, after: SubmissionResult) -> list[Change]:
    """The items whose points changed, in the order of the exercise; none for a first result."""
    if before is None:
        return []
    old = {item.id: (item.status, item.points) for item in before.items}
    new = {item.id: (item.status, item.points) for item in after.items}
    unread = ("could not be read", None)
    changes = []
    for item in {**new, **old}:
        status_before, points_before = old.get(item, unread)
        status_after, points_after = new.get(item, unread)
        if points_before != points_after:
            changes.append(
                Change(
                    student=after.student,
                    item=item,
                    before=status_before,
                    before_points=points_before,
                    after=status_after,
                    after_points=points_after,
                )
            )
    return changes


def append_changes(folder: Path, changes: Sequence[Change]) -> None:
    """Add changes to the list of all changes of an assignment, so that none is lost.

    Raises:
        CourseError: it can't be written.
    """
    path = below(folder, CHANGES_FILE)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rows: Rows = [[now, *astuple(change)] for change in changes]
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(csv_text([*([_COLUMNS] if file.tell() == 0 else []), *rows]))
    except OSError as error:
        raise CourseError(
            f"could not add the changed points to {path} ({error}): is it open in a spreadsheet, "
            "or the disk full? the results are as they were"
        ) from None


def changes_summary(changes: Sequence[Change], folder: Path, *, preview: bool) -> str:
    """What a regrade changed, or would change, and where the results are."""
    students = len({change.student for change in changes})
    marks = f"{len(changes)} earlier mark{'s' * (len(changes) != 1)}"
    count = f"{marks} of {students} student{'s' * (students != 1)}"
    if preview:
        if not changes:
            return "No earlier points would change. Nothing was written."
        told = f"Without --diff, {count} would change. Nothing was written."
        return f"{changes_table(changes)}\n\n{told}"
    written = f"The results are in {folder}."
    if not changes:
        return written
    return f"{written}\nChanged: {count}; what they were is in {folder / CHANGES_FILE}."


def changes_table(changes: Sequence[Change]) -> str:
    """A row for each change: student, item, before → after, and the difference of the points."""
    rows = [
        (
            shown_text(each.student, _MOST_NAME),
            each.item,
            f"{each.before} {shown_points(each.before_points)}",
            f"→ {each.after} {shown_points(each.after_points)}",
            _difference(each),
        )
        for each in changes
    ]
    return "\n".join(aligned(rows))


def _difference(change: Change) -> str:
    if change.before_points is None or change.after_points is None:
        return ""
    return f"{change.after_points - change.before_points:+g}"
