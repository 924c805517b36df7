"""Einsum steps, test inputs and probes that several items of this lesson share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Probe

Mask = Tensor | None


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bhqe,bhke->bhqk", query, key) / math.sqrt(query.size(-1))


def into_heads(x: Tensor, w: Tensor) -> Tensor:
    return torch.einsum("bsd,dhe->bhse", x, w)


def out_of_heads(context: Tensor, w_o: Tensor) -> Tensor:
    return torch.einsum("bhqe,hed->bqd", context, w_o)


def draw_inputs(
    draw: Draw, *, length: int, heads: int, d: int, e: int, batch: int = 2, double: bool = False
) -> tuple[Tensor, ...]:
    """The input x and the four weights, scaled so that scores are around 1."""
    dtype = torch.float64 if double else torch.float32
    into = [draw.normal(d, heads, e, std=d**-0.5, dtype=dtype) for _ in range(3)]
    out_of = draw.normal(heads, e, d, std=(heads * e) ** -0.5, dtype=dtype)
    return draw.normal(batch, length, d, dtype=dtype), *into, out_of


def einsum(name: str, letters: str) -> Callable[..., Tensor]:
    """A function of this name that is a single einsum."""

    def answer(*inputs: Tensor) -> Tensor:
        return torch.einsum(letters, *inputs)

    answer.__name__ = name
    return answer


Shapes = Sequence[tuple[int, ...]]


def puzzle_probes(property: str, different: Shapes, equal: Shapes, ones: Shapes) -> list[Probe]:
    """Tests of one string: all sizes different, sizes that are equal or 1, and the usual others."""

    def call(draw: Draw, shapes: Shapes, about: str, gradients: bool = False) -> Call:
        return Call(
            tuple(draw.normal(*shape) for shape in shapes), {}, about=about, gradients=gradients
        )

    def others(draw: Draw) -> list[Call]:
        doubles = tuple(draw.normal(*shape, dtype=torch.float64) for shape in different)
        strided = tuple(
            draw.normal(*reversed(shape)).permute(*reversed(range(len(shape))))
            for shape in different
        )
        return [
            Call(doubles, about="float64"),
            Call(strided, about="tensors that are not contiguous"),
            call(draw, different, "gradients", gradients=True),
        ]

    return [
        Probe(property, lambda draw: [call(draw, different, "all sizes different")]),
        Probe(
            "axes of the same size are not confused",
            lambda draw: [
                call(draw, equal, "equal sizes"),
                call(draw, ones, "axes of size 1"),
            ],
        ),
        Probe("it works with float64, any memory layout, and gradients", others),
    ]
