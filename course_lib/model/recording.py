"""Look inside without changing anything: the attention weights of every layer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.model.attention import MultiHeadAttention
from course_lib.model.transformer import Transformer


@dataclass
class AttentionRecord:
    """The weights of the latest forward pass, (layers, batch, heads, query, key) each.

    ``encoder`` is (N, B, H, S, S), ``decoder`` (N, B, H, T, T), ``cross`` (N, B, H, T, S).
    """

    _layers: dict[str, dict[int, Tensor]] = field(
        default_factory=lambda: {"encoder": {}, "decoder": {}, "cross": {}}
    )

    def _stack(self, kind: str) -> Tensor:
        layers = self._layers[kind]
        if not layers:
            raise ValueError(
                f"no {kind} attention was recorded: call the model inside "
                "`with record_attention(model)`"
            )
        return torch.stack([layers[i] for i in sorted(layers)])

    @property
    def encoder(self) -> Float[Tensor, "layers batch heads source source"]:
        """Source reads source."""
        return self._stack("encoder")

    @property
    def decoder(self) -> Float[Tensor, "layers batch heads new target"]:
        """Target reads target; with a cache, the new tokens read the whole target."""
        return self._stack("decoder")

    @property
    def cross(self) -> Float[Tensor, "layers batch heads target source"]:
        """Target reads source."""
        return self._stack("cross")


@contextmanager
def record_attention(model: Transformer) -> Iterator[AttentionRecord]:
    """Record every layer's attention weights while the block runs.

    The model returns what it would return anyway. Each forward pass replaces the one before; in
    incremental decoding that is one row a step, so to see a whole translation run it once more
    through ``model(source, target)``.
    """
    record = AttentionRecord()

    def listener(kind: str, layer: int) -> Callable[[Tensor], None]:
        def keep(weights: Tensor) -> None:
            record._layers[kind][layer] = weights.detach()

        return keep

    listening: list[tuple[MultiHeadAttention, Callable[[Tensor], None]]] = []
    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            stack, _, layer, part = name.split(".")  # as in decoder.layers.0.cross_attention
            kind = "cross" if part == "cross_attention" else stack
            listening.append((module, listener(kind, int(layer))))
    before = [attention.on_weights for attention, _ in listening]
    try:
        for attention, keep in listening:
            attention.on_weights = keep
        yield record
    finally:
        for (attention, _), earlier in zip(listening, before, strict=True):
            attention.on_weights = earlier
