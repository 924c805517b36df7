"""04.split_heads: Cut into heads."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import attention

item = Item(
    "04.split_heads",
    reference=attention.split_heads,
    probes=[
        Probe(
            "each head holds its own columns of every word",
            lambda draw: [
                Call((draw.normal(2, 5, 12), 3), about="3 heads of 4 numbers, 5 words"),
                Call((draw.normal(2, 6, 4), 2), about="2 heads of 2 numbers, 6 words"),
                Call((draw.ids(3, 4, 10).float(), 5), about="whole numbers, 5 heads of 2"),
            ],
        ),
        Probe(
            "one head and one number a head are heads, too",
            lambda draw: [
                Call((draw.normal(2, 3, 4), 1), about="a single head"),
                Call((draw.normal(2, 3, 4), 4), about="one number a head"),
                Call((draw.normal(1, 1, 6), 2), about="one sentence of one word"),
            ],
        ),
        Probe(
            "sizes that are alike are not mixed up",
            lambda draw: [
                Call((draw.normal(2, 4, 8), 4), about="as many heads as words"),
                Call((draw.normal(3, 3, 9), 3), about="all sizes alike"),
            ],
        ),
        Probe(
            "it works on any memory layout, and gradients pass",
            lambda draw: [
                Call((draw.strided(2, 5, 12), 3), about="a tensor that is not contiguous"),
                Call((draw.normal(2, 5, 6, dtype=torch.float64), 2), about="float64"),
                Call((draw.normal(2, 5, 6), 3), about="gradients", gradients=True),
            ],
        ),
    ],
    hints=(
        "The first head gets the first E numbers of every word. Which axis has to be cut, and "
        "which must stay whole?",
        "Cut the last axis alone: (B, S, D) becomes (B, S, H, E). Then the heads move past the "
        "words.",
        "x.view(batch, length, n_heads, ...).transpose(..., ...)",
    ),
)


@item.misconception(
    "The shape is right, but your first head holds the first words instead of the first columns.",
    why="view and reshape never change the order of the numbers. Cut straight to (B, H, S, E), "
    "they deal out the sentence, and words leak into each other.",
    hint="First cut the last axis and nothing else. Moving the axes is a second step.",
)
def cut_straight_away(x: Tensor, n_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, n_heads, length, d_model // n_heads)


@item.misconception(
    "Words stand before heads in your result: (B, S, H, E).",
    why="matmul multiplies the last two axes, so they would be (H, E): heads would read heads of "
    "the same word.",
    hint="One axis still has to move.",
)
def heads_not_moved(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (n_heads, -1))


@item.misconception(
    "Each of your heads takes every H-th number of a word, not E numbers in a row.",
    why="The columns of the big matrix belong to head 0, then to head 1, and so on. Weights "
    "that somebody else has trained would be read wrongly.",
    hint="In which order do you name the two new axes: heads and numbers, or numbers and heads?",
)
def every_other_column(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (-1, n_heads)).permute(0, 3, 1, 2)


@item.misconception(
    "Your heads are n_heads numbers wide; there should be n_heads of them.",
    why="The second argument says how many heads, not how many numbers each of them has.",
    hint="How wide is a head, if d_model is 12 and n_heads is 3?",
)
def as_wide_as_many(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (-1, n_heads)).transpose(1, 2)


@item.misconception(
    "The heads stand before the sentences: (H, B, S, E).",
    why="Everything else in the course expects the batch first. torch.stack puts its new axis in "
    "front, unless told otherwise.",
    hint="Say where the new axis has to go.",
)
def heads_before_the_batch(x: Tensor, n_heads: int) -> Tensor:
    return torch.stack(x.chunk(n_heads, dim=2))


@item.misconception(
    "The last two axes are swapped: (B, H, E, S).",
    why="A query is a row. That keys have to be turned is the affair of the score product, not of "
    "the cut.",
    hint="Which axis is the last one in (batch, heads, words, numbers)?",
)
def words_last(x: Tensor, n_heads: int) -> Tensor:
    return x.transpose(1, 2).unflatten(1, (n_heads, -1))
