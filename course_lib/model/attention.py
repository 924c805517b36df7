"""Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1).

Several heads of it are in ``multi_head_attention``, masks and their softmax in ``masks``, faster
forms of the same equation in ``attention_forms``.
"""

import math

from jaxtyping import Float
from torch import Tensor

from course_lib.model.attention_checks import check_heads
from course_lib.model.dropout import dropout as drop
from course_lib.model.masks import AttentionMask, masked_softmax

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
    check_heads(query, key, value)
    d_head = query.size(-1)
    # Scaled before the product, which could otherwise overflow in float16.
    scores = (query / math.sqrt(d_head)) @ key.transpose(-2, -1)  # (batch, heads, query, key)
    weights = masked_softmax(scores, mask)
    context = drop(weights, dropout) @ value  # (batch, heads, query, d_value)
    return context, weights
