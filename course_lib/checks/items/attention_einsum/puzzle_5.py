"""05.puzzle_5: Three tensors at once."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks.engine import Item
from course_lib.checks.items.attention_einsum.einsum_parts import einsum, puzzle_probes


def _weighted(
    weights: Float[Tensor, "batch heads query key"],
    value: Float[Tensor, "batch key d_head"],
    share: Float[Tensor, " heads"],
) -> Float[Tensor, "batch query d_head"]:
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
        "Say it as loops: for every sentence, query and e, you sum over ... and over ...",
        "Weights and values share the keys, and weights and shares have the heads in common. "
        "You sum over both of these axes.",
        'For one head of one sentence, "qk,ke->qe" mixes the values by the weights. With a factor '
        'for each query as a third input, it would be "qk,ke,q->qe". Here there is a factor for '
        "each head, so which letter does the third input have?",
    ),
)


@item.misconception(
    "All heads count the same in your result: you don't use the shares.",
    why="A head with share 0 should have no effect.",
    hint="Einsum takes any number of inputs, separated by commas.",
)
def shares_unused(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke->bqe", weights, value)


item.add(
    einsum("lonely_shares", "bhqk,bke,g->bqe"),
    "Every head is multiplied by the sum of all shares.",
    why="Each head has a share of its own. If the shares have a letter that occurs nowhere else, "
    "it's summed over separately.",
    hint="Which axis do shares and weights have in common? In einsum, look for a letter that "
    "occurs in one input only, and not after the arrow.",
)
item.add(
    einsum("lonely_values", "bhqk,bve,h->bqe"),
    "Your weights and values are summed separately.",
    why="A value should be multiplied by the weight of its key before you sum. If the keys have "
    "one letter in the weights and another in the values, each of them is summed over on its own.",
    hint="Which axis do weights and values have in common, besides the batch? In einsum, it needs "
    "the same letter in both.",
)
item.add(
    einsum("heads_kept", "bhqk,bke,h->bhqe"),
    "You keep the heads separate: (B, H, Q, E).",
    why="The task asks for one context per query, summed over all heads. In einsum, a letter "
    "after the arrow is kept.",
    hint="Over which two axes does the task sum?",
)
item.add(
    einsum("values_of_all_sentences", "bhqk,ake,h->bqe"),
    "Each sentence uses the sum of the values of all sentences.",
    why="Two different letters for the batch mean two loops, and the one that's missing after the "
    "arrow is summed over.",
    hint="Weights and values share the batch axis. How many letters do you use for it?",
)
