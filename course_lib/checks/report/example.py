"""A small call on which an answer fails, so that a learner can make it again."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.diagnosis.arguments import positional_names
from course_lib.checks.diagnosis.diagnose import Diagnosis
from course_lib.checks.diagnosis.trial import Trial, not_interrupted
from course_lib.checks.engine.call import (
    SECONDS,
    Answer,
    Call,
    Use,
    ask,
    call_plainly,
    describe_exception,
    make_call,
    truncated,
)
from course_lib.checks.engine.compare import answers_differ, short
from course_lib.checks.engine.isolation import usual_defaults
from course_lib.checks.engine.item import Item
from course_lib.checks.engine.time_limit import TookTooLong, within
from course_lib.errors import CourseError

MOST_NUMBERS = 48  # in the tensors of a call that is written out
MOST_CHARACTERS = 300  # of a result
MOST_SECONDS = 1.0  # of a call that is made again


@dataclass(frozen=True, kw_only=True)
class Example:
    """A call, what was expected and what was received.

    Attributes:
        args, kwargs: the arguments as the check gave them, exactly.
        expected, received: the values; for an error, its `Failure`.
        code: Python that makes the call: with rounded numbers if that is short enough, else by
            ``run``.
    """

    item_id: str
    call: Call
    expected: Any
    received: Any
    use: Use
    code: str

    def __repr__(self) -> str:
        return f"{self.advice}\n{self.code}"

    @property
    def args(self) -> tuple[Any, ...]:
        """A copy of the positional arguments."""
        return copy.deepcopy(self.call.args)

    @property
    def kwargs(self) -> dict[str, Any]:
        """A copy of the keyword arguments."""
        return copy.deepcopy(dict(self.call.kwargs))

    @property
    def advice(self) -> str:
        """How to make the call again."""
        about = f" ({self.call.about})" if self.call.about else ""
        return f"This is a call that fails{about}. Paste it into a cell below your code:"

    def run(self, subject: Any) -> Any:
        """Make the call on your code, as the check does, with errors and printing.

        Raises:
            CourseError: it was stopped after as many seconds as the check gives it.
        """
        torch.default_generator.manual_seed(0)
        call = replace(self.call, args=self.args, kwargs=self.kwargs)
        try:
            return within(SECONDS, lambda: make_call(subject, call, self.use))
        except TookTooLong as error:
            line = describe_exception(error).line
            where = f", in line {line.removeprefix('line ').rstrip(': ')}" if line else ""
            raise CourseError(
                f"expected a result within {SECONDS:g} seconds, and your code was still running"
                f"{where}: does every loop in it end?"
            ) from None


@usual_defaults()
def failing_call(diagnosis: Diagnosis) -> Example | None:
    """The smallest failing call of the most telling test, or of another that may fail for the same
    reason, if only that is small enough to be written out.
    """
    most_telling_trial, item = diagnosis.most_telling_trial, diagnosis.item
    if most_telling_trial is None or diagnosis.status != "not yet" or not diagnosis.calls_say_more:
        return None
    if most_telling_trial.stop:  # the call, and the check that finds it, would be stopped again
        return None
    others = [trial for trial in diagnosis.failed if diagnosis.may_follow(trial)]
    difference = most_telling_trial.difference
    raises = difference is not None and difference.kind == "failure"
    failing = [
        (trial, call, expected, received)
        for trial in (most_telling_trial, *others)
        if trial.probe.compare is None
        for call, expected, received in zip(trial.calls, trial.expected, trial.answers, strict=True)
        if answers_differ(expected, received, tolerance=item.tolerance)
        and raises == (received.failure is not None)
    ]
    if not failing:
        return None

    def order(each: tuple[Trial, Call, Answer, Answer]) -> tuple[bool, bool, int]:
        size = _numbers(each[1])
        return size > MOST_NUMBERS, each[0] is not most_telling_trial, size

    _, call, *answers = min(failing, key=order)
    expected, received = (answer.failure or answer.value for answer in answers)
    code = _code_to_run(item, diagnosis.subject, changes=answers[1].changed_inputs)
    if all(answer.seconds <= MOST_SECONDS for answer in answers):
        code = _code(item, call, diagnosis.subject) or code
    return Example(
        item_id=item.id, call=call, expected=expected, received=received, use=item.use, code=code
    )


def _numbers(call: Call) -> int:
    leaves = tree.tree_leaves((call.args, dict(call.kwargs)))
    return sum(x.numel() if isinstance(x, Tensor) else 1 for x in leaves)


def _code(item: Item, call: Call, subject: Any) -> str:
    """The call as Python, "" where that would be long or would need the check's help."""
    if item.use is not call_plainly or call.gradients or _numbers(call) > MOST_NUMBERS:
        return ""
    for digits in (2, 4, 7):
        rounded = tree.tree_map(lambda x, d=digits: _rounded(x, d), (call.args, dict(call.kwargs)))
        shorter = Call(*rounded)
        expected = not_interrupted(ask(item.reference, shorter))
        received = ask(subject, shorter)
        if difference := answers_differ(expected, received, tolerance=item.tolerance):
            break
    else:
        return ""
    try:
        names = list(positional_names(item, subject).values())
        lines = [
            f"{name} = {_literal(x)}"
            for name, x in [*zip(names, shorter.args, strict=False), *shorter.kwargs.items()]
        ]
    except (TypeError, ValueError):  # a value that cannot be written
        return ""
    arguments = [*names[: len(shorter.args)], *(f"{name}={name}" for name in shorter.kwargs)]
    lines.append(f"{_name(item, subject)}({', '.join(arguments)})")
    shown = [_show_result(answer) for answer in (expected, received)]
    if shown[0] == shown[1]:  # such as two dtypes
        shown = [difference.expected, difference.got]
    elif difference.kind == "dtype":
        shown = [f"{shown[0]}, {difference.expected}", f"{shown[1]}, {difference.got}"]
    lines += [f"# {word}: {text}" for word, text in zip(("expected", "got"), shown, strict=True)]
    return "\n".join(lines)


