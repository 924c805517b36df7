"""Weights in 8 bits: a quarter of the file, and nearly the same numbers.

Each row of a matrix becomes whole numbers from -127 to 127 and one scale (symmetric quantization,
one scale for each output; Jacob et al. 2018). Only what is stored is small: the model computes with
32-bit numbers, scale times whole number.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int8
from torch import Tensor

LARGEST = 127  # of a whole number in 8 bits, the same on both sides of zero


def quantize(
    matrix: Float[Tensor, "rows columns"],
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, " rows"]]:
    """Each row as its largest absolute value / 127, the scale, times whole numbers, rounded.

    An entry changes by at most half of its row's scale. A row of zeros has scale 1.
    """
    matrix = matrix.detach().float()
    scale = matrix.abs().amax(dim=1) / LARGEST
    scale = scale.where(scale != 0, 1.0)
    return (matrix / scale[:, None]).round().to(torch.int8), scale


def dequantize(
    numbers: Int8[Tensor, "rows columns"], scale: Float[Tensor, " rows"]
) -> Float[Tensor, "rows columns"]:
    """The matrix that ``quantize`` stored; quantized again, it gives the same whole numbers."""
    return numbers.float() * scale[:, None]


def stored_in_eight_bits(weights: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """What a file holds of a model's weights: matrices in 8 bits, vectors in 16; and the scales.

    Biases and norms, the vectors, are few, and a rounding there adds to every position.
    """
    stored, scales = {}, {}
    for name, value in weights.items():
        if value.dim() == 2:
            stored[name], scales[name] = quantize(value)
        else:
            stored[name] = value.detach().half()
    return stored, scales


def read_from_eight_bits(stored: dict[str, Tensor], scales: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights, in 32 bits, of what ``stored_in_eight_bits`` made.

    Raises:
        ValueError: a matrix has no scale for each of its rows.
    """
    weights = dict(stored)
    for name in {*scales} | {name for name in stored if stored[name].dtype == torch.int8}:
        if name not in scales or name not in stored or scales[name].shape != stored[name].shape[:1]:
            raise ValueError(f"{name} should be 8-bit numbers with a scale for each row")
        weights[name] = dequantize(stored[name], scales[name])
    return weights
