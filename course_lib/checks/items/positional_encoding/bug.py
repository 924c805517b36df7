"""01.bug: A table that stands still."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import positions

BUG = """\
def concatenated_positions(length, d_model):
    places = torch.arange(length, dtype=torch.float32)
    speeds = 1 / 10_000 ** torch.arange(0, d_model, 2, dtype=torch.float32)
    angles = torch.outer(places, speeds)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)
"""


def _concatenated(length: int, d_model: int) -> Tensor:
    return positions.sinusoidal_positions(length, d_model, layout="concatenated")


item = Item(
    "01.bug",
    reference=_concatenated,
    tolerance=1e-4,
    bug=Bug(BUG, line=3),
    probes=[
        Probe(
            "all clocks run, each slower than the one before",
            lambda draw: [
                Call((7, 8), about="four clocks"),
                Call((30, 32), about="sixteen clocks"),
            ],
        ),
        Probe(
            "any length and any width",
            lambda draw: [
                Call((draw.integer(11, 19), 6), about="three clocks"),
                Call((12, 12), about="as many places as columns"),
            ],
        ),
        Probe(
            "the first place and places far along are right, too",
            lambda draw: [
                Call((1, 4), about="a single place"),
                Call((200, 10), about="200 places"),
            ],
        ),
    ],
    hints=(
        "Run each line for length 3 and d_model 4. What should the second clock's speed be?",
        "10000^(2i / D): which part of this do you find in the code, and which not?",
        "The exponent has to be a share of the width; mind the brackets, since ** binds more "
        "tightly than /.",
    ),
)


def _outer(length: int, speeds: Tensor) -> tuple[Tensor, Tensor]:
    angles = torch.outer(torch.arange(length, dtype=torch.float32), speeds.float())
    return angles.sin(), angles.cos()


@item.misconception(
    "The clocks still stand still, all but the first.",
    why="The second clock is a hundred million times slower than the first, so its columns are 0 "
    "and 1 at every place. A model with this table knows hardly more than the first clock says.",
    hint="Compare the exponent with the one in the paper.",
)
def still_standing(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** torch.arange(0.0, d_model, 2)), dim=-1)


@item.misconception(
    "Your mend slows down all clocks, the first one too, and the others still stand.",
    why="A bracket is missing: ** binds more tightly than /, so the speeds are divided, and not "
    "the exponents.",
    hint="In which order does Python work out 1 / 10_000 ** a / b?",
)
def bracket_missing(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** torch.arange(0.0, d_model, 2) / d_model), dim=-1)


@item.misconception(
    "You divide the exponent by the length of the sentence.",
    why="Then the code of a place depends on how long the table is, and a longer table moves every "
    "word.",
    hint="Which number says how many clocks there are?",
)
def by_the_length(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** (torch.arange(0.0, d_model, 2) / length)), dim=-1)


@item.misconception(
    "You divide the exponent by half of the width: the clocks slow down twice as much as they "
    "should.",
    why="arange goes in steps of two, so the exponents run up to the whole width.",
    hint="How large is your last exponent? In the formula none of them reaches 1.",
)
def by_half_the_width(length: int, d_model: int) -> Tensor:
    speeds = 1 / 10_000 ** (torch.arange(0.0, d_model, 2) / (d_model // 2))
    return torch.cat(_outer(length, speeds), dim=-1)


@item.misconception(
    "The clocks run, but your columns stand in the other order: sine and cosine in turn.",
    why="The function is named for what it gives: all sines and then all cosines. Its last line "
    "was right.",
    hint="One line is wrong. Leave the others as they are.",
)
def in_turn(length: int, d_model: int) -> Tensor:
    return positions.sinusoidal_positions(length, d_model)
