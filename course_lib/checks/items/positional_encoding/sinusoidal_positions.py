"""01.sinusoidal_positions: Sines and cosines of many frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.model import positions


def draw_square(draw: Draw) -> tuple[int, int]:
    """An even number from 6 to 24, as length and as d_model."""
    size = 2 * draw.integer(3, 12)
    return size, size


item = Item(
    "01.sinusoidal_positions",
    reference=positions.sinusoidal_positions,
    probes=[
        Probe(
            "each pair of columns holds the sine and the cosine of the same angle",
            lambda draw: [
                Call(
                    (3, 4), about="three positions, two frequencies: the table you can do by hand"
                ),
                Call((draw.integer(5, 40), 2), about="one frequency"),
            ],
        ),
        Probe(
            "each frequency is lower than the one before by the same factor",
            lambda draw: [
                Call((draw.integer(20, 30), 16), about="eight frequencies"),
                Call((draw.integer(9, 14), 6), about="three frequencies"),
            ],
        ),
        Probe(
            "the frequencies depend on d_model, and the length changes no row",
            lambda draw: [
                Call((draw.integer(7, 25), 64), about="more columns than positions"),
                Call((draw.integer(30, 90), 4), about="more positions than columns"),
                Call(draw_square(draw), about="as many positions as columns"),
            ],
        ),
        Probe(
            "a single position and distant positions are right, too",
            lambda draw: [
                Call((1, 6), about="a single position"),
                Call((draw.integer(150, 300), 10), about="more than 100 positions"),
                Call(
                    (),
                    {"length": draw.integer(4, 40), "d_model": 12},
                    about="keyword arguments",
                ),
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Q1b computes the row of position 1 by hand, with two frequencies. Do positions 0 and "
        "2 in the same way. Which two angles does each of these rows need?",
        "First compute the d_model / 2 frequencies. Then multiply every position by every "
        "frequency, which gives the angles, and take the sine and the cosine of each angle. "
        "At the end, interleave sines and cosines.",
        "Two small examples: with a = torch.tensor([1, 2]) and b = torch.tensor([5, 7, 9]), a[:, "
        "None] * b has the rows 5 7 9 and 10 14 18. And torch.stack((a, 10 * a), dim=-1) has the "
        "rows 1 10 and 2 20, which flatten() joins to 1 10 2 20. Your table has a whole row of "
        "numbers for each position: from which axis on do you flatten?",
    ),
)


@item.switchable
def _variant(on: frozenset[str]) -> Callable[[int, int], Tensor]:
    in_float32 = on & {"frequencies_rise", "frequencies_rise_by_exp"}  # as usual

    def answer(length: int, d_model: int) -> Tensor:
        at = torch.arange(length).double() + ("positions_from_one" in on)
        if in_float32:
            at = at.float()
        angles = at[:, None] * frequencies(d_model)
        if "turns_for_radians" in on:
            angles = 2 * math.pi * angles
        sine, cosine = angles.sin().float(), angles.cos().float()
        cosine = sine if "sines_alone" in on else cosine
        sine = cosine if "cosines_alone" in on else sine
        table = laid_out(sine, cosine)
        return table.T if "on_its_side" in on else table

    def frequencies(d_model: int) -> Tensor:
        sign = -1
        base = 1_000.0 if "a_zero_too_few" in on else 10_000.0
        if in_float32:
            powers = torch.arange(0, d_model, 2) / d_model
            by_exp = torch.exp(torch.arange(0, d_model, 2) * (math.log(base) / d_model))
            return base**powers if "frequencies_rise" in on else by_exp
        if "frequencies_rise_in_float64" in on:
            sign = 1
        return base ** (sign * exponents(d_model))

    def exponents(d_model: int) -> Tensor:
        pairs = torch.arange(d_model // 2).double()
        if "a_speed_for_each_column" in on:
            return torch.arange(d_model).double() / d_model
        if "ends_at_the_base" in on:
            return pairs / max(d_model // 2 - 1, 1)
        factor = 1 if "half_the_exponent" in on else 4 if "twice_the_exponent" in on else 2
        return factor * pairs / (1 if "width_left_out" in on else d_model)

    def laid_out(sine: Tensor, cosine: Tensor) -> Tensor:
        if "cosine_first" in on:
            sine, cosine = cosine, sine
        if "a_speed_for_each_column" in on:  # each of the two has all columns already
            return torch.where(torch.arange(sine.size(1)) % 2 == 0, sine, cosine)
        if "end_to_end" in on:
            return torch.cat((sine, cosine), dim=-1)
        return torch.stack((sine, cosine), dim=-1).flatten(1)

    return answer


item.switch(
    "width_left_out",
    "Your frequencies fall far too fast: all but the first are close to zero.",
    why="With the exponent 2i instead of 2i / d_model, the highest frequency is a hundred million "
    "times as high as the next. One published system has this bug: only 2 of its 512 columns vary "
    "with the position.",
    hint="Print your frequencies for d_model 4: they should be 1 and 0.01. What is divided by "
    "d_model in the formula, and is anything rounded down to 0?",
)
item.switch(
    "half_the_exponent",
    "Each of your frequencies is the square root of what it should be.",
    why="The exponent of 10000 should be 2i / d_model; yours amounts to i / d_model. The slowest "
    "pair then needs about 100 · 2π positions for a full turn, and not 10000 · 2π.",
    hint="For d_model 4 the lower of the two frequencies should be 0.01. Compute yours step by "
    "step: the index, the exponent, the base.",
)
item.switch(
    "twice_the_exponent",
    "Each of your frequencies is the square of what it should be.",
    why="The exponent of 10000 should be 2i / d_model; yours amounts to 4i / d_model. About half "
    "of the frequencies are then so low that their columns hardly change within a sentence.",
    hint="For d_model 4 the lower of the two frequencies should be 0.01. Compute yours step by "
    "step. If your index goes in steps of two, it is already 2i.",
)
item.switch(
    "a_speed_for_each_column",
    "In your table, the sine and the cosine of a pair have different frequencies.",
    why="Each of your columns has its own frequency. Then a pair is no longer a point on a circle, "
    "and a shift is no longer a rotation.",
    hint="How many frequencies are there: one for each column, or one for each pair of columns?",
)
item.switch(
    "end_to_end",
    "Your table holds all sines on the left and all cosines on the right.",
    why="These are the same columns in a different order, and a model can learn with either. But "
    "weights trained with one don't work with the other, and this course uses the paper's order.",
    hint="The columns should read sin, cos, sin, cos. Which function interleaves two tensors, "
    "and which one concatenates them?",
)
item.switch(
    "cosine_first",
    "In your table the cosine comes first.",
    why="In the paper, the sine of a frequency comes before its cosine.",
    hint="What should column 0 hold at position 0?",
)
item.switch(
    "sines_alone",
    "Both columns of each pair hold the sine.",
    why="A sine alone doesn't determine the angle: sin(a) and sin(π − a) are equal. With sines "
    "alone no matrix can shift every position by the same offset.",
    hint="What do the odd columns hold in the formula?",
)
item.switch(
    "positions_from_one",
    "Your positions count from 1.",
    why="The first token is at position 0, where every sine is 0 and every cosine is 1.",
    hint="Look at row 0 of your table.",
)
item.switch(
    "on_its_side",
    "Your table is transposed: (d_model, length).",
    why="A row should be the encoding of one position, so that it can be added to the vector of "
    "one token.",
    hint="Which of the two should come first in the shape?",
)
item.switch(
    "a_zero_too_few",
    "Your frequencies fall too slowly: your base is 1000, not 10000.",
    why="The first frequency doesn't depend on the base, so the first pair of columns doesn't show "
    "it. Weights trained with one base don't work with another.",
    hint="Count the zeros in the formula.",
)
item.switch(
    "cosines_alone",
    "Both columns of each pair hold the cosine.",
    why="A cosine alone doesn't determine the angle: cos(a) and cos(-a) are equal. With cosines "
    "alone no matrix can shift every position by the same offset.",
    hint="What do the even columns hold in the formula?",
)
item.switch(
    "frequencies_rise",
    "Your frequencies rise instead of falling.",
    why="You multiply the position by 10000^(2i / d_model) instead of dividing by it. Then even "
    "neighbouring positions have unrelated encodings in most columns.",
    hint="Is the power in the numerator or in the denominator of the formula? Mind the sign of "
    "your exponent, too.",
    spellings=["frequencies_rise_in_float64", "frequencies_rise_by_exp"],
)
item.switch(
    "ends_at_the_base",
    "Your lowest frequency is exactly 1 / 10000: your exponents end at 1.",
    why="Your exponents amount to i / (d_model / 2 - 1), as in some libraries. The paper's are "
    "2i / d_model, which stays below 1. Weights trained with one don't work with the other.",
    hint="For d_model 4 the frequencies should be 1 and 0.01. Which exponents do yours come from?",
)
item.switch(
    "turns_for_radians",
    "Your angles are 2π times too large.",
    why="The angle is the position times the frequency, in radians. A frequency of 1 "
    "is one radian per position, and a full turn then takes 2π positions.",
    hint="At position 1, the sine of the highest frequency should be sin(1) = 0.84. What is yours "
    "the sine of?",
)
