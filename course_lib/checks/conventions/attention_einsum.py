"""Einsum: where the batch is, rows and columns of the weights, masks, the order of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from torch import Tensor

from course_lib.checks.conventions.attention_matmul import reversed_attention
from course_lib.checks.conventions.axes_otherwise import tensors_in
from course_lib.checks.conventions.changes import (
    Function,
    on,
    pair,
    phrases,
    same,
    self_inverse,
    shapes,
    swapped,
    value,
)
from course_lib.checks.conventions.convention import (
    Convention,
    Rewrite,
    Translation,
    same_text,
)
from course_lib.checks.conventions.masks_otherwise import (
    ROWS_ARE_COLUMNS,
    Masks,
    mask_conventions,
)

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
# What texts say of the order of axes in words; their shapes say it, too.
_WITHOUT_ORDER = phrases(
    {
        ", positions before heads, to": ", to",
        ", heads before positions.": ".",
        "Scores, heads first": "Scores",
    }
)
_EINSUM = re.compile(r"[a-z.]+(?:,[a-z.]+)*->[a-z.]*")


def _four_axes(mask: Tensor) -> Tensor:
    """A mask that broadcasts to scores, with all their axes."""
    return mask.reshape((1,) * (4 - mask.ndim) + tuple(mask.shape))


def _reversed(x: Tensor) -> Tensor:
    return x.permute(*reversed(range(x.ndim)))


def _batch(
    name: str,
    sentence: str,
    there: Function,
    back: Function,
    order: Callable[[list[str]], list[str]],
    rows: Rewrite = same_text,
    apart: tuple[str, ...] = (),
) -> Convention:
    """The axes of every tensor that has a batch, in another order; ``rows`` is for its texts."""

    def mask_there(mask: Tensor) -> Tensor:
        return there(_four_axes(mask))

    def reordered(axes: Sequence[str]) -> list[str] | None:
        return order(list(axes)) if axes[0] in ("B", "b", "batch") else None

    def of_term(term: str) -> str:
        moved = reordered(term) if set(term) != {"."} and len(term) > 1 else None
        return "".join(moved) if moved else term

    def letters(found: re.Match[str]) -> str:
        return re.sub(r"[a-z.]+", lambda term: of_term(term[0]), found[0])

    def rewrite(text: str) -> str:
        text = text.replace(
            "a row for each reader and a column for each key", "with readers and keys on the two S"
        )
        return rows(_EINSUM.sub(letters, shapes(reordered)(_WITHOUT_ORDER(text))))

    items = {
        item: Translation(
            on(**dict.fromkeys(names, there), mask=mask_there),
            on(**dict.fromkeys((*names, "mask"), back)),
            tensors_in(there),
        )
        for item, names in _BATCHED.items()
    }
    return Convention(name, "batch", sentence, items, rewrite, apart)


_TURNED: Function = swapped(-2, -1)


def _keys_then_queries(axes: Sequence[str]) -> list[str] | None:
    if len(axes) != 4 or tuple(axes[-2:]) not in {("Q", "K"), ("S", "S"), ("query", "key")}:
        return None
    return [axes[0], axes[1], axes[3], axes[2]]


def _columns_of_queries(text: str) -> str:
    text = text.replace("->bhqk", "->bhkq").replace('"bhqk,', '"bhkq,')
    return ROWS_ARE_COLUMNS(shapes(_keys_then_queries)(text))


CONVENTIONS = (
    *mask_conventions(
        {
            "05.attention_einsum": Masks(),
            "05.multi_head_einsum": Masks(),
        }
    ),
    Convention(
        "keys_then_queries",
        "scores",
        "Scores, weights and masks have the **keys before the queries**. A query's weights are a "
        "column, and sum to one there.",
        {
            "05.puzzle_3": Translation(
                result=value(_TURNED),
                edits=(("over the heads: (B, Q, K).", "over the heads: (B, K, Q)."),),
                left_out=("mirrored", "words_before_heads"),
            ),
            "05.puzzle_5": self_inverse(_TURNED, "weights"),
            "05.attention_einsum": self_inverse(_TURNED, "mask", result=pair(same, _TURNED)),
            "05.multi_head_einsum": self_inverse(_TURNED, "mask", result=pair(same, _TURNED)),
        },
        _columns_of_queries,
    ),
    Convention(
        "weights_first",
        "results",
        "Attention returns **the weights first**, and then the context or output.",
        {
            "05.attention_einsum": reversed_attention("context"),
            "05.multi_head_einsum": reversed_attention("output"),
        },
    ),
    _batch(
        "batch_last",
        "The batch is the **last axis** of every tensor that has one.",
        lambda x: x.movedim(0, -1),
        lambda x: x.movedim(-1, 0),
        lambda axes: [*axes[1:], axes[0]],
    ),
    # Not the batch as the second axis: "bse,bse->bs" would be right there, too.
    _batch(
        "axes_reversed",
        "Tensors that have a batch have **all axes in the opposite order** of the lesson's: the "
        "batch is last, and d_head or d_model, where there is one, first.",
        _reversed,
        _reversed,
        lambda axes: axes[::-1],
        rows=ROWS_ARE_COLUMNS,
        apart=("keys_then_queries",),
    ),
)
