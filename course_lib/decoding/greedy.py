"""Greedy decoding: generate the most probable token, read it, generate the next.

B batch, S source length, T target length.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.errors import CourseError
from course_lib.model import KeyValueCache, Transformer

_LOCK = Lock()
_EVALUATED: Counter[nn.Module] = Counter()  # by how many blocks, in all threads
_TRAINED: set[nn.Module] = set()  # those of them that were in training mode before


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards each part is in the mode it was in.

    Threads may share a model: while one of them is inside, it stays as it is.
    """
    modules = list(model.modules())
    with _LOCK:
        training = {module for module in modules if module.training}
        _TRAINED.update(training - _EVALUATED.keys())
        trained_within = training & _EVALUATED.keys()  # somebody called ``train`` in a block
        _EVALUATED.update(modules)
        if training:
            model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        with _LOCK:
            for module in modules:
                mode = module in trained_within
                _EVALUATED[module] -= 1
                if not _EVALUATED[module]:
                    del _EVALUATED[module]
                    mode = module in _TRAINED
                    _TRAINED.discard(module)
                if module.training is not mode:
                    module.training = mode


def check_end(model: Transformer, max_len: int, eos_id: int) -> None:
    """Refuse an end that no sentence of the model can have, with a ValueError."""
    if not isinstance(max_len, int) or not 0 < max_len <= model.config.max_len:
        raise ValueError(
            f"max_len must lie in 1 … {model.config.max_len} (the model's max_len), got {max_len}"
        )
    if not 0 <= eos_id < model.config.target_vocab:
        raise ValueError(
            f"eos_id must lie in 0 … {model.config.target_vocab - 1}, the model's target "
            f"vocabulary, got {eos_id}: no sentence would end before max_len"
        )


def check_logits(logits: Float[Tensor, "*rows vocab"]) -> None:
    """Refuse rows without a largest number, with a CourseError.

    Every decoder asks this before it chooses: to argmax, NaN is the largest of all.
    """
    total = float(logits.amax(dim=-1).sum(dtype=torch.float64))  # one number: a GPU waits once
    if not math.isfinite(total):
        raise CourseError(
            f"decoding needs logits that are finite numbers, got {total}: did the model's training "
            "diverge? Try a checkpoint of an earlier step, or train with a lower learning rate"
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
        ValueError: max_len is not positive or exceeds the model's longest sequence, eos_id is no
            token, or the model's logits are NaN.
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
            check_logits(logits)
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
