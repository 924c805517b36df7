"""17.experiment: Which rotation is this?"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.items.experiment import BlackBox, experiment_item
from course_lib.checks.items.todays_block.rotate import item as rotate
from course_lib.modern import rotary

MOST_POSITION = 1000  # beyond it, float32 and float64 angles differ where one can see it


def _problem(x: Any, positions: Any, base: Any = 10_000.0) -> str:
    """What keeps arguments from being those that the task of rotate names."""
    if not isinstance(x, Tensor) or not x.is_floating_point() or x.ndim != 4 or not x.numel():
        return "x as a tensor of floats with the axes (B, H, S, E)"
    if x.size(-1) % 2:
        return "x with an even width E"
    if not isinstance(positions, Tensor) or positions.dtype not in (torch.int64, torch.int32):
        return "positions as a tensor of whole numbers"
    if positions.shape != x.shape[2:3]:
        return "positions with one number for each of the S tokens"
    if not 0 <= positions.min() <= positions.max() <= MOST_POSITION:
        return f"positions from 0 to {MOST_POSITION}"
    is_number = type(base) in (int, float) and 1 < base <= 1e9
    return "" if is_number else "base as a number above 1"


def _right(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    return rotary.rotate(x, positions, base=base)


box = BlackBox(
    of=rotate,
    right=_right,
    wrong={
        "pairs_side_by_side": "the pairs are 2i and 2i + 1",
        "turns_backwards": "it turns in the other direction",
        "no_minus": "both sums have a plus",
        "half_the_exponent": "the exponent of the base is i / E",
        "one_speed_for_all": "all pairs turn by the same angle, position times 1",
        "base_ignored": "the base is always 10,000",
        "positions_ignored": "it counts the tokens itself, from 0",
        "positions_from_one": "it adds 1 to each position",
        "before_the_heads": "it turns before the heads are split: one vector of all H · E features",
    },
    problem=_problem,
    most_numbers=12,
    most_calls=1,
    digits=3,
)
item = experiment_item(
    "17.experiment",
    box,
    hints=(
        "Begin with what would not show: which of the nine errors look right for a token at "
        "position 0, which for E = 2, which for a single head, and which for the default base?",
        "One token is enough if its position isn't 0. Choose features that let you read angles off "
        "the result: from the pair (1, 0) come cosine and sine. But if a pair's second number is "
        "always 0, what else looks alike? And how many pairs must a head have?",
        "Two heads of four features and one token at position 2, with a base of 100, are 10 "
        "numbers. The two angles of a head should be 2 and 0.2. Write down what each of the nine "
        "makes of your features before you call; no two of them may agree.",
    ),
)