def _name(item: Item, subject: Any) -> str:
    """What the learner calls it, the item's name for a lambda."""
    name = str(getattr(subject, "__name__", ""))
    return name if name.isidentifier() else item.id.split(".")[1]


def _code_to_run(item: Item, subject: Any, *, changes: bool) -> str:
    name = _name(item, subject)
    more = ", wrong_line" if item.bug else ""
    if item.conventions:
        more += f", conventions={json.dumps(item.conventions)}"
    return (
        f'example = check("{item.id}", {name}{more}).example\n'
        f"print(example.args, example.kwargs)  # what is given\n"
        f"print(example.run({name}))  # your result{', and an argument is changed' * changes}\n"
        "print(example.expected)  # the right one"
    )


def _rounded(x: Any, digits: int) -> Any:
    return x.round(decimals=digits) if isinstance(x, Tensor) and x.is_floating_point() else x


def _literal(x: Any) -> str:
    """Python code of plain data.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(x, Tensor):
        if not x.numel():
            return f"torch.zeros({tuple(x.shape)}, dtype={x.dtype})"
        usual = x.dtype in (torch.float32, torch.int64, torch.bool)
        return f"torch.tensor({_nested(x.tolist())}{'' if usual else f', dtype={x.dtype}'})"
    if isinstance(x, tuple):
        return f"({', '.join(map(_literal, x))}{',' if len(x) == 1 else ''})"
    if isinstance(x, list):
        return f"[{', '.join(map(_literal, x))}]"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in x.items()) + "}"
    if x is None or type(x) in (bool, int, float, str):
        return _nested(x)
    raise ValueError(f"{type(x).__name__} cannot be written as code")


def _nested(x: Any, digits: int = 7) -> str:
    """Nested lists of numbers, without the digits that float32 does not have."""
    if isinstance(x, list):
        return f"[{', '.join(_nested(entry, digits) for entry in x)}]"
    if not isinstance(x, float):
        return repr(x)
    if not math.isfinite(x):
        return f'float("{x}")'
    return repr(float(f"{x:.{digits}g}"))


def _show_result(answer: Answer) -> str:
    """A result in one line, tensors as their numbers."""
    if answer.failure:
        return repr(answer.failure)
    shown = truncated(_format_numbers(answer.value), MOST_CHARACTERS)
    return f"{shown}, and an argument is changed" if answer.changed_inputs else shown


def _format_numbers(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        left, right = "()" if isinstance(value, tuple) else "[]"
        return f"{left}{', '.join(map(_format_numbers, value))}{right}"
    if isinstance(value, Tensor):
        return _nested(value.tolist(), 4).replace('float("nan")', "nan")
    return short(value)
