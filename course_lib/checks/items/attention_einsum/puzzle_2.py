"""05.puzzle_2: Every number meets every other."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.item import Item
from course_lib.checks.items.attention_einsum.einsum_parts import puzzle_probes


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bi,bj->bij", a, b)


item = Item(
    "05.puzzle_2",
    reference=_outer,
    probes=puzzle_probes(
        "within a sentence every number meets every other",
        unlike=[(2, 3), (2, 5)],
        alike=[(3, 3), (3, 3)],
        lone=[(1, 4), (1, 1)],
    ),
    hints=(
        "What goes in step, and what meets everything?",
        "The sentences go in step: one letter. The numbers of a and b each get a letter of their "
        "own, and all letters are kept.",
        '"bi,...->b.."',
    ),
)


@item.misconception(
    "Every sentence of a meets every sentence of b: (B, B, I, J).",
    why="Two letters for the sentences are two loops. Sentences of one batch have nothing to do "
    "with each other.",
    hint="Which axis goes in step in both inputs?",
)
def all_sentences_meet(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("ai,bj->abij", a, b)


@item.misconception(
    "The last two axes are swapped: (B, J, I).",
    why="The order of the letters behind the arrow is the order of the axes.",
    hint="Whose numbers are the rows?",
)
def rows_and_columns_swapped(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bi,bj->bji", a, b)


@item.misconception(
    "Your sentences are added up: the result has no axis for them.",
    why="b is missing behind the arrow, so it is summed over.",
    hint="How many axes does the result have?",
)
def sentences_added(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bi,bj->ij", a, b)


@item.misconception(
    "Every sentence uses the sum of all sentences of a: the shape is right, the numbers are not.",
    why="The sentences of a have a letter of their own, and it is missing on the right. So it is "
    "summed over, and sentences leak into each other.",
    hint="Look for a letter that stands in one input only, and not on the right.",
)
def sentences_leak(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("ai,bj->bij", a, b)


@item.misconception(
    "The numbers of b are added up before they meet those of a.",
    why="j is missing behind the arrow. In an outer product nothing is added up.",
    hint="Count the letters behind the arrow: how many axes are wanted?",
)
def second_added(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bi,bj->bi", a, b)
