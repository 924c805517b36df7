"""Tables of positions whose dot products fall, come back, or say nothing of the distance."""

from __future__ import annotations

import math
import random

import torch
from torch import Tensor

from course_lib.checks.items.hidden import many


def rows_that_show(shows: str, drawn: random.Random, count: int) -> tuple[Tensor, str]:
    """A table that bears out a conclusion of 01.conclude.

    Args:
        shows: the name of the conclusion.
        drawn: decides bases, widths and frequencies.
        count: of positions.

    Returns:
        (position, D) in float64, and what the table has, as "pairs with base 10".
    """
    at, pairs = torch.arange(count).double()[:, None], drawn.choice([32, 64, 128])
    exponents = torch.arange(pairs).double() / pairs
    if shows == "steady":  # no angle gets to half a turn
        slower, base = drawn.choice([20, 24, 30]), drawn.choice([2, 3, 5, 10])
        what = f"pairs with base {base}, of positions that are divided by {slower}"
        return _sines_and_cosines(at / slower * base**-exponents), what
    if shows == "returns":
        each, turn = torch.arange(1, drawn.choice([2, 2, 4, 5, 6])), drawn.choice([3, 4, 5, 6, 7])
        what = f"{many(len(each), 'pair')}, and one turn of the slowest in {2 * math.pi * turn:.1f}"
        return _sines_and_cosines(at / turn * each), f"{what} positions"
    if shows == "same":
        moving, still = drawn.randint(150, 250), drawn.choice([20, 40, 60, 90])
        rising = 10_000.0 ** (torch.arange(moving).double() / (moving - 1))  # angles get large
        frequencies = torch.cat((rising, torch.zeros(still)))
        what = f"{moving} pairs with frequencies that rise from 1 to 10,000, and {still} that "
        return _sines_and_cosines(at * frequencies), f"{what}never move"
    if shows == "wobbles":
        base = drawn.choice([10, 20, 50, 100, 1000, 10_000])
        what = f"the paper's pairs with base {base:,} and d_model {2 * pairs}"
        return _sines_and_cosines(at * base**-exponents), what
    base = drawn.choice([10, 20, 50, 100, 1000])
    both = _sines_and_cosines(at * base**-exponents)
    if drawn.random() < 0.5:
        return both[:, pairs:], f"cosines alone, with base {base:,}"
    return both * (1 + at / 80), f"pairs with base {base:,}, and norms that grow with the position"


def _sines_and_cosines(angles: Tensor) -> Tensor:
    """(position, pair) to (position, 2 · pair); a dot product does not ask for their order."""
    return torch.cat((angles.sin(), angles.cos()), dim=1)
