"""Other forms of ``attention_matmul`` with the same result, and the choice between them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.model.attention import (
    Context,
    Key,
    Query,
    Value,
    Weights,
    attention_matmul,
    masked_softmax,
)
from course_lib.model.attention_arguments import check_heads, check_mask
from course_lib.model.config import AttentionForm
from course_lib.model.dropout import dropout
from course_lib.model.masks import AttentionMask


def attention_einsum(
    query: Query,
    key: Key,
    value: Value,
    mask: AttentionMask | None = None,
    *,
    dropout_p: float = 0.0,
) -> tuple[Context, Weights]:
    """``attention_matmul`` with a letter for every axis: batch, heads, query, key, and e for
    d_head or d_value. A letter missing on the right of the arrow is summed over.
    """
    check_heads(query, key, value)
    scores = torch.einsum("bhqe,bhke->bhqk", query / math.sqrt(query.size(-1)), key)
    weights = masked_softmax(scores, mask)
    context = torch.einsum("bhqk,bhke->bhqe", dropout(weights, dropout_p), value)
    return context, weights


def attention_fused(
    query: Query,
    key: Key,
    value: Value,
    mask: AttentionMask | None = None,
    *,
    dropout_p: float = 0.0,
) -> tuple[Context, None]:
    """``attention_matmul`` in PyTorch's fused kernel, which never stores the weights: returns None
    in their place.

    On a CPU that kernel has no dropout; there matrix products do it, and no slower.
    """
    check_heads(query, key, value)
    if mask is not None:
        check_mask(mask, (*query.shape[:3], key.size(2)))
    if dropout_p and query.device.type == "cpu":
        return attention_matmul(query, key, value, mask, dropout_p=dropout_p)[0], None
    # PyTorch gives a fully masked row zeros, too (since 2.5).
    context = F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout_p)
    return context, None


def attention_auto(
    query: Query,
    key: Key,
    value: Value,
    mask: AttentionMask | None = None,
    *,
    dropout_p: float = 0.0,
) -> tuple[Context, Weights | None]:
    """The form that is fastest here, see ``fastest_attention``."""
    return fastest_attention(query, key.size(2))(query, key, value, mask, dropout_p=dropout_p)


Attention = Callable[..., tuple[Context, Weights | None]]  # the signature of attention_matmul
ATTENTION: dict[AttentionForm, Attention] = {
    "auto": attention_auto,
    "matmul": attention_matmul,
    "einsum": attention_einsum,
    "fused": attention_fused,
}


def fastest_attention(query: Tensor, key_length: int) -> Attention:
    """``attention_fused``, except for short bfloat16 sequences on a CPU, where the fused kernel's
    backward pass is several times slower than two matrix products.
    """
    short_bf16 = query.dtype == torch.bfloat16 and key_length < 1024
    return attention_matmul if query.device.type == "cpu" and short_bf16 else attention_fused
