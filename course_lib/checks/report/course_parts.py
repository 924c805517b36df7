"""Judge an answer with the course's parts in it where it fails with the learner's own.

Exercises import parts that the learner has written for earlier ones (``course_lib.mine``). A part
that is wrong, or right and different, must not sink the answers that use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType
from typing import Any

from course_lib import model
from course_lib.checks.diagnosis.diagnose import Diagnosis, attempt
from course_lib.checks.engine.item import Item
from course_lib.checks.report.earlier_answer import functions_of, names_of_answer
from course_lib.checks.table import TABLE

_OWN_MODULE = re.compile(r"mine\.lesson_(\d\d)_\w+")
_OWN_STACKS = "course_lib.mine.stacks"


def judge_with_course_parts(
    diagnosis: Diagnosis,
    passes: Callable[[], bool],
    *,
    again: Callable[[], Diagnosis],
    load_item: Callable[[str], Item],
) -> Diagnosis:
    """The diagnosis of an answer, or that of the same answer with the course's parts in place of
    the learner's, if it fails with those.

    Args:
        diagnosis: with the learner's parts.
        passes: whether the answer passes with those that are there by then.
        again: makes another diagnosis, which takes longer if the answer fails.
        load_item: finds the item that asks for a part.
    """
    if diagnosis.status != "not yet":
        return diagnosis
    found = attempt(lambda: _judged(diagnosis, passes, again=again, load_item=load_item))
    return found or diagnosis


def _judged(
    diagnosis: Diagnosis,
    passes: Callable[[], bool],
    *,
    again: Callable[[], Diagnosis],
    load_item: Callable[[str], Item],
) -> Diagnosis | None:
    """The other diagnosis; None if the answer uses no part of the learner's."""
    names = _names(diagnosis.subject)
    parts = {name: _course_part(name, value, load_item) for name, value in names.items()}
    parts = {name: part for name, part in parts.items() if part is not None}
    if not parts:
        return None
    with _replaced(names, parts):
        found = again()
    if found.status != "passed":
        return found
    failed = diagnosis.failed[0].probe.property if diagnosis.failed else ""
    stacks = [name for name in parts if name in ("Encoder", "Decoder")]  # of the same blocks
    for some in ([stacks] if len(stacks) > 1 else []) + [[name] for name in parts]:
        with _replaced(names, {name: parts[name] for name in some}):
            if passes():  # these make the difference
                return replace(found, own_part=" and ".join(some), own_part_fails=failed)
    return replace(found, own_part=" and ".join(parts), own_part_fails=failed)


def _names(subject: Any) -> dict[str, Any]:
    """The names that the learner's notebook has."""
    function = next(functions_of(subject), None)
    return function.__globals__ if function else {}


def _course_part(name: str, value: Any, load_item: Callable[[str], Item]) -> Any:
    """What the course has for a part of the learner's; None if it is something else."""
    if not isinstance(value, (FunctionType, type)):
        return None
    if value.__module__ == _OWN_STACKS:
        return getattr(model, name, None)
    if not (own := _OWN_MODULE.fullmatch(str(value.__module__))):
        return None
    for entry in TABLE.values():
        if entry.kind != "code" or entry.id[:2] != own[1]:
            continue
        if value.__name__ in names_of_answer(entry.id):
            return load_item(entry.id).reference
    return None


@contextmanager
def _replaced(names: dict[str, Any], parts: Mapping[str, Any]) -> Iterator[None]:
    before = {name: names[name] for name in parts}
    names.update(parts)
    try:
        yield
    finally:
        names.update(before)
