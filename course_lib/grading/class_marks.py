"""The marks of a class: stored results, and over them the marks that a person gave.

A person's marks are a CSV file with the columns student, item and points, by default marks.csv
beside the results of the assignment. A person's mark wins over the automatic one; where points is
empty, nothing was decided yet. A column answer_id, as in the report's list of what is to be marked,
tells whether the answer is still the one that was marked. Other columns are ignored.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from course_lib.checks.table import TABLE, TOPICS
from course_lib.errors import CourseError
from course_lib.grading.results import ItemResult, SubmissionResult
from course_lib.grading.safe_csv import read_csv

MARKS_FILE = "marks.csv"
ANSWER_CHANGED = "the answer has changed since a person marked it"
_MOST_NAMED = 10  # in an error message
Given = Mapping[tuple[str, str], "GivenMark"]  # by student and item id


@dataclass(frozen=True)
class GivenMark:
    """A person's mark; ``answer_id`` is that of the answer which was marked, "" if not stated."""

    points: float
    answer_id: str = ""


def answer_id(answer: str) -> str:
    """A short name of an answer in words, another one for each text; "" for no answer."""
    return "a" + hashlib.sha256(answer.encode()).hexdigest()[:12] if answer else ""


@dataclass(frozen=True)
class ItemMark:
    """What an item of a submission earned; ``points`` is None while a person has to decide.

    ``result`` is what grading found, or None if the submission could not be read;
    ``answer_changed`` says that a person marked another answer than the one that is there now.
    """

    id: str
    title: str
    most: float
    points: float | None
    by_person: bool = False
    result: ItemResult | None = None
    answer_changed: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """What a person should look at."""
        found = self.result.flags if self.result else ()
        return (*found, ANSWER_CHANGED) if self.answer_changed else found

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
        known = [item.points for item in self.items if item.points is not None]
        return sum(known) if len(known) == len(self.items) else None

    @property
    def most(self) -> float:
        """The points that can be earned, answers in words included."""
        return sum(item.most for item in self.items)

    @property
    def waits_for(self) -> str:
        """What a person has to do before the points are known; "" for nothing."""
        open_items = [item for item in self.items if item.points is None]
        if not open_items:
            return ""
        if not self.result.readable:
            return "could not be read"
        unrun = [item.id for item in open_items if item.result and item.result.reason]
        unmarked = [item.id for item in open_items if item.id not in unrun]
        parts = [("not run", unrun), ("to be marked", unmarked)]
        return "; ".join(f"{what}: {', '.join(ids)}" for what, ids in parts if ids)


@dataclass(frozen=True)
class Assignment:
    """A class's marks in an assignment, sorted by student."""

    name: str
    marks: tuple[Mark, ...]

    @property
    def most(self) -> float:
        """The points that can be earned."""
        return self.marks[0].most

    @property
    def waiting(self) -> tuple[Mark, ...]:
        """The submissions that need a person before their points are known."""
        return tuple(mark for mark in self.marks if mark.waits_for)


def load_class(
    results: Path, names: Sequence[str] = (), *, marks: Path | None = None
) -> list[Assignment]:
    """The marks of a class.

    Args:
        results: the folder into which ``course grade`` wrote.
        names: of assignments, by default all of the course that have results there.
        marks: a file with a person's marks, instead of the one beside each assignment's results.

    Raises:
        CourseError: there are no results, one can't be read, or the marks don't fit.
    """
    known = [f"{number}_{topic}" for number, topic in TOPICS.items()]
    found = [name for name in names or known if any((results / name).glob("*.json"))]
    if missing := [name for name in names if name not in found] or ([] if found else [""]):
        raise CourseError(
            f"expected results in {results / missing[0]}, got none: grade first, with "
            f"`course grade incoming --assignment {missing[0] or 'NAME'} --results {results}`"
        )
    loaded = {name: load_results(results / name) for name in found}
    if marks is None:
        given = {name: _given_beside(results / name, each) for name, each in loaded.items()}
    else:  # it may be about all assignments, even if only some are asked for
        others = [name for name in known if name not in found]
        everybody = [*loaded.values(), *(load_results(results / name) for name in others)]
        given = dict.fromkeys(found, read_marks(marks, [r for each in everybody for r in each]))
    return [assignment_of(name, each, given[name]) for name, each in loaded.items()]


