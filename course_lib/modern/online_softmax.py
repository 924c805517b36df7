"""Attention without the score matrix, in the order of FlashAttention-2 (Dao 2023).

The running maximum and sum are those of Milakov and Gimelshein (2018), the running sum of values
that of Rabe and Staats (2021). Keys are read in blocks. Of what came before, a query keeps
three things: the largest score so far, the sum of exp(score - largest), and the sum of the values
weighted by it. When a larger score appears, the two sums are rescaled.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.model.masks import resolve_key_length


def online_attention(
    query: Float[Tensor, "batch heads query d_head"],
    key: Float[Tensor, "batch heads key d_head"],
    value: Float[Tensor, "batch heads key d_value"],
    *,
    block: int = 128,
    causal: bool = True,
) -> Float[Tensor, "batch heads query d_value"]:
    """The context of ``attention_matmul``, with at most ``block`` × ``block`` scores at a time.

    Blocks that lie wholly in the future are skipped, which halves the work of causal attention.
    Sums are kept in float32 at least, whatever the dtype of query, key and value.

    Args:
        causal: the queries are the last of the keys, and none sees a later key.

    Raises:
        ValueError: block is not positive, or causal queries are more than the keys.
    """
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    n_queries, n_keys = query.size(2), key.size(2)
    past = resolve_key_length(n_queries, n_keys) - n_queries if causal else 0
    positions = torch.arange(past, past + n_queries, device=query.device)
    dtype = torch.promote_types(query.dtype, torch.float32)
    query = query / math.sqrt(query.size(-1))
    contexts = []
    for rows in range(0, n_queries, block):
        q, at = query[:, :, rows : rows + block], positions[rows : rows + block]
        last = past + rows + q.size(2) if causal else n_keys
        largest = q.new_full((*q.shape[:3], 1), -math.inf, dtype=dtype)
        total = torch.zeros_like(largest)
        summed = q.new_zeros((*q.shape[:3], value.size(-1)), dtype=dtype)
        for columns in range(0, last, block):
            scores = (q @ key[:, :, columns : columns + block].transpose(-2, -1)).to(dtype)
            if causal:
                keys = torch.arange(columns, columns + scores.size(-1), device=query.device)
                scores = scores.masked_fill(keys > at[:, None], -math.inf)
            new_largest = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
            rescale = torch.exp(largest - new_largest)  # 0 in the first block
            weights = torch.exp(scores - new_largest)
            total = total * rescale + weights.sum(dim=-1, keepdim=True)
            summed = summed * rescale + weights @ value[:, :, columns : columns + block].to(dtype)
            largest = new_largest
        contexts.append((summed / total).to(value.dtype))  # once, at the end
    return torch.cat(contexts, dim=2)
