"""Greedy decoding: generate the most probable token, read it, generate the next.

B batch, S source length, T target length.
"""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.decoding.decoding_options import check_end, check_largest
from course_lib.decoding.evaluating import evaluating
from course_lib.model import KeyValueCache, Transformer


def greedy_decode(
    model: Transformer,
    source: Int[Tensor, "batch source"],
    bos_id: int,
    eos_id: int,
    max_len: int,
) -> Int[Tensor, "batch target"]:
    """Translate a batch autoregressively, one token a step for every unfinished sentence.

    The source is encoded once; keys and values are cached; a finished sentence leaves the batch.

    Args:
        source: tokens (B, S), padded with the model's pad id.
        bos_id, eos_id: tokens that begin and end a target sentence.
        max_len: most tokens to generate, EOS included. An untrained model may never generate EOS.

    Returns:
        Tokens (B, T ≤ max_len) without ``bos_id``; after a generated ``eos_id`` padding.

    Raises:
        ValueError: max_len is not positive or exceeds the model's longest sequence, or eos_id is no
            token.
        CourseError: the model's logits are NaN or infinite.
    """
    check_end(model, max_len, eos_id)
    output = source.new_full((source.size(0), max_len), model.config.pad_id, dtype=torch.int64)
    active = torch.arange(source.size(0), device=source.device)  # rows that are unfinished
    with evaluating(model):
        memory = model.encode(source)
        cache = KeyValueCache(model.config.n_layers)
        last_token = source.new_full((source.size(0), 1), bos_id)
        for step in range(max_len):
            logits = model.decode(last_token, memory, source, cache=cache)  # (active, 1, vocab)
            largest, last_token = logits.max(dim=-1)
            check_largest(largest)
            output[active, step] = last_token[:, 0]
            keep = (last_token[:, 0] != eos_id).nonzero()[:, 0]
            if len(keep) == 0:
                return output[:, : step + 1]
            if len(keep) < len(active):
                active, last_token = active[keep], last_token[keep]
                memory, source = memory[keep], source[keep]
                cache.select(keep)
    return output
