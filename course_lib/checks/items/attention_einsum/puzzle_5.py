"""05.puzzle_5: Three tensors at once."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.item import Item
from course_lib.checks.items.attention_einsum.einsum_parts import puzzle_probes


def _mixed(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,h->bqe", weights, value, share)


item = Item(
    "05.puzzle_5",
    reference=_mixed,
    probes=puzzle_probes(
        "each head mixes the values by its weights, and counts by its share",
        unlike=[(2, 3, 4, 5), (2, 5, 6), (3,)],
        alike=[(3, 3, 3, 3), (3, 3, 3), (3,)],
        lone=[(1, 1, 3, 1), (1, 1, 2), (1,)],
    ),
    tolerance=1e-4,
    hints=(
        "Say it as loops: for every sentence, reader and number, add up over ... and over ...",
        "Keys go in step in weights and values, heads in weights and shares. Both are summed over.",
        '"bhqk,b..,.->bqe"',
    ),
)


@item.misconception(
    "All heads count alike in your result: the shares are not used.",
    why="A head with the share 0 should leave no trace.",
    hint="Einsum takes as many inputs as you like, with a comma before each.",
)
def shares_unused(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke->bqe", weights, value)


@item.misconception(
    "Every head counts by the sum of all shares.",
    why="The shares have a letter of their own, which meets nothing: it is summed over alone.",
    hint="Look for a letter that stands in one input only, and not on the right.",
)
def lonely_shares(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,g->bqe", weights, value, share)


@item.misconception(
    "Your weights never meet the values: each is added up alone.",
    why="The keys have one letter in the weights and another in the values. Every reader takes "
    "home the plain sum of all values.",
    hint="One axis, one letter: which axis has two in yours?",
)
def lonely_values(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bve,h->bqe", weights, value, share)


@item.misconception(
    "Your heads are kept apart: (B, H, Q, E).",
    why="h stands behind the arrow. Asked for is one context for each reader, over all heads.",
    hint="Which letter has to be missing on the right?",
)
def heads_kept(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,h->bhqe", weights, value, share)


@item.misconception(
    "Every sentence takes the values of all sentences, added up.",
    why="Two letters for the batch are two loops, and the one that is missing on the right is "
    "summed over.",
    hint="How many letters do the sentences have in your string?",
)
def values_of_all_sentences(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,ake,h->bqe", weights, value, share)
