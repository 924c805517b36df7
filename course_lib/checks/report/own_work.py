"""Notice an answer that hands in the course's own code for the function it was asked to write."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

from course_lib.checks.diagnosis.diagnose import Diagnosis
from course_lib.checks.engine.call import Call, ask
from course_lib.checks.engine.item import Item


def refuse_borrowed_answer(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis, not passed if the learner's code calls the reference; a bug has none."""
    item = diagnosis.item
    if diagnosis.status != "passed" or item.bug is not None:
        return diagnosis
    if not calls_reference(item, diagnosis.subject, call=diagnosis.trials[0].calls[0]):
        return diagnosis
    return replace(diagnosis, status="not yet", borrowed=True)


def calls_reference(item: Item, subject: Any, *, call: Call) -> bool:
    """Whether the item's reference runs when this call is made of the learner's code."""
    codes, found = set(_codes(item.reference)), False

    def notice(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal found
        found = found or (event == "call" and frame.f_code in codes)

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        ask(subject, call, item.use)
    finally:
        sys.setprofile(before)
    return found


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
