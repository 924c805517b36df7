"""06.causal_mask: Hide the future."""

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
        Probe("a query reads itself and its past", lambda draw: [Call((4,), about="four tokens")]),
        Probe(
            "it holds for any length",
            lambda draw: [
                Call((1,), about="a single token"),
                Call((2,), about="two tokens"),
                Call((draw.integer(7, 11),), about="a longer sentence"),
            ],
        ),
    ],
    hints=(
        "Draw it for three tokens: row 0 reads only key 0, row 2 reads all three.",
        "A square of True, of which one triangle is kept. Which one, and with the diagonal?",
        "torch.ones(1, 1, size, size, dtype=torch.bool) and then .tril() or .triu().",
    ),
)


@item.misconception(
    "Your mask lets each query read the future and hides its past.",
    why="Token t is to be predicted from the tokens before it. Here it would see all that comes "
    "after.",
    hint="Look at row 0, the first token: who is there for it to read?",
)
def past_hidden(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).triu()


@item.misconception(
    "Your mask is True exactly where it should be False: it marks what to hide.",
    why="PyTorch's own modules say True for hide; in this course True means: may be read.",
    hint="The picture is right, its meaning is turned round.",
)
def marks_the_future(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).triu(1)


@item.misconception(
    "Your mask hides the diagonal: no token may read itself.",
    why="The first token would have nothing left to read. Reading oneself is no cheating: the "
    "decoder's input is shifted, so a position never holds the word it has to predict.",
    hint="Where does the triangle of .tril() begin when you give it a second argument?",
)
def diagonal_hidden(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril(-1)


@item.misconception(
    "Your mask lets each query read one token of its future.",
    why="The next token is the very word that is to be predicted: the loss would fall to nothing, "
    "and the model would be useless on its own.",
    hint="Count the True values in row 0.",
)
def one_step_ahead(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril(1)


@item.misconception(
    "Your mask is a plain square, (size, size).",
    why="It would broadcast, but the task asks for the axes of batch and heads: so every mask of "
    "the course has four, and none is mistaken for another.",
    hint="Two axes of size 1 go in front.",
)
def two_axes_short(size: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool).tril()


@item.misconception(
    "Your mask holds numbers, 1 and 0, where booleans are asked for.",
    why="In this course masks are boolean: True means may be read.",
    hint="torch.ones takes a dtype.",
)
def ones_and_zeros(size: int) -> Tensor:
    return torch.ones(1, 1, size, size).tril()


@item.misconception(
    "Your mask holds 0 and minus infinity, to be added to the scores.",
    why="That is another convention. Here a mask says who may be read, and masked_softmax does "
    "the rest.",
    hint="Return True and False.",
)
def to_be_added(size: int) -> Tensor:
    return torch.full((1, 1, size, size), -math.inf).triu(1)
