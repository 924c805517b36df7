"""Attention (Vaswani et al. 2017, section 3.2): the equation, then several heads of it.

    query ─ q_proj ─ split_heads ─┐
    key ─── k_proj ─ split_heads ─┼─ softmax(q·kᵀ/√d_head)·v ─ merge_heads ─ out_proj
    value ─ v_proj ─ split_heads ─┘

From the inside out: the equation, its softmax with a mask, heads, the module. Masks are made in
``masks``; faster forms of the equation are in ``attention_forms``, refused arguments in
``attention_arguments``.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.model.attention_arguments import (
    check_divisible,
    check_function,
    check_heads,
    check_inputs,
    check_mask,
)
from course_lib.model.cache import AttentionCache
from course_lib.model.config import require_dropout, resolve_d_head
from course_lib.model.dropout import dropout
from course_lib.model.masks import AttentionMask
from course_lib.model.recorders import show

# Shapes, axis by axis ("#": this size or 1); in multi-head attention d_value = d_head.
Query = Float[Tensor, "batch heads query d_head"]
Key = Float[Tensor, "batch heads key d_head"]
Value = Float[Tensor, "batch heads key d_value"]
Weights = Float[Tensor, "batch heads query key"]
Context = Float[Tensor, "batch heads query d_value"]


def attention_matmul(
    query: Query,
    key: Key,
    value: Value,
    mask: AttentionMask | None = None,
    *,
    dropout_p: float = 0.0,
) -> tuple[Context, Weights]:
    """softmax(query · keyᵀ / √d_head) · value (equation 1).

    Args:
        query, key, value: split into heads.
        mask: True = may attend; None: each query to all keys.
        dropout_p: probability of dropping a weight; 0 at inference.

    Returns:
        The context, and the weights before dropout.

    Raises:
        TypeError, ValueError: query, key, value and mask do not fit together.
    """
    check_heads(query, key, value)
    query = query / math.sqrt(query.size(-1))  # before the product, which could overflow in float16
    scores = query @ key.transpose(-2, -1)  # (batch, heads, query, key)
    weights = masked_softmax(scores, mask)  # (batch, heads, query, key)
    context = dropout(weights, dropout_p) @ value  # (batch, heads, query, d_value)
    return context, weights


def masked_softmax(
    scores: Float[Tensor, "*leading query key"],
    mask: Bool[Tensor, "*#leading #query #key"] | None = None,
) -> Float[Tensor, "*leading query key"]:
    """Softmax over the keys where the mask is True; a query that may attend to none gets zeros.

    Raises:
        TypeError, ValueError: the mask is not boolean, or does not fit the scores.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, tuple(scores.shape))
    hidden = ~mask
    # Not -inf, which makes a row without keys NaN, nor -1e9, which does not fit into float16.
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(hidden, lowest).softmax(dim=-1)
    return weights.masked_fill(hidden, 0.0)  # a row without keys had equal weights


def split_heads(
    x: Float[Tensor, "batch length d_inner"], n_heads: int
) -> Float[Tensor, "batch {n_heads} length d_head"]:
    """Each head gets its own slice of d_head features; d_inner = n_heads · d_head."""
    check_divisible(x, n_heads)
    return x.unflatten(2, (n_heads, -1)).transpose(1, 2)


def merge_heads(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch length heads*d_head"]:
    """The inverse of ``split_heads``: the heads side by side."""
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """Project, split into heads, attend in each, merge, project (section 3.2.2).

    Parameters: ``q_proj``, ``k_proj``, ``v_proj`` (n_heads · d_head, d_model) and ``out_proj``
    (d_model, n_heads · d_head), with biases unless ``bias=False``.

    Args:
        d_head: by default d_model / n_heads.
        dropout: of the attention weights, while training.
        attention: the function that computes the equation, see ``attention_forms``.

    Raises:
        TypeError, ValueError: a size, the dropout or the function is not possible.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_head: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        attention: Callable[..., tuple[Context, Weights | None]] = attention_matmul,
    ) -> None:
        super().__init__()
        d_inner = n_heads * resolve_d_head(d_model, n_heads, d_head)
        require_dropout("dropout", dropout)
        check_function(attention)
        self.d_model, self.n_heads = d_model, n_heads
        self.dropout_p, self.attention = dropout, attention
        self.q_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.k_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.v_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.out_proj = nn.Linear(d_inner, d_model, bias=bias)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch new_key d_model"] | None = None,
        value: Float[Tensor, "batch new_key d_model"] | None = None,
        mask: AttentionMask | None = None,
        *,
        cache: AttentionCache | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Each query position attends to the key positions.

        Args:
            query, key, value: x, x, x in self-attention; x, memory, memory in cross-attention,
                or x alone once the cache holds the keys and values of the memory.
            mask: True = may attend; None: each query to all keys, so nothing is causal unasked.
                Its keys are the cached ones, then the new ones.
            cache: keys and values of earlier calls, to attend to as well.

        Raises:
            TypeError, ValueError: shapes or mask do not fit together; key or value is missing, or
                is already cached.
        """
        check_inputs(self.d_model, query, key, value, cache)
        queries = split_heads(self.q_proj(query), self.n_heads)  # (batch, heads, query, d_head)
        if cache is not None and cache.holds_memory:  # it never changes: projected once
            keys, values = cache.read()
        else:
            keys = split_heads(self.k_proj(key), self.n_heads)  # (batch, heads, key, d_head)
            values = split_heads(self.v_proj(value), self.n_heads)  # (batch, heads, key, d_head)
            if cache is not None:  # in self-attention, those of earlier tokens come before
                keys, values = cache.extend(keys, values)
        dropout_p = self.dropout_p if self.training else 0.0
        context, weights = self.attention(queries, keys, values, mask, dropout_p=dropout_p)
        show(self, queries, keys, mask, weights)  # to ``record_attention``, if anybody asked
        return self.out_proj(merge_heads(context))  # (batch, query, d_model)
