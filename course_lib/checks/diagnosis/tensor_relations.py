"""Relations between right and wrong tensors: multiplied, moved, permuted, truncated, of another
shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.diagnosis.observation import Observation

Pair = tuple[Tensor, Tensor]  # expected and received
MOST_AXES = 5  # whose orders are tried
LEAST_EVIDENCE = 12.0  # bits: by chance, a relation holds once in thousands of wrong answers
BITS_OF_A_FLOAT = 10.0  # that two results agree in a number with digits behind the point


def find_tensor_relation(pairs: Sequence[Pair], tolerance: float) -> Observation | None:
    """The first relation that holds between all pairs of expected and received tensors."""
    if any(x.is_complex() for pair in pairs for x in pair):  # the dtype alone says what is wrong
        return None
    for test in (_dtype, _axes, _sign, _factor, _offset, _function, _moved, _part):
        for name, sentence, holds in test(pairs, tolerance):
            if all(holds(a, b) for a, b in pairs):
                return Observation(name, sentence)
    return None


Tests = Iterator[tuple[str, str, Callable[[Tensor, Tensor], bool]]]


def _enough(numbers: Sequence[Tensor], least: float = LEAST_EVIDENCE) -> bool:
    """Whether numbers that agree are so many and so varied that they don't agree by chance.

    Measured in bits: each number counts as much as its value is unexpected among all of them, so
    that constants count nothing, and a number with digits behind the point counts once more.
    """
    together = torch.cat([x.detach().flatten().double() for x in numbers])
    together = together[together.isfinite()]
    if not len(together):
        return False
    values, counts = together.round(decimals=6).unique(return_counts=True)
    share = counts.double() / len(together)
    bits = -(counts * share.log2()).sum().item()
    distinct = int((values != values.round()).sum()) - (1 if len(values) == 1 else 0)
    return bits + BITS_OF_A_FLOAT * distinct >= least


def _varied(numbers: Sequence[Tensor]) -> bool:
    """Whether there are several different numbers: a constant differs from another by some factor,
    and by some number that is added.
    """
    together = torch.cat([x.detach().flatten().double() for x in numbers])
    values = together[together != 0].unique()
    return len(values) >= (3 if bool((values == values.round()).all()) else 2)


def _dtype(pairs: Sequence[Pair], tolerance: float) -> Tests:
    a, b = pairs[0]
    yield (
        "another_dtype",
        f"The right numbers but for rounding, in another dtype: expected {a.dtype}, got {b.dtype}.",
        partial(_differs_in_dtype_only, tolerance),
    )


def _axes(pairs: Sequence[Pair], tolerance: float) -> Tests:
    a, b = pairs[0]
    shapes = f"expected shape {tuple(a.shape)}, got shape {tuple(b.shape)}"
    if a.ndim == b.ndim <= MOST_AXES and _enough([a for a, _ in pairs]):
        for order in list(permutations(range(a.ndim)))[1:]:  # the first one changes nothing
            yield (
                "axes_in_another_order",
                "The right numbers, with the axes in another order: yours is "
                f"`right.permute{order}` ({shapes}).",
                partial(_permuted, order),
            )
    yield (
        "axis_of_size_one",
        f"The right numbers, but an axis of size 1 is lost or too many: {shapes}.",
        lambda a, b: a.ndim != b.ndim and equal(a.squeeze(), b.squeeze(), tolerance=tolerance),
    )
    yield (
        "axis_of_size_one",
        f"The right numbers, but an axis of size 1 is at another position: {shapes}.",
        lambda a, b: a.shape != b.shape and equal(a.squeeze(), b.squeeze(), tolerance=tolerance),
    )
    yield (
        "another_shape",
        f"The right numbers in the right order, but in another shape: {shapes}.",
        lambda a, b: a.shape != b.shape and equal(a.flatten(), b.flatten(), tolerance=tolerance),
    )
    yield (
        "axes_missing",
        f"Axes are missing; the right numbers would come if your result were broadcast: {shapes}.",
        lambda a, b: b.ndim < a.ndim and _broadcasts(a, b, tolerance),
    )


def _sign(pairs: Sequence[Pair], tolerance: float) -> Tests:
    if not _enough([a for a, _ in pairs], LEAST_EVIDENCE / 2):  # two numbers, or some truth values
        return
    yield (
        "inverted",
        "Exactly inverted: where True is expected you have False, and the other way round.",
        lambda a, b: a.dtype == b.dtype == torch.bool and equal(~a, b),
    )
    yield (
        "sign_reversed",
        "The right numbers with the opposite sign.",
        lambda a, b: a.is_floating_point() and equal(-a, b, tolerance=tolerance),
    )


def _factor(pairs: Sequence[Pair], tolerance: float) -> Tests:
    factors = [_ratio(a, b, tolerance) for a, b in pairs]
    if None in factors:
        return
    lone = all(not a.ndim for a, _ in pairs)
    same = max(factors) - min(factors) < (1e-6 if lone else 1e-3) * abs(factors[0])
    if not _many(pairs, each=not same) or (same and f"{factors[0]:.4g}" == "1"):
        return
    if not (_varied([a for a, _ in pairs]) if same else all(_varied([a]) for a, _ in pairs)):
        return
    how = (
        f"{factors[0]:.4g}"
        if same
        else "a different number in each call: " + _list_factors(factors)
    )
    yield "wrong_factor", f"The right numbers, all multiplied by {how}.", lambda a, b: True


def _list_factors(factors: Sequence[float | None]) -> str:
    shown = ", ".join(f"{factor:.4g}" for factor in factors[:3])
    return f"{shown} and so on" if len(factors) > 3 else shown


def _offset(pairs: Sequence[Pair], tolerance: float) -> Tests:
    a, b = pairs[0]
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype == torch.bool or a.is_complex():
        return
    # Any number differs from a constant by some other.
    if not a.numel() or not _many(pairs) or not _varied([a for a, _ in pairs]):
        return
    by = (b - a).flatten()[0].item()
    if not math.isfinite(by) or abs(by) < 10 * tolerance:
        return
    yield (
        "wrong_offset",
        f"The right numbers, all with {by:+.4g} added.",
        lambda a, b: equal(a + by, b, tolerance=tolerance) and _is_offset(b - a, by, a),
    )


def _is_offset(found: Tensor, by: float, a: Tensor) -> bool:
    """Whether it is the same number everywhere, also where it is small beside the numbers in a."""
    if not a.numel():
        return True
    rounding = max(1e-4 * abs(by), 1e-6 * float(a.abs().max()))
    return float((found - by).abs().max()) <= rounding


_FUNCTIONS: tuple[tuple[str, str, Callable[[Tensor], Tensor]], ...] = (
    ("squared", "squared", torch.square),
    ("square_root", "replaced by their square roots", torch.sqrt),
    ("inverse", "as 1 / x", torch.reciprocal),
    ("complement", "as 1 - x", lambda x: 1 - x),
    ("exponential", "as exp(x)", torch.exp),
    ("logarithm", "replaced by their natural logarithms", torch.log),
    *(
        ("rounded", f"rounded to {10.0**-digits:g}", partial(torch.round, decimals=digits))
        for digits in (4, 3, 2, 1, 0, -1, -2, -3)
    ),
)


def _function(pairs: Sequence[Pair], tolerance: float) -> Tests:
    if not _many(pairs) or any(not a.is_floating_point() for a, _ in pairs):
        return
    if any(a.shape != b.shape for a, b in pairs):  # one of any size is not copied
        return
    if not all(_enough([pair[side] for pair in pairs]) for side in (0, 1)):
        return  # a constant is many functions of few numbers
    for name, how, function in _FUNCTIONS:
        yield (
            name,
            f"The right numbers, but {how}.",
            # zeros alone are many functions of small numbers
            lambda a, b, f=function: b.any() and equal(f(a), b, tolerance=tolerance),  # type: ignore[misc]
        )


def _many(pairs: Sequence[Pair], *, each: bool = False) -> bool:
    """Whether there are numbers enough: a lone number always differs by some factor."""
    sizes = [a.numel() for a, _ in pairs]
    return min(sizes) >= 3 if each else max(sizes) >= 3 or len(sizes) >= 2


def _moved(pairs: Sequence[Pair], tolerance: float) -> Tests:
    varied = _enough([a for a, _ in pairs])
    for axis in range(pairs[0][0].ndim if varied else 0):
        yield (
            "reversed_along_an_axis",
            f"The right numbers in reverse order along axis {axis}.",
            partial(_flipped, axis, tolerance),
        )
        for step, where in ((1, "late"), (-1, "early")):
            if not _enough([_kept(a, axis, step) for a, _ in pairs if axis < a.ndim]):
                continue
            yield (
                "shifted_by_one",
                f"The right numbers one step too {where} along axis {axis}: counted from another "
                "start?",
                partial(_shifted, axis, step, tolerance),
            )


def _kept(a: Tensor, axis: int, step: int) -> Tensor:
    """What is left of a after a step along an axis."""
    return a.narrow(axis, 0 if step > 0 else min(1, a.size(axis)), max(0, a.size(axis) - 1))


def _part(pairs: Sequence[Pair], tolerance: float) -> Tests:
    if not _enough([min(pair, key=torch.numel) for pair in pairs]):
        return
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


def equal(a: Tensor, b: Tensor, *, tolerance: float = 1e-5) -> bool:
    """Whether two tensors agree in shape, dtype and numbers."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def _differs_in_dtype_only(tolerance: float, a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or a.dtype == b.dtype or a.is_complex() or b.is_complex():
        return False
    if not (a.is_floating_point() and b.is_floating_point()):
        return torch.equal(a.double(), b.double())
    coarse = {a.dtype, b.dtype} & {torch.float16, torch.bfloat16}
    return equal(a.double(), b.double(), tolerance=1e-2 if coarse else max(tolerance, 1e-5))


