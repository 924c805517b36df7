"""Functions that a learner may call and not read: right ones, and ones with a known error."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from types import FrameType
from typing import Any

from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.engine import Call, Item
from course_lib.checks.engine.call import Answer, ask, make_call
from course_lib.checks.engine.compare import Difference, answers_differ, described, short
from course_lib.errors import CourseError
from course_lib.wording import did_you_mean

SECONDS = 2.0  # for one call: arguments are small
MOST_NUMBER = 10**12
RUNS = 2  # of numbers of one's own: one run alone may be guessed, or be luck
MOST_LISTED = 8  # arguments or keys in a message
MOST_OF_A_KEY = 40  # characters: longer ones are compared with none


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """The right version of a function, and wrong ones.

    Attributes:
        of: the item that asks for the function.
        wrong: the names of misconceptions of that item, each with what its own item says of it.
        problem: what is wrong with arguments, as "mask must be boolean", else "". It takes what
            the task names, by the names that it has there.
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

    @property
    def arguments(self) -> str:
        """What a call takes, as the task has it: "(query, key, value, mask=None)"."""
        bare = [each.replace(annotation=Parameter.empty) for each in self.parameters]
        return str(Signature(bare))

    def bound(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The arguments of a call, in their order.

        Raises:
            TypeError: one is missing, or there is none of that name.
        """
        return signature(self.problem).bind(*args, **kwargs).args

    @property
    def parameters(self) -> list[Parameter]:
        """Of a call."""
        return [*signature(self.problem).parameters.values()]

    def subject(self, name: str) -> Callable[..., Any]:
        """The version with the misconception of this name; the right one for ""."""
        if not name:
            return self.right or self.of.reference
        return next(m.subject for m in self.of.misconceptions if m.name == name)

    @property
    def call_of(self) -> str:
        """How a version is called, "masked_softmax(scores, mask)"."""
        names = ", ".join(each.name for each in self.parameters)
        return f"{self.of.id.split('.')[1]}({names})"

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
            return self.problem(*self.bound(*arguments))
        except TypeError:
            return f"the arguments of {self.of.id.split('.')[1]}, {self.arguments}"

    def came(self, arguments: Sequence[Any], problem: str) -> str:
        """What a message shows of arguments: the one that a problem begins with, or all of them."""
        names = [each.name for each in self.parameters]
        about = [name for name in names if re.search(rf"\b{name}\b", problem)]
        if len(about) != 1 or not problem.startswith(about[0]):
            return got(arguments)
        value = arguments[names.index(about[0])]
        return _argument(value) if isinstance(value, Tensor) else got(value)

    @property
    def most(self) -> str:
        """How much the arguments of all cases or calls may hold."""
        return f"at most {self.most_numbers} numbers or words in all arguments together"

    def accepted(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], *, name: str, more: str = ""
    ) -> tuple[Any, ...]:
        """The arguments of a call in their order, those that were given.

        Args:
            args, kwargs: as they came.
            name: what was called.
            more: the end of the message.

        Raises:
            CourseError: they are not what a call takes.
        """
        try:
            arguments = self.bound(*args, **kwargs)
        except TypeError as error:
            raise CourseError(f"expected {name}{self.arguments}: {error}{more}") from None
        if problem := self.problem_of(arguments):
            raise CourseError(f"expected {problem}, got {self.came(arguments, problem)}{more}")
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
        if (have := size(each)) > self.most_numbers:
            return Difference("value", expected=self.most, got=f"{have}")
        for number, arguments in enumerate(each, 1):
            if problem := self.problem_of(arguments):
                came = f"{self.came(arguments, problem)} in {what} {number}"
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
    for which, each in zip(("first", "second"), answer, strict=True):
        if not isinstance(each, dict):
            return f"Expected {wanted}, got {got(each)} as the {which} of them."
        if problem := _wrong_keys(each, keys, optional):
            return f"Expected {wanted}. The {which} of yours {problem}"
        if problem := number_problem(each["number"], f" in the {which} of the two dicts"):
            return problem
    if answer[0]["number"] == answer[1]["number"]:
        return f"Expected two numbers, got {got(answer[0]['number'])} twice."
    return ""


def _wrong_keys(answer: Mapping[Any, Any], keys: Sequence[str], optional: Sequence[str]) -> str:
    """Which keys an answer lacks, and which it has too many; "" if it has the right ones."""
    missing = [key for key in keys if key not in answer]
    other = [key for key in answer if key not in (*keys, *optional)]
    meant = did_you_mean(other[0].lower(), missing or optional) if _named(other) else ""
    parts = [f"lacks {', '.join(missing)}"] * bool(missing)
    parts += [
        f"{'has' if missing else 'also has'} {', '.join(map(short, other[:MOST_LISTED]))}"
    ] * bool(other)
    return f"{' and '.join(parts)}{meant or '.'}" if parts else ""


def _named(keys: Sequence[Any]) -> bool:
    return bool(keys) and type(keys[0]) is str and len(keys[0]) < MOST_OF_A_KEY


def number_problem(number: Any, where: str = "") -> str:
    """What keeps a value from being a learner's own number; "" if nothing does.

    Args:
        number: the value.
        where: it stands, as the end of a sentence: " in the first of the two dicts".
    """
    if type(number) is int and 0 <= number <= MOST_NUMBER:
        return ""
    came = f"{got(number)}{where}"
    return f"Expected as number a whole number of your own from 0 to {MOST_NUMBER:,}, got {came}."


def many(count: int, noun: str) -> str:
    """So many of them, in words: "1 call", "2 calls"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def size(arguments: Any) -> int:
    """How many numbers or words these arguments hold."""
    leaves = tree.tree_leaves(arguments)
    return sum(leaf.numel() if isinstance(leaf, Tensor) else 1 for leaf in leaves)
