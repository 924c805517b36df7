"""05.puzzle_2: The outer product."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks.engine import Item
from course_lib.checks.items.attention_einsum.einsum_parts import einsum, puzzle_probes


def _outer(a: Float[Tensor, "batch i"], b: Float[Tensor, "batch j"]) -> Float[Tensor, "batch i j"]:
    return torch.einsum("bi,bj->bij", a, b)


item = Item(
    "05.puzzle_2",
    reference=_outer,
    probes=puzzle_probes(
        "within a sentence, every number of a is multiplied by every number of b",
        different=[(2, 3), (2, 5)],
        equal=[(3, 3), (3, 3)],
        ones=[(1, 4), (1, 1)],
    ),
    hints=(
        "Which axis do the two inputs share, and which axes are independent?",
        "They share the batch axis, which gets one letter. The numbers of a and those of b "
        "get a letter each, and all letters are kept.",
        'For two single vectors, "i,j->ij" is the outer product. Where does the letter of the '
        "sentences have to be added?",
    ),
)


item.add(
    einsum("all_sentences_meet", "ai,bj->abij"),
    "You pair every sentence of a with every sentence of b: (B, B, I, J).",
    why="Two different letters for the batch mean two loops. The sentences of a batch are "
    "independent of each other.",
    hint="Which axis do the two inputs share?",
)
item.add(
    einsum("rows_and_columns_swapped", "bi,bj->bji"),
    "The axes i and j are swapped: (B, J, I).",
    why="The order of the letters after the arrow is the order of the axes.",
    hint="Should the rows belong to a or to b?",
)
item.add(
    einsum("sentences_added", "bi,bj->ij"),
    "You sum over the batch: your result has no batch axis.",
    why="The sentences of a batch are independent of each other. In einsum, a letter that's "
    "missing after the arrow is summed over.",
    hint="How many axes should the result have?",
)
item.add(
    einsum("sentences_leak", "ai,bj->bij"),
    "Each sentence uses the sum of all sentences of a: the shape is right, the numbers aren't.",
    why="If the batch axis of a has a letter of its own, which is missing after the arrow, it's "
    "summed over, and information leaks between sentences.",
    hint="Where do you sum over the batch axis of a? In einsum, look for a letter that occurs in "
    "one input only, and not after the arrow.",
)


@item.misconception(
    "You add each number of b to each number of a: they should be multiplied.",
    why="An outer product is a table of products.",
    hint="Which operation is between the two in your code?",
)
def sums_for_products(a: Tensor, b: Tensor) -> Tensor:
    return a[:, :, None] + b[:, None, :]


item.add(
    einsum("second_added", "bi,bj->bi"),
    "You sum over the numbers of b.",
    why="An outer product doesn't sum over anything. In einsum, a letter that's missing after the "
    "arrow is summed over.",
    hint="How many axes should the result have, and how many does yours have?",
)
