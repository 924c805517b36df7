"""One stack instead of two: the source is the prefix, and its keys and values are the memory.

Whatever trains, decodes or scores a ``Transformer`` takes a ``PrefixTransformer`` as well.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.model import KeyValueCache, Transformer
from course_lib.model.loading import TiedModule
from course_lib.model.positions import check_length
from course_lib.modern.cache import DecoderCache
from course_lib.modern.config import DecoderConfig
from course_lib.modern.decoder_only import DecoderOnly

# Of each layer, the keys (index 0) and the values (index 1) of all source tokens.
Memory = Float[Tensor, "batch layers 2 kv_heads source d_head"]


@dataclass(frozen=True, kw_only=True)
class PrefixConfig(DecoderConfig):
    """A decoder-only model that translates. A source may have ``max_len`` tokens, and so may a
    target; both are numbered by one vocabulary.

    Raises:
        ValueError: as ``DecoderConfig``, or a choice has no plain keys and values of all tokens.
    """

    pad_id: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_latent is not None or self.windows != (None,):
            raise ValueError(
                "a model that translates keeps keys and values of the whole source, got "
                f"d_latent={self.d_latent} and windows={self.windows}: leave them out"
            )

    @property
    def source_vocab(self) -> int:
        """The tokens of the one vocabulary."""
        return self.vocab

    @property
    def target_vocab(self) -> int:
        """The tokens of the one vocabulary."""
        return self.vocab

    @property
    def stack(self) -> DecoderConfig:
        """Of the stack that reads a source and its target in one row."""
        fields = asdict(self) | {"max_len": 2 * self.max_len}
        del fields["pad_id"]
        return DecoderConfig(**fields)


class PrefixTransformer(Transformer):
    """A decoder-only model with the methods of an encoder-decoder. Parts: ``stack``, and
    ``output``, which is the stack's.

    A batch of sources of different lengths is padded on the *left*, so that each target follows its
    source at once and one cache serves all rows.
    """

    # With what training and decoding read of a TransformerConfig: vocabularies, sizes, pad_id.
    config: PrefixConfig  # type: ignore[assignment]

    def __init__(self, config: PrefixConfig) -> None:
        TiedModule.__init__(self)  # there are no two stacks to build
        self.config = config
        self.stack = DecoderOnly(config.stack)
        self.output = self.stack.output

    def encode(self, source: Int[Tensor, "batch source"]) -> Memory:
        """The keys and values that each layer keeps of the source."""
        check_length(source.size(1), self.config.max_len)
        cache = DecoderCache(self.stack.config)
        row, padding = self._left_padded(source), self._padding(source)
        self.stack.hidden(row, prefix=_all(row), padding=padding, cache=cache)
        return torch.stack([torch.stack(layer.read(), dim=1) for layer in cache.layers], dim=1)

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Memory,
        source: Int[Tensor, "batch source"],
        *,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch target vocab"]:
        """The logits for the token after each target token. Arguments: see ``hidden``."""
        return self.output(self.hidden(target, memory, source, cache=cache))

    def hidden(
        self,
        target: Int[Tensor, "batch target"],
        memory: Memory,
        source: Int[Tensor, "batch source"],
        *,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """The stack's output for each target token, before the output layer.

        Arguments and errors as in ``Transformer.hidden``; ``memory`` is from this model's
        ``encode``.
        """
        if memory.size(0) != len(target) or len(target) != len(source):
            raise ValueError(
                "target, memory and source must be of one batch, got "
                f"{len(target)}, {memory.size(0)} and {len(source)} rows"
            )
        cache = KeyValueCache(self.config.n_layers) if cache is None else cache
        if cache.target is None:
            for layer, kept in zip(cache.self_attention, memory.unbind(1), strict=True):
                layer.extend(*kept.unbind(1))
        prefix = cache.append(target, source)
        check_length(prefix.size(1), self.config.max_len)
        past = source.size(1) + prefix.size(1) - target.size(1)
        row = DecoderCache(self.stack.config, cache.self_attention, length=past)
        padding = self._padding(source)
        return self.stack.hidden(target, prefix=_all(source), padding=padding, cache=row)

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """The logits for the token after each target token; both sides in one pass."""
        check_length(max(source.size(1), target.size(1)), self.config.max_len)
        row, padding = self._left_padded(source), self._padding(source)
        hidden = self.stack.hidden(
            torch.cat((row, target), dim=1), prefix=_all(row), padding=padding
        )
        return self.output(hidden[:, source.size(1) :])

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return self.stack.device

    def _padding(self, source: Tensor) -> Tensor:
        """How much of each row is padding, (batch,)."""
        return (source == self.config.pad_id).sum(dim=1)

    def _left_padded(self, source: Tensor) -> Tensor:
        """The source with its padding moved to the left."""
        columns = torch.arange(source.size(1), device=source.device)
        columns = columns - self._padding(source)[:, None]
        return source.gather(1, columns % max(1, source.size(1)))


def _all(source: Tensor) -> Tensor:
    """The prefix is the whole source, padding included."""
    return torch.full_like(source[:, 0], source.size(1))


_SIZES: dict[str, Any] = {"vocab": 1000, "d_model": 128, "n_heads": 4, "n_layers": 4}
# Both have about as many parameters as the preset `small` with one vocabulary.
PREFIX_PRESETS: dict[str, PrefixConfig] = {
    "prefix": PrefixConfig(  # the block of 2017, its norms in front
        **_SIZES,
        d_ff=640,
        norm="layer",
        norm_eps=1e-5,
        activation="relu",
        positions="sinusoidal",
        bias=True,
        scale_embeddings=True,
        max_len=256,
        attention="matmul",
    ),
    "modern": PrefixConfig(**_SIZES, d_ff=472, n_kv_heads=2, max_len=256, attention="matmul"),
}
