"""Sampling: draw each token with its probability, perhaps sharpened or cut.

B batch, S source length, T target length, V target vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.decoding.decoding_options import check_end, check_largest, check_sampling
from course_lib.decoding.evaluating import evaluating
from course_lib.model import KeyValueCache, Transformer


def sampling_probabilities(
    logits: Float[Tensor, "batch vocab"],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "batch vocab"]:
    """The probabilities to draw from, rows of sum 1.

    Args:
        logits: (B, V).
        temperature: divides the logits: towards 0 only the most probable token is left, towards
            infinity all are equally probable.
        top_k: then only the k most probable tokens keep their probability (and those equal to the
            last of them), all of them if k exceeds V.
        top_p: then only the fewest most probable tokens whose probabilities add up to p (nucleus
            sampling, Holtzman et al. 2020, section 3.1).

    Raises:
        CourseError: an option makes no sense, or a logit is NaN or infinite.
    """
    check_sampling(temperature, top_k, top_p)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    largest = logits.amax(dim=-1, keepdim=True)
    check_largest(largest)
    logits = logits - largest  # the largest is 0, which stays 0
    logits = logits / max(temperature, torch.finfo(logits.dtype).tiny)
    if top_k is not None:
        last = logits.topk(min(top_k, logits.size(1))).values[:, -1:]
        logits = logits.masked_fill(logits < last, -torch.inf)
    probabilities = logits.softmax(dim=-1)
    if top_p is not None and top_p < 1:
        ordered = probabilities.sort(dim=-1, descending=True).values
        before = ordered.cumsum(dim=-1) - ordered  # of the more probable tokens; 0 for the first
        enough = max(top_p, torch.finfo(before.dtype).tiny)  # the first token always counts
        least = ordered.masked_fill(before >= enough, torch.inf).amin(dim=-1, keepdim=True)
        probabilities = probabilities.masked_fill(probabilities < least, 0.0)
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    return probabilities


def sample_decode(
    model: Transformer,
    source: Int[Tensor, "batch source"],
    bos_id: int,
    eos_id: int,
    max_len: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | Sequence[torch.Generator],
) -> Int[Tensor, "batch target"]:
    """As ``greedy_decode``, but each token is drawn from ``sampling_probabilities``.

    Each row has a stream of random numbers of its own, drawn on the CPU. So with the same
    generators a row's sample is the same in any batch and on any device, but where a draw falls so
    close to the border of two tokens that rounding decides.

    Args:
        temperature, top_k, top_p: as in ``sampling_probabilities``.
        generator: one CPU generator for each row, or one from which each row gets its seed. In the
            second case a row's sample depends on its index in the batch, but not on the others.

    Raises:
        ValueError: there are not as many generators as rows, max_len is not positive or exceeds the
            model's longest sequence, or eos_id is no token.
        CourseError: an option makes no sense, or the model's logits are NaN or infinite.
    """
    check_sampling(temperature, top_k, top_p)
    check_end(model, max_len, eos_id)
    streams = _streams(generator, len(source))
    # (B, max_len): a row's n-th token is decided by its n-th draw
    draws = torch.stack([torch.rand(max_len, generator=g, dtype=torch.float64) for g in streams])
    output = source.new_full((len(source), max_len), model.config.pad_id, dtype=torch.int64)
    active = torch.arange(len(source), device=source.device)  # rows that are unfinished
    with evaluating(model):
        memory = model.encode(source)
        cache = KeyValueCache(model.config.n_layers)
        last_token = source.new_full((len(source), 1), bos_id)
        for step in range(max_len):
            logits = model.decode(last_token, memory, source, cache=cache)[:, -1]  # (active, vocab)
            # On the CPU as the draws: a GPU has no deterministic cumulative sum for top_p.
            probabilities = sampling_probabilities(
                logits.cpu(), temperature=temperature, top_k=top_k, top_p=top_p
            )
            last_token = _draw(probabilities, draws[:, step]).to(source.device)[:, None]
            output[active, step] = last_token[:, 0]
            keep = (last_token[:, 0] != eos_id).nonzero()[:, 0]
            if len(keep) == 0:
                return output[:, : step + 1]
            if len(keep) < len(active):
                active, last_token, draws = active[keep], last_token[keep], draws[keep.cpu()]
                memory, source = memory[keep], source[keep]
                cache.select(keep)
    return output


def _streams(
    generator: torch.Generator | Sequence[torch.Generator], rows: int
) -> Sequence[torch.Generator]:
    if isinstance(generator, torch.Generator):
        seeds = torch.randint(2**63 - 1, (rows,), generator=generator).tolist()
        return [torch.Generator().manual_seed(seed) for seed in seeds]
    if len(generator) != rows:
        raise ValueError(
            f"generator must be one generator or one for each of {rows} rows, got {len(generator)}"
        )
    return generator


def _draw(
    probabilities: Float[Tensor, "batch vocab"], draws: Float[Tensor, " batch"]
) -> Int[Tensor, " batch"]:
    """The tokens at whose slices of [0, 1) the draws fall: token v's is as wide as its probability.

    Both on the CPU; in float64, where sums are so exact that no token of probability 0 has a slice.
    """
    upper = probabilities.cumsum(dim=-1, dtype=torch.float64)  # where each token's slice ends
    point = draws[:, None] * upper[:, -1:]  # rounding may leave the last end a little off 1
    return torch.searchsorted(upper, point, right=True)[:, 0]
