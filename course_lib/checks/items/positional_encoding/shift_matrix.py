"""01.shift_matrix: A shift is a rotation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Item, Probe
from course_lib.checks.engine.adapters import WrongResult
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
                Call((2 * draw.integer(2, 12), 1), about="several frequencies, offset 1"),
            ],
        ),
        Probe(
            "it maps the encoding of position p to that of position p + offset, for every p",
            lambda draw: [
                Call((8, offset), {"at": [0, 1, 6, 30]}, about=f"offset {offset}")
                for offset in (draw.integer(2, 9), draw.integer(10, 20))
            ],
        ),
        Probe(
            "each pair is rotated by its own angle, and no pair affects another",
            lambda draw: [
                Call((16, draw.integer(7, 30)), about="eight frequencies"),
                Call((6, draw.integer(2, 20)), about="three frequencies"),
            ],
        ),
        Probe(
            "the offset may be zero, negative or large",
            lambda draw: [
                Call((6, 0), about="offset 0"),
                Call((6, -draw.integer(3, 30)), about="a negative offset"),
                Call((10, draw.integer(100, 300)), about="a large offset"),
                Call((8, -draw.integer(3, 6)), {"at": [6, 10, 40]}, about="back by a few"),
            ],
        ),
    ],
    hints=(
        "Take a single frequency ω. Which 2 × 2 matrix turns (sin ωp, cos ωp) into (sin ω(p + "
        "k), cos ω(p + k))? Q1c finds it with the angle-sum formulas.",
        "Each frequency gets a 2 × 2 block, the rotation by the angle offset × frequency. The "
        "blocks stand on the diagonal of the matrix, and everything else is zero.",
        "Let a = ωp and b = ωk, as in sin(a + b) = sin a · cos b + cos a · sin b. Which two "
        "numbers multiply sin a and cos a? They are the first row of a block; the formula of "
        "cos(a + b) gives the second. And torch.block_diag(torch.ones(2, 2), torch.ones(1, 3)) "
        "puts its matrices on the diagonal, with zeros everywhere else.",
    ),
)


@item.switchable
def _variant(on: frozenset[str]) -> Callable[[int, int], Tensor]:
    def answer(d_model: int, offset: int) -> Tensor:
        if "shifts_columns" in on or "shifts_columns_back" in on:
            return torch.eye(d_model).roll(offset if "shifts_columns" in on else -offset, dims=0)
        if "always_one_step" in on:
            offset = 1
        if "sign_ignored" in on:
            offset = abs(offset)
        if "stays_instead_of_going_back" in on:
            offset = max(offset, 0)
        angles = offset * 10_000.0 ** -exponents(d_model)
        return laid_out(*(diagonal.float() for diagonal in block(angles.cos(), angles.sin())))

    def exponents(d_model: int) -> Tensor:
        pairs = torch.arange(d_model // 2).double()
        factor = 0 if "one_speed_for_all" in on else 1 if "other_speeds" in on else 2
        return factor * pairs / d_model

    def block(c: Tensor, s: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        blocks = {
            "turns_backwards": (c, -s, s, c),
            "no_minus": (c, s, s, c),
            "sine_on_the_diagonal": (s, c, -c, s),
            "sine_on_the_diagonal_transposed": (s, -c, c, s),
            "sine_on_the_diagonal_without_minus": (s, c, c, s),
        }
        return next((four for name, four in blocks.items() if name in on), (c, s, -s, c))

    def laid_out(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        if "end_to_end_matrix" in on:
            above, below = ((torch.diag(a), torch.diag(b)), (torch.diag(c), torch.diag(d)))
            return torch.cat((torch.cat(above, dim=1), torch.cat(below, dim=1)))
        return torch.block_diag(*torch.stack((a, b, c, d), dim=-1).unflatten(-1, (2, 2)))

    return answer


item.switch(
    "turns_backwards",
    "Your matrix rotates in the wrong direction: it leads to position p − offset.",
    why="It's the transpose of the right one. Textbooks write rotations for (cos, sin), and some "
    "code multiplies from the right. Here M stands on the left, and each pair is (sin, cos).",
    hint="Try your matrix on the encoding of position 0: the first number should become "
    "sin(offset).",
)
item.switch(
    "no_minus",
    "In your blocks, both sines have the same sign: a minus is missing.",
    why="Then they aren't rotations: they change the norm of each pair, and the cosine is wrong.",
    hint="Write down the formula for cos(a + b). Which sign does it have in the middle?",
)
item.switch(
    "one_speed_for_all",
    "You rotate all pairs by the same angle.",
    why="Only the first pair advances by one radian per position. Each pair has its own frequency.",
    hint="Print the angle of each pair for offset 1. Which angles should they be, and where do "
    "the frequencies come in?",
)
item.switch(
    "always_one_step",
    "Your matrix always shifts by one position.",
    why="The angle of each block is the offset times the frequency.",
    hint="Does your second argument change the angles?",
)
item.switch(
    "end_to_end_matrix",
    "Your matrix is for the concatenated layout, in which all sines come before all cosines.",
    why="It pairs column i with column i + d_model / 2. In this course the sine and cosine of a "
    "frequency are neighbouring columns.",
    hint="Which two columns of the table belong to the first frequency?",
)
item.switch(
    "shifts_columns",
    "Your matrix shifts the columns of an encoding, not its position.",
    why="The offset is a number of positions in the sentence. The columns are frequencies, and "
    "moving along the sentence doesn't turn one frequency into another.",
    hint="What happens to the sine and cosine of one frequency if the position grows by one?",
    spellings=["shifts_columns_back"],
)
item.switch(
    "other_speeds",
    "Your frequencies are wrong: each is the square root of the one in the table.",
    why="Your exponent amounts to i / d_model; it should be 2i / d_model. Only the first "
    "frequency is right.",
    hint="Use the same formula for the frequencies as in the table.",
)
item.switch(
    "sign_ignored",
    "Your matrix ignores the sign of the offset: a negative one leads forwards, too.",
    why="A negative offset leads back to earlier positions, so it rotates in the other direction.",
    hint="Which entries of a block change if the offset changes its sign?",
)
item.switch(
    "sine_on_the_diagonal",
    "Your blocks hold the sine where the cosine belongs, and the other way round.",
    why="With an offset of 0 nothing should change: the matrix is the identity, with ones on the "
    "diagonal, and cos(0) is 1.",
    hint="What should your matrix be for an offset of 0?",
    spellings=["sine_on_the_diagonal_transposed", "sine_on_the_diagonal_without_minus"],
)
item.switch(
    "stays_instead_of_going_back",
    "Your matrix is the identity for every negative offset.",
    why="A negative offset leads back to earlier positions. A loop over range(offset), or a "
    "maximum with 0, does nothing there.",
    hint="Which matrix takes you from position 5 to position 2? The formula holds for any angle.",
)
