"""01.shift_matrix: A shift is a rotation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.adapters import WrongResult
from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import positions


def _use_shift(
    make: Callable[[int, int], Any],
    d_model: int,
    offset: int,
    *,
    at: list[int] | None = None,
) -> Any:
    """The matrix, or its product with the encodings at some positions, (len(at), d_model)."""
    matrix = make(d_model, offset)
    if at is None:
        return matrix
    if not isinstance(matrix, Tensor):
        raise WrongResult(f"expected a tensor, got a value of type {type(matrix).__name__}")
    return torch.stack([matrix @ encoding for encoding in _encodings(d_model)[at]])


def _encodings(d_model: int) -> Tensor:
    return positions.sinusoidal_positions(64, d_model)


item = Item(
    "01.shift_matrix",
    reference=positions.shift_matrix,
    use=_use_shift,
    tolerance=1e-4,
    probes=[
        Probe(
            "a shift by one rotates the first pair by one radian",
            lambda draw: [
                Call((2, 1), about="one frequency, offset 1"),
                Call((4, 1), about="two frequencies, offset 1"),
            ],
        ),
        Probe(
            "it maps the encoding of position p to that of position p + offset, for every p",
            lambda draw: [
                Call((8, offset), {"at": [0, 1, 6, 30]}, about=f"offset {offset}")
                for offset in (3, draw.integer(10, 20))
            ],
        ),
        Probe(
            "each pair is rotated by its own angle, and no pair affects another",
            lambda draw: [
                Call((16, draw.integer(7, 11)), about="eight frequencies"),
                Call((6, 2), about="three frequencies"),
            ],
        ),
        Probe(
            "the offset may be zero, negative or large",
            lambda draw: [
                Call((6, 0), about="offset 0"),
                Call((6, -draw.integer(3, 5)), about="a negative offset"),
                Call((10, 200), about="offset 200"),
                Call((8, -6), {"at": [6, 10, 40]}, about="offset -6"),
            ],
        ),
    ],
    hints=(
        "Take a single frequency ω. Which 2 × 2 matrix turns (sin ωp, cos ωp) into (sin ω(p + k), "
        "cos ω(p + k))? Use the angle addition formulas.",
        "For each frequency, one 2 × 2 rotation by the angle offset × frequency. These blocks lie "
        "on the diagonal; everything else is zero.",
        "For each frequency w: a = offset * w, block [[cos a, ...], [..., cos a]]; then "
        "torch.block_diag(*blocks).",
    ),
)


def _blocks(
    d_model: int, offset: float, block: Callable[[float, float], list[list[float]]]
) -> Tensor:
    """A block-diagonal matrix: ``block`` of the cosine and sine of each angle."""
    angles = [offset * 10_000.0 ** -(i / d_model) for i in range(0, d_model, 2)]
    return torch.block_diag(*(torch.tensor(block(math.cos(a), math.sin(a))) for a in angles))


@item.misconception(
    "Your matrix rotates in the wrong direction: it leads to position p − offset.",
    why="It's the transpose of the right one. Textbooks write rotations for (cos, sin), and some "
    "code multiplies from the right. Here M stands on the left, and each pair is (sin, cos).",
    hint="Try your matrix on the encoding of position 0: the first number should become "
    "sin(offset).",
)
def turns_backwards(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[c, -s], [s, c]])


@item.misconception(
    "In your blocks, both sines have the same sign: a minus is missing.",
    why="Then they aren't rotations: they change the norm of each pair, and the cosine is wrong.",
    hint="Write down the formula for cos(a + b). Which sign does it have in the middle?",
)
def no_minus(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[c, s], [s, c]])


@item.misconception(
    "You rotate all pairs by the same angle.",
    why="Only the first pair advances by one radian per position. Each pair has its own frequency.",
    hint="Print the angle of each pair for offset 1. Which angles should they be, and where do "
    "the frequencies come in?",
)
def one_speed_for_all(d_model: int, offset: int) -> Tensor:
    c, s = math.cos(offset), math.sin(offset)
    return torch.block_diag(*[torch.tensor([[c, s], [-s, c]])] * (d_model // 2))


@item.misconception(
    "Your matrix always shifts by one position.",
    why="The angle of each block is the offset times the frequency.",
    hint="Does your second argument change the angles?",
)
def always_one_step(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, 1, lambda c, s: [[c, s], [-s, c]])


@item.misconception(
    "Your matrix is for the other layout, all sines first.",
    why="It pairs column i with column i + d_model / 2. In this course the sine and cosine of a "
    "frequency are neighbouring columns.",
    hint="Which two columns of the table belong to the first frequency?",
)
def end_to_end_matrix(d_model: int, offset: int) -> Tensor:
    angles = offset * 10_000.0 ** -(torch.arange(0, d_model, 2) / d_model)
    c, s = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat((torch.cat((c, s), dim=1), torch.cat((-s, c), dim=1)))


@item.misconception(
    "Your matrix shifts the columns of an encoding, not its position.",
    why="The offset is a number of positions in the sentence. The columns are frequencies, and "
    "moving along the sentence doesn't turn one frequency into another.",
    hint="What happens to the sine and cosine of one frequency if the position grows by one?",
)
def shifts_columns(d_model: int, offset: int) -> Tensor:
    return torch.eye(d_model).roll(offset, dims=0)


@item.misconception(
    "Your frequencies are wrong: each is the square root of the one in the table.",
    why="Your exponent amounts to i / d_model; it should be 2i / d_model. Only the first "
    "frequency is right.",
    hint="Use the same formula for the frequencies as in the table.",
)
def other_speeds(d_model: int, offset: int) -> Tensor:
    angles = [offset * 10_000.0 ** -(i / d_model) for i in range(d_model // 2)]
    rotations = [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles]
    return torch.block_diag(*(torch.tensor(rotation) for rotation in rotations))


@item.misconception(
    "Your matrix ignores the sign of the offset: a negative one leads forwards, too.",
    why="A negative offset leads back to earlier positions, so it rotates in the other direction.",
    hint="Which entries of a block change if the offset changes its sign?",
)
def sign_ignored(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, abs(offset), lambda c, s: [[c, s], [-s, c]])


@item.misconception(
    "Your blocks hold the sine where the cosine belongs, and the other way round.",
    why="With an offset of 0 nothing should change: the matrix is the identity, with ones on the "
    "diagonal, and cos(0) is 1.",
    hint="What should your matrix be for an offset of 0?",
)
def sine_on_the_diagonal(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[s, c], [-c, s]])


@item.spelling("sine_on_the_diagonal")
def sine_on_the_diagonal_transposed(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[s, -c], [c, s]])


@item.spelling("sine_on_the_diagonal")
def sine_on_the_diagonal_without_minus(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[s, c], [c, s]])
