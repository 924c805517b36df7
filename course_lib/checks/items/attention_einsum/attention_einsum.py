"""05.attention_einsum: Attention with einsum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib import model
from course_lib.checks.engine import Item
from course_lib.checks.items.attention_matmul.attention_parts import (
    ATTENTION_PROBES,
    add_attention_switches,
    attention_with,
)

item = Item(
    "05.attention_einsum",
    reference=model.attention_einsum,
    probes=ATTENTION_PROBES,
    tolerance=1e-4,
    hints=(
        "You need two einsums and a softmax. For each einsum, ask which axes are shared, "
        "which are kept, and which are summed over.",
        "For every b, h, q and k, a score is the sum over e. For every b, h, q and e, the "
        "context is the sum over k. Scale and mask come in between, as in lesson 04.",
        'For one head of one sentence, the two strings are "qe,ke->qk" and "qk,kv->qv", where v '
        "stands for the width of the values. Sentences and heads have a letter each: where in the "
        "strings do these two belong?",
    ),
)

FIRST = {  # letters of the scores; another name is another spelling
    "heads_have_two_letters": "bhqe,bgke->bhqk",
    "sentences_have_two_letters": "bhqe,ahke->bhqk",
    "no_arrow": "bhqe,bhke",
    "arrow_mirrored": "bhqe,bhke->bhkq",
    "arrow_and_string_mirrored": "bhqe,bhke->bhkq",
    "arrow_and_mask_mirrored": "bhqe,bhke->bhkq",
    "all_mirrored": "bhqe,bhke->bhkq",
}
SECOND = {  # letters of the context
    "arrow_and_string_mirrored": "bhkq,bhke->bhqe",
    "all_mirrored": "bhkq,bhke->bhqe",
    "two_letters_for_the_keys": "bhqk,bhve->bhqe",
    "values_of_the_queries": "bhqk,bhqe->bhqe",
    "no_second_arrow": "bhqk,bhke",
    "context_queries_first": "bhqk,bhke->bqhe",
}


@item.switchable
def attention_by_einsum(on: frozenset[str]) -> Callable[..., Any]:
    """Scaled dot-product attention with these misconceptions."""
    first = next((letters for name, letters in FIRST.items() if name in on), "bhqe,bhke->bhqk")
    second = next((letters for name, letters in SECOND.items() if name in on), "bhqk,bhke->bhqe")
    attend = attention_with(
        on,
        lambda query, key: torch.einsum(first, query, key),
        lambda weights, value: torch.einsum(second, weights, value),
    )

    def mirrored(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
        return attend(query, key, value, None if mask is None else mask.transpose(-2, -1))

    return mirrored if on & {"arrow_and_mask_mirrored", "all_mirrored"} else attend


item.switch(
    "two_letters_for_the_keys",
    "Your context is the same for every query: the plain sum of the values.",
    why="A value should be multiplied by the weight of its key before you sum. If the keys have "
    "one letter in the weights and another in the values, the two are summed separately, and the "
    "weights sum to 1.",
    hint="Look for a letter that occurs in one input only, and not after the arrow.",
)
item.switch(
    "values_of_the_queries",
    "In your context each query gets its own value, as if values belonged to queries.",
    why="If the values have the letter of the queries, that of the keys is summed over in the "
    "weights alone, and they sum to 1. With another number of keys than queries, it's an error.",
    hint="Each value belongs to a key. Which letter do the keys have in the weights, and which in "
    "the values?",
)
item.switch(
    "heads_have_two_letters",
    "In your scores, each query is multiplied by the sum of the keys of all heads.",
    why="A head compares its queries with its own keys only. If the heads of the key have a "
    "letter of their own, which is missing after the arrow, they are summed over.",
    hint="Query and key share the heads. How many letters do you use for them in your scores?",
)
item.switch(
    "sentences_have_two_letters",
    "In your scores, each sentence uses the sum of the keys of all sentences.",
    why="A sentence compares its queries with its own keys only. If the batch axis of the key has "
    "a letter of its own, which is missing after the arrow, it is summed over.",
    hint="Query and key share the batch axis. How many letters do you use for it in your scores?",
)
item.switch(
    "no_arrow",
    "Your scores have only two axes, (k, q), as if your first string had no arrow.",
    why="Without an arrow, einsum keeps the letters that occur once, in alphabetical order: k, q. "
    "It sums over batch and heads.",
    hint="Which letters stand after the arrow of your first string? Write all those that you want "
    "to keep.",
)
item.switch(
    "no_second_arrow",
    "Your context has only two axes, (e, q), as if your second string had no arrow.",
    why="Without an arrow, einsum keeps the letters that occur once, in alphabetical order: e, q. "
    "It sums over batch, heads and keys.",
    hint="Which letters stand after the arrow of your second string? Write all those that you "
    "want to keep.",
)
item.switch(
    "arrow_mirrored",
    "Your weights are transposed: keys and queries are swapped, and the weights of each key sum "
    "to one.",
    why="The order of the letters after an arrow is the order of the axes, and a softmax over the "
    "axis of the queries makes the weights of each key sum to one. Those of a query then sum to "
    "more or less than one.",
    hint="In which order do q and k come in your scores? Over which of them is your softmax?",
    spellings=["arrow_and_string_mirrored", "arrow_and_mask_mirrored", "all_mirrored"],
)
item.switch(
    "context_queries_first",
    "In your context, the axes of queries and heads are swapped.",
    why="The order of the letters after the arrow is the order of the axes. With as many heads as "
    "queries, the shape doesn't show the bug.",
    hint="Which order does the task ask for?",
)
add_attention_switches(item)
