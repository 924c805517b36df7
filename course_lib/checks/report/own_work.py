"""Notice an answer that hands in ready-made code for the function it was asked to write."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

from course_lib.checks.diagnosis.diagnose import Diagnosis
from course_lib.checks.engine.call import Call
from course_lib.checks.engine.item import Item
from course_lib.checks.engine.ready_made import find_running, ready_made_code


def refuse_borrowed_answer(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis, not passed if the learner's code calls the reference or what is ready-made for
    the item; a bug has none.
    """
    item = diagnosis.item
    if diagnosis.status != "passed" or item.bug is not None:
        return diagnosis
    calls = [trial.calls[0] for trial in diagnosis.trials]
    found = borrowed_from(item, diagnosis.subject, calls=calls)
    return replace(diagnosis, status="not yet", borrowed=found) if found else diagnosis


def borrowed_from(item: Item, subject: Any, *, calls: Sequence[Call]) -> str:
    """Whose code runs in place of the learner's when these calls are made; "" for nobody's."""
    ready_made = ready_made_code(item.id)
    return find_running(
        {**dict.fromkeys(_codes(item.reference), "the course's own code"), **ready_made},
        subject,
        calls if ready_made else calls[:1],  # the course's own code runs in any call
        use=item.use,
    )


def _codes(reference: Any) -> Iterator[CodeType]:
    """The code of a function, or of all methods of a class that are the course's."""
    if inspect.isclass(reference):
        for base in inspect.getmro(reference):
            if base.__module__.startswith("course_lib"):
                for method in vars(base).values():
                    if inspect.isfunction(method):
                        yield from _codes(method)
    elif code := getattr(inspect.unwrap(reference), "__code__", None):
        yield code
