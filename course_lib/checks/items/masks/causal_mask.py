"""06.causal_mask: Mask the future."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import masks

item = Item(
    "06.causal_mask",
    reference=masks.causal_mask,
    probes=[
        Probe(
            "a query may attend to itself and to its past",
            lambda draw: [Call((4,), about="four tokens")],
        ),
        Probe(
            "it works for any length",
            lambda draw: [
                Call((1,), about="a single token"),
                Call((2,), about="two tokens"),
                Call((draw.integer(7, 11),), about="a longer sentence"),
            ],
        ),
    ],
    hints=(
        "Draw it for three tokens: row 0 is True for key 0 only, row 2 for all three keys.",
        "Start with a square of True and keep one triangle. Which one, and does it include the "
        "diagonal?",
        "torch.ones(1, 1, size, size, dtype=torch.bool) and then .tril() or .triu().",
    ),
)


@item.misconception(
    "Your mask allows the future and masks the past.",
    why="Token t should be predicted from the tokens before it. Here it would see all the tokens "
    "after it.",
    hint="Look at row 0, the first token. Which keys should it attend to?",
)
def past_hidden(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).triu()


@item.misconception(
    "Your mask is inverted: it's True for the keys that should be masked.",
    why="In nn.MultiheadAttention True means masked; in this course True means: may attend.",
    hint="The triangle is right, but True and False are swapped.",
)
def marks_the_future(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).triu(1)


@item.misconception(
    "Your mask is False on the diagonal, so no token may attend to itself.",
    why="Then the first token has no key left. A token may attend to itself: the decoder's input "
    "is shifted, so a position never holds the token that it has to predict.",
    hint="Which diagonal does .tril() start from if you pass a number?",
)
def diagonal_hidden(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril(-1)


@item.misconception(
    "Your mask lets each query attend to one token of its future.",
    why="The next token is exactly the one to predict. The training loss would fall to nearly "
    "zero, and the model would be useless in decoding.",
    hint="Count the True values in row 0.",
)
def one_step_ahead(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril(1)


@item.misconception(
    "Your mask has only two axes, (size, size).",
    why="It would broadcast, but the task asks for axes for batch and heads, too. All masks of the "
    "course have four axes, so that you can't confuse them.",
    hint="Add two axes of size 1 in front.",
)
def two_axes_short(size: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool).tril()


@item.misconception(
    "Your mask holds numbers, 1 and 0, instead of booleans.",
    why="In this course masks are boolean, and True means: may attend.",
    hint="torch.ones takes a dtype.",
)
def ones_and_zeros(size: int) -> Tensor:
    return torch.ones(1, 1, size, size).tril()


@item.misconception(
    "Your mask holds 0 and minus infinity, to be added to the scores.",
    why="That's another convention, the additive mask. Here a mask is boolean, and masked_softmax "
    "applies it.",
    hint="Return True and False.",
)
def to_be_added(size: int) -> Tensor:
    return torch.full((1, 1, size, size), -math.inf).triu(1)
