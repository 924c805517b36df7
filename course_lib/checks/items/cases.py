"""Test cases as an answer: a right version passes all of them, and each wrong one fails in one.

Cases are data, arguments and what they should give, so that no code of a learner's runs here.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from course_lib.checks.engine import Call, Item, Probe
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import Difference, told
from course_lib.checks.items.hidden import Hidden, got, hide, many

PAIR = "a list of cases, each a pair: the arguments as a tuple, and what they should give"


@dataclass(frozen=True, kw_only=True)
class Versions(Hidden):
    """Several versions of one function, of which one is right.

    Attributes:
        wrong: the wrong versions, each with a question to whoever has no case against it, in lower
            case.
        most_cases: how many cases an answer may have.
    """

    most_cases: int

    @property
    def letters(self) -> dict[str, str]:
        """Which version is which: from letters to names, "" for the right one."""
        names = ["", *self.wrong]
        random.Random(self.of.id).shuffle(names)
        return dict(zip(string.ascii_lowercase, names, strict=False))

    def by_letter(self) -> dict[str, Callable[..., Any]]:
        """The versions, without their names."""
        return {letter: self._version(letter, name) for letter, name in self.letters.items()}

    def _version(self, letter: str, name: str) -> Callable[..., Any]:
        subject, called = self.subject(name), self.of.id.split(".")[1]
        return hide(
            lambda *args, **kwargs: subject(*self.accepted(args, kwargs, name=called)),
            instead="cases with what a right version gives, written as numbers",
            says=lambda: f"version {letter} of {self.call_of}",
        )


def cases_item(item_id: str, versions: Versions, *, hints: tuple[str, str, str]) -> Item:
    """The item that asks for test cases against the wrong versions."""

    def cases() -> list[tuple[tuple[Any, ...], Any]]:
        """An answer of the right form."""
        return []

    return Item(
        item_id,
        reference=cases,
        probes=[
            Probe(
                says, lambda _: [Call(())], compare=partial(_judged, versions, judge), any_form=True
            )
            for says, judge in (
                ("a right version passes all cases", _right_passes),
                ("each wrong version fails in a case", _wrong_fail),
            )
        ],
        hints=hints,
        shows=lambda answer: _what_each_finds(versions, answer),
    )


def _what_each_finds(versions: Versions, cases: Sequence[Any]) -> str:
    """Which versions fail each case of an answer that finds them all."""
    found = []
    for number, (arguments, expected) in enumerate(cases, 1):
        failing = (
            letter
            for letter, name in versions.letters.items()
            if versions.differ(Answer(expected), versions.answer(name, arguments))
        )
        found.append(f"case {number} finds {', '.join(failing) or 'none'}")
    sentence = "; ".join(found)
    return f"{sentence[0].upper()}{sentence[1:]}."


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
    """What keeps an answer from being cases: their form, their number, their arguments."""
    if not isinstance(cases, (list, tuple)) or not cases:
        return Difference("type", expected=PAIR, got=got(cases))
    for number, case in enumerate(cases, 1):
        if not isinstance(case, (list, tuple)) or len(case) != 2:
            return Difference("type", expected=PAIR, got=f"{got(case)} as case {number}")
    if len(cases) > versions.most_cases:
        most = f"at most {many(versions.most_cases, 'case')}"
        return Difference("value", expected=most, got=f"{len(cases)}")
    return versions.wrong_arguments([arguments for arguments, _ in cases], "case")


def _right_passes(versions: Versions, cases: Sequence[Any]) -> Difference | None:
    for number, (arguments, expected) in enumerate(cases, 1):
        right = versions.answer("", arguments)
        if right.failure:
            came = f"{right.failure!r} in case {number}"
            return Difference("value", expected="arguments that a right version takes", got=came)
        if difference := versions.differ(right, Answer(expected)):
            # Not what a right version gives: it is to be worked out.
            at = difference.where and f" at {difference.where}"
            more = difference.extent and f" In all, {difference.extent}."
            return told(
                f"Case {number} expects {difference.got}{at}, and a right version gives something "
                f"else.{more}"
            )
    return None


def _wrong_fail(versions: Versions, cases: Sequence[Any]) -> Difference | None:
    """The wrong versions against which there is no case, each with its question.

    A case counts only if a right version passes it: this judges an answer by itself, which may be
    another one each time that it is asked for.
    """
    right = [
        (arguments, Answer(expected))
        for arguments, expected in cases
        if not versions.differ(versions.answer("", arguments), Answer(expected))
    ]
    left = [
        (letter, versions.wrong[name])
        for letter, name in versions.letters.items()
        if name
        and not any(
            versions.differ(expected, versions.answer(name, arguments))
            for arguments, expected in right
        )
    ]
    if not left:
        return None
    letters = [letter for letter, _ in left]
    named = " and ".join(filter(None, [", ".join(letters[:-1]), letters[-1]]))
    asked = "\n".join(f"{letter}: {question}" for letter, question in left)
    return told(
        f"No case of yours finds {named}; a case that a right version fails doesn't count. Look "
        f"for an input that answers the question.\n{asked}"
    )
