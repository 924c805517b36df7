"""Tensors with their axes in another order.

Which tensors of an item those are is read from the shapes in the signature of its reference, such
as ``Float[Tensor, "batch length d_model"]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from torch import Tensor, nn

from course_lib.checks.conventions.changes import on, same
from course_lib.checks.conventions.convention import (
    Derived,
    Translation,
)
from course_lib.checks.engine.item import Item

Dims = tuple[str, ...]  # names of axes; "*leading" stands for any number of them
Order = Callable[[Dims], Sequence[int] | None]  # the indices of these axes in another order


def annotations_of(reference: Any) -> tuple[dict[str, Any], Any]:
    """The annotations of a function's or module's arguments, by name, and that of its result."""
    is_module = isinstance(reference, type) and issubclass(reference, nn.Module)
    hints = get_type_hints(reference.forward if is_module else reference)
    return {name: hint for name, hint in hints.items() if name != "return"}, hints.get("return")


def axes_in(annotation: Any) -> Dims:
    """The axes of a tensor, () if the annotation is of something else or has no shape."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(x for x in get_args(annotation) if x is not type(None))
    return tuple(getattr(annotation, "dim_str", "").split())


def by_shapes(order: Order) -> Derived:
    """For each tensor whose axes ``order`` gives in another order, by their indices."""

    def taken(item: Item) -> Translation | None:
        arguments, result = annotations_of(item.reference)
        moved = {name: m for name, hint in arguments.items() if (m := _reordering(hint, order))}
        returned = [_reordering(hint, order) for hint in _entries(result)]
        if not moved and not any(returned):
            return None
        there = [m.there if m else same for m in returned]
        back = [m.back if m else same for m in returned]
        return Translation(
            given=on(**{name: m.there for name, m in moved.items()}),
            understood=on(**{name: m.back for name, m in moved.items()}),
            result=lambda found, arguments: _each(found, there),
            back=lambda found: _each(found, back),
        )

    return taken


def _entries(result: Any) -> Sequence[Any]:
    """The annotations of the entries of a result that is a tuple, or its own."""
    if hasattr(result, "_fields"):
        return list(get_type_hints(result).values())
    return get_args(result) if get_origin(result) is tuple else [result]


def _each(found: Any, changes: Sequence[Callable[[Any], Any]]) -> Any:
    """The result with its entries changed; a wrong one with other entries stays as it is."""
    if len(changes) == 1:
        return changes[0](found)
    if isinstance(found, (tuple, list)) and len(found) == len(changes):
        return tuple(change(entry) for change, entry in zip(changes, found, strict=True))
    return found


@dataclass(frozen=True, kw_only=True)
class _Reordering:
    """Another order of the axes of one tensor.

    Attributes:
        dims: the axes' names in the lesson's order.
        indices: of these names, in the new order.
        broadcasts: whether axes may be missing on the left.
    """

    dims: Dims
    indices: Sequence[int]
    broadcasts: bool

    def there(self, x: Any) -> Any:
        """The tensor in the new order; one with another number of axes stays as it is."""
        if isinstance(x, Tensor) and self.broadcasts and x.ndim < len(self.dims):
            x = x.reshape((1,) * (len(self.dims) - x.ndim) + tuple(x.shape))
        axes = self._axes(x)
        return x if axes is None else x.permute(axes)

    def back(self, x: Any) -> Any:
        """The tensor in the lesson's order."""
        axes = self._axes(x)
        return x if axes is None else x.permute([axes.index(i) for i in range(x.ndim)])

    def _axes(self, x: Any) -> list[int] | None:
        if not isinstance(x, Tensor):
            return None
        starred = [dim.startswith("*") for dim in self.dims]
        free = x.ndim - len(self.dims) + sum(starred)  # axes that a star stands for
        if free < 0 or (free and not any(starred)):
            return None
        groups, first = [], 0
        for star in starred:
            size = free if star else 1
            groups.append(range(first, first + size))
            first += size
        return [axis for i in self.indices for axis in groups[i]]


def _reordering(annotation: Any, order: Order) -> _Reordering | None:
    written = axes_in(annotation)
    dims = tuple(dim.replace("#", "") for dim in written)
    indices = order(dims) if len(dims) > 1 else None
    if indices is None:
        return None
    return _Reordering(
        dims=dims, indices=indices, broadcasts=all(dim.startswith("#") for dim in written)
    )
