"""04.scaled_dot_product_attention: Attention in four lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_lib import model
from course_lib.checks.engine import Item
from course_lib.checks.items.attention_matmul.attention_parts import (
    ATTENTION_PROBES,
    add_attention_switches,
    attention_with,
)

item = Item(
    "04.scaled_dot_product_attention",
    reference=model.attention_matmul,
    probes=ATTENTION_PROBES,
    tolerance=1e-4,
    hints=(
        "Follow the four lines of Q4a: scores, scale, softmax, and the weighted sum of the "
        "values. Where does the mask belong, so that the remaining weights still sum to one?",
        "The scores have the axes (batch, heads, query, key). They are query @ key with the "
        "last two axes of key swapped, divided by the root of the size of query's last axis. "
        "Apply the mask before softmax, which runs over the keys.",
        "x.transpose(0, 1) swaps the first two axes of x, and negative numbers count from the "
        "end. x.masked_fill(x > 5, 0) writes 0 wherever x is above 5, so the condition says where "
        "to write; ~ turns a condition round. Which number has to stand in place of a score, so "
        "that softmax gives it no weight? And along which axis of the scores do the weights sum "
        "to one?",
    ),
)


@item.switchable
def attention_by_matmul(on: frozenset[str]) -> Callable[..., Any]:
    """Scaled dot-product attention with these misconceptions."""

    def product(query: Tensor, key: Tensor) -> Tensor:
        if "key_not_transposed" in on:
            return query @ key
        return query @ (key.transpose(1, 2) if "wrong_axes_swapped" in on else key.transpose(2, 3))

    return attention_with(on, product)


add_attention_switches(item)
item.switch(
    "key_not_transposed",
    "You don't swap the last two axes of key before you multiply: that's an error for most sizes, "
    "and wrong numbers for the others.",
    why="matmul sums over the last axis of query and the last but one of its second factor. "
    "Unless both of these are d_head, numbers are multiplied that don't belong together.",
    hint="What shape does key need, so that (query, d_head) @ (..., ...) is (query, key)?",
    spellings=["wrong_axes_swapped"],
)
