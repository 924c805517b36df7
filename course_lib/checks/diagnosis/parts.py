"""The parts of an answer, which can be wrong one by one, and how near two answers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import answers_differ, first_difference


def parts_of(answer: Answer) -> dict[str, Any]:
    """What an answer consists of: its tensors, numbers and lists by name, or its failure."""
    if answer.failure:
        return {"failure": (answer.failure.kind, answer.failure.message)}
    parts: dict[str, Any] = {}

    def add(x: Any, where: str) -> None:
        if isinstance(x, Mapping):
            for key, value in x.items():
                add(value, f"{where}/{key}")
        elif isinstance(x, (list, tuple)) and any(
            isinstance(y, (Tensor, list, tuple, Mapping)) for y in x
        ):
            for i, value in enumerate(x):
                add(value, f"{where}[{i}]")
        else:
            parts[where] = x

    add(answer.value, "")
    if answer.changed_inputs:
        parts["changed"] = True
    return parts


def parts_that_differ(answer: Answer, right: Answer, *, tolerance: float) -> set[str]:
    """Which parts of the right answer are wrong in this one, or missing; and those too many."""
    theirs, wanted = parts_of(answer), parts_of(right)
    too_many = set() if answer.failure and not right.failure else theirs.keys() - wanted.keys()
    return wrong_or_missing(theirs, wanted, tolerance=tolerance) | too_many


def wrong_or_missing(
    theirs: Mapping[str, Any], wanted: Mapping[str, Any], *, tolerance: float
) -> set[str]:
    """Which of the parts that are wanted are others in theirs, or not there."""
    return {
        where
        for where, x in wanted.items()
        if where not in theirs or first_difference(x, theirs[where], tolerance=tolerance)
    }


def nearness(theirs: Answer, received: Answer, *, tolerance: float) -> float:
    """How much two answers have in common, from 0 to 1, which they have only if they are equal."""
    if answers_differ(theirs, received, tolerance=tolerance) is None:
        return 1.0
    if theirs.failure or received.failure:
        kinds = [each.failure and each.failure.kind for each in (theirs, received)]
        return 0.5 if kinds[0] == kinds[1] else 0.0
    (ours, form), (others, other_form) = (
        tree.tree_flatten(each.value) for each in (theirs, received)
    )
    if form != other_form or not ours:
        return 0.05
    near = [_leaf_nearness(a, b, tolerance) for a, b in zip(ours, others, strict=True)]
    return 0.99 * sum(near) / len(near)


def _leaf_nearness(a: Any, b: Any, tolerance: float) -> float:
    if first_difference(a, b, tolerance=tolerance) is None:
        return 1.0
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.numel() != b.numel() or not a.numel() or a.is_complex() or b.is_complex():
            return 0.2 if a.ndim == b.ndim else 0.1
        x, y = (each.flatten().to(torch.float64) for each in (a, b))
        equal = torch.isclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
        share = float(equal.double().mean())
        distance = float((x - y).abs().nan_to_num(posinf=1.0).mean())
        size = float((x.abs() + y.abs()).nan_to_num(posinf=1.0).mean())
        close = max(0.0, 1.0 - distance / size) if size else 1.0
        alike = 0.2 * (a.shape == b.shape) + 0.1 * (a.dtype == b.dtype)
        return 0.2 + alike + 0.3 * share + 0.2 * close
    if is_number(a) and is_number(b):
        size = abs(a) + abs(b)
        return 0.2 + 0.3 * max(0.0, 1.0 - abs(a - b) / size) if 0 < size < 1e300 else 0.2
    return 0.0


def is_number(x: Any) -> bool:
    """Whether it is a plain number; a truth value is none."""
    return isinstance(x, (int, float)) and not isinstance(x, bool)
