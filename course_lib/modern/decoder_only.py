"""One stack of blocks that predicts the next token (Radford et al. 2018, section 3.1).

There is no encoder and no cross-attention: a source, if there is one, stands in front of the target
as a prefix of the same sequence.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.model import (
    AttentionCache,
    causal_mask,
    embedding_std,
    sinusoidal_positions,
)
from course_lib.model.embedding import check_tokens, look_up
from course_lib.model.loading import TiedModule
from course_lib.model.masks import AttentionMask
from course_lib.model.positions import check_length
from course_lib.modern.attention import GroupedQueryAttention
from course_lib.modern.cache import DecoderCache
from course_lib.modern.config import DecoderConfig
from course_lib.modern.feed_forward import feed_forward
from course_lib.modern.latent_attention import LatentAttention
from course_lib.modern.masks import prefix_mask, window_mask
from course_lib.modern.norm import RMSNorm
from course_lib.modern.rotary import TokenPositions


def make_norm(config: DecoderConfig) -> nn.Module:
    """The norm of this configuration."""
    if config.norm == "rms":
        return RMSNorm(config.d_model, config.norm_eps)
    return nn.LayerNorm(config.d_model, config.norm_eps)


class Block(nn.Module):
    """Self-attention, then the feed-forward network, each with its residual and its norms.

    Parts: ``attention``, ``feed_forward``; ``norm_1`` and ``norm_2`` before them, or after the sum
    with ``placement="post"``; with ``placement="both"``, also ``norm_after_1`` and
    ``norm_after_2`` on what they compute, as in Gemma.
    """

    def __init__(self, config: DecoderConfig, window: int | None = None) -> None:
        super().__init__()
        attention = LatentAttention if config.d_latent else GroupedQueryAttention
        self.is_post = config.placement == "post"
        self.attention = attention(config, window)
        self.feed_forward = feed_forward(config)
        self.norm_1, self.norm_2 = make_norm(config), make_norm(config)
        both = config.placement == "both"
        self.norm_after_1 = make_norm(config) if both else nn.Identity()
        self.norm_after_2 = make_norm(config) if both else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        mask: AttentionMask,
        positions: TokenPositions,
        *,
        cache: AttentionCache | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Run the block; with a cache, x holds only the new tokens."""
        if self.is_post:
            x = self.norm_1(x + self.attention(x, mask, positions, cache=cache))
            return self.norm_2(x + self.feed_forward(x))
        attended = self.attention(self.norm_1(x), mask, positions, cache=cache)
        x = x + self.norm_after_1(attended)
        return x + self.norm_after_2(self.feed_forward(self.norm_2(x)))


class DecoderOnly(TiedModule):
    """A decoder-only Transformer: embedding, blocks, norm, output layer.

    Parts: ``tokens``, ``layers``, ``final_norm``, ``output``; ``position_table`` (max_len, d_model)
    if positions are added. Rows may be padded on the right: the mask is causal, so no real token
    sees what comes after it. To seed the initial weights, call ``torch.manual_seed`` first.
    """

    position_table: Tensor | None

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        c = self.config = config
        self.scale = math.sqrt(c.d_model) if c.scale_embeddings else 1.0
        self.tokens = nn.Embedding(c.vocab, c.d_model)
        # Tied logits are products with the embeddings: small ones start the loss near ln(vocab).
        nn.init.normal_(self.tokens.weight, std=embedding_std(c.d_model) if c.tied else 1.0)
        if c.positions == "learned":
            learned = nn.init.normal_(torch.empty(c.max_len, c.d_model), std=0.02)
            self.position_table = nn.Parameter(learned)
        else:
            sinusoidal = c.positions == "sinusoidal"
            table = sinusoidal_positions(c.max_len, c.d_model) if sinusoidal else None
            self.register_buffer("position_table", table, persistent=False)
        self.layers = nn.ModuleList(Block(c, window) for window in c.layer_windows)
        self.final_norm = nn.Identity() if c.placement == "post" else make_norm(c)
        self.output = nn.Linear(c.d_model, c.vocab, bias=False)
        if c.tied:
            self.output.weight = self.tokens.weight

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        *,
        prefix: Int[Tensor, " batch"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch length vocab"]:
        """The logits for the token after each token. Arguments and errors: see ``hidden``."""
        return self.output(self.hidden(tokens, prefix=prefix, cache=cache))

    def hidden(
        self,
        tokens: Int[Tensor, "batch length"],
        *,
        prefix: Int[Tensor, " batch"] | None = None,
        padding: Int[Tensor, " batch"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """The last block's output for each token, normalised, before the output layer.

        Args:
            tokens: with a cache, only the new ones.
            prefix: how many tokens at the start of each row see one another; None or 0: causal.
                With a cache, the first call must hold the whole prefix.
            padding: how many tokens at the start of each row are padding, those of earlier calls
                included: nobody sees them, and positions count from what follows.
            cache: a new one for each batch, from ``DecoderCache(config)``.

        Raises:
            TypeError: tokens are not whole numbers.
            ValueError: the shape is not (batch, length), an id is out of range, there are more
                than max_len tokens, or a prefix reaches beyond the first call.
        """
        check_tokens(tokens)
        past = 0 if cache is None else cache.length
        total = past + tokens.size(1)
        check_length(total, self.config.max_len)
        if prefix is not None and past and int(prefix.max()) > past:
            raise ValueError(
                f"the first call must hold the whole prefix, got prefix lengths up to "
                f"{int(prefix.max())} with {past} tokens in the cache: its first tokens could not "
                "see its last ones"
            )
        positions = torch.arange(past, total, device=tokens.device)
        masks = self._masks(prefix, positions, total, padding)
        x = look_up(self.tokens, tokens) * self.scale
        if self.position_table is not None:
            begin = 0 if padding is None else padding[:, None]
            x = x + self.position_table[(positions - begin).clamp(min=0)]
        for i, layer in enumerate(self.layers):
            mask = masks[self.config.layer_windows[i]]
            x = layer(x, mask, positions, cache=cache and cache.layers[i])
        if cache is not None:
            cache.length = total
        return self.final_norm(x)

    def _masks(
        self, prefix: Tensor | None, positions: Tensor, total: int, padding: Tensor | None
    ) -> dict[int | None, Tensor]:
        """For each window, what the tokens at ``positions`` may attend to of ``total`` tokens."""
        sizes, device = (len(positions), total), positions.device
        seen = causal_mask(*sizes, device=device) if prefix is None else prefix_mask(prefix, *sizes)
        if padding is not None:
            real = torch.arange(total, device=device) >= padding[:, None]  # (batch, key)
            seen = seen & real[:, None, None, :]
        return {
            window: seen & window_mask(*sizes, window=window, device=device)
            for window in set(self.config.windows)
        }

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return self.tokens.weight.device
