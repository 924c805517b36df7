"""Functions that a learner may call and not read: right ones, and ones with a known error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from types import FrameType
from typing import Any

from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.engine import Call, Item
from course_lib.checks.engine.call import Answer, ask, make_call
from course_lib.checks.engine.compare import Difference, answers_differ, described, short
from course_lib.errors import CourseError

SECONDS = 2.0  # for one call: arguments are small
MOST_NUMBER = 10**12
RUNS = 2  # of numbers of one's own: one run alone may be guessed, or be luck
MOST_LISTED = 8  # arguments in a message


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """The right version of a function, and wrong ones.

    Attributes:
        of: the item that asks for the function.
        wrong: the names of misconceptions of that item, each with what its own item says of it.
        problem: what is wrong with arguments, as "mask must be boolean", else "".
        most_numbers: how many numbers or words the arguments of an answer may have together.
        right: the right version, if the item's reference takes its arguments in another way.
        tolerance: by how much the numbers of two versions may differ; None for the item's own.
    """

    of: Item
    wrong: Mapping[str, str]
    problem: Callable[..., str]
    most_numbers: int
    right: Callable[..., Any] | None = None
    tolerance: float | None = None

    def subject(self, name: str) -> Callable[..., Any]:
        """The version with the misconception of this name; the right one for ""."""
        if not name:
            return self.right or self.of.reference
        return next(m.subject for m in self.of.misconceptions if m.name == name)

    @property
    def call_of(self) -> str:
        """How a version is called, "masked_softmax(scores, mask)"."""
        names = signature(self.right or self.of.reference).parameters
        return f"{self.of.id.split('.')[1]}({', '.join(names)})"

    def answer(self, name: str, arguments: Sequence[Any]) -> Answer:
        """What a version gives."""
        call = Call(tuple(arguments))
        return ask(self.subject(name), call, self.of.use, seconds=SECONDS)

    def differ(self, a: Answer, b: Answer) -> Difference | None:
        """The first difference of two answers, as far as the tolerance goes."""
        tolerance = self.of.tolerance if self.tolerance is None else self.tolerance
        return answers_differ(a, b, tolerance=tolerance)

    def problem_of(self, arguments: Sequence[Any]) -> str:
        """What is wrong with arguments, their number included; "" if nothing is."""
        try:
            return self.problem(*arguments)
        except TypeError:
            return f"the arguments of {self.of.id.split('.')[1]}"

    def bound(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], *, more: str = ""
    ) -> tuple[Any, ...]:
        """The arguments of a call in their order, those that were given.

        Args:
            args, kwargs: as they came.
            more: the end of the message.

        Raises:
            CourseError: the function doesn't take them.
        """
        named = signature(self.right or self.of.reference)
        try:
            arguments = named.bind(*args, **kwargs).args
        except TypeError as error:
            raise CourseError(f"expected the arguments of {named}: {error}") from None
        if problem := self.problem_of(arguments):
            raise CourseError(f"expected {problem}, got {got(arguments)}{more}")
        return arguments

    def wrong_arguments(self, each: Sequence[Any], what: str) -> Difference | None:
        """What keeps these from being arguments of the function, or makes them too many.

        Args:
            each: the arguments of each case or call.
            what: "case" or "call".
        """
        for number, arguments in enumerate(each, 1):
            if not isinstance(arguments, (list, tuple)):
                return Difference(
                    "type",
                    expected=f"the arguments of {what} {number} as a tuple",
                    got=got(arguments),
                )
        have = sum(_size(arguments) for arguments in each)
        if have > self.most_numbers:
            most = f"at most {self.most_numbers} numbers or words in all arguments together"
            return Difference("value", expected=most, got=f"{have}")
        for number, arguments in enumerate(each, 1):
            if problem := self.problem_of(arguments):
                came = f"{got(arguments)} in {what} {number}"
                return Difference("value", expected=problem, got=came)
        return None


class HiddenFunction:
    """A function that says of itself what a learner may know, and not where it is defined."""

    def __init__(self, call: Callable[..., Any], says: Callable[[], str]) -> None:
        self._call, self._says = call, says

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # of an error, IPython shows the learner's line and the last one
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self._says()}>"


def hide(subject: Callable[..., Any], *, instead: str, says: Callable[[], str]) -> HiddenFunction:
    """A function to call and not to read, outside of answers.

    Args:
        subject: what is called.
        instead: what an answer has to do in place of calling it.
        says: what a cell shows that ends in its name.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if in_an_answer():
            raise CourseError(
                f"expected {instead}, and the answer calls what cannot be called when it is graded"
            )
        try:
            return subject(*args, **kwargs)
        except Exception as error:
            raise error.with_traceback(None) from None  # the frames would show the code

    return HiddenFunction(call, says)


def in_an_answer() -> bool:
    """Whether a check is just asking for an answer."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not make_call.__code__:
        frame = frame.f_back
    return frame is not None


def got(value: Any) -> str:
    """A value as a report shows it: of tensors among arguments, shape and type."""
    if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
        listed = ", ".join(map(_argument, value[:MOST_LISTED]))
        return f"({listed}{', …' * (len(value) > MOST_LISTED)})"
    if isinstance(value, (list, tuple, str, int, float)):
        return short(value)
    return described(value)


def _argument(value: Any) -> str:
    if not isinstance(value, Tensor):
        return short(value, most=20)
    return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"


def two_numbers(answer: Any, keys: Sequence[str], optional: Sequence[str] = ()) -> str:
    """What keeps an answer from being a dict for each of two numbers; "" if nothing does."""
    wanted = f"a list of two dicts, for two numbers of yours, each with the keys {', '.join(keys)}"
    if not isinstance(answer, (list, tuple)) or len(answer) != RUNS:
        many = f"{len(answer)} of them" if isinstance(answer, (list, tuple)) else got(answer)
        return f"Expected {wanted}, got {many}."
    for each in answer:
        if not isinstance(each, dict):
            return f"Expected {wanted}, got {got(each)} as one of them."
        missing = [key for key in keys if key not in each]
        other = [key for key in each if key not in (*keys, *optional)]
        if missing or other:
            others = ", ".join(map(short, other[:MOST_LISTED]))
            instead = f", and {others} instead" * bool(other)
            has = f"{', '.join(missing)} missing{instead}" if missing else f"also {others}"
            return f"Expected {wanted}; one of yours has {has}."
        if problem := number_problem(each["number"]):
            return problem
    if answer[0]["number"] == answer[1]["number"]:
        return f"Expected two numbers, got {got(answer[0]['number'])} twice."
    return ""


def number_problem(number: Any) -> str:
    """What keeps a value from being a learner's own number; "" if nothing does."""
    if type(number) is int and 0 <= number <= MOST_NUMBER:
        return ""
    came = got(number)
    return f"Expected as number a whole number of your own from 0 to {MOST_NUMBER:,}, got {came}."


def many(count: int, noun: str) -> str:
    """So many of them, in words: "1 call", "2 calls"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def _size(arguments: Any) -> int:
    leaves = tree.tree_leaves(arguments)
    return sum(leaf.numel() if isinstance(leaf, Tensor) else 1 for leaf in leaves)
