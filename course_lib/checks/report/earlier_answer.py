"""A wrong answer may be right, and use an earlier one of the same notebook that isn't."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

from course_lib.checks.diagnosis.diagnose import SEED, Diagnosis, attempt, limited_together
from course_lib.checks.diagnosis.observation import Observation
from course_lib.checks.diagnosis.trial import AskLearner, Trial, try_probe
from course_lib.checks.engine.call import ask
from course_lib.checks.engine.isolation import usual_defaults
from course_lib.checks.engine.item import Item
from course_lib.checks.report.cell_history import conventions_of_check
from course_lib.checks.table import TABLE
from course_lib.errors import CourseError

SECONDS = 2.0  # of each call of an earlier answer
SECONDS_IN_ALL = 10.0  # of all these calls
_LOOK_UP = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
LoadItem = Callable[[str, Sequence[str]], Item]


@usual_defaults()
def blame_earlier_answer(diagnosis: Diagnosis, load_item: LoadItem) -> Diagnosis:
    """The diagnosis; or, if the code uses an earlier answer of the notebook that fails its own
    tests, what that one is, in place of what the results would say of this one.
    """
    if diagnosis.status != "not yet" or not diagnosis.failed or diagnosis.failed[0].stop:
        return diagnosis
    told = attempt(lambda: _find_wrong_one(diagnosis, load_item))
    if told is None:
        return diagnosis
    return replace(diagnosis, misconceptions=(), first_step=None, observation=told)


def _find_wrong_one(diagnosis: Diagnosis, load_item: LoadItem) -> Observation | None:
    """What to tell of the first earlier answer that the code uses and that fails a test."""
    used = _names_used(diagnosis.subject)
    limited = limited_together(ask, in_all=SECONDS_IN_ALL)
    for item_id in _earlier(diagnosis.item.id):
        for name in names_of_answer(item_id):
            if name not in used:
                continue
            item = _load_as_checked(item_id, load_item, diagnosis=diagnosis)
            trial = item and _first_failed(item, used[name], ask_learner=limited)
            if trial:
                own = str(getattr(diagnosis.subject, "__name__", ""))
                user = own if own.isidentifier() else "this answer"
                return _describe(trial, earlier=f"{name} ({item_id})", user=user)
    return None


def _describe(trial: Trial, *, earlier: str, user: str) -> Observation:
    state, do = ("written", "write") if trial.unwritten else ("right", "check")
    return Observation(
        "earlier_answer",
        f"Your {earlier} isn't {state} yet, and {user} uses it: {do} that one first.",
        meaning="What is wrong here may follow from it.",
    )


def _earlier(item_id: str) -> Iterator[str]:
    """The lesson's items before this one that ask for code."""
    for entry in TABLE.values():
        if entry.id == item_id:
            return
        if entry.id[:2] == item_id[:2] and entry.kind == "code":
            yield entry.id


def names_of_answer(item_id: str) -> tuple[str, str]:
    """What its function or class is called, "causal_mask" or "CausalMask"."""
    name = item_id.split(".")[1]
    return name, name.title().replace("_", "")


def _load_as_checked(item_id: str, load_item: LoadItem, *, diagnosis: Diagnosis) -> Item | None:
    """An item under the conventions with which it is checked here; None if they aren't known, as
    where no cell has checked it, and this check has conventions.
    """
    conventions = conventions_of_check(item_id, if_none=None if diagnosis.item.conventions else ())
    try:
        return None if conventions is None else load_item(item_id, conventions)
    except CourseError:
        return None


def _first_failed(item: Item, subject: Any, *, ask_learner: AskLearner) -> Trial | None:
    """The first test that an answer fails."""
    for i, probe in enumerate(item.probes):
        try:
            trial = try_probe(
                probe,
                item,
                subject=subject,
                draw_seed=SEED + i,
                seconds=SECONDS,
                ask_learner=ask_learner,
            )
        except CourseError:  # of the reference: the machine is very busy
            return None
        if trial.difference:
            return None if trial.stop else trial  # a slow one may be right
    return None


def _names_used(subject: Any) -> dict[str, Any]:
    """The learner's functions and classes that their code names, also by way of one another."""
    found: dict[str, Any] = {}
    # Of any other object, even reading an attribute may run the learner's code.
    known = type(subject) is FunctionType or issubclass(type(subject), type)
    waiting, seen = [subject] if known else [], {id(subject)}
    while waiting:
        for function in functions_of(waiting.pop()):
            for name in globals_read(function.__code__):
                value = function.__globals__.get(name)
                if not issubclass(type(value), (FunctionType, type)) or id(value) in seen:
                    continue
                seen.add(id(value))
                if value.__module__ is None or value.__module__ == function.__module__:
                    found[name] = value
                    waiting.append(value)
    return found


def functions_of(value: Any) -> Iterator[FunctionType]:
    """A function, or all those that a class of the learner's and its bases define."""
    if inspect.isclass(value):
        for base in value.__mro__:
            if base.__module__ == value.__module__:
                yield from (each for each in vars(base).values() if type(each) is FunctionType)
    else:
        with suppress(ValueError):  # functions that wrap one another
            value = inspect.unwrap(value)
        if type(value) is FunctionType:
            yield value


def globals_read(code: CodeType) -> Iterator[str]:
    """The names that code looks up outside of itself: nothing of it is run."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in _LOOK_UP:
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from globals_read(constant)
