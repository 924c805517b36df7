"""An experiment with a budget: which of several errors does a hidden function have?

An answer names the error and the calls that show it: of all errors, and of a function without one,
only the one that is named may give what the box gives. Each learner's own number decides the error,
so that no two need have the same box, and no number is easier than another.
"""

from __future__ import annotations

import random
import string
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.engine import Call, Item, Probe
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import Difference, first_difference, short, told
from course_lib.checks.items.hidden import (
    Hidden,
    got,
    hide,
    many,
    number_problem,
    size,
    two_numbers,
)
from course_lib.checks.items.own_number import is_number
from course_lib.errors import CourseError

# The arguments with which each box was called, by item and number. A cell may be run again.
_made: defaultdict[tuple[str, int], list[tuple[Any, ...]]] = defaultdict(list)
FREE = "this call is free"


@dataclass(frozen=True, kw_only=True)
class BlackBox(Hidden):
    """A function with one of several errors.

    Attributes:
        wrong: the errors, each as the list of an exercise says it.
        most_calls: of an experiment.
        digits: the decimals with which an answer says what each call gave, of a tensor its last
            number; None if it does not say it.
    """

    most_calls: int
    digits: int | None = None

    @property
    def keys(self) -> list[str]:
        """Of an answer about one number."""
        return ["number", "error", "calls", *["gave"] * (self.digits is not None)]

    @property
    def letters(self) -> dict[str, str]:
        """From letters to errors, in the order of the list."""
        return dict(zip(string.ascii_lowercase, self.wrong, strict=False))

    def error_of(self, number: int) -> str:
        """The name of the error that the box of this number has."""
        return random.Random(f"{self.of.id}/{number}").choice([*self.wrong])

    def box(self, number: int) -> Callable[..., Any]:
        """The box of this number, which can be called as often as the budget allows.

        Raises:
            CourseError: the number is none.
        """
        if problem := number_problem(number):
            raise CourseError(problem)
        subject = self.subject(self.error_of(number))

        def within_budget(*args: Any, **kwargs: Any) -> Any:
            arguments = self.accepted(args, kwargs, name="box", more=f"; {FREE}")
            made = _made[self.of.id, number]
            if any(first_difference(each, arguments, tolerance=0.0) is None for each in made):
                return subject(*arguments)
            if len(made) == self.most_calls:
                raise CourseError(
                    f"expected at most {many(self.most_calls, 'call')}, and this is one more: what "
                    "do those that you have made rule out? A new experiment takes another number"
                )
            if (have := size([*made, arguments])) > self.most_numbers:
                earlier = f"; those of your earlier calls are {size(made)} of them" * bool(made)
                raise CourseError(f"expected {self.most}, got {have}{earlier}; {FREE}")
            kept = _copied(arguments)
            answer = subject(*arguments)
            made.append(kept)
            return answer

        def says() -> str:
            left = self.most_calls - len(_made[self.of.id, number])
            name = self.of.id.split(".")[1]
            return f"box {number}: {name} with one error, {many(left, 'call')} left"

        return hide(within_budget, instead="the number, the error and the calls", says=says)


def _copied(arguments: tuple[Any, ...]) -> Any:
    """A copy, also of tensors with a gradient."""
    return tree.tree_map_only(Tensor, lambda x: x.detach().clone(), arguments)


def experiment_item(item_id: str, box: BlackBox, *, hints: tuple[str, str, str]) -> Item:
    """The item that asks which error the box has, and for the calls that show it."""

    def experiment() -> list[dict[str, Any]]:
        """An answer of the right form."""
        return [{key: [] for key in box.keys} | {"number": n, "error": "a"} for n in (0, 1)]

    def judged(
        calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
    ) -> Difference | None:
        if problem := two_numbers(answers[0].value, box.keys):
            return told(problem)
        steps = (_no_experiment, _not_given, _shown)
        found = (step(each, box) for each in answers[0].value for step in steps)
        return next((difference for difference in found if difference), None)

    says = "only the error that is named gives what the box gives in these calls"
    return Item(
        item_id,
        reference=experiment,
        probes=[Probe(says, lambda _: [Call(())], compare=judged, any_form=True)],
        hints=hints,
        shows=lambda answer: "\n".join(_what_each_left(each, box) for each in answer),
    )


