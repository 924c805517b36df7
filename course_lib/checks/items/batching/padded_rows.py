"""Rows of ids as one padded tensor, for the items of lesson 09."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Ids = list[int]


Tensors = tuple[Tensor, Tensor]


def padded(
    rows: Sequence[Ids], pad_id: int, *, left: bool = False, length: int | None = None
) -> Tensor:
    """Rows as one tensor (B, length); the length of the longest row unless given."""
    longest = length or max(len(row) for row in rows)
    fills = [[pad_id] * (longest - len(row)) for row in rows]
    both = zip(fills, rows, strict=True)
    return torch.tensor([[*fill, *row] if left else [*row, *fill] for fill, row in both])
