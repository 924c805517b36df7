"""How each student stands over all assignments of a report, and who may need help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.grading.marks.class_marks import Assignment, ItemMark, Mark

ENOUGH = 0.5  # of the known points, and of the assignments; whoever has less may need help


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A student in a class.

    Attributes:
        student: the name.
        marks: in each assignment; None where nothing was handed in.
        missing: the assignments for which nothing was handed in.
    """

    student: str
    marks: tuple[Mark | None, ...]
    missing: tuple[str, ...]

    @property
    def so_far(self) -> tuple[float, float]:
        """The points that are known, and how many these can be; of what was handed in."""
        known = [mark.so_far for mark in self.marks if mark]
        return sum(points for points, _ in known), sum(most for _, most in known)

    @property
    def share(self) -> float | None:
        """Of the points that are known; None if none is."""
        points, most = self.so_far
        return points / most if most else None

    @property
    def needs_help(self) -> bool:
        """Whether it is less than half of the known points, or of the assignments."""
        few = self.share is not None and self.share < ENOUGH
        return few or len(self.missing) > ENOUGH * len(self.marks)

    @property
    def not_started(self) -> int:
        """The items that were handed in as they were handed out."""
        return sum(i.result.status in ("not started", "no answer") for i in self._items if i.result)

    @property
    def misconceptions(self) -> int:
        """How many were recognised in the student's work."""
        return sum(len(item.result.misconceptions) for item in self._items if item.result)

    @property
    def _items(self) -> list[ItemMark]:
        return [item for mark in self.marks if mark for item in mark.items]


def class_standings(assignments: Sequence[Assignment]) -> list[Standing]:
    """Everybody who handed in anything, by name."""
    by_student: dict[str, dict[str, Mark]] = {}
    for assignment in assignments:
        for mark in assignment.marks:
            by_student.setdefault(mark.student, {})[assignment.name] = mark
    return [
        Standing(
            student=student,
            marks=tuple(marks.get(each.name) for each in assignments),
            missing=tuple(each.name for each in assignments if each.name not in marks),
        )
        for student, marks in sorted(by_student.items())
    ]


def who_may_need_help(standings: Sequence[Standing]) -> list[Standing]:
    """Those who have less than half, the least share first."""
    return sorted(
        (each for each in standings if each.needs_help),
        key=lambda each: (each.share or 0.0, -len(each.missing), each.student),
    )
