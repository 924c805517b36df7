"""01.sinusoidal_positions: A clock for each pair of columns."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import positions

item = Item(
    "01.sinusoidal_positions",
    reference=positions.sinusoidal_positions,
    probes=[
        Probe(
            "each pair of columns is a clock hand: its sine, then its cosine",
            lambda draw: [
                Call((3, 4), about="three places, two clocks: the table worked out by hand"),
                Call((5, 2), about="one clock"),
            ],
        ),
        Probe(
            "each clock is slower than the one before by the same factor",
            lambda draw: [
                Call((draw.integer(20, 30), 16), about="eight clocks"),
                Call((draw.integer(9, 14), 6), about="three clocks"),
            ],
        ),
        Probe(
            "the speeds depend on the width, and the length changes no row",
            lambda draw: [
                Call((12, 64), about="more columns than places"),
                Call((40, 4), about="more places than columns"),
                Call((8, 8), about="as many places as columns"),
            ],
        ),
        Probe(
            "a single place and a place far along the sentence are right, too",
            lambda draw: [
                Call((1, 6), about="a single place"),
                Call((200, 10), about="200 places"),
                Call(
                    (),
                    {"length": draw.integer(4, 9), "d_model": 12},
                    about="arguments given by name",
                ),
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Work out places 0, 1 and 2 with two clocks on paper, as in the lesson. What are the "
        "speeds of the two clocks?",
        "Four steps: the speeds of the D / 2 clocks, the angle of every place on every clock, sine "
        "and cosine of the angles, and then both laid into one table in turn.",
        "angles = torch.arange(length)[:, None] * speeds, with speeds = 10000 ** -(... / d_model); "
        "then torch.stack((..., ...), dim=-1).flatten(1).",
    ),
)


def _table(length: int, exponents: Tensor, *, first: int = 0) -> tuple[Tensor, Tensor]:
    """Sine and cosine of the angles of places first … under the speeds 10000^-exponent."""
    places = torch.arange(first, first + length, dtype=torch.float64)
    angles = places[:, None] * 10_000.0 ** -exponents.double()
    return angles.sin().float(), angles.cos().float()


def _in_turn(sine: Tensor, cosine: Tensor) -> Tensor:
    return torch.stack((sine, cosine), dim=-1).flatten(1)


@item.misconception(
    "Your clocks slow down far too fast: all but the first stand still.",
    why="The exponent is 2i, and not 2i / D. The second clock is then a hundred million times "
    "slower than the first. One published system has this: of its 512 columns only 2 move.",
    hint="What is divided by d_model in the formula?",
)
def width_left_out(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, torch.arange(0, d_model, 2)))


@item.misconception(
    "Your clocks slow down only half as much as they should.",
    why="The exponent is i / D where 2i / D is due, so wavelengths end near 100 · 2π and the "
    "horizon is a hundred times nearer.",
    hint="Does your counter of clocks go in steps of one or of two?",
)
def half_the_exponent(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, torch.arange(d_model // 2) / d_model))


@item.misconception(
    "Your clocks slow down twice as much as they should.",
    why="The exponent is 4i / D where 2i / D is due: the 2 was counted twice. Half of the clocks "
    "hardly move in any sentence.",
    hint="If your counter already goes in steps of two, it is 2i, not i.",
)
def twice_the_exponent(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, 2 * torch.arange(0, d_model, 2) / d_model))


@item.misconception(
    "Your sine and the cosine beside it belong to two different clocks.",
    why="Each column has a speed of its own. Then a pair is no longer the tip of one hand, and a "
    "shift is no longer a rotation.",
    hint="How many speeds are there: one for each column, or one for each pair?",
)
def a_speed_for_each_column(length: int, d_model: int) -> Tensor:
    sine, cosine = _table(length, torch.arange(d_model) / d_model)
    return torch.where(torch.arange(d_model) % 2 == 0, sine, cosine)


@item.misconception(
    "Your table holds all sines on the left and all cosines on the right.",
    why="These are the same columns in another order, and a model can learn with either. But "
    "weights trained with one do not fit the other, and this course takes the paper's order.",
    hint="sin, cos, sin, cos: which function lays two tensors in turn, and which one end to end?",
)
def end_to_end(length: int, d_model: int) -> Tensor:
    return torch.cat(_table(length, torch.arange(0, d_model, 2) / d_model), dim=-1)


@item.misconception(
    "In your table the cosine comes first.",
    why="The paper puts the sine into the even columns, and columns count from 0.",
    hint="What should stand in column 0 at place 0?",
)
def cosine_first(length: int, d_model: int) -> Tensor:
    sine, cosine = _table(length, torch.arange(0, d_model, 2) / d_model)
    return _in_turn(cosine, sine)


@item.misconception(
    "Both columns of each pair hold the sine.",
    why="A sine is the shadow of a clock hand: it does not say whether the hand is rising or "
    "falling. With sines alone no matrix can shift every place.",
    hint="What do the odd columns hold in the formula?",
)
def sines_alone(length: int, d_model: int) -> Tensor:
    sine, _ = _table(length, torch.arange(0, d_model, 2) / d_model)
    return _in_turn(sine, sine)


@item.misconception(
    "Your places count from 1.",
    why="The first token stands at place 0, where all hands point to twelve.",
    hint="Look at row 0 of your table.",
)
def places_from_one(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, torch.arange(0, d_model, 2) / d_model, first=1))


@item.misconception(
    "Your table lies on its side: (d_model, length).",
    why="A row is the code of one place, so that it can be added to the vector of one token.",
    hint="Which of the two should come first in the shape?",
)
def on_its_side(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, torch.arange(0, d_model, 2) / d_model)).T
