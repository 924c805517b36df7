"""Einsum: where the batch is, rows and columns of the weights, masks, the order of results."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch import Tensor

from course_lib.checks.conventions.axes_otherwise import tensors_in
from course_lib.checks.conventions.changes import (
    Function,
    on,
    pair,
    same,
    self_inverse,
    shapes,
    swapped,
    value,
)
from course_lib.checks.conventions.convention import Convention, Edits, Translation
from course_lib.checks.conventions.lesson_04 import REVERSED_ATTENTION
from course_lib.checks.conventions.masks_otherwise import Masks, mask_conventions

_BATCHED = {  # arguments whose first axis is the batch
    "05.puzzle_1": ("a", "b"),
    "05.puzzle_2": ("a", "b"),
    "05.puzzle_3": ("query", "key"),
    "05.puzzle_4": ("weights",),
    "05.puzzle_5": ("weights", "value"),
    "05.attention_einsum": ("query", "key", "value"),
    "05.multi_head_einsum": ("x",),
}
_MASKED = ("05.attention_einsum", "05.multi_head_einsum")
_EINSUM = re.compile(r"[a-z.]+(?:,[a-z.]+)*->[a-z.]*")


def _four_axes(mask: Tensor) -> Tensor:
    """A mask that broadcasts to scores, with all their axes."""
    return mask.reshape((1,) * (4 - mask.ndim) + tuple(mask.shape))


def _batch(name: str, sentence: str, index: int) -> Convention:
    """The batch at another index of every tensor that has one."""

    def there(x: Tensor) -> Tensor:
        return x.movedim(0, index)

    def back(x: Tensor) -> Tensor:
        return x.movedim(index, 0)

    def mask_there(mask: Tensor) -> Tensor:
        return there(_four_axes(mask))

    def at_index(axes: Sequence[str]) -> list[str] | None:
        if axes[0] not in ("B", "b", "batch"):
            return None
        rest = list(axes[1:])
        rest.insert(index if index >= 0 else len(rest), axes[0])
        return rest

    def of_term(term: str) -> str:
        moved = at_index(term) if set(term) != {"."} and len(term) > 1 else None
        return "".join(moved) if moved else term

    def letters(found: re.Match[str]) -> str:
        return re.sub(r"[a-z.]+", lambda term: of_term(term[0]), found[0])

    def rewrite(text: str) -> str:
        return _EINSUM.sub(letters, shapes(at_index)(text))

    items = {
        item: Translation(
            on(**dict.fromkeys(names, there), mask=mask_there),
            on(**dict.fromkeys((*names, "mask"), back)),
            tensors_in(there),
        )
        for item, names in _BATCHED.items()
    }
    return Convention(name, "batch", sentence, items, rewrite)


_TURNED: Function = swapped(-2, -1)
_IN_COLUMNS: Edits = (
    (
        "the other weights of the row still sum to one",
        "the other weights of that query still sum to one",
    ),
)


def _keys_then_queries(axes: Sequence[str]) -> list[str] | None:
    if len(axes) != 4 or tuple(axes[-2:]) not in {("Q", "K"), ("S", "S"), ("query", "key")}:
        return None
    return [axes[0], axes[1], axes[3], axes[2]]


def _columns_of_queries(text: str) -> str:
    text = text.replace("->bhqk", "->bhkq").replace('"bhqk,', '"bhkq,')
    return shapes(_keys_then_queries)(text)


CONVENTIONS = (
    *mask_conventions({item: Masks() for item in _MASKED}),
    Convention(
        "keys_then_queries",
        "scores",
        "Scores, weights and masks have the **keys before the queries**: (batch, heads, key, "
        "query). A query's weights are a column, and sum to one there.",
        {
            "05.puzzle_3": Translation(result=value(_TURNED)),
            "05.puzzle_5": self_inverse(_TURNED, "weights"),
            "05.attention_einsum": self_inverse(
                _TURNED, "mask", result=pair(same, _TURNED), edits=_IN_COLUMNS
            ),
            "05.multi_head_einsum": self_inverse(_TURNED, "mask", result=pair(same, _TURNED)),
        },
        _columns_of_queries,
    ),
    Convention(
        "weights_first",
        "results",
        "Attention returns **the weights first**, and then the context or output.",
        dict.fromkeys(_MASKED, REVERSED_ATTENTION),
    ),
    _batch("batch_last", "The batch is the **last axis** of every tensor that has one.", -1),
    _batch("batch_second", "The batch is the **second axis** of every tensor that has one.", 1),
)
