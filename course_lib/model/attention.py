"""Scaled dot-product attention three ways, and several heads of it (section 3.2).

B batch, H heads, Q query length, K key length, D d_model, E d_head.
"""

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.model.cache import AttentionCache
from course_lib.model.config import AttentionForm, require_choice
from course_lib.model.dropout import dropout as drop
from course_lib.model.masks import check_mask, masked_softmax

Heads = Float[Tensor, "batch heads length d_head"]


def attention_matmul(
    query: Float[Tensor, "batch heads query d_head"],
    key: Float[Tensor, "batch heads key d_head"],
    value: Float[Tensor, "batch heads key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "batch heads query d_value"], Float[Tensor, "batch heads query key"]]:
    """softmax(query · keyᵀ / √d_head) · value (equation 1).

    matmul multiplies the last two axes and repeats that for every batch row and head.

    Args:
        query, key, value: already split into heads.
        mask: True = may attend, broadcastable to (B, H, Q, K).
        dropout: share of the weights to drop, applied whenever it is above zero.

    Returns:
        context (B, H, Q, E) and the weights (B, H, Q, K) it was mixed with, before dropout.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: query, key, value or mask do not fit together.
    """
    _check_heads(query, key, value)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (B, H, Q, K)
    weights = masked_softmax(scores, mask)
    return drop(weights, dropout) @ value, weights


def attention_einsum(
    query: Float[Tensor, "batch heads query d_head"],
    key: Float[Tensor, "batch heads key d_head"],
    value: Float[Tensor, "batch heads key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "batch heads query d_value"], Float[Tensor, "batch heads query key"]]:
    """The same as ``attention_matmul``, with every axis named: a letter missing on the right of
    the arrow is summed over.
    """
    _check_heads(query, key, value)
    scores = torch.einsum("bhqe,bhke->bhqk", query, key) / math.sqrt(query.size(-1))
    weights = masked_softmax(scores, mask)
    return torch.einsum("bhqk,bhke->bhqe", drop(weights, dropout), value), weights


def attention_fused(
    query: Float[Tensor, "batch heads query d_head"],
    key: Float[Tensor, "batch heads key d_head"],
    value: Float[Tensor, "batch heads key d_value"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "batch heads query d_value"], None]:
    """The same context from PyTorch's fused kernel, which never stores the weights: returns None
    in their place.

    On a CPU that kernel knows no dropout; there the two products do it, and no slower.
    """
    _check_heads(query, key, value)
    if mask is not None:
        check_mask(mask, (*query.shape[:3], key.size(2)))
    if dropout and query.device.type == "cpu":
        return attention_matmul(query, key, value, mask, dropout=dropout)[0], None
    context = F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout)
    return context, None


def _check_heads(query: Tensor, key: Tensor, value: Tensor) -> None:
    expected = (
        "query (batch, heads, query, d_head), key (batch, heads, key, d_head) and value alike"
    )
    shapes = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"attention expects {expected}, got {shapes}: did you forget split_heads?")
    if query.shape[:2] != key.shape[:2] or query.size(3) != key.size(3):
        raise ValueError(
            f"attention expects {expected}, got {shapes}: "
            "query and key must agree in batch, heads and d_head"
        )
    if key.shape[:3] != value.shape[:3]:
        raise ValueError(
            f"attention expects {expected}, got {shapes}: each key needs exactly one value"
        )


@runtime_checkable  # the tests check all types while they run
class Attention(Protocol):
    """What all forms of attention have in common."""

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        dropout: float = 0.0,
    ) -> tuple[Tensor, Tensor | None]:
        """Context and, if they were stored, weights."""


ATTENTION: dict[str, Attention] = {
    "matmul": attention_matmul,
    "einsum": attention_einsum,
    "fused": attention_fused,
}


def choose_attention(form: AttentionForm, query: Tensor, key_length: int) -> Attention:
    """The function for ``form``; "auto" is fused, but for short bfloat16 sequences on a CPU, where
    the fused kernel's backward pass is several times slower than two matrix products.
    """
    if form != "auto":
        return ATTENTION[form]
    short_bf16 = query.dtype == torch.bfloat16 and key_length < 1024
    return attention_matmul if query.device.type == "cpu" and short_bf16 else attention_fused


def split_heads(
    x: Float[Tensor, "batch length d"], n_heads: int
) -> Float[Tensor, "batch {n_heads} length d_head"]:
    """(B, S, H · E) to (B, H, S, E): each head gets its own slice of the features."""
    if x.ndim != 3 or x.size(2) % n_heads:
        raise ValueError(
            f"x must have shape (batch, length, n_heads={n_heads} · d_head), got {tuple(x.shape)}: "
            "is the last axis a multiple of n_heads?"
        )
    return x.unflatten(2, (n_heads, -1)).transpose(1, 2)


def merge_heads(x: Heads) -> Float[Tensor, "batch length d"]:
    """(B, H, S, E) to (B, S, H · E), the inverse of ``split_heads``."""
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own d_head-wide projection (section 3.2.2).

    Parameters: ``q_proj``, ``k_proj``, ``v_proj`` (H · E, D) and ``out_proj`` (D, H · E), with
    biases unless ``bias=False``.

    Args:
        d_model: D.
        n_heads: H.
        d_head: E; by default D / H.
        dropout: on the weights, while training.
        attention: which form computes it; they agree.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_head: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        attention: AttentionForm = "auto",
    ) -> None:
        super().__init__()
        if d_head is None and d_model % n_heads:
            raise ValueError(
                f"d_model must be a multiple of n_heads, got d_model={d_model} and "
                f"n_heads={n_heads}: choose other sizes or give d_head yourself"
            )
        require_choice("attention", attention, AttentionForm)
        inner = n_heads * (d_model // n_heads if d_head is None else d_head)
        self.d_model, self.n_heads = d_model, n_heads
        self.dropout, self.attention = dropout, attention
        self.q_proj = nn.Linear(d_model, inner, bias=bias)
        self.k_proj = nn.Linear(d_model, inner, bias=bias)
        self.v_proj = nn.Linear(d_model, inner, bias=bias)
        self.out_proj = nn.Linear(inner, d_model, bias=bias)
        self.on_weights: Callable[[Tensor], None] | None = None  # set by record_attention

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        cache: AttentionCache | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Each query position reads from the key positions; (B, Q, D) in, (B, Q, D) out.

        Args:
            query: who reads. key, value: what is read; all three the same x in self-attention.
            mask: True = may attend, broadcastable to (B, H, Q, K).
            cache: keys and values of earlier calls, to be read as well.

        Raises:
            TypeError, ValueError: as ``attention_matmul``, or a width is not d_model.
        """
        for name, x in (("query", query), ("key", key), ("value", value)):
            if x.ndim != 3 or x.size(-1) != self.d_model:
                raise ValueError(
                    f"{name} must have shape (batch, length, d_model={self.d_model}), "
                    f"got {tuple(x.shape)}"
                )
        queries = split_heads(self.q_proj(query), self.n_heads)  # (B, H, Q, E)
        if cache is not None and cache.is_complete:
            keys, values = cache.read()
        else:
            keys = split_heads(self.k_proj(key), self.n_heads)  # (B, H, K, E)
            values = split_heads(self.v_proj(value), self.n_heads)
            if cache is not None:
                keys, values = cache.extend(keys, values)
        # The fused kernel has no weights to show, so recording computes them in the open.
        form = self.attention if self.on_weights is None else "matmul"
        attend = choose_attention(form, queries, keys.size(2))
        dropout = self.dropout if self.training else 0.0
        context, weights = attend(queries, keys, values, mask, dropout=dropout)
        if self.on_weights is not None and weights is not None:
            self.on_weights(weights)
        return self.out_proj(merge_heads(context))