def _permuted(order: tuple[int, ...], a: Tensor, b: Tensor) -> bool:
    return a.ndim == len(order) and equal(a.permute(order), b)


def _flipped(axis: int, tolerance: float, a: Tensor, b: Tensor) -> bool:
    return axis < a.ndim and equal(a.flip(axis), b, tolerance=tolerance)


def _broadcasts(a: Tensor, b: Tensor, tolerance: float) -> bool:
    try:
        return equal(a, b.broadcast_to(a.shape), tolerance=tolerance)
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
    return (
        ratio
        if ratio and math.isfinite(ratio) and equal(a * ratio, b, tolerance=tolerance)
        else None
    )


def _shifted(axis: int, step: int, tolerance: float, a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or axis >= a.ndim or a.size(axis) < 3:
        return False
    earlier, later = (a, b) if step > 0 else (b, a)
    size = a.size(axis) - 1
    return equal(earlier.narrow(axis, 0, size), later.narrow(axis, 1, size), tolerance=tolerance)


def _ends_up(axis: int, side: str, tolerance: float, part: Tensor, whole: Tensor) -> bool:
    return _begins(axis, side, tolerance, whole, part)


def _begins(axis: int, side: str, tolerance: float, whole: Tensor, part: Tensor) -> bool:
    if whole.ndim != part.ndim or axis >= whole.ndim:
        return False
    missing = whole.size(axis) - part.size(axis)
    if missing <= 0 or part.size(axis) < 2:  # one that is left can be right by chance
        return False
    start = 0 if side == "first" else missing
    return equal(whole.narrow(axis, start, part.size(axis)), part, tolerance=tolerance)
