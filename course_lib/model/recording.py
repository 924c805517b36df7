"""Record the attention weights of every layer, without changing what the model returns.

Plots of them are in ``course_lib.viz``.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.model.attention import attention_matmul
from course_lib.model.recorders import RECORDERS

# The names of a model's attentions, also where another module has the model inside. A decoder-only
# model has one stack, and one attention in each layer.
_PART = re.compile(r"(?:(encoder|decoder)\.)?layers\.(\d+)\.(?:(self|cross)_)?attention$")


@dataclass
class AttentionRecord:
    """The weights of the last forward pass, (layers, batch, heads, query, key) each, and the
    queries and keys that led to them.
    """

    _layers: dict[str, dict[int, tuple[Tensor, Tensor, Tensor]]] = field(
        default_factory=lambda: {"encoder": {}, "decoder": {}, "cross": {}}
    )  # of each kind, for each layer: weights, queries, keys

    def _stacked(self, kind: str, part: int) -> Tensor:
        layers = self._layers[kind]
        if not layers:
            raise ValueError(
                f"no {kind} attention was recorded: call the model inside "
                "`with record_attention(model)`, in the same thread and not compiled"
            )
        return torch.stack([layers[i][part] for i in sorted(layers)])

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of encoder, decoder and cross that ran, in this order."""
        return tuple(kind for kind, layers in self._layers.items() if layers)

    @property
    def encoder(self) -> Float[Tensor, "layers batch heads source source"]:
        """The source attends to the source."""
        return self._stacked("encoder", 0)

    @property
    def decoder(self) -> Float[Tensor, "layers batch heads target prefix"]:
        """The target attends to the target; with a cache, its new tokens to all of it."""
        return self._stacked("decoder", 0)

    @property
    def cross(self) -> Float[Tensor, "layers batch heads target source"]:
        """The target attends to the source."""
        return self._stacked("cross", 0)

    def queries(self, kind: str) -> Float[Tensor, "layers batch heads query d_head"]:
        """The queries of one of `kinds`, before the division by √d_head."""
        return self._stacked(kind, 1)

    def keys(self, kind: str) -> Float[Tensor, "layers batch heads key d_head"]:
        """The keys of one of `kinds`."""
        return self._stacked(kind, 2)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[AttentionRecord]:
    """Record every layer's attention weights while the block runs.

    The model is a ``Transformer`` or a ``DecoderOnly``, or has one inside. What a decoder-only
    model attends to is the record's ``decoder``.

    Each forward pass replaces the one before. When decoding with a cache, that leaves the rows of
    the last step only; to see a whole translation, run ``model(source, target)`` on it.

    The model itself is left alone, so threads and asynchronous tasks may record the same model,
    each its own calls. Where a form of attention returns no weights, equation 1 gives them.
    """
    record, thread = AttentionRecord(), get_ident()
    layers = {
        module: (
            record._layers["cross" if part[3] == "cross" else part[1] or "decoder"],
            int(part[2]),
        )
        for name, module in model.named_modules()
        if (part := _PART.search(name))
    }

    def recorder(
        module: nn.Module,
        queries: Tensor,
        keys: Tensor,
        mask: Tensor | None,
        weights: Tensor | None,
    ) -> None:
        # A thread started inside may have this context, too: its calls would be mixed with ours.
        if module not in layers or get_ident() != thread:
            return
        if weights is None:
            _, weights = attention_matmul(queries, keys, keys, mask)
        kept, layer = layers[module]
        kept[layer] = weights.detach(), queries.detach(), keys.detach()

    try:
        RECORDERS.set((*RECORDERS.get(), recorder))
        yield record
    finally:
        layers.clear()  # ends it in copies of this context, too
        RECORDERS.set(tuple(other for other in RECORDERS.get() if other is not recorder))
