"""Which one of an item's misconceptions explains a part of the answers that nothing else explains.

Three kinds of parts: the form of a result (shape, dtype, type), where a misconception changes the
form alone; what an item records of a call, such as how often the encoder ran; and numbers that are
wrong in exactly the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.diagnosis.parts import (
    is_number,
    parts_of,
    parts_that_differ,
    wrong_or_missing,
)
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import first_difference

# The share of what a misconception changes that has to be there, and how many bits of it no other
# explains: more where most of it is hidden by other errors. By chance, one answer of a million has
# 20 bits.
ENOUGH = ((0.5, 20.0), (0.25, 200.0))
Answers = Sequence[Answer]  # to the same calls
Trait = tuple[int, str, str]  # of a call, a part of its result, and what about it


def forms_of(answers: Answers) -> dict[Trait, Any]:
    """The type, the shape and the dtype of each part of each result."""
    traits: dict[Trait, Any] = {}
    for k, answer in enumerate(answers):
        for where, x in {} if answer.failure else parts_of(answer).items():
            traits[k, where, "type"] = "number" if is_number(x) else type(x).__name__
            if isinstance(x, Tensor):
                traits[k, where, "shape"], traits[k, where, "dtype"] = tuple(x.shape), x.dtype
    return traits


def facts_of(answers: Answers) -> dict[Trait, Any]:
    """What an item records of a call: the whole numbers and truth values under a name."""
    return {
        (k, where, "fact"): x
        for k, answer in enumerate(answers)
        if not answer.failure and isinstance(answer.value, Mapping)
        for where, x in parts_of(answer).items()
        if isinstance(x, (bool, int, str))
    }


def only_the_form_differs(answers: Answers, right: Answers, *, tolerance: float) -> bool:
    """Whether all results hold the right numbers, in another form."""
    return all(
        not answer.failure
        and not wanted.failure
        and first_difference(_numbers(wanted), _numbers(answer), tolerance=tolerance) is None
        for answer, wanted in zip(answers, right, strict=True)
    )


def only_facts_differ(answers: Answers, right: Answers, *, tolerance: float) -> bool:
    """Whether all results are right but for what the item records of the call."""
    facts = facts_of(right)
    return all(
        (k, where, "fact") in facts
        for k, (answer, wanted) in enumerate(zip(answers, right, strict=True))
        for where in parts_that_differ(answer, wanted, tolerance=tolerance)
    )


def _numbers(answer: Answer) -> list[Any]:
    return [
        x.flatten().to(torch.float64) if isinstance(x, Tensor) and not x.is_complex() else x
        for x in parts_of(answer).values()
    ]


def shared_traits(
    theirs: Mapping[Trait, Any], *, received: Mapping[Trait, Any], right: Mapping[Trait, Any]
) -> dict[Trait, Any]:
    """The traits that are wrong in theirs, if those received have all of them; else none.

    A call that has none, because it failed, says nothing.
    """
    calls = {k for k, _, _ in received}
    wrong = {t: x for t, x in theirs.items() if t[0] in calls and right.get(t) != x}
    return wrong if all(received.get(t) == x for t, x in wrong.items()) else {}


def bits(received: Any, right: Any) -> float:
    """How unlikely it is to be wrong in the same way by chance: more for more numbers."""
    if isinstance(received, Tensor) and isinstance(right, Tensor):
        if received.shape != right.shape:
            return 2.0
        wrong = received[received != right]
        if not wrong.is_floating_point():
            return min(40.0, wrong.numel() * (1.0 if wrong.dtype == torch.bool else 2.0))
        plain = ~wrong.isfinite() | (wrong == 0) | (wrong.abs() == 1)
        return min(40.0, 10.0 * len(wrong[~plain].unique()) + float(plain.any()))
    if isinstance(received, float) and received not in (0.0, 1.0, -1.0):
        return 10.0
    if isinstance(received, (list, tuple)) and isinstance(right, (list, tuple)):
        pairs = zip(received, right, strict=False)
        return min(40.0, 1.0 + sum(bits(a, b) for a, b in pairs if not _equal(a, b)))
    return 2.0


def bits_together(pairs: Sequence[tuple[Any, Any]]) -> float:
    """The bits of several results, (received, right): equal lone numbers count only once."""
    total, counted = 0.0, set()
    for received, right in pairs:
        if isinstance(received, float):
            number = f"{received:.5g}"
            if number in counted:
                continue
            counted.add(number)
        total += bits(received, right)
    return total


def _equal(a: Any, b: Any) -> bool:
    return first_difference(a, b) is None


def parts_with_first(answer: Answer) -> dict[str, Any]:
    """The parts of an answer, and of tokens the first ones, too."""
    parts = parts_of(answer)
    for where, x in list(parts.items()):
        if isinstance(x, Tensor) and x.ndim == 2 and x.dtype == torch.int64 and x.size(1):
            parts[f"{where}[:, 0]"] = x[:, 0]
        elif isinstance(x, (list, tuple)) and x and isinstance(x[0], int) and where != "failure":
            parts[f"{where}[0]"] = x[0]
    return parts


def wrong_parts(answer: Answer, right: Answer, *, tolerance: float) -> set[str]:
    """Which parts of the right answer, the first tokens among them, are wrong or missing."""
    return wrong_or_missing(parts_with_first(answer), parts_with_first(right), tolerance=tolerance)


def same_values(theirs: Answers, *, received: Answers, right: Answers) -> bool:
    """Whether, where the right result is boolean, no value comes that isn't in theirs."""
    for a, b, wanted in zip(theirs, received, right, strict=True):
        ours, others, rights = (parts_of(each) for each in (a, b, wanted))
        for where, x in rights.items():
            y, z = ours.get(where), others.get(where)
            if not (isinstance(x, Tensor) and x.dtype == torch.bool and isinstance(z, Tensor)):
                continue
            if not isinstance(y, Tensor) or z.numel() > 10**6:
                return False
            if not set(z.double().unique().tolist()) <= set(y.double().unique().tolist()):
                return False
    return True
