"""05.puzzle_5: Three tensors at once."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.item import Item
from course_lib.checks.items.attention_einsum.einsum_parts import puzzle_probes


def _weighted(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,h->bqe", weights, value, share)


item = Item(
    "05.puzzle_5",
    reference=_weighted,
    probes=puzzle_probes(
        "each head averages the values with its weights, and counts with its share",
        different=[(2, 3, 4, 5), (2, 5, 6), (3,)],
        equal=[(3, 3, 3, 3), (3, 3, 3), (3,)],
        ones=[(1, 1, 3, 1), (1, 1, 2), (1,)],
    ),
    tolerance=1e-4,
    hints=(
        "Say it as loops: for every sentence, query and e, the sum over ... and over ...",
        "Weights and values share the keys, weights and shares the heads. You sum over both.",
        '"bhqk,b..,.->bqe"',
    ),
)


@item.misconception(
    "All heads count the same in your result: you don't use the shares.",
    why="A head with share 0 should have no effect.",
    hint="Einsum takes any number of inputs, separated by commas.",
)
def shares_unused(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke->bqe", weights, value)


@item.misconception(
    "Every head is multiplied by the sum of all shares.",
    why="The shares have a letter that occurs nowhere else, so it's summed over separately.",
    hint="Look for a letter that occurs in one input only, and not after the arrow.",
)
def lonely_shares(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,g->bqe", weights, value, share)


@item.misconception(
    "Your weights and values are summed separately.",
    why="The keys have one letter in the weights and another in the values. The output is the same "
    "for every query: the plain sum of all values.",
    hint="Each axis needs exactly one letter. Which axis has two in your string?",
)
def lonely_values(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bve,h->bqe", weights, value, share)


@item.misconception(
    "You keep the heads separate: (B, H, Q, E).",
    why="h occurs after the arrow. The task asks for one context per query, summed over all heads.",
    hint="Which letter has to be missing after the arrow?",
)
def heads_kept(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,h->bhqe", weights, value, share)


@item.misconception(
    "Each sentence uses the sum of the values of all sentences.",
    why="Two different letters for the batch mean two loops, and the one that's missing after the "
    "arrow is summed over.",
    hint="How many letters does your string use for the batch?",
)
def values_of_all_sentences(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,ake,h->bqe", weights, value, share)
