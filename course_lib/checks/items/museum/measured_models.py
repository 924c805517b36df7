"""What one can measure of a model that has not been trained, without reading its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.decoding import evaluating
from course_lib.model import MultiHeadAttention, Transformer

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

    def encoded(self, model: Transformer, *behind: int) -> Tensor:
        """The encoder's output for the sources, without dropout, with these tokens behind each."""
        with evaluating(model):
            more = torch.tensor(behind, dtype=torch.long).expand(len(self.source), -1)
            return model.encode(torch.cat((self.source, more), dim=1))[:, : self.source.shape[1]]


def _entropy(model: Transformer, batch: Batch) -> float:
    with evaluating(model):
        logits = model(batch.source, batch.target)
    return torch.special.entr(logits.softmax(-1)).sum(-1).mean().item()


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


def _zeros_at_the_end(model: Transformer, batch: Batch) -> float:
    return (model.train().encode(batch.source) == 0).float().mean().item()


def _zeros_at_the_start(model: Transformer, batch: Batch) -> float:
    return (model.train().source_embedding(batch.source) == 0).float().mean().item()


def _moved_by_pads(model: Transformer, batch: Batch) -> float:
    return _moved(model, batch, PAD, PAD, PAD)


def _moved_by_words(model: Transformer, batch: Batch) -> float:
    return _moved(model, batch, 2, 3, 4)


def _moved(model: Transformer, batch: Batch, *behind: int) -> float:
    """How far tokens behind the sources move what the encoder says of the words before them."""
    return (batch.encoded(model) - batch.encoded(model, *behind)).abs().max().item()


MEASURED: dict[str, Callable[[Transformer, Batch], float]] = {
    "entropy of predictions before training, nats": _entropy,
    "query times key, divided by": _divisor,
    "cosine similarity of positions 10 and 30": _similarity,
    "training mode: zeros in the encoder's output": _zeros_at_the_end,
    "training mode: zeros in the encoder's input": _zeros_at_the_start,
    "3 pads behind change the encoder's output by": _moved_by_pads,
    "3 words behind change the encoder's output by": _moved_by_words,
}
