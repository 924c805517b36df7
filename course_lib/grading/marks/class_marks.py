"""The marks of a class: stored results, and over them the marks that a person gave.

A person's mark wins over the automatic one. It stands in a CSV file, by default one beside the
results of the assignment whose name begins with marks, or was given in nbgrader's formgrader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from course_lib.checks.table import TOPICS
from course_lib.errors import CourseError
from course_lib.grading.class_run.regrade_changes import CHANGES_FILE
from course_lib.grading.marks.formgrader_marks import read_formgrader
from course_lib.grading.marks.given_marks import (
    MARKS_FILES,
    NOT_RUN,
    GivenMark,
    GivenMarks,
    list_items,
    marked_id,
    merge_marks,
    read_line,
    read_marks,
    read_marks_beside,
)
from course_lib.grading.results import ItemResult, SubmissionResult, clean_name
from course_lib.grading.safe_csv import read_csv
from course_lib.grading.submissions.own_numbers import flag_same_numbers

ANSWER_CHANGED = "the answer has changed since a person marked it"
POINTS_CHANGED = f"its automatic points changed ({CHANGES_FILE}), and its mark has no answer_id"


@dataclass(frozen=True, kw_only=True)
class ItemMark:
    """What an item of a submission earned; ``points`` is None while a person has to decide.

    ``result`` is what grading found, or None if the submission could not be read; ``review`` says
    why a person should look at their mark again, such as another answer since; "" for no reason.
    """

    id: str
    title: str
    most: float
    points: float | None
    by_person: bool = False
    result: ItemResult | None = None
    review: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """What a person should look at."""
        found = self.result.flags if self.result else ()
        if self.result and self.review == POINTS_CHANGED:
            present = marked_id(self.result, readable=True)
            return (*found, f"{self.review}; if it is of the present answer, that is {present}")
        return (*found, self.review) if self.review else found

    @property
    def is_written(self) -> bool:
        """Whether it is an answer in words, as far as the result tells."""
        return self.result is not None and self.result.status in ("to be marked", "no answer")

    @property
    def passed(self) -> bool | None:
        """Whether it earned all its points; None while that is not known."""
        return None if self.points is None else self.points >= self.most


@dataclass(frozen=True)
class Mark:
    """A student's marks in an assignment, and the result that they come from."""

    result: SubmissionResult
    items: tuple[ItemMark, ...]

    @property
    def student(self) -> str:
        """Whose it is."""
        return self.result.student

    @property
    def points(self) -> float | None:
        """All points; None while a person has to decide about some."""
        return None if self.open_items else self.so_far[0]

    @property
    def most(self) -> float:
        """The points that can be earned, answers in words included."""
        return sum(item.most for item in self.items)

    @property
    def open_items(self) -> list[ItemMark]:
        """The items whose points a person has to give."""
        return [item for item in self.items if item.points is None]

    @property
    def so_far(self) -> tuple[float, float]:
        """The points of the items that are known, and how many these can earn."""
        known = [(item.points, item.most) for item in self.items if item.points is not None]
        return sum(points for points, _ in known), sum(most for _, most in known)

    @property
    def automatic(self) -> float | None:
        """The points without those of answers in words; None while one of them is not known."""
        items = [item for item in self.items if not item.is_written]
        points = [item.points for item in items if item.points is not None]
        return sum(points) if len(points) == len(items) else None

    @property
    def waits_for(self) -> str:
        """What a person has to do before the points are known; "" for nothing."""
        if not self.open_items:
            return ""
        if not self.result.readable:
            return "could not be read"
        unrun = [item.id for item in self.open_items if item.result and item.result.reason]
        unmarked = [item.id for item in self.open_items if item.id not in unrun]
        parts = [("not run", unrun), ("to be marked", unmarked)]
        return "; ".join(f"{what}: {', '.join(ids)}" for what, ids in parts if ids)


