"""03.bug: A residual connection gone wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe

BUG = """\
def encoder_block(x, attention, feed_forward, norm_1, norm_2):
    attended = attention(x)
    middle = norm_1(x + attended)
    transformed = feed_forward(middle)
    return norm_2(x + transformed)
"""


Layer = Callable[[Tensor], Tensor]


def _use_block(
    block: Callable[..., Tensor],
    x: Tensor,
    *,
    mix: Tensor,
    inner: Tensor,
    outer: Tensor,
    norms: Tensor,
) -> Tensor:
    """Pass sublayers and norms with these weights; norms is (2, 2, d_model): weights and biases."""
    (w1, b1), (w2, b2) = norms
    return block(
        x,
        lambda x: mix @ x,
        lambda x: (x @ inner).relu() @ outer,
        lambda x: F.layer_norm(x, x.shape[-1:], w1, b1),
        lambda x: F.layer_norm(x, x.shape[-1:], w2, b2),
    )


def _encoder_block(
    x: Tensor, attention: Layer, feed_forward: Layer, norm_1: Layer, norm_2: Layer
) -> Tensor:
    middle = norm_1(x + attention(x))
    return norm_2(middle + feed_forward(middle))


def _block(draw: Draw, x: Tensor, about: str, *, gradients: bool = False) -> Call:
    length, d_model = x.shape[-2:]
    parts = {
        "mix": draw.normal(length, length).softmax(dim=-1),
        "inner": draw.normal(d_model, 2 * d_model),
        "outer": draw.normal(2 * d_model, d_model),
        "norms": torch.tensor([[1.0], [0.0]]) + draw.normal(2, 2, d_model, std=0.3),
    }
    return Call((x,), parts, about=about, gradients=gradients)


item = Item(
    "03.bug",
    reference=_encoder_block,
    use=_use_block,
    tolerance=1e-3,
    bug=Bug(BUG, line=5),
    probes=[
        Probe(
            "each sublayer's output is added to its own input",
            lambda draw: [_block(draw, draw.normal(2, 3, 6), "two sentences of three positions")],
        ),
        Probe(
            "it works for any shape",
            lambda draw: [
                _block(draw, draw.normal(1, 1, 8), "a single position"),
                _block(draw, draw.normal(5, 4, 6, std=3), "larger numbers"),
            ],
        ),
        Probe(
            "the gradient flows through both residual connections",
            lambda draw: [_block(draw, draw.normal(2, 3, 6), "gradients", gradients=True)],
        ),
    ],
    hints=(
        "A block has two sublayers, and each has its own residual connection. For both, write "
        "down what goes in and what is added.",
        "The output of attention is part of `middle`. On which paths can it reach the result?",
        "Try it in numbers, without norms: let attention return 10 for any input, and let "
        "feed_forward double its input. For x = 1, middle is then 11 and transformed is 22. What "
        "should come out, and what does?",
    ),
)


@item.misconception(
    "Your second residual connection still skips both sublayers.",
    why="It adds the input of the whole block. The output of attention then reaches the result "
    "only through the feed-forward network, with no residual path of its own.",
    hint="What is the input of feed_forward?",
)
def still_past_both(
    x: Tensor, attention: Layer, feed_forward: Layer, norm_1: Layer, norm_2: Layer
) -> Tensor:
    return norm_2(x + feed_forward(norm_1(x + attention(x))))


@item.misconception(
    "The second residual connection is gone.",
    why="It was wrong, but now there's none at all: in a deep model the gradient has to pass "
    "through every feed-forward network.",
    hint="Fix what is added, don't remove it.",
)
def none_at_all(
    x: Tensor, attention: Layer, feed_forward: Layer, norm_1: Layer, norm_2: Layer
) -> Tensor:
    return norm_2(feed_forward(norm_1(x + attention(x))))


@item.misconception(
    "You add both the block's x and `middle`.",
    why="A sublayer's output is added to its own input and to nothing else. x is already part of "
    "`middle`.",
    hint="How many terms are there in x + Sublayer(x)?",
)
def both_added(
    x: Tensor, attention: Layer, feed_forward: Layer, norm_1: Layer, norm_2: Layer
) -> Tensor:
    middle = norm_1(x + attention(x))
    return norm_2(x + middle + feed_forward(middle))


@item.misconception(
    "You add the output of attention, without x.",
    why="That is the output of the first sublayer, not the input of the second. The tokens' own "
    "vectors reach the result only through feed_forward.",
    hint="What is the input of feed_forward?",
)
def what_was_read(
    x: Tensor, attention: Layer, feed_forward: Layer, norm_1: Layer, norm_2: Layer
) -> Tensor:
    read = attention(x)
    return norm_2(read + feed_forward(norm_1(x + read)))


@item.misconception(
    "Now the input of feed_forward is the block's x, so it never sees the output of attention.",
    why="The two sublayers come one after the other: feed_forward works on what attention has "
    "gathered. In the code of the task, it did.",
    hint="Only one line is wrong, and it isn't the one that calls feed_forward.",
)
def side_by_side(
    x: Tensor, attention: Layer, feed_forward: Layer, norm_1: Layer, norm_2: Layer
) -> Tensor:
    return norm_2(x + feed_forward(x))
