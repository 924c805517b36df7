"""Positional encoding: the order of the columns."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from course_lib.checks.conventions.changes import on, value
from course_lib.checks.conventions.convention import Convention, Translation

Order = Callable[[int], list[int]]  # from d_model to the columns, in their new order


def _pairs_swapped(d_model: int) -> list[int]:
    return [i ^ 1 for i in range(d_model)]


def _pairs_reversed(d_model: int) -> list[int]:
    return [i for first in range(d_model - 2, -1, -2) for i in (first, first + 1)]


def _halves(d_model: int) -> list[int]:
    return [*range(0, d_model, 2), *range(1, d_model, 2)]


def _columns(order: Order) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """The last axis in another order, and back."""

    def there(x: Tensor) -> Tensor:
        return x[..., order(x.size(-1))]

    def back(x: Tensor) -> Tensor:
        new = order(x.size(-1))
        return x[..., [new.index(i) for i in range(len(new))]]

    return there, back


_TABLE = (
    (
        "Its sine is column $2i$ and its cosine column $2i + 1$, so the columns read sin, cos, "
        "sin, cos, …",
        "Its sine and its cosine fill two columns. Where *your conventions* don't say otherwise, "
        "these stand side by side, the sine first, in the order of $i$.",
    ),
    ("(length, D), interleaved.", "(length, D), in the order of your conventions."),
    (
        "Then interleave sines and cosines.",
        "Then put sines and cosines together in the order of your conventions.",
    ),
    (
        "; then torch.stack((..., ...), dim=-1).flatten(1).",
        "; then put the sines and cosines of the angles in order.",
    ),
)
_FORMULA = (
    ("all but the first are close to zero", "all but the highest are close to zero"),
    (
        "each frequency is lower than the one before by the same factor",
        "neighbouring frequencies differ by the same factor",
    ),
    (
        "The first frequency doesn't depend on the base, so the first two columns are right.",
        "The highest frequency doesn't depend on the base, so its two columns are right.",
    ),
    ("Your frequencies rise instead of falling.", "Your frequencies are far too high."),
    (
        "What do the odd columns hold in the formula?",
        "What should the other column of each pair hold?",
    ),
    (
        "What do the even columns hold in the formula?",
        "What should the other column of each pair hold?",
    ),
)
_MATRIX = (
    ("rotates the first pair by one radian", "rotates the fastest pair by one radian"),
    ("Only the first pair advances by one radian", "Only the fastest pair advances by one radian"),
    ("Only the first frequency is right.", "Only the highest frequency is right."),
    (
        "Textbooks write rotations for (cos, sin), and some code multiplies from the right. Here M "
        "stands on the left, and each pair is (sin, cos).",
        "Rotations for (cos, sin) and for (sin, cos) differ in where the minus sign is, and some "
        "code multiplies from the right. Here M stands on the left.",
    ),
    (
        "Try your matrix on the encoding of position 0: the first number should become "
        "sin(offset).",
        "Try your matrix on the encoding of position 0: do you get that of position offset?",
    ),
    (
        "the table of your first exercise, sin, cos, sin, cos, …",
        "the table of your first exercise, with the same conventions.",
    ),
    (
        "These blocks lie on the diagonal; everything else is zero.",
        "These blocks lie where the pair's two columns are; everything else is zero.",
    ),
    (
        "block [[cos a, ...], [..., cos a]]; then torch.block_diag(*blocks).",
        "block [[cos a, ...], [..., cos a]], each entry in the row and column of your conventions.",
    ),
)


def _convention(
    name: str, aspect: str, sentence: str, order: Order, left_out: tuple[str, ...] = ()
) -> Convention:
    there, back = _columns(order)

    def both_axes(x: Tensor) -> Tensor:
        return there(there(x).mT).mT

    items = {
        "01.sinusoidal_positions": Translation(
            result=value(there), edits=(*_TABLE, *_FORMULA), left_out=("end_to_end", *left_out)
        ),
        "01.positional_encoding": Translation(
            on(x=there, first=there), on(x=back), value(there), back, left_out=("EndToEndTable",)
        ),
        "01.shift_matrix": Translation(
            result=value(both_axes), edits=_MATRIX, left_out=("end_to_end_matrix",)
        ),
    }
    return Convention(name, aspect, sentence, items)


CONVENTIONS = (
    _convention(
        "cosine_first",
        "pairs",
        "In the encoding, each frequency's **cosine comes before its sine**.",
        _pairs_swapped,
        ("cosine_first",),
    ),
    _convention(
        "slowest_first",
        "frequencies",
        "In the encoding, the frequencies rise: **the lowest comes first**, and the last one turns "
        "by one radian a position.",
        _pairs_reversed,
    ),
    _convention(
        "concatenated",
        "halves",
        "The encoding is **concatenated, not interleaved**: the left half has one column of each "
        "frequency, the right half the other one, both in the same order of frequencies.",
        _halves,
    ),
)
