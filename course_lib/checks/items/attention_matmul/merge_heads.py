"""04.merge_heads: Merge the heads."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib import model
from course_lib.checks.engine import Call, Item, Probe

item = Item(
    "04.merge_heads",
    reference=model.merge_heads,
    probes=[
        Probe(
            "each token gets the numbers of all heads, head after head",
            lambda draw: [
                Call((draw.normal(2, 3, 5, 4),), about="3 heads of 4 numbers, 5 tokens"),
                Call((draw.ids(3, 4, 2, 5).float(),), about="4 heads of 5 integers, 2 tokens"),
            ],
        ),
        Probe(
            "it undoes split_heads, for any memory layout",
            lambda draw: [
                Call((model.split_heads(draw.normal(2, 5, 12), 3),), about="heads just split"),
                Call((draw.strided(2, 3, 5, 4),), about="a tensor that is not contiguous"),
                Call((draw.normal(2, 3, 5, 4, dtype=torch.float64),), about="float64"),
            ],
        ),
        Probe(
            "axes of size 1 and axes of the same size are not confused",
            lambda draw: [
                Call((draw.normal(2, 1, 5, 4),), about="a single head"),
                Call((draw.normal(2, 3, 1, 4),), about="sentences of one token"),
                Call((draw.normal(1, 3, 5, 1),), about="one sentence, d_head is 1"),
                Call((draw.normal(3, 3, 3, 3),), about="all sizes equal"),
            ],
        ),
        Probe(
            "gradients flow",
            lambda draw: [Call((draw.normal(2, 3, 5, 4),), about="gradients", gradients=True)],
        ),
    ],
    hints=(
        "Undo split_heads step by step. Which two axes have to be neighbours before you can "
        "join them?",
        "Swap heads and seq, which gives (batch, seq, heads, d_head). Then join the last two "
        "axes. view raises an error here, because the numbers of a token aren't contiguous in "
        "memory.",
        "For t = torch.arange(6).view(2, 3), t.transpose(0, 1).flatten() is 0 3 1 4 2 5. "
        "reshape(6) gives the same; view(6) raises an error, because the numbers are no longer "
        "contiguous. Your tensor has four axes: which two do you swap, and which two do you then "
        "join?",
    ),
)


@item.misconception(
    "The shape is right, but your result begins with head 0 of all tokens: tokens and heads are "
    "mixed up.",
    why="reshape keeps the order of the numbers. Heads come before tokens in that order, so the "
    "rows of head 0 fill the first tokens completely.",
    hint="Which axis has to move before you join?",
)
def joined_straight_away(x: Tensor) -> Tensor:
    batch, n_heads, length, d_head = x.shape
    return x.reshape(batch, length, n_heads * d_head)


@item.misconception(
    "view raises an error: once the axes are swapped, the numbers of a token aren't contiguous in "
    "memory.",
    why="Swapping axes swaps strides and moves no number, and no single stride reaches all heads "
    "of a token. It works on heads that were just split, since there the swap is undone.",
    hint="Under Deeper, the lesson explains this error and names three ways to copy numbers into a "
    "contiguous order.",
)
def viewed_without_a_copy(x: Tensor) -> Tensor:
    batch, n_heads, length, d_head = x.shape
    return x.transpose(1, 2).view(batch, length, n_heads * d_head)


@item.misconception(
    "All numbers of a token are there, but the heads are interleaved: h0, h1, h2, h0, h1, h2, and "
    "so on.",
    why="All numbers of head 0 have to come first: that's how split_heads splits them, and what "
    "out_proj expects.",
    hint="Of the two axes that you join, which index should change faster?",
)
def heads_take_turns(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).flatten(2)


@item.misconception(
    "The shape is right, but you swap the wrong pair of axes before you join.",
    why="Heads and d_head belong side by side. If d_head and the tokens are joined instead, the "
    "vectors of your result mix numbers of many tokens.",
    hint="Which axes should be next to each other when you join them, and in which order?",
)
def other_axes_swapped(x: Tensor) -> Tensor:
    batch, n_heads, length, d_head = x.shape
    return x.transpose(2, 3).reshape(batch, length, n_heads * d_head)


@item.misconception(
    "You take the axes for (batch, seq, heads, d_head), so it's the tokens that you join.",
    why="The heads are on the axis that the task names, and only their numbers belong side by "
    "side.",
    hint="Print x.shape. Which axis are the heads?",
)
def tokens_joined(x: Tensor) -> Tensor:
    return x.flatten(2)


@item.misconception(
    "You add up or average the heads, so the result is only d_head wide.",
    why="In a sum or a mean you can't tell what came from which head. Here they're concatenated; "
    "combining them is the job of out_proj.",
    hint="No number should get lost. How many are there before, and how many after?",
)
def heads_added(x: Tensor) -> Tensor:
    return x.sum(dim=1)


@item.spelling("heads_added")
def heads_averaged(x: Tensor) -> Tensor:
    return x.mean(dim=1)


@item.misconception(
    "You concatenate the heads along the sequence: (batch, heads · seq, d_head).",
    why="That gives n_heads times as many tokens. The heads should be joined within each token.",
    hint="Along which axis do you join?",
)
def one_below_the_other(x: Tensor) -> Tensor:
    return x.flatten(1, 2)


@item.misconception(
    "The last two axes are swapped: (batch, d_model, seq).",
    why="Everywhere in the course a token is a row: (batch, seq, d_model).",
    hint="Which axis should be the second one?",
)
def words_at_the_end(x: Tensor) -> Tensor:
    return x.transpose(2, 3).flatten(1, 2)
