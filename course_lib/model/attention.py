"""Scaled dot-product attention and multi-head attention (Vaswani et al. 2017, section 3.2).

First ``attention_matmul`` and ``MultiHeadAttention``; below them, two other forms of the same
equation and the checks of arguments. Masks and their softmax are in ``masks``.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.model.cache import AttentionCache
from course_lib.model.config import AttentionForm, require_choice, require_dropout, resolve_d_head
from course_lib.model.dropout import dropout as drop
from course_lib.model.masks import AttentionMask, check_mask, masked_softmax

# Shapes, axis by axis; in multi-head attention d_value = d_head.
Query = Float[Tensor, "batch heads query d_head"]
Key = Float[Tensor, "batch heads key d_head"]
Value = Float[Tensor, "batch heads key d_value"]
Weights = Float[Tensor, "batch heads query key"]
Context = Float[Tensor, "batch heads query d_value"]


def attention_matmul(
    query: Query, key: Key, value: Value, mask: AttentionMask | None = None, *, dropout: float = 0.0
) -> tuple[Context, Weights]:
    """softmax(query · keyᵀ / √d_head) · value (equation 1).

    Args:
        query, key, value: split into heads.
        mask: True = may attend.
        dropout: probability of dropping a weight; 0 at inference.

    Returns:
        The context, and the weights before dropout.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: query, key, value and mask do not fit together.
    """
    _check_heads(query, key, value)
    d_head = query.size(-1)
    # Scaled before the product, which could otherwise overflow in float16.
    scores = (query / math.sqrt(d_head)) @ key.transpose(-2, -1)  # (batch, heads, query, key)
    weights = masked_softmax(scores, mask)
    context = drop(weights, dropout) @ value  # (batch, heads, query, d_value)
    return context, weights


def split_heads(
    x: Float[Tensor, "batch length d_inner"], n_heads: int
) -> Float[Tensor, "batch {n_heads} length d_head"]:
    """Each head gets its own slice of d_head features; d_inner = n_heads · d_head."""
    if x.ndim != 3 or x.size(2) % n_heads:
        raise ValueError(
            f"x must have shape (batch, length, n_heads={n_heads} · d_head), got {tuple(x.shape)}: "
            "is the last axis a multiple of n_heads?"
        )
    return x.unflatten(2, (n_heads, -1)).transpose(1, 2)


def merge_heads(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch length heads*d_head"]:
    """The inverse of ``split_heads``: the heads side by side."""
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """Project, split into heads, attend in each, merge (section 3.2.2).

    Parameters: ``q_proj``, ``k_proj``, ``v_proj`` (n_heads · d_head, d_model) and ``out_proj``
    (d_model, n_heads · d_head), with biases unless ``bias=False``.

    Args:
        d_head: by default d_model / n_heads.
        dropout: of the attention weights, while training.
        attention: which form computes it, see ``choose_attention``; all give the same result.

    Raises:
        ValueError: a size, the dropout or the form is not possible.
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
        d_inner = n_heads * resolve_d_head(d_model, n_heads, d_head)
        require_dropout("dropout", dropout)
        require_choice("attention", attention, AttentionForm)
        self.d_model, self.n_heads = d_model, n_heads
        self.dropout, self.attention = dropout, attention
        self.q_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.k_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.v_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.out_proj = nn.Linear(d_inner, d_model, bias=bias)
        self.on_weights: Callable[[Tensor], None] | None = None  # set by record_attention

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch length d_model"] | None = None,
        value: Float[Tensor, "batch length d_model"] | None = None,
        mask: AttentionMask | None = None,
        *,
        cache: AttentionCache | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Each query position attends to the key positions.

        Args:
            query, key, value: x, x, x in self-attention; x, memory, memory in cross-attention,
                or x alone once the cache holds the keys and values of the memory.
            mask: True = may attend; its key axis includes the cached positions.
            cache: keys and values of earlier calls, to attend to as well.

        Raises:
            TypeError: the mask is not boolean.
            ValueError: shapes do not fit together; key or value is missing, or is already cached.
        """
        _check_inputs(self.d_model, query, key, value, cache)
        queries = split_heads(self.q_proj(query), self.n_heads)  # (batch, heads, query, d_head)
        keys, values = self._keys_and_values(key, value, cache)  # (batch, heads, key, d_head)
        context = self._attend(queries, keys, values, mask)  # (batch, heads, query, d_head)
        return self.out_proj(merge_heads(context))  # (batch, query, d_model)

    def _keys_and_values(
        self, key: Tensor | None, value: Tensor | None, cache: AttentionCache | None
    ) -> tuple[Key, Value]:
        """Project and split key and value; with a cache, add them to it and return all it holds."""
        if cache is not None and cache.is_complete:
            return cache.read()
        keys = split_heads(self.k_proj(key), self.n_heads)
        values = split_heads(self.v_proj(value), self.n_heads)
        return (keys, values) if cache is None else cache.extend(keys, values)

    def _attend(
        self, queries: Query, keys: Key, values: Value, mask: AttentionMask | None
    ) -> Context:
        """Attend in the chosen form; hand the weights to ``record_attention`` if it listens."""
        dropout = self.dropout if self.training else 0.0
        if self.on_weights is not None:  # the fused kernel has no weights to record
            context, weights = attention_matmul(queries, keys, values, mask, dropout=dropout)
            self.on_weights(weights)
            return context
        attend = choose_attention(self.attention, queries, keys.size(2))
        return attend(queries, keys, values, mask, dropout=dropout)[0]


def attention_einsum(
    query: Query, key: Key, value: Value, mask: AttentionMask | None = None, *, dropout: float = 0.0
) -> tuple[Context, Weights]:
    """``attention_matmul`` with a letter for every axis: batch, heads, query, key, and e for
    d_head or d_value. A letter missing on the right of the arrow is summed over.
    """
    _check_heads(query, key, value)
    scores = torch.einsum("bhqe,bhke->bhqk", query / math.sqrt(query.size(-1)), key)
    weights = masked_softmax(scores, mask)
    context = torch.einsum("bhqk,bhke->bhqe", drop(weights, dropout), value)
    return context, weights


def attention_fused(
    query: Query, key: Key, value: Value, mask: AttentionMask | None = None, *, dropout: float = 0.0
) -> tuple[Context, None]:
    """``attention_matmul`` in PyTorch's fused kernel, which never stores the weights: returns None
    in their place.

    On a CPU that kernel has no dropout; there matrix products do it, and no slower.
    """
    _check_heads(query, key, value)
    if mask is not None:
        check_mask(mask, (*query.shape[:3], key.size(2)))
    if dropout and query.device.type == "cpu":
        return attention_matmul(query, key, value, mask, dropout=dropout)[0], None
    context = F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout)
    return context, None


Attention = Callable[..., tuple[Tensor, Tensor | None]]  # the signature of attention_matmul
ATTENTION: dict[str, Attention] = {
    "matmul": attention_matmul,
    "einsum": attention_einsum,
    "fused": attention_fused,
}


def choose_attention(form: AttentionForm, query: Tensor, key_length: int) -> Attention:
    """The function called ``form``; "auto" is fused, except for short bfloat16 sequences on a CPU,
    where the fused kernel's backward pass is several times slower than two matrix products.
    """
    if form != "auto":
        return ATTENTION[form]
    short_bf16 = query.dtype == torch.bfloat16 and key_length < 1024
    return attention_matmul if query.device.type == "cpu" and short_bf16 else attention_fused


def _check_inputs(
    d_model: int,
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    cache: AttentionCache | None,
) -> None:
    is_complete = cache is not None and cache.is_complete
    if is_complete and not (key is value is None):
        raise ValueError(
            "key and value must be left out with a complete cache, which holds the memory's keys "
            "and values: for another memory use a new cache"
        )
    if not is_complete and (key is None or value is None):
        raise ValueError(
            "key and value may be left out only with a complete cache, got None: "
            "for self-attention pass x as query, key and value"
        )
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x is not None and (x.ndim != 3 or x.size(-1) != d_model):
            raise ValueError(
                f"{name} must have shape (batch, length, d_model={d_model}), got {tuple(x.shape)}"
            )


def _check_heads(query: Tensor, key: Tensor, value: Tensor) -> None:
    if not query.ndim == key.ndim == value.ndim == 4:
        cause = "did you forget split_heads?"
    elif query.shape[:2] != key.shape[:2] or query.size(3) != key.size(3):
        cause = "query and key must agree in batch, heads and d_head"
    elif key.shape[:3] != value.shape[:3]:
        cause = "each key needs exactly one value"
    else:
        return
    shapes = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
    raise ValueError(
        "attention expects query (batch, heads, query, d_head), key (batch, heads, key, d_head) "
        f"and value alike, got {shapes}: {cause}"
    )
