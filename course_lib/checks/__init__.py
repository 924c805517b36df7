"""Check a learner's answer to an exercise: `check("06.padding_mask", padding_mask)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, cast

from course_lib.checks.conventions import under_conventions
from course_lib.checks.diagnosis.diagnose import SEED, diagnose, passes
from course_lib.checks.engine.compare import short
from course_lib.checks.engine.item import Item
from course_lib.checks.items.cases import Versions
from course_lib.checks.items.experiment import BlackBox
from course_lib.checks.items.hidden import in_an_answer, number_problem
from course_lib.checks.items.own_number import NumberedRun, Outcome
from course_lib.checks.progress import (
    FORMER_IDS,
    REMOVED_IDS,
    Progress,
    note_checked,
    under_nbgrader,
)
from course_lib.checks.report.course_parts import judge_with_course_parts
from course_lib.checks.report.earlier_answer import blame_earlier_answer
from course_lib.checks.report.feedback import Report
from course_lib.checks.report.own_work import refuse_borrowed_answer
from course_lib.checks.table import OWN_NUMBER, TABLE, TOPICS, ItemKind
from course_lib.checks.written_answer import compare_answer
from course_lib.errors import CourseError
from course_lib.wording import did_you_mean

MOST_SEED = 2**63
__all__ = [
    "TABLE",
    "NotPassed",
    "Progress",
    "black_box",
    "check",
    "compare_answer",
    "load_item",
    "load_items",
    "make_run",
    "versions",
]


class NotPassed(CourseError):
    """What nbgrader needs of a check that is not passed: it gives all points to a cell that ends
    without an error. A learner's own notebook never sees it.
    """


def load_items(lesson: str) -> dict[str, Item]:
    """The items of a lesson, "06", whose answers are code, by id.

    Raises:
        CourseError: there is no such lesson.
    """
    if lesson not in TOPICS:
        raise CourseError(f"lesson must be one of {', '.join(TOPICS)}, got {lesson!r}")
    entries = [entry for entry in TABLE.values() if entry.id.startswith(f"{lesson}.")]
    return {entry.id: load_item(entry.id) for entry in entries if entry.is_code}


def load_item(item_id: str, conventions: Sequence[str] = ()) -> Item:
    """The item of that id, "06.padding_mask", under conventions other than the course's.

    Raises:
        CourseError: there is no such item, it was removed or has a new id, a person marks it, or it
            doesn't take these conventions.
    """
    if conventions:
        return _variant(item_id, tuple(conventions))
    if item_id in FORMER_IDS:
        raise CourseError(
            f"{item_id} is now called {FORMER_IDS[item_id]}: your notebook is of an earlier "
            "version of the course, so write the new name"
        )
    if item_id in REMOVED_IDS:
        raise CourseError(
            f"{item_id} is no longer an item of this course: your notebook is of an earlier "
            "version, and `course update` brings the newer exercise"
        )
    entry = TABLE.get(item_id)
    if entry is None:
        lesson = str(item_id).split(".")[0]
        known = ", ".join(i for i in TABLE if i.startswith(lesson)) or ", ".join(TOPICS)
        close = did_you_mean(str(item_id), TABLE)
        raise CourseError(
            f"item must be one of {known}, got {item_id!r}{close or ': is it misspelt?'}"
        )
    if entry.kind == "written":
        raise CourseError(
            f"expected an item that is checked automatically, got {item_id!r}: a person marks it. "
            f'To mark it yourself beside a model answer: compare_answer("{item_id}")'
        )
    return cast(Item, _module(item_id).item)


def _module(item_id: str) -> Any:
    lesson, name = item_id.split(".")
    return import_module(f"course_lib.checks.items.{TOPICS[lesson]}.{name}")


def versions(item_id: str) -> dict[str, Callable[..., Any]]:
    """The versions of a function that an item such as "06.cases" asks for tests of, by letter.

    Raises:
        CourseError: there is no such item, or it asks for something else.
    """
    return cast(
        Versions, _module_of(item_id, ["cases"], "asks for test cases").versions
    ).by_letter()


def black_box(item_id: str, *, number: int) -> Callable[..., Any]:
    """The function whose error an item such as "12.experiment" asks for.

    Args:
        item_id: lesson and name.
        number: a whole number of your own, which decides the error.

    Raises:
        CourseError: there is no such item, it asks for something else, or the number is none.
    """
    return cast(BlackBox, _module_of(item_id, ["experiment"], "is an experiment").box).box(number)


def make_run(item_id: str, *, number: int) -> Outcome:
    """The run that an item such as "04.predict" asks about: shown, and with values to compute with.

    Args:
        item_id: lesson and name.
        number: a whole number of your own, which decides what runs.

    Raises:
        CourseError: there is no such item, it asks for something else, the number is none, or an
            answer calls this.
    """
    if in_an_answer():
        raise CourseError(
            "expected numbers and letters that you have read off a run, and the answer makes a run "
            "itself, which it cannot when it is graded: write what you found"
        )
    run = cast(NumberedRun[Any], _module_of(item_id, OWN_NUMBER, "asks about a run").run)
    if problem := number_problem(number):
        raise CourseError(problem)
    return run.show(run.run(number))


def _module_of(item_id: str, kinds: Sequence[ItemKind], says: str) -> Any:
    load_item(item_id)  # which says what is wrong with the id
    if TABLE[item_id].kind not in kinds:
        known = ", ".join(entry.id for entry in TABLE.values() if entry.kind in kinds)
        raise CourseError(f"expected an item that {says} ({known}), got {item_id!r}")
    return _module(item_id)


@cache  # so that the reference's answers to a variant's calls are computed once
def _variant(item_id: str, conventions: tuple[str, ...]) -> Item:
    return under_conventions(load_item(item_id), conventions)


def check(
    item_id: str,
    subject: Any,
    line: Callable[[], int] | int | None = None,
    *,
    seed: int = SEED,
    conventions: Sequence[str] = (),
) -> Report:
    """Run an item's tests on a learner's code, and report the result.

    Args:
        item_id: lesson and name, "06.padding_mask".
        subject: their function or class.
        line: for a spot-the-bug item, the wrong line's number or their function that returns it.
        seed: of the random test inputs.
        conventions: the names of those by which the item differs from the course's, as in the
            notebook of a class.

    Raises:
        CourseError: there is no such item, it doesn't take these conventions, or the subject is not
            a function or class.
        NotPassed: nbgrader grades or validates the notebook, and not all tests pass.
    """
    if not isinstance(item_id, str):
        raise CourseError(
            f'expected an item\'s id first, such as "06.padding_mask", got {short(item_id)}: '
            "are the arguments in another order?"
        )
    if not isinstance(seed, int) or not 0 <= seed < MOST_SEED:
        raise CourseError(f"seed must be an integer from 0 to 2⁶³ - 1, got {short(seed)}")
    if not callable(subject):
        raise CourseError(
            f"expected your function or class, got {short(subject)}: pass it without calling it, "
            f'as in check("{item_id}", {item_id.split(".")[-1]})'
        )
    item = load_item(item_id, conventions)

    diagnosis = judge_with_course_parts(
        diagnose(item, subject, line=line, seed=seed),
        lambda: passes(item, subject, line=line, seed=seed),
        again=lambda: diagnose(item, subject, line=line, seed=seed),
        load_item=load_item,
    )
    diagnosis = blame_earlier_answer(diagnosis, load_item)
    report = Report(refuse_borrowed_answer(diagnosis))
    if report.diagnosis.status != "not started":
        note_checked(item_id, passed=report.passed)
    if not report.passed and under_nbgrader():
        raise NotPassed(str(report))
    return report
