"""05.puzzle_3: Scores, heads first."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks.engine import Item
from course_lib.checks.items.attention_einsum.einsum_parts import einsum, puzzle_probes


def scaled_scores(
    query: Float[Tensor, "batch query heads d_head"], key: Float[Tensor, "batch key heads d_head"]
) -> Float[Tensor, "batch heads query key"]:
    return torch.einsum("bqhe,bkhe->bhqk", query, key)


item = Item(
    "05.puzzle_3",
    reference=scaled_scores,
    probes=puzzle_probes(
        "each query is paired with every key of its own head and sentence",
        different=[(2, 4, 3, 6), (2, 5, 3, 6)],
        equal=[(3, 3, 3, 3), (3, 3, 3, 3)],
        ones=[(1, 1, 2, 1), (1, 3, 2, 1)],
    ),
    tolerance=1e-4,
    hints=(
        "First give each axis a letter, without thinking about the result. Are queries and keys "
        "one loop or two?",
        "The inputs share batch, heads and e. Queries and keys have a letter each. After the "
        "arrow, write the axes in the order that the task asks for.",
        'For one head of one sentence, the scores are "qe,ke->qk". Add the letters of sentence '
        "and head to both inputs, where their axes stand, and after the arrow, where the task "
        "wants them.",
    ),
)


item.add(
    einsum("words_before_heads", "bqhe,bkhe->bqhk"),
    "Your axes are in the order of the inputs, (B, Q, H, K): queries and heads are swapped.",
    why="With your order, a mask for queries and keys is broadcast against heads and keys. If "
    "there are as many tokens as heads, that raises no error, and the weights are wrong.",
    hint="After the arrow you can write any order.",
)
item.add(
    einsum("mirrored", "bqhe,bkhe->bhkq"),
    "Your scores are transposed: rows are keys and columns are queries.",
    why="A softmax over the axis where the keys should be would distribute the weight of each key "
    "among the queries.",
    hint="In which order do q and k come in your result, and in which does the task ask for them?",
)
item.add(
    einsum("keys_of_all_heads", "bqhe,bkge->bhqk"),
    "Each query is multiplied by the sum of the keys of all heads.",
    why="A query should meet the keys of its own head only. If the heads of the key have a letter "
    "of their own, which is missing after the arrow, they are summed over.",
    hint="Query and key share the heads. How many letters do you use for them?",
)
item.add(
    einsum("sums_multiplied", "bqhe,bkhf->bhqk"),
    "Your score is the sum of the query's numbers times the sum of the key's.",
    why="In a dot product, each number of the query meets the key's number of the same index. "
    "If the axes of these numbers have two letters, every number meets every other.",
    hint="Query and key share the axis e. How many letters do you use for it?",
)
item.add(
    einsum("keys_of_all_sentences", "bqhe,akhe->bhqk"),
    "Each sentence uses the sum of the keys of all sentences.",
    why="Two different letters for the batch mean two loops, and the one that's missing after the "
    "arrow is summed over.",
    hint="Query and key share the batch axis. How many letters do you use for it?",
)
item.add(
    einsum("heads_added_up", "bqhe,bkhe->bqk"),
    "You sum over the heads: (B, Q, K).",
    why="Each head has its own queries and keys, and so its own scores.",
    hint="Which axes should the result have, and which of them is missing in yours?",
)


@item.misconception(
    "You reshape the inputs to (B, H, …) instead of moving the axis of the heads.",
    why="view and reshape never change the order of the numbers, so a head gets numbers of others.",
    hint="Which function moves an axis? In einsum, the order of the letters does.",
)
def heads_by_reshape(query: Tensor, key: Tensor) -> Tensor:
    b, q, h, e = query.shape
    return query.reshape(b, h, q, e) @ key.reshape(b, h, -1, e).transpose(-2, -1)


@item.misconception(
    "You divide the scores by √E. That's right in attention, but this task doesn't ask for it.",
    why="The task asks for the plain sum of products.",
    hint="The einsum alone is the answer.",
)
def scaled_unasked(query: Tensor, key: Tensor) -> Tensor:
    return scaled_scores(query, key) / query.size(-1) ** 0.5
