"""What a wrong result has to do with the right one, where no misconception of the item fits.

"The right numbers, each times 2", "shifted by one along axis 1": a relation is named only if it
holds for every wrong answer, so it is a fact about the learner's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.call import Answer
from course_lib.checks.compare import answers_differ
from course_lib.checks.trial import Trial

Pair = tuple[Tensor, Tensor]  # expected and received
NOTHING_RETURNED = "Your code returned None. Is a `return` missing?"
INPUT_MODIFIED = (
    "Your code modifies its input in place. Work on a copy: the caller may still need the original."
)
WHAT_CUTS_IT = (
    "`detach`, `.data`, `.item()`, `torch.no_grad` and NumPy cut it, and so does a new tensor made "
    "from numbers."
)
MOST_AXES = 5  # whose orders are tried


@dataclass(frozen=True)
class Relation:
    """A name and the sentence that a learner reads."""

    name: str
    sentence: str


def relation_of(trials: Sequence[Trial]) -> Relation | None:
    """The relation that holds between each wrong answer and the right one, or None."""
    wrong = [
        (right, given)
        for trial in trials
        if trial.difference and trial.probe.compare is None
        for right, given in zip(trial.expected, trial.answers, strict=True)
        if answers_differ(right, given, tolerance=trial.item.tolerance)
    ]
    failed = [trial for trial in trials if trial.difference]
    if not wrong or any(trial.probe.compare is not None for trial in failed):
        return None
    if found := _of_answers(wrong):
        return found
    plain = [(a.value, b.value) for a, b in wrong if not _has_gradients(a)]
    if any(b.failure for _, b in wrong) or not plain:
        return None
    if found := _of_containers(plain):
        return found
    tensors = [pair for a, b in plain for pair in _tensors(a, b)]
    if len(tensors) < len(plain):
        return None
    tolerance = failed[0].item.tolerance
    different = [pair for pair in tensors if not _equal(*pair, tolerance)]
    return _of_tensors(different, tolerance) if different else None


def _of_answers(wrong: Sequence[tuple[Answer, Answer]]) -> Relation | None:
    kinds = {b.failure.kind if b.failure else "" for _, b in wrong}
    if kinds == {"WrongParameters"}:
        return Relation("other_parameters", next(b.failure.sentence for _, b in wrong if b.failure))
    if kinds == {"WrongResult"}:
        return Relation("another_type", next(b.failure.sentence for _, b in wrong if b.failure))
    if kinds != {""}:
        return None
    if all(b.value is None for _, b in wrong):
        return Relation("nothing_returned", NOTHING_RETURNED)
    if all(b.changed_inputs and not a.changed_inputs for a, b in wrong):
        return Relation(
            "input_modified",
            INPUT_MODIFIED,
        )
    if all(_has_gradients(a) and _lost_gradients(a, b) for a, b in wrong):
        return Relation(
            "gradient_cut",
            "The values are right, but no gradient comes back: the path from the result to its "
            f"inputs or parameters is cut somewhere. {WHAT_CUTS_IT}",
        )
    return None


def _of_containers(plain: Sequence[tuple[Any, Any]]) -> Relation | None:
    """A result that holds too few, too many or exchanged entries."""
    if all(isinstance(a, tuple) and isinstance(b, (tuple, list)) for a, b in plain) and all(
        len(a) == len(b) and _same(a, b[::-1]) for a, b in plain
    ):
        return Relation("entries_reversed", "The right results, in the opposite order.")
    if all(isinstance(a, tuple) and a and _same(a[0], b) for a, b in plain):
        return Relation("first_result_only", "Only the first of the results is returned.")
    if all(isinstance(b, (tuple, list)) and b and _same(a, b[0]) for a, b in plain):
        return Relation(
            "more_than_asked_for", "The right result comes first, but more is returned with it."
        )
    if all(isinstance(a, Tensor) and isinstance(b, list) and _same_list(a, b) for a, b in plain):
        return Relation("list_for_tensor", "The right numbers, as a list and not as a tensor.")
    return None


def _of_tensors(pairs: Sequence[Pair], tolerance: float) -> Relation | None:
    for test in (_dtype, _axes, _sign, _factor, _offset, _moved, _part):
        for name, sentence, holds in test(pairs, tolerance):
            if all(holds(a, b) for a, b in pairs):
                return Relation(name, sentence)
    return None


Tests = Iterator[tuple[str, str, Callable[[Tensor, Tensor], bool]]]


def _dtype(pairs: Sequence[Pair], tolerance: float) -> Tests:
    a, b = pairs[0]
    yield (
        "another_dtype",
        f"The right numbers in another dtype: expected {a.dtype}, got {b.dtype}.",
        partial(_in_another_dtype, max(tolerance, 1e-2)),
    )


def _axes(pairs: Sequence[Pair], tolerance: float) -> Tests:
    a, b = pairs[0]
    shapes = f"expected shape {tuple(a.shape)}, got shape {tuple(b.shape)}"
    if a.ndim == b.ndim <= MOST_AXES:
        for order in permutations(range(a.ndim)):
            yield (
                "axes_in_another_order",
                f"The right numbers, with the axes in another order: yours are {order} of the "
                f"right result ({shapes}).",
                partial(_permuted, order),
            )
    yield (
        "axis_of_size_one",
        f"The right numbers, but an axis of size 1 is lost or too many: {shapes}.",
        lambda a, b: a.shape != b.shape and _equal(a.squeeze(), b.squeeze(), tolerance),
    )
    yield (
        "another_shape",
        f"The right numbers in the right order, but in another shape: {shapes}.",
        lambda a, b: a.shape != b.shape and _equal(a.flatten(), b.flatten(), tolerance),
    )
    yield (
        "axes_missing",
        f"Axes are missing; the right numbers would come if your result were broadcast: {shapes}.",
        lambda a, b: a.shape != b.shape and _broadcasts(a, b, tolerance),
    )


def _sign(pairs: Sequence[Pair], tolerance: float) -> Tests:
    yield (
        "inverted",
        "Exactly inverted: where True is expected you have False, and the other way round.",
        lambda a, b: a.dtype == b.dtype == torch.bool and _equal(~a, b),
    )
    yield (
        "sign_reversed",
        "The right numbers with the opposite sign.",
        lambda a, b: a.is_floating_point() and _equal(-a, b, tolerance),
    )


def _factor(pairs: Sequence[Pair], tolerance: float) -> Tests:
    factors = [_ratio(a, b, tolerance) for a, b in pairs]
    if None in factors:
        return
    same = max(factors) - min(factors) < 1e-3 * abs(factors[0])
    if not _many(pairs, each=not same):
        return
    how = f"{factors[0]:.4g}" if same else "a number that depends on the sizes"
    yield "wrong_factor", f"The right numbers, all multiplied by {how}.", lambda a, b: True


def _offset(pairs: Sequence[Pair], tolerance: float) -> Tests:
    a, b = pairs[0]
    if a.shape != b.shape or a.dtype == torch.bool or not a.numel() or not _many(pairs):
        return
    by = (b - a).flatten()[0].item()
    yield (
        "wrong_offset",
        f"The right numbers, all with {by:+.4g} added.",
        lambda a, b: a.dtype == b.dtype != torch.bool and _equal(a + by, b, tolerance),
    )


def _many(pairs: Sequence[Pair], *, each: bool = False) -> bool:
    """Whether there are numbers enough: two lone numbers always differ by some factor."""
    sizes = [a.numel() for a, _ in pairs]
    return min(sizes) >= 3 if each else max(sizes) >= 3 or len(sizes) >= 3


def _moved(pairs: Sequence[Pair], tolerance: float) -> Tests:
    for axis in range(pairs[0][0].ndim):
        yield (
            "reversed_along_an_axis",
            f"The right numbers in reverse order along axis {axis}.",
            partial(_flipped, axis, tolerance),
        )
        for step, where in ((1, "late"), (-1, "early")):
            yield (
                "shifted_by_one",
                f"The right numbers one step too {where} along axis {axis}: counted from another "
                "start?",
                partial(_shifted, axis, step, tolerance),
            )


def _part(pairs: Sequence[Pair], tolerance: float) -> Tests:
    for axis in range(pairs[0][0].ndim):
        for side, words in (("first", "the end"), ("last", "the start")):
            yield (
                "too_short",
                f"The right numbers, but some are missing at {words} of axis {axis}.",
                partial(_begins, axis, side, tolerance),
            )
            yield (
                "too_long",
                f"The right numbers, and more of them at {words} of axis {axis}.",
                partial(_ends_up, axis, side, tolerance),
            )


def _tensors(expected: Any, got: Any) -> list[Pair]:
    """The tensors of two results of the same structure, plain numbers included."""
    if isinstance(expected, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(expected) != len(got):
            return []
        return [pair for a, b in zip(expected, got, strict=True) for pair in _tensors(a, b)]
    if isinstance(expected, float) and isinstance(got, float):
        return [
            (torch.tensor(expected, dtype=torch.float64), torch.tensor(got, dtype=torch.float64))
        ]
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        return [(expected, got)]
    return []


def _has_gradients(answer: Answer) -> bool:
    return isinstance(answer.value, dict) and "gradients" in answer.value


def _lost_gradients(right: Answer, given: Answer) -> bool:
    """Whether the answers differ in gradients alone, and some or all of these are None."""
    a, b = right.value, given.value
    if not isinstance(b, dict) or list(a) != list(b):
        return False
    others = [name for name in a if name != "gradients"]
    kept = all(_same(a[name], b[name]) for name in others)
    found = b["gradients"]
    gradients = list(found.values() if isinstance(found, dict) else found)
    return kept and any(gradient is None for gradient in gradients)


def _same(a: Any, b: Any) -> bool:
    return answers_differ(Answer(a), Answer(b)) is None


def _same_list(a: Tensor, b: list[Any]) -> bool:
    try:
        return _equal(a, torch.as_tensor(b, dtype=a.dtype))
    except (TypeError, ValueError, RuntimeError):  # ragged, or not of numbers
        return False


def _equal(a: Tensor, b: Tensor, tolerance: float = 1e-5) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def _in_another_dtype(tolerance: float, a: Tensor, b: Tensor) -> bool:
    if a.dtype == b.dtype or a.is_complex() or b.is_complex():
        return False
    return _equal(a.double(), b.double(), tolerance)


def _permuted(order: tuple[int, ...], a: Tensor, b: Tensor) -> bool:
    return a.ndim == len(order) and _equal(a.permute(order), b)


def _flipped(axis: int, tolerance: float, a: Tensor, b: Tensor) -> bool:
    return axis < a.ndim and _equal(a.flip(axis), b, tolerance)


def _broadcasts(a: Tensor, b: Tensor, tolerance: float) -> bool:
    try:
        return _equal(a, b.broadcast_to(a.shape), tolerance)
    except RuntimeError:
        return False


def _ratio(a: Tensor, b: Tensor, tolerance: float) -> Any:
    """The number by which all of a has to be multiplied to give b, or None."""
    if a.shape != b.shape or not (a.is_floating_point() and a.dtype == b.dtype and a.numel()):
        return None
    i = int(a.abs().argmax())
    if not a.flatten()[i]:
        return None
    ratio = (b.flatten()[i] / a.flatten()[i]).item()
    return ratio if ratio and _equal(a * ratio, b, tolerance) else None


def _shifted(axis: int, step: int, tolerance: float, a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or axis >= a.ndim or a.size(axis) < 3:
        return False
    earlier, later = (a, b) if step > 0 else (b, a)
    size = a.size(axis) - 1
    return _equal(earlier.narrow(axis, 0, size), later.narrow(axis, 1, size), tolerance)


def _ends_up(axis: int, side: str, tolerance: float, part: Tensor, whole: Tensor) -> bool:
    return _begins(axis, side, tolerance, whole, part)


def _begins(axis: int, side: str, tolerance: float, whole: Tensor, part: Tensor) -> bool:
    if whole.ndim != part.ndim or axis >= whole.ndim:
        return False
    missing = whole.size(axis) - part.size(axis)
    if missing <= 0 or not part.size(axis):
        return False
    start = 0 if side == "first" else missing
    return _equal(whole.narrow(axis, start, part.size(axis)), part, tolerance)
