"""What several items of this lesson need."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Ids = list[int]


Tensors = tuple[Tensor, Tensor]


def padded(
    rows: Sequence[Ids], pad_id: int, *, left: bool = False, length: int | None = None
) -> Tensor:
    """One side, (B, longest); some misconceptions give it a longer length."""
    longest = length or max(len(row) for row in rows)
    fills = [[pad_id] * (longest - len(row)) for row in rows]
    both = zip(fills, rows, strict=True)
    return torch.tensor([[*f, *row] if left else [*row, *f] for f, row in both])