def _given_beside(folder: Path, results: Sequence[SubmissionResult]) -> Given:
    path = folder / MARKS_FILE
    return read_marks(path, results, assignment=folder.name) if path.exists() else {}


def load_results(folder: Path) -> list[SubmissionResult]:
    """The stored results in the folder of an assignment, sorted by student.

    Raises:
        CourseError: one can't be read.
    """
    results = []
    for path in sorted(folder.glob("*.json")):
        try:
            result = SubmissionResult.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, CourseError) as error:
            raise CourseError(f"could not read the result {path}: {error}") from None
        # In a roster or in marks, nobody sees a space at the end of a name.
        results.append(replace(result, student=result.student.strip()))
    return sorted(results, key=lambda result: result.student)


def read_marks(
    path: Path, results: Iterable[SubmissionResult], *, assignment: str = ""
) -> dict[tuple[str, str], GivenMark]:
    """The marks that a person gave, by student and item id.

    Args:
        path: a CSV file.
        results: those of everybody that it may be about.
        assignment: rows that name another one in a column ``assignment`` are passed over.

    Raises:
        CourseError: the file can't be read; or a student, an item or a number is not possible, or
            is there twice: the message names each.
    """
    items = {
        (result.student, item.id): item.most
        for result in results
        for item in _items_of(result.assignment, result.items)
    }
    students = {student for student, _ in items}
    given: dict[tuple[str, str], GivenMark] = {}
    wrong = []
    for row in read_csv(path, ("student", "item", "points")):
        student, item, text = row["student"], row["item"], row["points"]
        if not text or (assignment and row.get("assignment", assignment) not in ("", assignment)):
            continue
        points, most = _number(text), items.get((student, item), 0.0)
        if student not in students:
            wrong.append(f"{student!r} handed in nothing")
        elif (student, item) not in items:
            wrong.append(f"{item!r} is no item of what {student!r} handed in")
        elif points is None or not 0 <= points <= most:
            wrong.append(f"{text!r} for {item} of {student!r} is no number from 0 to {most:g}")
        elif (student, item) in given:
            wrong.append(f"{item} of {student!r} is there twice")
        else:
            given[student, item] = GivenMark(points, row.get("answer_id", ""))
    if wrong:
        raise CourseError(
            f"expected a student's folder name, an item and its points in each row of {path}, got: "
            f"{named(wrong)}. Correct these rows"
        )
    return given


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def named(names: Sequence[str]) -> str:
    """Names for a message, of which there may be hundreds."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return "; ".join(name[:200] for name in names[:_MOST_NAMED]) + more


def assignment_of(
    name: str, results: Sequence[SubmissionResult], given: Given | None = None
) -> Assignment:
    """The marks of an assignment from its results and a person's marks."""
    return Assignment(name, tuple(_mark(result, given or {}) for result in results))


def _mark(result: SubmissionResult, given: Given) -> Mark:
    items = []
    for item in _items_of(result.assignment, result.items):
        mark, now = given.get((result.student, item.id)), answer_id(item.text)
        items.append(
            ItemMark(
                item.id,
                item.title,
                item.most,
                points=mark.points if mark else item.points,
                by_person=mark is not None,
                result=item if result.readable else None,
                answer_changed=mark is not None and mark.answer_id not in ("", now),
            )
        )
    return Mark(result, tuple(items))


def _items_of(assignment: str, items: Sequence[ItemResult]) -> Sequence[ItemResult]:
    """The items of a result; of one that could not be read, those of the course."""
    return items or [
        ItemResult(entry.id, entry.title, "not run", None, entry.points)
        for entry in TABLE.values()
        if entry.id.split(".")[0] == assignment.split("_")[0]
    ]
