"""05.puzzle_4: What each head gives to itself."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.item import Item
from course_lib.checks.items.attention_einsum.einsum_parts import puzzle_probes


def _trace(weights: Tensor) -> Tensor:
    return torch.einsum("bhss->bh", weights)


item = Item(
    "05.puzzle_4",
    reference=_trace,
    probes=puzzle_probes(
        "only what each word gives to itself is added up",
        unlike=[(2, 3, 5, 5)],
        alike=[(4, 4, 4, 4)],
        lone=[(1, 3, 1, 1)],
    ),
    hints=(
        "On the diagonal, row and column are the same word. How do you say that with letters?",
        "A letter that stands twice in one input visits only the places where both are equal.",
        '"bh..->bh", with one letter in place of both dots.',
    ),
)


@item.misconception(
    "You give the diagonal itself, (B, H, S), not its sum.",
    why="The letter of the words is still behind the arrow, so it is kept.",
    hint="Which letters does a result (B, H) have?",
)
def diagonal_kept(weights: Tensor) -> Tensor:
    return torch.einsum("bhss->bhs", weights)


@item.misconception(
    "You add up the whole table, not its diagonal.",
    why="With two letters, q and k, all pairs are visited. For weights that sum is always S, and "
    "says nothing.",
    hint="Readers and words that are read have to be the same word.",
)
def whole_table(weights: Tensor) -> Tensor:
    return torch.einsum("bhqk->bh", weights)


@item.misconception(
    "Your heads are added up, too: one number for each sentence.",
    why="h is missing behind the arrow, so it is summed over.",
    hint="Which letters does a result (B, H) have?",
)
def heads_added_too(weights: Tensor) -> Tensor:
    return torch.einsum("bhss->b", weights)


@item.misconception(
    "You take the mean of the diagonal, not its sum.",
    why="Einsum adds up. The mean is smaller by the factor S.",
    hint="Is there a division too many?",
)
def mean_of_the_diagonal(weights: Tensor) -> Tensor:
    return weights.diagonal(dim1=-2, dim2=-1).mean(dim=-1)


@item.misconception(
    "The axes of your result are swapped: (H, B).",
    why="The order of the letters behind the arrow is the order of the axes.",
    hint="What comes first everywhere in the course?",
)
def heads_before_sentences(weights: Tensor) -> Tensor:
    return torch.einsum("bhss->hb", weights)
