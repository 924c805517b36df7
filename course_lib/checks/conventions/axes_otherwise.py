"""The order of the axes batch, seq, d_model: conventions that several lessons share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from course_lib.checks.conventions.changes import Function, on, same, shapes
from course_lib.checks.conventions.convention import (
    Arguments,
    Convention,
    Edits,
    Translation,
    as_it_is,
    unchanged,
)

_LENGTHS = {"S", "T", "Q", "K", "1", "seq", "T − 1", "T - 1", "query", "key", "source", "target"}


@dataclass(frozen=True)
class Axes:
    """Which arguments of an item have a batch first, and whether its result has.

    A pair or another container of results is changed entry by entry. ``edits`` are for all orders
    of axes, ``edits_of`` for one, by the convention's name; so are ``left_out``, misconceptions
    that are none there.
    """

    arguments: tuple[str, ...] = ("x",)
    result: bool = True
    edits: Edits = ()
    edits_of: Mapping[str, Edits] = field(default_factory=dict)
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def tensors_in(change: Function) -> Callable[[Any, Arguments], Any]:
    """Change a result that is a tensor, or the tensors of one that is a pair or a dict."""

    def result(found: Any, arguments: Arguments) -> Any:
        if isinstance(found, (tuple, list)):
            return tuple(map(change, found))
        if isinstance(found, dict):
            return {name: change(entry) for name, entry in found.items()}
        return change(found)

    return result


def _seq_first(x: Tensor) -> Tensor:
    return x.transpose(0, 1) if x.ndim in (2, 3) else x


def _features_second(x: Tensor) -> Tensor:
    return x.transpose(1, 2) if x.ndim == 3 else x


def _batch_last(x: Tensor) -> Tensor:
    return x.movedim(0, -1) if x.ndim in (2, 3) else x


def _batch_first(x: Tensor) -> Tensor:
    return x.movedim(-1, 0) if x.ndim in (2, 3) else x


def _reorder(order: str) -> Callable[[Sequence[str]], Sequence[str] | None]:
    def reordered(axes: Sequence[str]) -> Sequence[str] | None:
        if axes[0] not in ("B", "batch") or len(axes) not in (2, 3) or axes[1] not in _LENGTHS:
            return None
        names = dict(zip("bsd", axes, strict=False))
        return [names[axis] for axis in order if axis in names]

    return reordered


_LAYOUTS: dict[str, tuple[str, str, Function, Function]] = {
    "seq_first": (
        "The position is the first axis and the batch the second, as in PyTorch's modules with "
        "`batch_first=False`: (seq, batch) for ids, (seq, batch, d_model) for vectors.",
        "sbd",
        _seq_first,
        _seq_first,
    ),
    "features_second": (
        "The position is the last axis: vectors come as (batch, d_model, seq), as in convolutions.",
        "bds",
        _features_second,
        _features_second,
    ),
    "batch_last": (
        "The batch is the last axis of ids and of vectors: (seq, batch), (seq, d_model, batch).",
        "sdb",
        _batch_last,
        _batch_first,
    ),
}


def axis_conventions(
    items: Mapping[str, Axes], layouts: Sequence[str] = tuple(_LAYOUTS)
) -> tuple[Convention, ...]:
    """The conventions of the order of axes, for items of one lesson."""
    conventions = []
    for name in layouts:
        sentence, order, there, back = _LAYOUTS[name]
        translations = {
            item: Translation(
                on(**dict.fromkeys(axes.arguments, there)) if axes.arguments else unchanged,
                on(**dict.fromkeys(axes.arguments, back)) if axes.arguments else unchanged,
                tensors_in(there) if axes.result else as_it_is,
                back if axes.result else same,
                edits=(*axes.edits, *axes.edits_of.get(name, ())),
                left_out=axes.left_out.get(name, ()),
            )
            for item, axes in items.items()
        }
        conventions.append(
            Convention(name, "axes", sentence, translations, shapes(_reorder(order)))
        )
    return tuple(conventions)
