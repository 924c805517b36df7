"""04.split_heads: Split into heads."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib import model
from course_lib.checks.engine import Call, Item, Probe

item = Item(
    "04.split_heads",
    reference=model.split_heads,
    probes=[
        Probe(
            "each head holds its own columns of every token",
            lambda draw: [
                Call((draw.normal(2, 5, 12), 3), about="3 heads of 4 numbers, 5 tokens"),
                Call((draw.normal(2, 6, 4), 2), about="2 heads of 2 numbers, 6 tokens"),
                Call((draw.ids(3, 4, 10).float(), 5), about="5 heads of 2 integers"),
            ],
        ),
        Probe(
            "it works with one head and with d_head 1",
            lambda draw: [
                Call((draw.normal(2, 3, 4), 1), about="a single head"),
                Call((draw.normal(2, 3, 4), 4), about="d_head is 1"),
                Call((draw.normal(1, 1, 6), 2), about="one sentence of one token"),
            ],
        ),
        Probe(
            "axes of the same size are not confused",
            lambda draw: [
                Call((draw.normal(2, 4, 8), 4), about="as many heads as tokens"),
                Call((draw.normal(3, 3, 9), 3), about="batch, length and heads are all 3"),
            ],
        ),
        Probe(
            "it works on any memory layout, and gradients flow",
            lambda draw: [
                Call((draw.strided(2, 5, 12), 3), about="a tensor that is not contiguous"),
                Call((draw.normal(2, 5, 6, dtype=torch.float64), 2), about="float64"),
                Call((draw.normal(2, 5, 6), 3), about="gradients", gradients=True),
            ],
        ),
    ],
    hints=(
        "The first head gets the first d_head numbers of every token. Which axis has to be "
        "split, and which must stay whole?",
        "Split only the last axis, so that (batch, seq, d_model) becomes (batch, seq, heads, "
        "d_head). Then swap the axes seq and heads.",
        "One sentence of three tokens with four numbers each: torch.arange(12).view(3, 2, 2) "
        "splits token 0 into 0 1 and 2 3, one part for each head. view(2, 3, 2) would give head 0 "
        "the numbers 0 to 5, which are token 0 and half of token 1. So split an axis where it "
        "stands, and move it afterwards with transpose. Your tensor has a batch axis in front.",
    ),
)


@item.misconception(
    "The shape is right, but your first head holds the first tokens instead of the first columns.",
    why="view and reshape never change the order of the numbers. A direct reshape to (batch, "
    "heads, seq, d_head) gives each head another part of the sentence, and numbers of different "
    "tokens are mixed up.",
    hint="First split the last axis and nothing else. Moving the axes is a second step.",
)
def cut_straight_away(x: Tensor, n_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, n_heads, length, d_model // n_heads)


@item.misconception(
    "Your result is (batch, seq, heads, d_head): heads should come before seq.",
    why="matmul multiplies the last two axes. Here these are (heads, d_head), so heads would "
    "attend to heads within one token.",
    hint="One axis still has to move.",
)
def heads_not_moved(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (n_heads, -1))


@item.misconception(
    "Each of your heads takes every n_heads-th number of a token, not d_head consecutive numbers.",
    why="The first d_head columns of a projection belong to head 0, the next to head 1, and so on. "
    "With weights trained elsewhere, your heads would get the wrong columns.",
    hint="Which numbers of a token should head 0 get if d_model is 12 and n_heads is 3, and which "
    "does it get? Mind the order of heads and d_head in a reshape, or the step of a slice.",
)
def every_other_column(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (-1, n_heads)).permute(0, 3, 1, 2)


@item.misconception(
    "Your heads are n_heads numbers wide, but there should be n_heads heads.",
    why="n_heads is how many heads there are, not how wide each is. torch.split, for example, "
    "takes the size of each part, and torch.chunk takes how many parts there are.",
    hint="What is d_head if d_model is 12 and n_heads is 3?",
)
def as_wide_as_many(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (-1, n_heads)).transpose(1, 2)


@item.misconception(
    "Your result is (heads, batch, seq, d_head): batch should come first.",
    why="The task asks for the batch first. By default, torch.stack puts the new axis in front.",
    hint="Where should the axis of the heads be? If you use torch.stack: it has an argument for "
    "where the new axis goes.",
)
def heads_before_the_batch(x: Tensor, n_heads: int) -> Tensor:
    return torch.stack(x.chunk(n_heads, dim=2))


@item.misconception(
    "The last two axes are swapped: (batch, heads, d_head, seq).",
    why="A query should be a row. Keys are transposed later, when the scores are computed.",
    hint="Which axis is the last one in (batch, heads, seq, d_head)?",
)
def words_last(x: Tensor, n_heads: int) -> Tensor:
    return x.transpose(1, 2).unflatten(1, (n_heads, -1))


@item.misconception(
    "Each of your heads gets a copy of the whole token: d_model numbers instead of d_head.",
    why="The heads divide a token's numbers among themselves. With copies, each head is "
    "as wide as the model, and merge_heads gives n_heads · d_model numbers per token.",
    hint="How many numbers does x have, and how many does your result have?",
)
def whole_tokens(x: Tensor, n_heads: int) -> Tensor:
    return x[:, None].expand(-1, n_heads, -1, -1)
