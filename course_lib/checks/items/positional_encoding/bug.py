"""01.bug: A table in which little changes."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.engine import Bug, Call, Item, Probe
from course_lib.checks.items.positional_encoding.sinusoidal_positions import draw_square
from course_lib.model import positions

BUG = """\
def concatenated_positions(length, d_model):
    positions = torch.arange(length, dtype=torch.float32)
    frequencies = 1 / 10_000 ** torch.arange(0, d_model, 2, dtype=torch.float32)
    angles = torch.outer(positions, frequencies)
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
            "the frequencies fall from 1 towards 1/10000",
            lambda draw: [
                Call((draw.integer(5, 30), 8), about="four frequencies"),
                Call((draw.integer(20, 60), 32), about="sixteen frequencies"),
            ],
        ),
        Probe(
            "it works for any length and any d_model",
            lambda draw: [
                Call((draw.integer(11, 40), 6), about="three frequencies"),
                Call(draw_square(draw), about="as many positions as columns"),
            ],
        ),
        Probe(
            "the first position and distant positions are right, too",
            lambda draw: [
                Call((1, 4), about="a single position"),
                Call((draw.integer(150, 300), 10), about="more than 100 positions"),
            ],
        ),
    ],
    hints=(
        "Run each line with length 3 and d_model 4, and print what it computes. What should "
        "the second frequency be?",
        "The paper divides the position by 10000^(2i / d_model). Which part of this formula "
        "can you find in the code, and which part is missing?",
        "With d_model 4, the two exponents should be 0 and ½. Which two does the code have? When "
        "you fix it, remember that ** binds more tightly than /: 9 ** 1 / 2 is 4.5, and 9 ** (1 / "
        "2) is 3.",
    ),
)


def _outer(length: int, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    angles = torch.outer(torch.arange(length, dtype=torch.float32), frequencies.float())
    return angles.sin(), angles.cos()


@item.misconception(
    "All frequencies but the first are still far too low.",
    why="From the second on, your frequencies are so low that their sines are almost 0 and their "
    "cosines almost 1 at every position. Only the first pair of columns tells the model anything "
    "about positions.",
    hint="Print your frequencies for d_model 4: they should be 1 and 0.01. Compare the exponent "
    "with the one in the paper.",
)
def still_standing(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** torch.arange(0.0, d_model, 2)), dim=-1)


@item.misconception(
    "Your fix divides all frequencies by d_model, even the first, and the others are still far "
    "too low.",
    why="It's the exponents that have to be divided by d_model, not the frequencies or the "
    "angles. In Python, ** binds more tightly than /.",
    hint="What does your code divide by d_model? Note that Python reads 10_000 ** a / b as "
    "(10_000 ** a) / b.",
)
def bracket_missing(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** torch.arange(0.0, d_model, 2) / d_model), dim=-1)


@item.misconception(
    "You divide the exponent by the length of the table, the number of positions.",
    why="Then the encoding of a position depends on how long the table is, and the same position "
    "gets another encoding in a longer table.",
    hint="Which number determines how many frequencies there are?",
)
def by_the_length(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** (torch.arange(0.0, d_model, 2) / length)), dim=-1)


@item.misconception(
    "Your exponents are twice as large as they should be: 4i / d_model, not 2i / d_model.",
    why="arange(0, d_model, 2) already holds 2i, so d_model is all that it has to be divided by. "
    "With your exponents, about half of the frequencies are 1/10000 or lower.",
    hint="How large is your last exponent? In the formula none of them reaches 1.",
)
def by_half_the_width(length: int, d_model: int) -> Tensor:
    frequencies = 1 / 10_000 ** (torch.arange(0.0, d_model, 2) / (d_model // 2))
    return torch.cat(_outer(length, frequencies), dim=-1)


@item.misconception(
    "The frequencies are right now, but your columns alternate between sine and cosine.",
    why="This function should return the concatenated layout, as its name says: all sines "
    "come first, and then all cosines. Its last line was right.",
    hint="Only one line is wrong. Leave the others as they are.",
)
def in_turn(length: int, d_model: int) -> Tensor:
    return positions.sinusoidal_positions(length, d_model)
