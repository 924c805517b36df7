"""Record the attention weights of every layer, without changing what the model returns.

Plots of them are in ``course_lib.viz``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.model.attention import Context, MultiHeadAttention, Weights, attention_matmul
from course_lib.model.attention_forms import Attention
from course_lib.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class _Layer:
    weights: Tensor
    queries: Tensor
    keys: Tensor


@dataclass
class AttentionRecord:
    """The weights of the last forward pass, (layers, batch, heads, query, key) each, and the
    queries and keys that led to them.
    """

    _layers: dict[str, dict[int, _Layer]] = field(
        default_factory=lambda: {"encoder": {}, "decoder": {}, "cross": {}}
    )

    def _recorded(self, kind: str) -> list[_Layer]:
        layers = self._layers[kind]
        if not layers:
            raise ValueError(
                f"no {kind} attention was recorded: call the model inside "
                "`with record_attention(model)`"
            )
        return [layers[i] for i in sorted(layers)]

    def _weights(self, kind: str) -> Tensor:
        return torch.stack([layer.weights for layer in self._recorded(kind)])

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of encoder, decoder and cross that ran, in this order."""
        return tuple(kind for kind, layers in self._layers.items() if layers)

    @property
    def encoder(self) -> Float[Tensor, "layers batch heads source source"]:
        """The source attends to the source."""
        return self._weights("encoder")

    @property
    def decoder(self) -> Float[Tensor, "layers batch heads target prefix"]:
        """The target attends to the target; with a cache, its new tokens to all of it."""
        return self._weights("decoder")

    @property
    def cross(self) -> Float[Tensor, "layers batch heads target source"]:
        """The target attends to the source."""
        return self._weights("cross")

    def queries(self, kind: str) -> Float[Tensor, "layers batch heads query d_head"]:
        """The queries of one of `kinds`, before the division by √d_head."""
        return torch.stack([layer.queries for layer in self._recorded(kind)])

    def keys(self, kind: str) -> Float[Tensor, "layers batch heads key d_head"]:
        """The keys of one of `kinds`."""
        return torch.stack([layer.keys for layer in self._recorded(kind)])


@contextmanager
def record_attention(model: Transformer) -> Iterator[AttentionRecord]:
    """Record every layer's attention weights while the block runs.

    Each forward pass replaces the one before. When decoding with a cache, that leaves the rows of
    the last step only; to see a whole translation, run ``model(source, target)`` on it.
    """
    record = AttentionRecord()
    attentions = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    }
    before = {name: module.attention for name, module in attentions.items()}
    try:
        for name, module in attentions.items():
            stack, _, layer, part = name.split(".")  # as in decoder.layers.0.cross_attention
            kind = "cross" if part == "cross_attention" else stack
            module.attention = _recorded_attention(record._layers[kind], int(layer))
        yield record
    finally:
        for name, module in attentions.items():
            module.attention = before[name]


def _recorded_attention(layers: dict[int, _Layer], layer: int) -> Attention:
    """``attention_matmul`` that keeps its weights; the fused kernel has none to keep."""

    def attention(query: Tensor, key: Tensor, *args: Any, **kwargs: Any) -> tuple[Context, Weights]:
        context, weights = attention_matmul(query, key, *args, **kwargs)
        layers[layer] = _Layer(weights=weights.detach(), queries=query.detach(), keys=key.detach())
        return context, weights

    return attention
