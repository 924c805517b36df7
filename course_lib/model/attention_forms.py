"""Other forms of ``attention_matmul`` with the same result, and the choice between them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.model.attention import Context, Key, Query, Value, Weights, attention_matmul
from course_lib.model.attention_checks import check_heads, check_mask
from course_lib.model.config import AttentionForm
from course_lib.model.dropout import dropout as drop
from course_lib.model.masks import AttentionMask, masked_softmax


def attention_einsum(
    query: Query, key: Key, value: Value, mask: AttentionMask | None = None, *, dropout: float = 0.0
) -> tuple[Context, Weights]:
    """``attention_matmul`` with a letter for every axis: batch, heads, query, key, and e for
    d_head or d_value. A letter missing on the right of the arrow is summed over.
    """
    check_heads(query, key, value)
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
    check_heads(query, key, value)
    if mask is not None:
        check_mask(mask, (*query.shape[:3], key.size(2)))
    if dropout and query.device.type == "cpu":
        return attention_matmul(query, key, value, mask, dropout=dropout)[0], None
    # PyTorch gives a fully masked row zeros, too (since 2.5).
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
