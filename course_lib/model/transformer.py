"""The whole model: two embeddings, two stacks, one output layer (Figure 1 of the paper).

``course_lib.decoding`` generates translations with it, ``course_lib.training`` trains it.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.model.blocks import DecoderBlock, EncoderBlock
from course_lib.model.cache import KeyValueCache
from course_lib.model.config import TransformerConfig
from course_lib.model.embedding import TransformerEmbedding, embedding_std
from course_lib.model.loading import TiedModule
from course_lib.model.masks import decoder_mask, padding_mask
from course_lib.model.positions import PositionalEncoding, check_length


def _final_norm(config: TransformerConfig) -> nn.Module:
    if not config.final_norm:
        return nn.Identity()
    return nn.LayerNorm(config.d_model, config.norm_eps, elementwise_affine=config.norm_affine)


class Encoder(nn.Module):
    """Blocks that turn the embedded source into ``memory``. Parts: ``layers``, ``final_norm``."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(config) for _ in range(config.n_layers))
        self.final_norm = _final_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "#batch #heads #source #source"] | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Run all blocks on the embedded source; ``mask`` hides its padding."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)


class Decoder(nn.Module):
    """Blocks that attend to target and memory. Parts: ``layers``, ``final_norm``."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderBlock(config) for _ in range(config.n_layers))
        self.final_norm = _final_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        target_mask: Bool[Tensor, "#batch #heads #target #prefix"] | None = None,
        memory_mask: Bool[Tensor, "#batch #heads #target #source"] | None = None,
        *,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Run all blocks on the embedded target; with a cache, on its new tokens only."""
        for i, layer in enumerate(self.layers):
            x = layer(
                x,
                memory,
                target_mask,
                memory_mask,
                self_cache=cache and cache.self_attention[i],
                cross_cache=cache and cache.cross_attention[i],
            )
        return self.final_norm(x)


class Transformer(TiedModule):
    """The encoder-decoder Transformer of 2017 and its variants.

    Parts: ``source_embedding``, ``target_embedding``, ``encoder``, ``decoder``, ``output``. These
    names are stable: checkpoints and exercises rely on them. To seed the initial weights, call
    ``torch.manual_seed`` first and move the model to a device afterwards.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = self._embedding(
            config.source_vocab, config.source_embedding_dropout, tied=config.tying == "all"
        )
        self.target_embedding = self._embedding(
            config.target_vocab, config.target_embedding_dropout, tied=config.tying != "none"
        )
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output = nn.Linear(config.d_model, config.target_vocab, bias=config.output_bias)
        if config.tying != "none":
            self.output.weight = self.target_embedding.tokens.weight
            if config.output_bias:
                nn.init.zeros_(self.output.bias)  # all tokens equally probable at the start
        if config.tying == "all":
            self.source_embedding.tokens.weight = self.target_embedding.tokens.weight

    def _embedding(self, vocab_size: int, dropout: float, *, tied: bool) -> TransformerEmbedding:
        c = self.config
        return TransformerEmbedding(
            vocab_size,
            c.d_model,
            c.pad_id,
            scale=c.scale_embeddings,
            std=embedding_std(c.d_model) if tied else None,
            positions=PositionalEncoding(
                c.d_model, dropout, c.max_len, layout=c.layout, learned=c.positions == "learned"
            ),
        )

    def encode(self, source: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source d_model"]:
        """The memory of these source tokens."""
        return self.encoder(self.source_embedding(source), padding_mask(source, self.config.pad_id))

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source: Int[Tensor, "batch source"],
        *,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch target vocab"]:
        """The logits for the token after each target token.

        Arguments and errors are those of ``hidden``.
        """
        return self.output(self.hidden(target, memory, source, cache=cache))

    def hidden(
        self,
        target: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source: Int[Tensor, "batch source"],
        *,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """The decoder's output for each target token, before the output layer.

        Args:
            target: begins with the begin-of-sentence token; with a cache, only the new tokens.
            memory: from ``encode(source)``; with a cache, read in the first step only.
            source: its tokens, for their padding.
            cache: a new one for each batch; it holds the target so far.

        Raises:
            ValueError: target, memory and source do not belong to one batch, the cache is of
                another source, or the target, cached tokens included, is longer than max_len.
        """
        same_batch = memory.shape[:2] == source.shape and target.shape[:1] == source.shape[:1]
        if target.ndim != 2 or not same_batch:
            raise ValueError(
                "target (batch, target), memory (batch, source, d_model) and source (batch, "
                f"source) must agree, got {tuple(target.shape)}, {tuple(memory.shape)} and "
                f"{tuple(source.shape)}: "
                "is memory the encoding of this source?"
            )
        prefix = target if cache is None else cache.append(target, source)
        check_length(prefix.size(1), self.config.max_len)
        target_mask = decoder_mask(prefix, self.config.pad_id, query_length=target.size(1))
        memory_mask = padding_mask(source, self.config.pad_id)
        x = self.target_embedding(target, prefix)
        return self.decoder(x, memory, target_mask, memory_mask, cache=cache)

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """The logits for the token after each target token, under teacher forcing."""
        return self.decode(target, self.encode(source), source)

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return self.target_embedding.tokens.weight.device
