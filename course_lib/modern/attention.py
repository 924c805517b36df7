"""Self-attention of today: fewer heads of keys than of queries, and rotary positions.

    x ─ q_proj ─ split_heads ─ (q_norm) ─ rotate ────────────────────────┐
    x ─ k_proj ─ split_heads ─ (k_norm) ─ rotate ─ cache ─ repeat_heads ─┼─ attention ─ out_proj
    x ─ v_proj ─ split_heads ───────────────────── cache ─ repeat_heads ─┘

``latent_attention`` has the other way to make a cache small.
"""

from jaxtyping import Float
from torch import Tensor, nn

from course_lib.model import AttentionCache, merge_heads, split_heads
from course_lib.model.attention_forms import ATTENTION
from course_lib.model.masks import AttentionMask
from course_lib.model.recorders import show
from course_lib.modern.config import DecoderConfig
from course_lib.modern.norm import RMSNorm
from course_lib.modern.rotary import TokenPositions, rotate


def repeat_heads(
    x: Float[Tensor, "batch kv_heads length d_head"], n_heads: int
) -> Float[Tensor, "batch {n_heads} length d_head"]:
    """Give each query head its keys: query heads 0, 1, 2 share head 0 of the keys, 3, 4, 5 head 1.

    ``repeat`` would deal them out in turn instead: 0, 1, 2, 0, 1, 2, which trained weights do not
    fit.

    Raises:
        ValueError: n_heads is not a multiple of the heads of ``x``.
    """
    if n_heads % x.size(1):
        raise ValueError(
            f"n_heads must be a multiple of the heads of keys, got n_heads={n_heads} and "
            f"{x.size(1)} heads in {tuple(x.shape)}"
        )
    return x.repeat_interleave(n_heads // x.size(1), dim=1)


class GroupedQueryAttention(nn.Module):
    """Several heads of queries share one head of keys and values (Ainslie et al. 2023).

    With n_kv_heads = n_heads it is the multi-head attention of 2017, with n_kv_heads = 1 it is
    multi-query attention (Shazeer 2019). Parameters: ``q_proj`` (n_heads · d_head, d_model),
    ``k_proj`` and ``v_proj`` (n_kv_heads · d_head, d_model), ``out_proj`` (d_model, n_heads ·
    d_head), biases if the configuration has them, ``q_norm`` and ``k_norm`` (d_head,) with
    ``qk_norm``.

    Args:
        config: sizes and choices.
        window: of this layer, which also chooses the base of its rotation.
    """

    def __init__(self, config: DecoderConfig, window: int | None = None) -> None:
        super().__init__()
        c = config
        self.n_heads, self.n_kv_heads = c.n_heads, c.resolved_n_kv_heads
        self.rope_base = rope_base(c, window) if c.positions == "rotary" else None
        self.attention = ATTENTION[c.attention]
        d_head = c.resolved_d_head
        self.q_proj = nn.Linear(c.d_model, self.n_heads * d_head, bias=c.bias)
        self.k_proj = nn.Linear(c.d_model, self.n_kv_heads * d_head, bias=c.bias)
        self.v_proj = nn.Linear(c.d_model, self.n_kv_heads * d_head, bias=c.bias)
        self.out_proj = nn.Linear(self.n_heads * d_head, c.d_model, bias=c.bias)
        self.q_norm = RMSNorm(d_head, c.norm_eps) if c.qk_norm else nn.Identity()
        self.k_norm = RMSNorm(d_head, c.norm_eps) if c.qk_norm else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        mask: AttentionMask,
        positions: TokenPositions,
        *,
        cache: AttentionCache | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Attend from each token to those that the mask allows.

        Args:
            mask: True = may attend; its keys are all tokens so far, of which a cache with a window
                holds the last ones.
            positions: of the tokens in ``x``.
            cache: keys, already turned, and values of earlier tokens, n_kv_heads of each.
        """
        queries = self.q_norm(split_heads(self.q_proj(x), self.n_heads))
        keys = self.k_norm(split_heads(self.k_proj(x), self.n_kv_heads))
        values = split_heads(self.v_proj(x), self.n_kv_heads)  # values carry no position
        if self.rope_base is not None:
            queries = rotate(queries, positions, base=self.rope_base)
            keys = rotate(keys, positions, base=self.rope_base)
        if cache is not None:  # before repeating: that is what makes it small
            keys, values = cache.extend(keys, values)
        mask = mask[..., -keys.size(2) :]
        keys, values = repeat_heads(keys, self.n_heads), repeat_heads(values, self.n_heads)
        context, weights = self.attention(queries, keys, values, mask)
        show(self, queries, keys, mask, weights)  # to ``record_attention``, if anybody asked
        return self.out_proj(merge_heads(context))


def rope_base(config: DecoderConfig, window: int | None) -> float:
    """The base of a layer's rotation: layers with a window may have one of their own."""
    if window is None or config.local_rope_base is None:
        return config.rope_base
    return config.local_rope_base
