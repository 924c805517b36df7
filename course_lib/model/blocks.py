"""Encoder and decoder blocks: attention and feed-forward, each with its residual (section 3.1).

The stacks of blocks are in ``transformer``.
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.model.add_norm import AddNorm
from course_lib.model.attention import MultiHeadAttention
from course_lib.model.attention_forms import ATTENTION
from course_lib.model.cache import AttentionCache
from course_lib.model.config import TransformerConfig
from course_lib.model.feed_forward import FeedForward


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.n_heads,
        d_head=config.d_head,
        dropout=config.attention_dropout,
        bias=config.attention_bias,
        attention=ATTENTION[config.attention],
    )


def _feed_forward(config: TransformerConfig) -> FeedForward:
    return FeedForward(
        config.d_model,
        config.d_ff,
        config.feed_forward_dropout,
        activation=config.activation,
        bias=config.feed_forward_bias,
    )


def _add_norm(config: TransformerConfig) -> AddNorm:
    return AddNorm(
        config.d_model,
        config.residual_dropout,
        norm=config.norm,
        affine=config.norm_affine,
        eps=config.norm_eps,
    )


class EncoderBlock(nn.Module):
    """Self-attention over the source, then the position-wise feed-forward network.

    Parts: ``self_attention``, ``feed_forward``; around them ``add_norm_1`` and ``add_norm_2``.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.feed_forward = _feed_forward(config)
        self.add_norm_1 = _add_norm(config)
        self.add_norm_2 = _add_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "#batch #heads #source #source"] | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Run the block; ``mask`` hides the source's padding."""
        x = self.add_norm_1(x, lambda y: self.self_attention(y, y, y, mask))
        return self.add_norm_2(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Self-attention over the target so far, cross-attention to the memory, then the position-wise
    feed-forward network.

    Parts: ``self_attention``, ``cross_attention``, ``feed_forward``; around them ``add_norm_1`` to
    ``add_norm_3``. In cross-attention the queries come from the target, keys and values from the
    memory, so its mask is the *source's* padding mask.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.cross_attention = _attention(config)
        self.feed_forward = _feed_forward(config)
        self.add_norm_1 = _add_norm(config)
        self.add_norm_2 = _add_norm(config)
        self.add_norm_3 = _add_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        target_mask: Bool[Tensor, "#batch #heads #target #prefix"] | None = None,
        memory_mask: Bool[Tensor, "#batch #heads #target #source"] | None = None,
        *,
        self_cache: AttentionCache | None = None,
        cross_cache: AttentionCache | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Run the block; with caches, x holds only the new positions of the target."""
        # A complete cache holds the keys and values of the memory.
        uncached = None if cross_cache is not None and cross_cache.holds_memory else memory
        x = self.add_norm_1(
            x, lambda y: self.self_attention(y, y, y, target_mask, cache=self_cache)
        )
        x = self.add_norm_2(
            x, lambda y: self.cross_attention(y, uncached, uncached, memory_mask, cache=cross_cache)
        )
        return self.add_norm_3(x, self.feed_forward)
