"""What is wrong with tensors that several hidden functions take; "" if nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def mask_problem(mask: Any, scores: Sequence[int]) -> str:
    """Of a mask, or None, for scores of this shape."""
    if mask is None:
        return ""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        return "None or a boolean tensor as the mask"
    try:
        fits = tuple(torch.broadcast_shapes(tuple(scores), mask.shape)) == tuple(scores)
    except RuntimeError:
        fits = False
    return "" if fits else "a mask that broadcasts to the scores"


def logits_problem(logits: Any, labels: Any) -> str:
    """Of logits (B, T, V) and their labels (B, T)."""
    if not isinstance(logits, Tensor) or not logits.is_floating_point() or logits.ndim != 3:
        return "logits as a tensor of floats with the axes (B, T, V)"
    if not isinstance(labels, Tensor) or labels.dtype != torch.long:
        return "labels as a tensor of token ids, whole numbers"
    if labels.shape != logits.shape[:2] or not logits.numel():
        return "labels with the axes (B, T) of the logits"
    if not (labels.min() >= 0 and labels.max() < logits.size(-1)):
        return "labels from 0 to V − 1, where V is the last axis of logits"
    return ""
