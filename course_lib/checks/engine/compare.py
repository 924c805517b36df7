"""Find the first difference between two answers, and describe it to a learner."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.engine.call import Answer, Unusual, truncated

MOST_WRITTEN = 160  # characters of a list that is written out
MOST_LEVELS = 10  # of lists in lists that are written out
DifferenceKind = Literal[
    "failure", "changed input", "type", "shape", "dtype", "nan", "value", "told"
]


@dataclass(frozen=True)
class Difference:
    """The first difference: its kind, where it is, what was expected and what came.

    ``expected_shape`` and ``got_shape`` are given if the shapes differ, ``error`` and ``extent`` if
    numbers of a tensor do: the largest error of all, relative to the largest number that was
    expected, and how many are wrong.
    """

    kind: DifferenceKind
    _: KW_ONLY
    expected: str
    got: str
    where: str = ""
    expected_shape: tuple[int, ...] | None = None
    got_shape: tuple[int, ...] | None = None
    error: float = 0.0
    extent: str = ""

    def __str__(self) -> str:
        if self.kind == "told":
            return self.expected
        prefix = f"{self.where}: " if self.where else ""
        return f"{prefix}expected {self.expected}, got {self.got}"


def told(sentence: str) -> Difference:
    """What keeps an answer from being right, where a sentence says it better than two values."""
    return Difference("told", expected=sentence, got="")


def first_difference(
    expected: Any, got: Any, *, tolerance: float = 1e-5, where: str = ""
) -> Difference | None:
    """Compare plain data: tensors, numbers, strings, None, and tuples, lists and dicts of them.

    A list counts as a tuple, and a tensor without axes as a number, but not in a list of integers,
    which are often indices or ids. Floats may differ by ``tolerance``, absolute or relative,
    whichever is larger.
    """
    if isinstance(expected, Tensor):
        return _tensors(expected, got, tolerance, where)
    if isinstance(expected, Mapping):
        return _mappings(expected, got, tolerance, where)
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return _sequences(expected, got, tolerance, where)
    if isinstance(expected, (int, float)) and not isinstance(expected, bool):
        return _numbers(expected, got, tolerance, where)
    came = got
    if isinstance(got, Tensor) and not got.ndim:
        got = got.item()
    if type(expected) is not type(got):
        return Difference("type", expected=described(expected), got=described(came), where=where)
    return (
        None
        if expected == got
        else Difference("value", expected=repr(expected), got=short(got), where=where)
    )


def answers_differ(expected: Answer, got: Answer, *, tolerance: float = 1e-5) -> Difference | None:
    """As ``first_difference``, for whole answers: failures and modified inputs count, too."""
    if got.failure or expected.failure:
        if expected.failure and got.failure:
            a, b = expected.failure, got.failure
            same = (a.kind, a.message) == (b.kind, b.message)
            return None if same else Difference("failure", expected=a.kind, got=repr(b))
        if got.failure:
            return Difference("failure", expected="a value", got=repr(got.failure))
        assert expected.failure
        return Difference("failure", expected=f"{expected.failure.kind}", got="no error")
    if got.changed_inputs != expected.changed_inputs:
        return Difference(
            "changed input", expected="inputs left unchanged", got="an input modified in place"
        )
    return first_difference(expected.value, got.value, tolerance=tolerance)


def forms_differ(expected: Any, got: Any) -> Difference | None:
    """As ``first_difference``, but a number agrees with any other, unless it is NaN or infinite.

    For results that are random in part. Their comparisons need no defence of their own then:
    ``x > limit`` is False for a NaN.
    """
    difference = first_difference(_numbers_as_zero(expected), _numbers_as_zero(got))
    if difference and difference.kind in ("nan", "value"):
        return replace(difference, expected="a finite number")
    return difference


def _numbers_as_zero(value: Any) -> Any:
    """The value, with 0 for each number but NaN and infinity."""

    def zero(x: Any) -> Any:
        if isinstance(x, Tensor):
            return torch.where(x.isfinite(), torch.zeros_like(x), x)
        if type(x) in (int, float):
            return type(x)(0) if math.isfinite(x) else x
        return x

    return tree.tree_map(zero, value)


def _tensors(expected: Tensor, got: Any, tolerance: float, where: str) -> Difference | None:
    if not isinstance(got, Tensor):
        return Difference("type", expected=described(expected), got=described(got), where=where)
    if expected.shape != got.shape:
        shapes = tuple(expected.shape), tuple(got.shape)
        return Difference(
            "shape",
            expected=f"shape {shapes[0]}",
            got=f"shape {shapes[1]}",
            where=where,
            expected_shape=shapes[0],
            got_shape=shapes[1],
        )
    if expected.dtype != got.dtype:
        return Difference("dtype", expected=str(expected.dtype), got=str(got.dtype), where=where)
    want, have = expected.cpu(), got.cpu()  # a result on a GPU is right, too
    if not expected.is_floating_point():
        wrong = want != have
    else:
        # A NaN where the reference has one is right, which `==` would deny.
        wrong = ~torch.isclose(have, want, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not wrong.any():
        return None
    index = tuple(wrong.nonzero()[0].tolist())
    have_one, want_one = have[index].item(), want[index].item()
    is_nan = isinstance(have_one, float) and math.isnan(have_one)
    element = f"element [{', '.join(map(str, index))}]" if index else "the number"
    where = f"{where}, {element}" if where else element
    # The largest error as a share of the largest number, so that two tests can be compared.
    error = float((want.double() - have.double()).abs().nan_to_num().max())
    error /= float(want.double().abs().nan_to_num().max()) or 1.0
    kind: DifferenceKind = "nan" if is_nan else "value"
    count = int(wrong.sum())
    verb = "is" if count == 1 else "are"
    extent = f"{count} of {wrong.numel()} numbers {verb} wrong" if wrong.ndim else ""
    extent += _spared(wrong)
    wanted, found = _numbers_apart(want_one, have_one)
    return Difference(kind, expected=wanted, got=found, where=where, error=error, extent=extent)


def _spared(wrong: Tensor) -> str:
    """Along which axis some indices are right, or only some are wrong, ", none at index 0 of axis
    1"; "" for a single number, whose index is told.
    """
    for axis in range(wrong.ndim if wrong.sum() > 1 else 0):
        along = any_along(wrong, axis)
        there, spared = along.nonzero().flatten().tolist(), (~along).nonzero().flatten().tolist()
        if not spared:
            continue
        word, few = ("all", there) if len(there) <= len(spared) else ("none", spared)
        indices = f"ind{'ex' if len(few) == 1 else 'ices'} {', '.join(map(str, few))}"
        return f", {word} at {indices} of axis {axis}"
    return ""


def any_along(flags: Tensor, axis: int) -> Tensor:
    """Whether any flag is True, for each index of one axis."""
    return flags.movedim(axis, 0).flatten(1).any(1) if flags.ndim > 1 else flags


def slice_of_axis(axis: int, index: int | str) -> str:
    """An index of an axis as Python writes it, "[:, 2]"."""
    return f"[{', '.join([':'] * axis + [str(index)])}]"


def _mappings(expected: Any, got: Any, tolerance: float, where: str) -> Difference | None:
    if not isinstance(got, Mapping) or expected.keys() != got.keys():
        return Difference("type", expected=described(expected), got=described(got), where=where)
    for key, value in expected.items():
        inner = f"{where}, {key}" if where else str(key)
        if found := first_difference(value, got[key], tolerance=tolerance, where=inner):
            return found
    return None


def _sequences(expected: Any, got: Any, tolerance: float, where: str) -> Difference | None:
    if not isinstance(got, Sequence) or isinstance(got, str):
        return Difference("type", expected=described(expected), got=described(got), where=where)
    found = _entries(expected, got, tolerance, where)
    if found is None or found.kind == "type" or not (_is_plain(expected) and _is_plain(got)):
        return found
    for digits in range(4, 18):  # 17 tell any two floats apart
        want, have = (_written(x, digits) for x in (expected, got))
        if want != have:
            break
    if len(want) > MOST_WRITTEN:
        return found
    kind: DifferenceKind = found.kind if found.where == where else "value"  # not of the whole list
    return Difference(
        kind, expected=want, got=truncated(have, MOST_WRITTEN), where=where, error=found.error
    )


def _entries(
    expected: Sequence[Any], got: Sequence[Any], tolerance: float, where: str
) -> Difference | None:
    if len(expected) != len(got):
        return Difference(
            "shape",
            expected=f"{len(expected)} entries",
            got=f"{len(got)}: {short(got)}",
            where=where,
        )
    if all(type(a) is int for a in expected) and any(isinstance(b, Tensor) for b in got):
        whole, tensors = "a list of integers", "a list in which there are tensors"
        return Difference("type", expected=whole, got=tensors, where=where)
    for i, (a, b) in enumerate(zip(expected, got, strict=True)):
        inner = f"{where}[{i}]" if where else f"entry {i}"
        if found := first_difference(a, b, tolerance=tolerance, where=inner):
            return found
    return None


def _is_plain(x: Any) -> bool:
    """Whether it is made of numbers, words and None alone, so that it can be written out."""
    if isinstance(x, (list, tuple)):
        return all(map(_is_plain, x))
    return x is None or type(x) in (bool, int, float, str)


def _written(x: Any, digits: int) -> str:
    """Nested lists as Python writes them, with so many digits."""
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(_written(entry, digits) for entry in x)}]"
    return f"{x:.{digits}g}" if isinstance(x, float) else short(x)


def _numbers(expected: float, got: Any, tolerance: float, where: str) -> Difference | None:
    came = got
    if isinstance(got, Tensor) and not got.ndim:
        got = got.item()
    if isinstance(got, bool) or not isinstance(got, Real):  # NumPy's numbers count, too
        return Difference("type", expected="a number", got=described(came), where=where)
    try:
        got = int(got) if isinstance(got, Integral) else float(got)
        close = math.isclose(expected, got, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # an integer too large for a float
        close = expected == got
    if close:
        return None
    if math.isnan(expected) and math.isnan(got):  # as with tensors, of two wrong answers
        return None
    kind: DifferenceKind = "nan" if isinstance(got, float) and math.isnan(got) else "value"
    try:
        error = abs(expected - got) / (abs(expected) or 1.0)
    except OverflowError:
        error = math.inf
    wanted, found = _numbers_apart(expected, got)
    return Difference(kind, expected=wanted, got=found, where=where, error=error)


def _numbers_apart(expected: Any, got: Any) -> tuple[str, str]:
    """Both numbers, with as many digits as tell them apart, and at least four."""
    if not isinstance(expected, float) and not isinstance(got, float):
        return short(expected), short(got)
    for digits in range(4, 18):  # 17 tell any two floats apart
        texts = [f"{x:.{digits}g}" if isinstance(x, float) else short(x) for x in (expected, got)]
        if texts[0] != texts[1]:
            break
    return texts[0], texts[1]


def described(x: Any) -> str:
    """What kind of value it is, "a tensor of shape (2, 3)"."""
    if x is None:
        return "None"
    if isinstance(x, Unusual):
        return x.description
    if isinstance(x, Tensor):
        dtype = "" if x.ndim else f", {x.dtype}"  # that of a lone number decides what it is
        return f"a tensor of shape {tuple(x.shape)}{dtype}"
    if isinstance(x, Mapping):
        return truncated(f"a dict with {', '.join(map(str, list(x)[:20]))}", MOST_WRITTEN)
    if isinstance(x, (tuple, list)):
        return f"a {type(x).__name__} of {len(x)}"
    return f"a value of type {type(x).__name__}"


class _Brief(reprlib.Repr):
    """As repr, but of containers only the first entries and of large tensors only the shape: a
    result may take hours to write out.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = self.maxlist = self.maxtuple = self.maxdict = most
        self.maxlevel = MOST_LEVELS

    def repr1(self, x: Any, level: int) -> str:
        if isinstance(x, Tensor) and x.numel() > self.most:
            return described(x)
        return super().repr1(x, level) if type(x) in (list, tuple, dict) else repr(x)


def short(x: Any, *, most: int = 60) -> str:
    """A value's repr, truncated if it is long."""
    try:
        text = _Brief(most).repr(x)
    except (Exception, SystemExit) as error:  # a learner's own __repr__
        text = f"<repr failed: {type(error).__name__}>"
    return truncated(text, most)
