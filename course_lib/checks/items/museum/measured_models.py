"""What one can measure of a model that has not been trained, without reading its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.decoding import evaluating
from course_lib.model import MultiHeadAttention, Transformer
from course_lib.training import masked_cross_entropy

PAD, BOS = 0, 1


class PadsAsRows(Transformer):
    """Hides the rows of the padding in the encoder, instead of its columns (`fastai_qa`)."""

    def encode(self, source: Tensor) -> Tensor:
        real = source != PAD
        return self.encoder(self.source_embedding(source), real[:, None, :, None])


@dataclass(frozen=True)
class Batch:
    """Random sentences of 9 and 8 words, (8, 9) and (8, 9), the second ones with BOS."""

    source: Tensor
    target: Tensor

    def logits(self, model: Transformer, *, pads: int = 0) -> Tensor:
        """Without dropout, with so many pads behind each source."""
        with evaluating(model):
            logits: Tensor = model(F.pad(self.source, (0, pads), value=PAD), self.target)
        return logits


def _initial_loss(model: Transformer, batch: Batch) -> float:
    logits = batch.logits(model)[:, :-1]
    return masked_cross_entropy(logits, batch.target[:, 1:], PAD).item()


def _divisor(model: Transformer, batch: Batch) -> float:
    """By what the model divides its products of a query and a key."""
    attention = next(each for each in model.modules() if isinstance(each, MultiHeadAttention))
    x = torch.randn(1, 9, model.config.d_model)
    plain = F.linear(x, attention.q_proj.weight, attention.q_proj.bias)
    used = attention.q_proj(x)  # a hook may make it smaller
    d_head = model.config.resolved_d_head
    return float(d_head**0.5 * plain.norm() / used.norm())


def _similarity(model: Transformer, batch: Batch) -> float:
    table = model.source_embedding.positions.table
    return F.cosine_similarity(table[10], table[30], dim=0).item()


def _zeros(model: Transformer, batch: Batch) -> float:
    return (model.train().encode(batch.source) == 0).float().mean().item()


def _two_calls(model: Transformer, batch: Batch) -> float:
    model.train()
    return (model.encode(batch.source) - model.encode(batch.source)).abs().max().item()


def _moved_by_pads(model: Transformer, batch: Batch) -> float:
    return (batch.logits(model) - batch.logits(model, pads=3)).abs().max().item()


def _moved_by_the_future(model: Transformer, batch: Batch) -> float:
    other = batch.target.clone()
    other[:, -1] = 2 + (other[:, -1] - 1) % 10
    before = batch.logits(model)
    return (before - Batch(batch.source, other).logits(model))[:, :-1].abs().max().item()


MEASURED: dict[str, Callable[[Transformer, Batch], float]] = {
    "loss before training, nats a token": _initial_loss,
    "query times key, divided by": _divisor,
    "cosine similarity of positions 10 and 30": _similarity,
    "training mode: zeros in encoder's output": _zeros,
    "training mode: two runs of the encoder differ": _two_calls,
    "3 pads behind a source change a logit by": _moved_by_pads,
    "a later target word changes a logit by": _moved_by_the_future,
}
