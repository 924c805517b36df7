"""What the first difference of a failed test says, as a sentence with a name where it has one."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.diagnosis.arguments import name_float_input
from course_lib.checks.diagnosis.error_causes import find_error_cause
from course_lib.checks.diagnosis.observation import (
    INPUT_MODIFIED,
    NOTHING_RETURNED,
    WHAT_CUTS_IT,
    Observation,
)
from course_lib.checks.diagnosis.trial import ALL_TESTS_TOOK, Trial
from course_lib.checks.engine.call import Failure
from course_lib.checks.engine.compare import Difference, answers_differ

_ADAPTER_ERRORS = {
    "GradientCut": "gradient_cut",
    "NotData": "not_data",
    "NotInGrading": "not_data",
    "WrongParameters": "other_parameters",
    "WrongResult": "another_type",
    "UnreadableResult": "another_type",
}


def describe_first_difference(trial: Trial, subject: Any = None) -> Observation:
    """What a failed test of this code shows; no name if that is only which number is wrong."""
    difference = trial.difference
    assert difference is not None, "only a failed test has a difference"
    if trial.stop:
        return _describe_stop(trial.stop)
    if difference.kind == "told":
        return Observation("", str(difference))
    failure = next((answer.failure for answer in trial.answers if answer.failure), None)
    if failure and difference.kind == "failure":
        return _describe_failure(failure, difference, whole=trial.unwritten)
    return _describe_difference(difference, trial, subject)


def raised(failure: Failure) -> str:
    """The end of a sentence about an exception."""
    message = failure.message.rstrip(". ")
    stop = "" if message.endswith(("?", "!")) else "."
    error = f"{failure.kind}: {message}{stop}" if message else f"{failure.kind}."
    return f"{error} {failure.location}" if failure.line else error


def _describe_stop(failure: Failure) -> Observation:
    where = f" {failure.location}" if failure.line else ""
    meaning = "Does every loop in your code end, and does its work stay the same from turn to turn?"
    if re.search(r"\b(input|breakpoint|set_trace)\(", failure.line):
        meaning = (
            "That line waits for somebody to type, and during a check nobody does. What your code "
            "needs comes as arguments."
        )
    if failure.message.startswith(ALL_TESTS_TOOK):
        meaning = (
            "Does your code compute something again and again, or number by number, that one "
            "operation on whole tensors could do?"
        )
    return Observation(
        "stopped", f"Your code was stopped: {failure.message}.{where}", meaning=meaning
    )


def _describe_failure(failure: Failure, difference: Difference, *, whole: bool) -> Observation:
    if failure.not_written:
        return Observation("", _describe_unwritten(failure, whole=whole))
    if failure.kind in _ADAPTER_ERRORS:
        name = _ADAPTER_ERRORS[failure.kind]
        meaning = WHAT_CUTS_IT if name == "gradient_cut" else ""
        return Observation(name, failure.sentence, meaning=meaning)
    if difference.expected != "a value":
        return Observation(
            "another_error",
            f"Your code should raise {difference.expected} here; it raised {raised(failure)}",
        )
    name, meaning = find_error_cause(failure)
    # Without a line of the learner's, the check's own use of what the code made may have raised it.
    who = "Your code" if failure.line else "Calling your code, or using what it made,"
    return Observation(name, f"{who} raised {raised(failure)}", meaning=meaning)


def _describe_unwritten(failure: Failure, *, whole: bool) -> str:
    """Which function or method still raises NotImplementedError, in every call or in some."""
    name = f"`{failure.function}`" if failure.function else "your code"
    what = name if whole and failure.function else f"Part of {name}"
    return f"{what} isn't written yet. {failure.location.rstrip(': ')}"


def _describe_difference(difference: Difference, trial: Trial, subject: Any) -> Observation:
    if difference.got == "None" and difference.kind == "type":
        return _describe_none(difference.where, trial, subject)
    extent = f"; {difference.extent}" if difference.extent else ""
    colon = "," if difference.where else ":"  # of which one is enough
    size = "shape" if difference.got_shape is not None else "length"
    name, sentence = {
        "type": ("another_type", f"The type is wrong{colon} {difference}."),
        "shape": ("", f"The {size} is wrong{colon} {difference}."),
        "dtype": ("another_dtype", f"The dtype is wrong{colon} {difference}."),
        "nan": ("", f"There is a NaN (not a number){colon} {difference}{extent}."),
        "changed input": ("input_modified", INPUT_MODIFIED),
        "failure": ("no_error", f"Your code should raise an error here{colon} {difference}."),
        "value": ("", f"Here is the first difference{colon} {difference}{extent}."),
    }[difference.kind]
    if difference.kind == "type" and difference.got.endswith(" ndarray"):
        meaning = "An array of NumPy's isn't a tensor: do it all with PyTorch."
        return Observation(name, sentence, meaning=meaning)
    if difference.kind == "shape" and difference.expected_shape is not None:
        name, meaning = _describe_shapes(trial)
        return Observation(name, sentence, meaning=meaning)
    return Observation(name, sentence)


def _describe_none(where: str, trial: Trial, subject: Any) -> Observation:
    if not where:
        return Observation("nothing_returned", NOTHING_RETURNED)
    if "gradients" in where:
        what = where.split("gradients")[1].strip(", ")
        if position := re.fullmatch(r"\[(\d+)\]", what):
            call, number = trial.first_wrong, int(position[1])
            what = name_float_input(trial.item, call, number=number, subject=subject)
            what = f"`{what}`" if what else "one of the inputs"
        return Observation(
            "gradient_cut",
            f"No gradient reaches {what}: the path from the result back to it is cut somewhere.",
            meaning=WHAT_CUTS_IT,
        )
    return Observation(
        "none_in_the_result",
        f"Your code returned a result in which {where} is None"
        f"{' (entries count from 0)' if '[' in where else ''}. Is a `return` missing?",
    )


def _describe_shapes(trial: Trial) -> tuple[str, str]:
    """The name and the meaning of what all wrong shapes of a trial have in common, or "", ""."""
    pairs = [
        (tuple(a.shape), tuple(b.shape))
        for right, received in zip(trial.expected, trial.answers, strict=True)
        if not received.failure and answers_differ(right, received, tolerance=trial.item.tolerance)
        for a, b in zip(
            tree.tree_leaves(right.value), tree.tree_leaves(received.value), strict=False
        )
        if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape != b.shape
    ]
    if not pairs:
        return "", ""
    if early := _first_other_token(trial):
        return "other_tokens", early
    if all(len(a) != len(b) for a, b in pairs):
        if missing := _axes_apart(pairs):
            size = pairs[0][0][missing[0]]
            cause = "summed, averaged, or one element picked"
            cause = cause if size > 1 else f"{cause}, or squeezed"
            return "axis_missing", (
                f"{_name_axes(missing)} of the right result, of size {size}, is missing in yours: "
                f"{cause}?"
            )
        if added := _axes_apart([(b, a) for a, b in pairs]):
            size = pairs[0][1][added[0]]
            cause = "not summed or not merged"
            if size == 1:
                cause = "added by unsqueeze, or kept by keepdim, a slice or a list as index"
            return "axis_too_many", (
                f"{_name_axes(added)} of your result, of size {size}, is one too many: {cause}?"
            )
    elif all(sorted(a) == sorted(b) for a, b in pairs):
        return "axes_exchanged", "The shape has the right sizes, but in another order."
    else:
        for axis in range(min(len(a) for a, _ in pairs)):
            if all(
                a[axis] != b[axis] and _drop_axis(a, axis) == _drop_axis(b, axis) for a, b in pairs
            ):
                sizes = [(a[axis], b[axis]) for a, b in pairs]
                return "size_of_an_axis", _describe_sizes(axis, sizes, trial)
    return "", ""


def _first_other_token(trial: Trial) -> str:
    """For generated tokens that are too many or too few: the first that differs from the right one;
    "" if they differ in number alone.
    """
    for right, received in zip(trial.expected, trial.answers, strict=True):
        a, b = right.value, received.value
        if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.ndim == b.ndim == 2):
            continue
        if a.is_floating_point() or a.dtype != b.dtype or len(a) != len(b) or a.shape == b.shape:
            continue
        size = min(a.size(1), b.size(1))
        different = (a[:, :size] != b[:, :size]).nonzero()
        if len(different):
            row, column = different[different[:, 1].argmin()].tolist()
            return (
                f"Not only the number of tokens differs: at [{row}, {column}], {a[row, column]} is "
                f"expected, and you have {b[row, column]}."
            )
    return ""


def _axes_apart(pairs: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[int]:
    """The axes without each of which the first shapes are the second ones: several if neighbours
    have the same size in all of them.
    """
    axes = range(max(len(a) for a, _ in pairs))
    return [axis for axis in axes if all(_drop_axis(a, axis) == b for a, b in pairs)]


def _name_axes(axes: list[int]) -> str:
    """In words, "Axis 1" or "Axis 1 or 2"."""
    return f"Axis {' or '.join(map(str, axes))}"


def _drop_axis(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _describe_sizes(axis: int, sizes: list[tuple[int, int]], trial: Trial) -> str:
    right, received = sizes[0]
    if all(b == 1 for _, b in sizes):
        return f"Axis {axis} has size 1 and not {right}: summed, averaged, or one element picked?"
    steps = {b - a for a, b in sizes}
    step = steps.pop()
    if not steps and (abs(step) == 1 or len(set(sizes)) > 1):  # once, any size is too long by some
        long = "long" if step > 0 else "short"
        return f"Axis {axis} is {abs(step)} too {long}, the other sizes are right."
    told = f"Only axis {axis} has the wrong size, in the first case {received} and not {right}"
    inputs = [x for x in tree.tree_leaves(trial.first_wrong.args) if isinstance(x, Tensor)]
    if any({received, right} <= set(x.shape) for x in inputs):
        return f"{told}: the size of another axis of the input. Is that axis there instead?"
    return f"{told}."
