"""Multi-head latent attention (DeepSeek-V2 2024, section 2.1): cache one vector for all heads.

    x ─ down ─ latent ─┬─ k_up ─ split_heads ─┐          latent: (batch, length, d_latent)
                       └─ v_up ─ split_heads ─┤
    x ─ q_proj ─ split_heads ─────────────────┴─ attention ─ out_proj

The keys of all heads are made from the latent again whenever they are needed. Nobody has to: the
product q · (k_up · latent) equals (k_upᵀ · q) · latent, so ``absorbed_scores`` reads the latent
itself. A rotation between the two would depend on the position of each key and could not be moved;
therefore the position has ``d_rotary`` features of its own, whose key all heads share.

DeepSeek also makes the queries from a latent, to save memory in training; that is left out here.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.model import AttentionCache, merge_heads, split_heads
from course_lib.model.attention_forms import ATTENTION
from course_lib.model.masks import AttentionMask
from course_lib.model.recorders import show
from course_lib.modern.config import DecoderConfig
from course_lib.modern.rotary import TokenPositions, rotate


class LatentAttention(nn.Module):
    """Self-attention whose keys and values come from one latent vector a token.

    Parameters, without biases: ``q_proj`` (n_heads · (d_head + d_rotary), d_model), ``down``
    (d_latent, d_model), ``rotary_key`` (d_rotary, d_model), ``k_up`` and ``v_up``
    (n_heads · d_head, d_latent), ``out_proj`` (d_model, n_heads · d_head).
    """

    def __init__(self, config: DecoderConfig, window: int | None = None) -> None:
        super().__init__()
        c, d_head = config, config.resolved_d_head
        assert c.d_latent is not None  # ``Block`` builds GroupedQueryAttention otherwise
        self.n_heads, self.d_head, self.d_rotary = c.n_heads, d_head, c.d_rotary
        self.rope_base = c.rope_base
        self.attention = ATTENTION[c.attention]
        self.q_proj = nn.Linear(c.d_model, c.n_heads * (d_head + c.d_rotary), bias=False)
        self.down = nn.Linear(c.d_model, c.d_latent, bias=False)
        self.rotary_key = nn.Linear(c.d_model, c.d_rotary, bias=False) if c.d_rotary else None
        self.k_up = nn.Linear(c.d_latent, c.n_heads * d_head, bias=False)
        self.v_up = nn.Linear(c.d_latent, c.n_heads * d_head, bias=False)
        self.out_proj = nn.Linear(c.n_heads * d_head, c.d_model, bias=False)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        mask: AttentionMask,
        positions: TokenPositions,
        *,
        cache: AttentionCache | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Attend from each token to those that the mask allows; see GroupedQueryAttention.

        The cache holds the latent in place of keys, and the rotary key in place of values.
        """
        queries = split_heads(self.q_proj(x), self.n_heads)
        latent = self.down(x)[:, None]  # (batch, 1, length, d_latent)
        turned = latent[..., :0]  # no features for the position
        if self.rotary_key is not None:
            plain, rotary = queries.split((self.d_head, self.d_rotary), dim=-1)
            queries = torch.cat((plain, rotate(rotary, positions, base=self.rope_base)), dim=-1)
            turned = rotate(self.rotary_key(x)[:, None], positions, base=self.rope_base)
        if cache is not None:
            latent, turned = cache.extend(latent, turned)
        mask = mask[..., -latent.size(2) :]
        keys = split_heads(self.k_up(latent[:, 0]), self.n_heads)
        keys = torch.cat((keys, turned.expand(-1, self.n_heads, -1, -1)), dim=-1)
        values = split_heads(self.v_up(latent[:, 0]), self.n_heads)
        context, weights = self.attention(queries, keys, values, mask)
        show(self, queries, keys, mask, weights)
        return self.out_proj(merge_heads(context))


def absorbed_scores(
    queries: Float[Tensor, "batch heads query d_head"],
    latent: Float[Tensor, "batch key d_latent"],
    k_up: Float[Tensor, "inner d_latent"],
) -> Float[Tensor, "batch heads query key"]:
    """Scores of queries and keys without making the keys: k_up is absorbed into the queries.

    The result is q · (k_up · latent) / √d_head, computed as (k_upᵀ · q) · latent / √d_head.

    Args:
        k_up: the weight of ``LatentAttention.k_up``; inner = heads · d_head.

    Raises:
        ValueError: the sizes of queries, latent and k_up do not fit.
    """
    heads, d_head = queries.size(1), queries.size(3)
    if k_up.shape != (heads * d_head, latent.size(-1)):
        raise ValueError(
            f"k_up must have shape (heads · d_head, d_latent) = ({heads * d_head}, "
            f"{latent.size(-1)}), got {tuple(k_up.shape)}: did you pass k_up.weight?"
        )
    by_head = k_up.unflatten(0, (heads, d_head))  # (heads, d_head, d_latent)
    absorbed = torch.einsum("bhqe,hel->bhql", queries / math.sqrt(d_head), by_head)
    return torch.einsum("bhql,bkl->bhqk", absorbed, latent)
