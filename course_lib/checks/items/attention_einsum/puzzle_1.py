"""05.puzzle_1: Word by word."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.item import Item
from course_lib.checks.items.attention_einsum.einsum_parts import puzzle_probes


def _word_by_word(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bse,bse->bs", a, b)


item = Item(
    "05.puzzle_1",
    reference=_word_by_word,
    probes=puzzle_probes(
        "each word meets the same word of the other tensor, and no other",
        unlike=[(2, 3, 5), (2, 3, 5)],
        alike=[(3, 3, 3), (3, 3, 3)],
        lone=[(1, 4, 1), (1, 4, 1)],
    ),
    hints=(
        "Which axes go in step? Those get the same letters in both inputs.",
        "All three axes go in step. One of them is added up, so it is missing behind the arrow.",
        '"bse,...->..."',
    ),
)


@item.misconception(
    "Your result holds every word of a against every word of b: (B, S, S).",
    why="Two letters for the words are two loops, so all pairs meet. These are scores; only their "
    "diagonal is asked for.",
    hint="How many letters do the words of the two tensors have in your string?",
)
def all_pairs(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bqe,bke->bqk", a, b)


@item.misconception(
    "Nothing is added up in your result: it holds the products themselves, (B, S, E).",
    why="A letter behind the arrow is kept. A dot product is a sum over the numbers of a word.",
    hint="Which letter has to be missing on the right?",
)
def products_kept(a: Tensor, b: Tensor) -> Tensor:
    return a * b


@item.misconception(
    "You add up over the words and keep the numbers: (B, E).",
    why="Asked for is one number for each word. It is the word's numbers that are added up.",
    hint="Which of s and e does the result need?",
)
def summed_over_words(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bse,bse->be", a, b)


@item.misconception(
    "You add up over words and numbers: one number for each sentence.",
    why="A letter that is missing behind the arrow is summed over, and two are missing in yours.",
    hint="The result has two axes.",
)
def one_for_each_sentence(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bse,bse->b", a, b)


@item.misconception(
    "Your number is the sum of a word of a, times the sum of the same word of b.",
    why="If the numbers have two letters, one in each input, they do not go in step: each is "
    "summed over alone.",
    hint="Look for a letter that stands in one input only, and not on the right.",
)
def lonely_numbers(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bse,bsf->bs", a, b)


@item.misconception(
    "You take the mean over the numbers of a word, not the sum.",
    why="A dot product adds up. The mean is smaller by the factor E.",
    hint="Is there a division too many?",
)
def mean_of_products(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).mean(dim=-1)