class Distribution(NamedTuple):
    """The points that a class's pictures show: of everybody whose points are known; or, as long as
    answers in words are still to be marked, the automatic points alone, which more students have.
    """

    of_marks: tuple[tuple[Mark, float], ...]
    most: float
    automatic: bool

    @property
    def points(self) -> list[float]:
        """The points without whose they are."""
        return [points for _, points in self.of_marks]


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A class's marks in an assignment, sorted by student.

    ``remarks`` say which marks were read from files and nbgrader's gradebook, and what was not.
    """

    name: str
    marks: tuple[Mark, ...]
    remarks: tuple[str, ...] = ()

    @property
    def most(self) -> float:
        """The points that can be earned."""
        return self.marks[0].most

    @property
    def distribution(self) -> Distribution:
        """The points of the class, in its pictures."""
        whole = [(mark, mark.points) for mark in self.marks]
        alone = [(mark, mark.automatic) for mark in self.marks]
        known, graded = (
            tuple((mark, points) for mark, points in each if points is not None)
            for each in (whole, alone)
        )
        if len(graded) <= len(known):
            return Distribution(known, self.most, automatic=False)
        items = graded[0][0].items
        most = sum(item.most for item in items if not item.is_written)
        return Distribution(graded, most, automatic=True)

    @property
    def waiting(self) -> tuple[Mark, ...]:
        """The submissions that need a person before their points are known."""
        return tuple(mark for mark in self.marks if mark.waits_for)


def load_class(
    results: Path,
    names: Sequence[str] = (),
    *,
    marks: Path | None = None,
    gradebook: Path | None = None,
) -> list[Assignment]:
    """The marks of a class.

    Args:
        results: the folder into which ``course grade`` wrote.
        names: of assignments, by default all of the course that have results there.
        marks: a file with a person's marks, instead of those beside each assignment's results.
        gradebook: nbgrader's course folder, instead of the one that the results were put into.

    Raises:
        CourseError: there are no results, one can't be read, or the marks don't fit.
    """
    known = [f"{number}_{topic}" for number, topic in TOPICS.items()]
    found = [name for name in names or known if any((results / name).glob("*.json"))]
    if results.name in known and any(results.glob("*.json")):
        raise CourseError(
            f"expected the folder of all results, got {results}, which holds those of one "
            f"assignment: {results.parent} is meant"
        )
    if missing := [name for name in names if name not in found] or ([] if found else [""]):
        raise CourseError(
            f"expected results in {results / missing[0]}, got none: grade first, with "
            f"`course grade incoming --assignment {missing[0] or 'NAME'} --results {results}`"
        )
    loaded = {name: flag_same_numbers(load_results(results / name)) for name in found}
    if marks is None:
        given = {name: read_marks_beside(results / name, each) for name, each in loaded.items()}
    else:  # it may be about all assignments, even if only some are asked for
        others = [name for name in known if name not in found]
        everybody = [*loaded.values(), *(load_results(results / name) for name in others)]
        of_all = read_marks(marks, [r for each in everybody for r in each])
        given = {name: (of_all, []) for name in found}
        given[found[0]] = of_all, [read_line(marks, of_all)]  # once for all
    assignments = []
    for name, each in loaded.items():
        in_files, read = given[name]
        doubted = _with_changed_points(in_files, results / name / CHANGES_FILE)
        by_hand, remarks = read_formgrader(results / name, each, course=gradebook)
        all_given = merge_marks(doubted, by_hand, path=marks or results / name / MARKS_FILES)
        assignments.append(mark_assignment(name, each, given=all_given, remarks=[*read, *remarks]))
    return assignments


def _with_changed_points(given: GivenMarks, changes: Path) -> GivenMarks:
    """The marks, with those to be reviewed that may be of an answer before a regrade."""
    if not changes.exists():
        return given
    rows = read_csv(changes, ("student", "item"))
    changed = {(clean_name(row["student"]), row["item"]) for row in rows}
    return {
        key: replace(mark, review=POINTS_CHANGED) if key in changed and not mark.answer_id else mark
        for key, mark in given.items()
    }


def load_results(folder: Path) -> list[SubmissionResult]:
    """The stored results in the folder of an assignment, sorted by student.

    Raises:
        CourseError: one can't be read, or two have the same student.
    """
    results: dict[str, SubmissionResult] = {}
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            result = SubmissionResult.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, CourseError) as error:
            raise CourseError(f"could not read the result {path}: {error}") from None
        name = clean_name(result.student)
        if name in results:
            raise CourseError(
                f"expected one result for each student in {folder}, got two for {name!r}: "
                f"{files[name].name!r} and {path.name!r}. Are there two folders whose names look "
                "the same? Rename one, or put all the work into one; then delete both results and "
                "grade again"
            )
        results[name], files[name] = replace(result, student=name), path
    return [results[name] for name in sorted(results)]


def mark_assignment(
    name: str,
    results: Sequence[SubmissionResult],
    *,
    given: GivenMarks | None = None,
    remarks: Sequence[str] = (),
) -> Assignment:
    """The marks of an assignment from its results and a person's marks."""
    return Assignment(
        name=name,
        marks=tuple(_mark(result, given or {}) for result in results),
        remarks=tuple(remarks),
    )


def _mark(result: SubmissionResult, given: GivenMarks) -> Mark:
    items = []
    for item in list_items(result):
        mark = given.get((result.student, item.id))
        items.append(
            ItemMark(
                id=item.id,
                title=item.title,
                most=item.most,
                points=mark.points if mark else item.points,
                by_person=mark is not None,
                result=item if result.readable else None,
                review=_review(mark, marked_id(item, readable=result.readable)) if mark else "",
            )
        )
    return Mark(result, tuple(items))


def _review(mark: GivenMark, present: str) -> str:
    before = mark.answer_id == NOT_RUN and present.startswith(NOT_RUN)  # ids had no code in them
    if mark.answer_id not in ("", present) and not before:
        return ANSWER_CHANGED
    return mark.review
