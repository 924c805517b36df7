"""04.merge_heads: Merge the heads."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import attention

item = Item(
    "04.merge_heads",
    reference=attention.merge_heads,
    probes=[
        Probe(
            "a word's numbers of all heads lie side by side",
            lambda draw: [
                Call((draw.normal(2, 3, 5, 4),), about="3 heads, 5 words, 4 numbers"),
                Call((draw.ids(3, 4, 2, 5).float(),), about="4 heads, 2 words, whole numbers"),
            ],
        ),
        Probe(
            "it undoes the cut, whichever way the memory lies",
            lambda draw: [
                Call((attention.split_heads(draw.normal(2, 5, 12), 3),), about="heads just cut"),
                Call((draw.strided(2, 3, 5, 4),), about="a tensor that is not contiguous"),
                Call((draw.normal(2, 3, 5, 4, dtype=torch.float64),), about="float64"),
            ],
        ),
        Probe(
            "sizes of one and sizes that are alike are not mixed up",
            lambda draw: [
                Call((draw.normal(2, 1, 5, 4),), about="a single head"),
                Call((draw.normal(2, 3, 1, 4),), about="sentences of one word"),
                Call((draw.normal(1, 3, 5, 1),), about="one sentence, one number a head"),
                Call((draw.normal(3, 3, 3, 3),), about="all sizes alike"),
            ],
        ),
        Probe(
            "gradients pass",
            lambda draw: [Call((draw.normal(2, 3, 5, 4),), about="gradients", gradients=True)],
        ),
    ],
    hints=(
        "Go back the way you came. Which two axes have to be neighbours before they can be joined?",
        "Swap heads and words: (B, S, H, E). Then join the last two axes; view refuses here, "
        "because the numbers of a word lie apart.",
        "x.transpose(..., ...).reshape(batch, length, ...), or contiguous() and view, or flatten.",
    ),
)


@item.misconception(
    "The shape is right, but your first rows hold head 0 alone: words and heads are mixed up.",
    why="reshape keeps the order of the numbers. Heads stand before words in it, so the sentence "
    "of head 0 is dealt out to all words.",
    hint="Which axis has to move before you join?",
)
def joined_straight_away(x: Tensor) -> Tensor:
    batch, n_heads, length, d_head = x.shape
    return x.reshape(batch, length, n_heads * d_head)


@item.misconception(
    "view refuses: after transpose the numbers of a word lie apart in memory.",
    why="transpose swaps strides and moves no number, and no single stride walks over all heads of "
    "a word. It worked on heads that were just cut, since there the swap is undone.",
    hint="The lesson names three ways to copy numbers into reading order.",
)
def viewed_without_a_copy(x: Tensor) -> Tensor:
    batch, n_heads, length, d_head = x.shape
    return x.transpose(1, 2).view(batch, length, n_heads * d_head)


@item.misconception(
    "The numbers of a word are all there, but heads take turns: h0, h1, h2, h0, h1, h2 and so on.",
    why="Head 0 has to come first with all its numbers, as split_heads cut them and as W_O expects "
    "them.",
    hint="Which of the two axes that you join changes slowly, which fast?",
)
def heads_take_turns(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).flatten(2)


@item.misconception(
    "Your heads are added up: the result is only d_head wide.",
    why="In the sum nobody can tell what came from which head. They lie side by side here; mixing "
    "them is the work of W_O.",
    hint="No number may get lost: how many are there before, how many after?",
)
def heads_added(x: Tensor) -> Tensor:
    return x.sum(dim=1)


@item.misconception(
    "Your heads stand one below the other: (B, H · S, E).",
    why="The sentence would have H times as many words. It is the numbers of each word that are "
    "joined.",
    hint="Along which axis do you join?",
)
def one_below_the_other(x: Tensor) -> Tensor:
    return x.flatten(1, 2)


@item.misconception(
    "Words stand last in your result: (B, D, S).",
    why="Everywhere in the course a word is a row: (batch, words, d_model).",
    hint="Which axis should be the second one?",
)
def words_at_the_end(x: Tensor) -> Tensor:
    return x.transpose(2, 3).flatten(1, 2)