def _what_each_left(answer: dict[str, Any], box: BlackBox) -> str:
    """How many errors were left after each call of an experiment that shows one."""
    left = [*box.wrong]
    counts: list[str] = []
    for each in answer["calls"]:
        gives = box.answer(box.error_of(answer["number"]), each)
        left = [name for name in left if not box.differ(gives, box.answer(name, each))]
        counts.append(f"call {len(counts) + 1} left {len(left)}")
    named = box.wrong[box.letters[answer["error"]]]
    return f"Number {answer['number']}: of {len(box.wrong)} errors, {', '.join(counts)}: {named}."


def _no_experiment(answer: dict[str, Any], box: BlackBox) -> Difference | None:
    """What keeps an answer from being an experiment."""
    if not isinstance(answer["error"], str) or answer["error"] not in box.letters:
        listed = f"the letter of an error, {', '.join(box.letters)}"
        came = f"{short(answer['error'])} for number {answer['number']}"
        return Difference("value", expected=listed, got=came)
    calls = answer["calls"]
    kinds = (list, tuple) if isinstance(calls, list) else tuple
    is_list = isinstance(calls, (list, tuple)) and all(isinstance(each, kinds) for each in calls)
    if not is_list or not calls:
        names = ", ".join(parameter.name for parameter in box.parameters)
        return told(
            f"Number {answer['number']}: calls must be a list of calls, each a tuple of its "
            f"arguments, as in [({names})], got {got(calls)}."
        )
    if len(calls) > box.most_calls:
        most = f"at most {many(box.most_calls, 'call')}"
        return Difference("value", expected=most, got=f"{len(calls)}")
    return box.wrong_arguments(calls, "call")


def _not_given(answer: dict[str, Any], box: BlackBox) -> Difference | None:
    """What an answer says that its box gave, and it gives something else.

    Without it, one could try the letters, one after the other, and never call the box.
    """
    if box.digits is None:
        return None
    number, gave, calls = (answer[key] for key in ("number", "gave", "calls"))
    numbers = [*map(_plain, gave)] if isinstance(gave, (list, tuple)) else []
    if len(numbers) != len(calls) or not all(map(is_number, numbers)):
        return told(
            f"Number {number}: gave must be a list of what your box gave, one number for each of "
            f"your calls, in all {len(calls)}, got {got(gave)}."
        )
    for call, (value, arguments) in enumerate(zip(numbers, calls, strict=True), 1):
        came = box.answer(box.error_of(number), arguments).value
        given = _last(came)
        if is_number(given) and abs(value - given) > 0.6 * 10**-box.digits:
            where = " as its last number" * (isinstance(came, Tensor) and came.ndim > 0)
            return told(
                f"Number {number}: in call {call}, your box doesn't give {short(value)}{where}. A "
                "call that you have made may be made again and costs nothing. Write down what it "
                f"gives, to {many(box.digits, 'decimal')}."
            )
    return None


def _plain(value: Any) -> Any:
    """A number in place of a tensor without axes."""
    return value.item() if isinstance(value, Tensor) and not value.ndim else value


def _last(value: Any) -> Any:
    """The last number of a tensor; anything else as it is."""
    return value.flatten()[-1].item() if isinstance(value, Tensor) and value.numel() else value


def _shown(answer: dict[str, Any], box: BlackBox) -> Difference | None:
    """Why the calls do not show the error that is named."""
    named = box.letters[answer["error"]]
    gives = [box.answer(box.error_of(answer["number"]), each) for each in answer["calls"]]

    def rules_out(name: str) -> int:
        """The number of the first call in which it gives something else than the box; else 0."""
        pairs = enumerate(zip(gives, answer["calls"], strict=True), 1)
        return next((i for i, (a, each) in pairs if box.differ(a, box.answer(name, each))), 0)

    if call := rules_out(named):
        return told(
            f"Number {answer['number']}: call {call} tells against {answer['error']}. With that "
            "error it would have given something else than your box gave."
        )
    left = [letter for letter, name in box.letters.items() if name != named and not rules_out(name)]
    if not rules_out(""):
        left.append("a function without an error")
    if left:
        return told(
            f"Number {answer['number']}: your calls are explained as well by {', '.join(left)}. "
            f"Which call would tell them from {answer['error']}?"
        )
    return None
