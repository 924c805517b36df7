"""How a class did on each item: how many passed, and whether the item tells who knows the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.grading.marks.class_marks import Assignment, ItemMark, Mark

FEWEST = 20  # students; of fewer, a correlation says next to nothing
_EQUAL = 1e-9  # of points: 1.2 - 1 is not quite 0.2
_Z = 1.96  # 95 % of a normal distribution


@dataclass(frozen=True, kw_only=True)
class ItemStatistics:
    """An item in a class.

    Attributes:
        id, title, most: of the item.
        passed: the students with all its points.
        known: the students whose points are known.
        low, high: the 95 % confidence interval of the share that passed (Wilson's).
        discrimination: the correlation of its points with the points of the rest of the
            assignment, which is the point-biserial one where there are all points or none; or None.
        undefined: why there is no discrimination, "" if there is one.
        lines_found, lines_missed: spot the bug: who named the wrong line, and who another or none.
        waiting: the students whose answer a person has to mark.
    """

    id: str
    title: str
    most: float
    passed: int
    known: int
    low: float
    high: float
    discrimination: float | None
    undefined: str = ""
    lines_found: int = 0
    lines_missed: int = 0
    waiting: int = 0

    @property
    def share(self) -> float | None:
        """The share that passed, of those whose points are known."""
        return self.passed / self.known if self.known else None

    @property
    def nobody(self) -> bool:
        """Whether nobody passed, and no answer that was read is still to be marked."""
        return self.known > 0 and self.passed == self.waiting == 0


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """A misconception of an item, and the students in whose work it was recognised."""

    item: str
    misconception: str
    students: tuple[str, ...]


def item_statistics(assignment: Assignment) -> list[ItemStatistics]:
    """The statistics of each item, in the order of the exercise."""
    ids = list(dict.fromkeys(item.id for mark in assignment.marks for item in mark.items))
    return [_statistics(item_id, assignment.marks) for item_id in ids]


def _statistics(item_id: str, marks: Sequence[Mark]) -> ItemStatistics:
    found = [(mark, item) for mark in marks for item in mark.items if item.id == item_id]
    known = [item for _, item in found if item.points is not None]
    passed = sum(bool(item.passed) for item in known)
    low, high = wilson_interval(passed, len(known))
    # A submission counts where every point of it is known: a sum with gaps is no total.
    complete = [
        (item.points or 0.0, mark.points) for mark, item in found if mark.points is not None
    ]
    discrimination, undefined = correlation_with_rest(complete)
    lines = Counter(item.result.line_found for _, item in found if item.result)
    first: ItemMark = found[0][1]
    return ItemStatistics(
        id=item_id,
        title=first.title,
        most=first.most,
        passed=passed,
        known=len(known),
        low=low,
        high=high,
        discrimination=discrimination,
        undefined=undefined,
        lines_found=lines[True],
        lines_missed=lines[False],
        waiting=sum(item.points is None and item.result is not None for _, item in found),
    )


def wilson_interval(passed: int, known: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share; (0, 1) if nothing is known.

    E. B. Wilson (1927), https://doi.org/10.1080/01621459.1927.10502953; unlike the usual one it
    stays within 0 and 1 and is right for few students.
    """
    if known == 0:
        return 0.0, 1.0
    share, weight = passed / known, _Z**2 / known
    middle = (share + weight / 2) / (1 + weight)
    half = _Z / (1 + weight) * math.sqrt(share * (1 - share) / known + weight / (4 * known))
    return max(0.0, middle - half), min(1.0, middle + half)


def correlation_with_rest(points: Sequence[tuple[float, float]]) -> tuple[float | None, str]:
    """The correlation of an item's points with the rest of the points, or None and why not.

    Args:
        points: for each student, those of the item and those of the whole assignment.
    """
    if len(points) < FEWEST:
        return None, f"needs {FEWEST} students with all points known, there are {len(points)}"
    item = np.array([own for own, _ in points])
    rest = np.array([total - own for own, total in points])
    if item.std() < _EQUAL:
        return None, "all have the same points for it"
    if rest.std() < _EQUAL:
        return None, "all have the same points for the rest"
    return float(np.corrcoef(item, rest)[0, 1]), ""


def count_confusions(assignment: Assignment) -> list[Confusion]:
    """The misconceptions that were recognised, the most frequent of all items first."""
    who: dict[tuple[str, str], list[str]] = {}
    for mark in assignment.marks:
        for item in mark.items:
            for name in item.result.misconceptions if item.result else ():
                who.setdefault((item.id, name), []).append(mark.student)
    found = [
        Confusion(item=item, misconception=name, students=tuple(students))
        for (item, name), students in who.items()
    ]
    return sorted(found, key=lambda each: (-len(each.students), each.item, each.misconception))
