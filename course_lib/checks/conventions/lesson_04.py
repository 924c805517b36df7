"""Attention: masks, the order of axes, where the heads are, the order of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from course_lib.checks.conventions.axes_otherwise import Axes, axis_conventions
from course_lib.checks.conventions.changes import (
    Function,
    on,
    pair,
    phrases,
    reversed_pair,
    same,
    shapes,
    value,
)
from course_lib.checks.conventions.convention import Convention, Translation
from course_lib.checks.conventions.masks_otherwise import MASK_ADDED, Masks, mask_conventions

REVERSED_ATTENTION = Translation(
    result=reversed_pair,
    edits=(
        (
            re.compile(r"the (?:context|output) (\(.*?\)) and the weights (\(.*?\)), in this"),
            r"the weights \2 and what they lead to, \1, in this",
        ),
        (
            re.compile(r"(Context|Output) (\(.*?\)) and weights (\(.*?\))\."),
            r"The weights \3 first, and then \2.",
        ),
    ),
    forgotten=("weights_first",),
)
_CODE = (
    (
        "Split only the last axis: (batch, seq, d_model) becomes (batch, seq, heads, d_head). Then "
        "swap seq and heads.",
        "Split only the axis of d_model into heads and d_head. Then bring the axes into the order "
        "that the task names.",
    ),
    (
        "x.view(batch, length, n_heads, ...).transpose(..., ...)",
        "x.unflatten(..., (n_heads, ...)) and then movedim or permute, if they are needed.",
    ),
)
_USE_OF_ATTENTION = (
    (
        "context, _ = scaled_dot_product_attention(...), and self.out_proj(...(context)).",
        "the context from scaled_dot_product_attention(...), and self.out_proj(...(context)).",
    ),
)
_BACK = (
    (
        "Swap heads and seq: (batch, seq, heads, d_head). Then join the last two axes. view raises "
        "an error here, because the numbers of a token aren't contiguous in memory.",
        "Bring heads and d_head side by side, in this order, and join them. view may raise an "
        "error, because the numbers of a token needn't be contiguous in memory.",
    ),
    (
        "x.transpose(..., ...).reshape(batch, length, ...), or contiguous() and view, or flatten.",
        "Swap or move axes where they must be, and then x.flatten(..., ...) the two.",
    ),
)
_CODE_OF_ATTENTION = (
    (
        "scores = query @ key.transpose(...) / math.sqrt(query.size(...))\n",
        "scores: query @ key with the right axes moved, / math.sqrt(query.size(...))\n",
    ),
    (
        "return weights @ ..., weights",
        "return both results",
    ),
    (
        "are query @ key with the last two axes of key swapped, divided",
        "are the dot products of queries and keys, divided",
    ),
)


def heads_convention(
    name: str,
    sentence: str,
    there: Function,
    back: Function,
    order: Callable[[Sequence[str]], Any],
    forgotten: str,
) -> Convention:
    """Where the axis of heads is in queries, keys, values and contexts."""

    def reordered(axes: Sequence[str]) -> Sequence[str] | None:
        of_heads = not {"E", "V", "d_head"}.isdisjoint(axes)
        return order(axes) if len(axes) == 4 and of_heads else None

    three = ("query", "key", "value")
    items = {
        "04.scaled_dot_product_attention": Translation(
            on(**dict.fromkeys(three, there)),
            on(**dict.fromkeys(three, back)),
            pair(there, same),
            edits=_CODE_OF_ATTENTION,
        ),
        "04.split_heads": Translation(result=value(there), edits=_CODE, forgotten=(forgotten,)),
        "04.merge_heads": Translation(on(x=there), on(x=back), edits=_BACK),
    }
    return Convention(name, "heads", sentence, items, shapes(reordered))


def _heads_third(x: Tensor) -> Tensor:
    return x.transpose(1, 2)


CONVENTIONS = (
    *mask_conventions(
        {
            "04.scaled_dot_product_attention": Masks(edits={"all": (MASK_ADDED,)}),
            "04.multi_head_attention": Masks(edits={"all": _USE_OF_ATTENTION}),
        }
    ),
    heads_convention(
        "heads_third",
        "Queries, keys, values and contexts of all heads have the **positions before the heads**: "
        "(batch, seq, heads, d_head). Scores, weights and masks stay (batch, heads, query, key).",
        _heads_third,
        _heads_third,
        lambda axes: [axes[0], axes[2], axes[1], axes[3]],
        "heads_not_moved",
    ),
    heads_convention(
        "heads_first",
        "Queries, keys, values and contexts of all heads have the **heads in front of the batch**: "
        "(heads, batch, seq, d_head). Scores, weights and masks stay (batch, heads, query, key).",
        lambda x: x.transpose(0, 1),
        lambda x: x.transpose(0, 1),
        lambda axes: [axes[1], axes[0], axes[2], axes[3]],
        "heads_before_the_batch",
    ),
    # After the heads: those are about a pair whose first entry is the context.
    Convention(
        "weights_first",
        "results",
        "Attention returns **the weights first**, and then the context.",
        {"04.scaled_dot_product_attention": REVERSED_ATTENTION},
        phrases({"and return weights @ ..., weights": "and return both results"}),
    ),
    *axis_conventions(
        {
            "04.split_heads": Axes(result=False, edits=_CODE),
            "04.merge_heads": Axes(
                (), edits=_BACK, forgotten={"features_second": ("words_at_the_end",)}
            ),
            "04.multi_head_attention": Axes(("query", "key", "value"), edits=_USE_OF_ATTENTION),
        },
        ("seq_first", "features_second"),
    ),
)
