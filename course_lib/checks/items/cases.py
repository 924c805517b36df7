"""Test cases as an answer: a right version passes all of them, and each wrong one fails in one.

The wrong versions are misconceptions that the item knows that asks for the function itself. Cases
are data, arguments and what they should give, so that no code of a learner's runs here.
"""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Any

from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.call import Answer, ask, make_call
from course_lib.checks.engine.compare import Difference, answers_differ, described, short
from course_lib.errors import CourseError

SECONDS = 2.0  # for one call of a version: cases are small


@dataclass(frozen=True, kw_only=True)
class Versions:
    """Several versions of one function, of which one is right.

    Attributes:
        of: the item that asks for the function.
        wrong: the names of the misconceptions that the wrong versions have, each with a question
            to whoever has no case against it, in lower case.
        problem: what is wrong with the arguments of a case, as "mask must be boolean", else "".
        most_cases: how many cases an answer may have.
        most_numbers: how many numbers or words the arguments of all cases may have together.
    """

    of: Item
    wrong: Mapping[str, str]
    problem: Callable[..., str]
    most_cases: int
    most_numbers: int

    @property
    def letters(self) -> dict[str, str]:
        """Which version is which: from letters to names, "" for the right one."""
        names = ["", *self.wrong]
        random.Random(self.of.id).shuffle(names)
        return dict(zip(string.ascii_lowercase, names, strict=False))

    def subject(self, name: str) -> Callable[..., Any]:
        """The version of this name."""
        if not name:
            return self.of.reference
        return next(m.subject for m in self.of.misconceptions if m.name == name)

    def by_letter(self) -> dict[str, Callable[..., Any]]:
        """The versions, without their names."""

        def version(subject: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                if _in_an_answer():
                    raise CourseError(
                        "expected cases that say what a right version gives, and `cases` calls a "
                        "version: write the numbers, since there are no versions in grading"
                    )
                return subject(*args, **kwargs)

            return call

        return {letter: version(self.subject(name)) for letter, name in self.letters.items()}

    def answer(self, name: str, arguments: Sequence[Any]) -> Answer:
        """What a version gives."""
        call = Call(tuple(arguments))
        return ask(self.subject(name), call, self.of.use, seconds=SECONDS)


def cases_item(item_id: str, versions: Versions, *, hints: tuple[str, str, str]) -> Item:
    """The item that asks for test cases against the wrong versions."""

    def cases() -> list[tuple[tuple[Any, ...], Any]]:
        """An answer of the right form."""
        return []

    def probe(says: str, judge: Callable[..., Difference | None]) -> Probe:
        judged = partial(_judged, versions, judge)
        return Probe(says, _one_call, compare=judged, any_form=True)

    return Item(
        item_id,
        reference=cases,
        probes=[
            probe("a right version passes all cases", _right_passes),
            probe("each wrong version fails in a case", _wrong_fail),
        ],
        hints=hints,
    )


def _in_an_answer() -> bool:
    """Whether a check is just asking for the cases."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not make_call.__code__:
        frame = frame.f_back
    return frame is not None


def _one_call(_: Draw) -> list[Call]:
    return [Call(())]


def _judged(
    versions: Versions,
    judge: Callable[..., Difference | None],
    calls: Sequence[Call],
    expected: Sequence[Answer],
    answers: Sequence[Answer],
) -> Difference | None:
    cases = answers[0].value
    return _no_cases(cases, versions) or judge(versions, cases)


def _no_cases(cases: Any, versions: Versions) -> Difference | None:
    """What keeps an answer from being cases: their form, their number, their size."""
    pair = "a list of cases, each a pair: the arguments as a tuple, and what they should give"
    if not isinstance(cases, (list, tuple)) or not cases:
        return Difference("type", expected=pair, got=_got(cases))
    for number, case in enumerate(cases, 1):
        if not isinstance(case, (list, tuple)) or len(case) != 2:
            return Difference("type", expected=pair, got=f"{_got(case)} as case {number}")
        if not isinstance(case[0], (list, tuple)):
            got = f"{_got(case[0])} as the arguments of case {number}"
            return Difference("type", expected=pair, got=got)
    numbers = sum(_size(arguments) for arguments, _ in cases)
    for most, have, what in (
        (versions.most_cases, len(cases), "cases"),
        (versions.most_numbers, numbers, "numbers or words in all arguments together"),
    ):
        if have > most:
            return Difference("value", expected=f"at most {most} {what}", got=f"{have}")
    for number, (arguments, _) in enumerate(cases, 1):
        try:
            problem = versions.problem(*arguments)
        except TypeError:  # the number of arguments
            problem = f"the arguments are those of {versions.of.reference.__name__}"
        if problem:
            return Difference("value", expected=problem, got=f"{_got(arguments)} in case {number}")
    return None


def _size(arguments: Any) -> int:
    leaves = tree.tree_leaves(arguments)
    return sum(leaf.numel() if isinstance(leaf, Tensor) else 1 for leaf in leaves)


def _got(value: Any) -> str:
    return short(value) if isinstance(value, (list, tuple)) else described(value)


def _right_passes(versions: Versions, cases: Sequence[Any]) -> Difference | None:
    for number, (arguments, expected) in enumerate(cases, 1):
        right = versions.answer("", arguments)
        if right.failure:
            came = f"{right.failure!r} in case {number}"
            return Difference("value", expected="arguments that a right version takes", got=came)
        if difference := answers_differ(right, Answer(expected), tolerance=versions.of.tolerance):
            where = f"case {number}{difference.where and ', ' + difference.where}"
            gives = f"{difference.expected}, which a right version gives"
            return replace(difference, where=where, expected=gives)
    return None


def _wrong_fail(versions: Versions, cases: Sequence[Any]) -> Difference | None:
    """The wrong versions against which there is no case, each with its question.

    A case counts only if a right version passes it: this judges an answer by itself, which may be
    another one each time that it is asked for.
    """
    tolerance = versions.of.tolerance
    right = [
        (arguments, Answer(expected))
        for arguments, expected in cases
        if not answers_differ(versions.answer("", arguments), Answer(expected), tolerance=tolerance)
    ]
    left = [
        f"{letter} ({versions.wrong[name]})"
        for letter, name in versions.letters.items()
        if name
        and not any(
            answers_differ(expected, versions.answer(name, arguments), tolerance=tolerance)
            for arguments, expected in right
        )
    ]
    if not left:
        return None
    return Difference(
        "value",
        expected="for each wrong version a case that it fails and a right version passes",
        got=f"none for {', '.join(left)}",
    )
