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
from course_lib.checks.conventions.masks_otherwise import Masks, mask_conventions


def reversed_attention(word: str) -> Translation:
    """The weights before what attention is called to return, "context" or "output"."""
    axes = r"(\(.*?\))"
    return Translation(
        result=reversed_pair,
        edits=(
            (
                re.compile(rf"the {word} {axes} and the weights {axes}, in this"),
                rf"the weights \2 and the {word} \1, in this",
            ),
            (
                re.compile(rf"{word.capitalize()} {axes} and weights {axes}\."),
                rf"Weights \2 and {word} \1.",
            ),
            (f"Callers unpack `{word}, weights`.", f"Callers unpack `weights, {word}`."),
        ),
        left_out=("weights_first",),
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
    (
        "First split the last axis and nothing else.",
        "First split the axis of d_model and nothing else.",
    ),
    ("each head holds its own columns of", "each head holds its own numbers of"),
    ("instead of the first columns.", "instead of the first numbers of each token."),
    (
        "A direct reshape to (batch, heads, seq, d_head) gives",
        "A reshape that puts the heads in front of the tokens gives",
    ),
    (
        "The first d_head columns of a projection belong to head 0,",
        "The first d_head numbers of each token belong to head 0,",
    ),
    ("your heads would get the wrong columns.", "your heads would get the wrong numbers."),
)
_SWAPPED = (
    "The last two axes are swapped: (batch, heads, d_head, seq).",
    "d_head and seq are swapped: (batch, heads, d_head, seq).",
)
_CONCATENATED = "along the sequence: (batch, heads · seq, d_head)."
_AT_THE_END = (
    (_CONCATENATED, "along the sequence: (heads · seq, batch, d_head)."),
    (
        "The last two axes are swapped: (batch, d_model, seq).",
        "d_model and seq are swapped: (d_model, batch, seq).",
    ),
    ("Everywhere in the course a token is a row:", "A token is a row here:"),
    ("Which axis should be the second one?", "Which axis should be the last one?"),
)
_WIDE = ((_CONCATENATED, "along the sequence: (batch, d_head, heads · seq)."),)
_PROJECTED = (
    (
        "q = split_heads(self.q_proj(query), self.n_heads), the same for k and v,",
        "q = split_heads(... self.q_proj(...) ..., self.n_heads), the same for k and v: nn.Linear "
        "works on the last axis, and your split_heads takes d_model second;",
    ),
    (
        "and self.out_proj(...(context)).",
        "and out_proj of the merged context, with the axes moved before it and after.",
    ),
    ("each column of the output depends", "each number of the output depends"),
    ("raw columns of the input", "raw numbers of the input"),
)
_CUT = (
    "Split the last axis first, then swap heads and seq.",
    "Split the axis of d_model first, then bring the axes into order.",
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
        "error: where no single stride reaches all heads of a token.",
    ),
    (
        "x.transpose(..., ...).reshape(batch, length, ...), or contiguous() and view, or flatten.",
        "Swap or move axes where they must be, and then x.flatten(..., ...) the two.",
    ),
    (
        "view raises an error: once the axes are swapped, the numbers of a token aren't contiguous "
        "in memory.",
        "view raises an error where no single stride reaches all heads of a token.",
    ),
    (
        "Swapping axes swaps strides and moves no number, and no single stride reaches all heads "
        "of a token. It works on heads that were just split, since there the swap is undone.",
        "view moves no number, and where axes were swapped, no single stride may reach all heads "
        "of a token. It works on heads that were just split, since there they lie side by side.",
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
    (
        "You don't swap the last two axes of key before you multiply:",
        "Your key doesn't have d_head before the keys when you multiply:",
    ),
)


def heads_convention(
    name: str,
    sentence: str,
    there: Function,
    back: Function,
    order: Callable[[Sequence[str]], Any],
    left_out: tuple[str, ...],
    left_out_of_merging: tuple[str, ...] = (),
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
        "04.split_heads": Translation(
            result=value(there), edits=(*_CODE, _SWAPPED), left_out=left_out
        ),
        "04.merge_heads": Translation(
            on(x=there), on(x=back), edits=_BACK, left_out=left_out_of_merging
        ),
    }
    return Convention(name, "heads", sentence, items, shapes(reordered))


def _heads_third(x: Tensor) -> Tensor:
    return x.transpose(1, 2)


CONVENTIONS = (
    *mask_conventions(
        {
            "04.scaled_dot_product_attention": Masks(),
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
        ("heads_not_moved", "heads_before_the_batch"),
        ("joined_straight_away",),
    ),
    heads_convention(
        "heads_first",
        "Queries, keys, values and contexts of all heads have the **heads in front of the batch**: "
        "(heads, batch, seq, d_head). Scores, weights and masks stay (batch, heads, query, key).",
        lambda x: x.transpose(0, 1),
        lambda x: x.transpose(0, 1),
        lambda axes: [axes[1], axes[0], axes[2], axes[3]],
        ("heads_before_the_batch", "heads_not_moved"),
    ),
    # After the heads: those are about a pair whose first entry is the context.
    Convention(
        "weights_first",
        "results",
        "Attention returns **the weights first**, and then the context.",
        {"04.scaled_dot_product_attention": reversed_attention("context")},
        phrases({"and return weights @ ..., weights": "and return both results"}),
    ),
    *axis_conventions(
        {
            "04.split_heads": Axes(result=False, edits=_CODE),
            "04.merge_heads": Axes(
                (),
                edits=_BACK,
                edits_of={"seq_first": _AT_THE_END, "features_second": _WIDE},
                left_out={"features_second": ("words_at_the_end",)},
            ),
            "04.multi_head_attention": Axes(
                ("query", "key", "value"),
                edits=(*_USE_OF_ATTENTION, _CUT),
                edits_of={"features_second": _PROJECTED},
            ),
        },
        ("seq_first", "features_second"),
    ),
)
