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

from course_lib.model import causal_mask


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

    Args:
        causal: the queries are the last of the keys, and none sees a later key.

    Raises:
        ValueError: block is not positive.
    """
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    n_queries, n_keys = query.size(2), key.size(2)
    allowed = causal_mask(n_queries, n_keys, device=query.device) if causal else None
    query = query / math.sqrt(query.size(-1))
    contexts = []
    for rows in range(0, n_queries, block):
        q = query[:, :, rows : rows + block]
        last = n_keys - n_queries + rows + q.size(2) if causal else n_keys
        largest = q.new_full((*q.shape[:3], 1), -math.inf)
        total = q.new_zeros((*q.shape[:3], 1))
        summed = q.new_zeros((*q.shape[:3], value.size(-1)))
        for columns in range(0, last, block):
            scores = q @ key[:, :, columns : columns + block].transpose(-2, -1)
            if allowed is not None:
                seen = allowed[..., rows : rows + block, columns : columns + block]
                scores = scores.masked_fill(~seen, -math.inf)
            new_largest = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
            rescale = torch.exp(largest - new_largest)  # 0 in the first block
            weights = torch.exp(scores - new_largest)
            total = total * rescale + weights.sum(dim=-1, keepdim=True)
            summed = summed * rescale + weights @ value[:, :, columns : columns + block]
            largest = new_largest
        contexts.append(summed / total)  # once, at the end
    return torch.cat(contexts, dim=2)
