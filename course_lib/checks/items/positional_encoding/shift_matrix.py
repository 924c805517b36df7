"""01.shift_matrix: A shift is a rotation."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import positions


def _use_shift(
    make: Callable[[int, int], Tensor],
    d_model: int,
    offset: int,
    *,
    places: list[int] | None = None,
) -> Tensor:
    """The matrix itself, or what it makes of the codes of some places: (places, D)."""
    matrix = make(d_model, offset)
    if places is None:
        return matrix
    return torch.stack([matrix @ code for code in _codes(d_model)[places]])


def _codes(d_model: int) -> Tensor:
    return positions.sinusoidal_positions(64, d_model)


item = Item(
    "01.shift_matrix",
    reference=positions.shift_matrix,
    use=_use_shift,
    tolerance=1e-4,
    probes=[
        Probe(
            "one step turns the first clock by one radian",
            lambda draw: [
                Call((2, 1), about="one clock, one step"),
                Call((4, 1), about="two clocks, one step"),
            ],
        ),
        Probe(
            "it moves the code of every place by the offset",
            lambda draw: [
                Call((8, offset), {"places": [0, 1, 6, 30]}, about=f"{offset} places on")
                for offset in (3, draw.integer(10, 20))
            ],
        ),
        Probe(
            "each clock turns by its own angle, and no clock touches another",
            lambda draw: [
                Call((16, draw.integer(7, 11)), about="eight clocks"),
                Call((6, 2), about="three clocks"),
            ],
        ),
        Probe(
            "an offset may be zero, point back or be large",
            lambda draw: [
                Call((6, 0), about="no step at all"),
                Call((6, -draw.integer(3, 5)), about="some steps back"),
                Call((10, 200), about="200 steps"),
                Call((8, -6), {"places": [6, 10, 40]}, about="six places back"),
            ],
        ),
    ],
    hints=(
        "Take one clock. Its hand is (sin ωp, cos ωp). Which 2 × 2 matrix makes (sin ω(p + k), "
        "cos ω(p + k)) of it? The addition theorems say it.",
        "One 2 × 2 rotation for each clock, by the angle offset times its speed, laid on the "
        "diagonal; all else is zero.",
        "For each speed w: a = offset * w, block [[cos a, ...], [..., cos a]]; then "
        "torch.block_diag(*blocks).",
    ),
)


def _blocks(
    d_model: int, offset: float, block: Callable[[float, float], list[list[float]]]
) -> Tensor:
    """The same block, of each clock's cosine and sine, all along the diagonal."""
    angles = [offset * 10_000.0 ** -(i / d_model) for i in range(0, d_model, 2)]
    return torch.block_diag(*(torch.tensor(block(math.cos(a), math.sin(a))) for a in angles))


@item.misconception(
    "Your matrix turns the clocks backwards: it leads to place p − k.",
    why="It is the transposed one: the rotation of the textbooks, for (cos, sin) and "
    "anticlockwise, or one for code @ M. Here M stands on the left, and a hand is (sin, cos).",
    hint="Try your matrix on the code of place 0: the first number has to become sin(offset).",
)
def turns_backwards(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[c, -s], [s, c]])


@item.misconception(
    "Your blocks have no minus sign.",
    why="Then they are no rotations: the hands grow and shrink, and the cosine comes out wrong.",
    hint="Write down cos(a + b). Which sign stands in the middle?",
)
def no_minus(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[c, s], [s, c]])


@item.misconception(
    "All your clocks turn by the same angle.",
    why="Only the first clock runs at one radian a place. Each has a speed of its own.",
    hint="Where do the speeds of the clocks come in?",
)
def one_speed_for_all(d_model: int, offset: int) -> Tensor:
    c, s = math.cos(offset), math.sin(offset)
    return torch.block_diag(*[torch.tensor([[c, s], [-s, c]])] * (d_model // 2))


@item.misconception(
    "Your matrix always moves by one place.",
    why="The angle of a block is the offset times the speed of the clock.",
    hint="Does your code use its second argument?",
)
def always_one_step(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, 1, lambda c, s: [[c, s], [-s, c]])


@item.misconception(
    "Your matrix is for the other layout, with all sines first.",
    why="It pairs column i with column i + D / 2. In this course a clock's sine and cosine stand "
    "side by side.",
    hint="Which two columns of the table belong to the first clock?",
)
def end_to_end_matrix(d_model: int, offset: int) -> Tensor:
    angles = offset * 10_000.0 ** -(torch.arange(0, d_model, 2) / d_model)
    c, s = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat((torch.cat((c, s), dim=1), torch.cat((-s, c), dim=1)))


@item.misconception(
    "Your matrix shifts the columns of a code, not its place.",
    why="The offset is a number of places along the sentence. Columns of a code are clocks, and a "
    "clock does not become another clock by going on.",
    hint="What happens to one clock hand when the place moves by one?",
)
def shifts_columns(d_model: int, offset: int) -> Tensor:
    return torch.eye(d_model).roll(offset, dims=0)


@item.misconception(
    "Your clocks turn at the wrong speeds: they slow down only half as much as those of the table.",
    why="The exponent is i / D where 2i / D is due. Only the first clock is right.",
    hint="Take the speeds from the same formula as the table.",
)
def other_speeds(d_model: int, offset: int) -> Tensor:
    angles = [offset * 10_000.0 ** -(i / d_model) for i in range(d_model // 2)]
    turns = [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles]
    return torch.block_diag(*(torch.tensor(turn) for turn in turns))
