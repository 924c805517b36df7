"""Greedy decoding: generate the most probable token, read it, generate the next.

B batch, S source length, T target length.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.model import KeyValueCache, Transformer


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards each part is in the mode it was in."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, was_training in modes.items():
            module.training = was_training


def check_max_len(model: Transformer, max_len: int) -> None:
    """Refuse a length that the model cannot generate, with a ValueError."""
    if not 0 < max_len <= model.config.max_len:
        raise ValueError(
            f"max_len must lie in 1 … {model.config.max_len} (the model's max_len), got {max_len}"
        )


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
        ValueError: max_len is not positive, or exceeds the model's longest sequence.
    """
    check_max_len(model, max_len)
    output = source.new_full((source.size(0), max_len), model.config.pad_id)
    active = torch.arange(source.size(0), device=source.device)  # rows that are unfinished
    with evaluating(model):
        memory = model.encode(source)
        cache = KeyValueCache(model.config.n_layers)
        last_token = source.new_full((source.size(0), 1), bos_id)
        for step in range(max_len):
            logits = model.decode(last_token, memory, source, cache=cache)  # (active, 1, vocab)
            last_token = logits.argmax(dim=-1)
            output[active, step] = last_token[:, 0]
            keep = (last_token[:, 0] != eos_id).nonzero()[:, 0]
            if len(keep) == 0:
                return output[:, : step + 1]
            if len(keep) < len(active):
                active, last_token = active[keep], last_token[keep]
                memory, source = memory[keep], source[keep]
                cache.select(keep)
    return output
