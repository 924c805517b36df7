"""Beam search: keep several prefixes of a translation, extend the most probable ones.

B sentences, W beams of each, V target vocabulary, S source length, T tokens generated so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.decoding.decoding_options import check_beam, check_end, check_largest, is_whole
from course_lib.decoding.evaluating import evaluating
from course_lib.model import KeyValueCache, Transformer


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A translation that beam search found."""

    tokens: list[int]  # without BOS, with EOS if it was generated
    log_prob: float  # of all the tokens together, in nats
    score: float  # log_prob / length_normaliser(len(tokens), …): what hypotheses are ranked by
    finished: bool  # False: cut off at max_len


def length_normaliser(length: int | Tensor, length_penalty: float) -> float | Tensor:
    """((5 + length) / 6) ** length_penalty: what a log-probability is divided by.

    Each token makes a sentence less likely, so the plain log-probability prefers short ones
    (Wu et al. 2016, "Google's Neural Machine Translation System", section 7).
    """
    return ((5 + length) / 6) ** length_penalty


def beam_search(
    model: Transformer,
    source: Int[Tensor, "batch source"],
    bos_id: int,
    eos_id: int,
    max_len: int | Sequence[int],
    *,
    width: int,
    length_penalty: float = 0.6,
    n_best: int = 1,
) -> list[list[Hypothesis]]:
    """The best translations of each sentence that a beam finds.

    At each step every beam is continued by every token, and the ``width`` most probable
    continuations survive. Those that end in ``eos_id``, or are as long as allowed, are hypotheses;
    the others are the next beams. All beams of all sentences are one batch; a sentence leaves it
    when nothing better can come. ``width=1`` is greedy decoding.

    What is guaranteed: the greedy translation always stays in the beam, so the best hypothesis
    never has a lower ``score`` than the greedy one (with ``length_penalty=0``: no lower
    ``log_prob``). And a width that holds all prefixes finds the best sentence there is. Nothing in
    between is guaranteed: a wider beam may find a worse sentence than a narrower one.

    Args:
        model: its dropout is off while it searches.
        source: tokens (B, S), padded with the model's pad id.
        bos_id, eos_id: tokens that begin and end a target sentence.
        max_len: most tokens to generate, EOS included; one for all sentences or one for each.
        width: W; may be larger than the vocabulary.
        length_penalty: 0 ranks by log-probability; more favours longer sentences. The paper takes
            a width of 4 and 0.6 (section 6.1).
        n_best: how many hypotheses to return, at most ``width``.

    Returns:
        For each sentence its ``n_best`` hypotheses, best first; fewer if no more exist.

    Raises:
        ValueError: n_best does not lie in 1 … width, max_len is not positive or exceeds the model's
            longest sequence, or eos_id is no token.
        CourseError: another option makes no sense, or the model's logits are NaN or infinite.
    """
    check_beam(width, length_penalty)
    if not is_whole(n_best) or not 1 <= n_best <= width:
        raise ValueError(f"n_best must lie in 1 … width={width}, got {n_best}: search wider")
    limits = _limits(model, source, max_len, eos_id=eos_id)
    found: list[list[Hypothesis]] = [[] for _ in source]
    best = torch.full((len(source), n_best), -torch.inf, device=source.device)  # scores in found
    active = torch.arange(len(source), device=source.device)  # sentences that are not done
    greedy_lives = torch.ones_like(active, dtype=torch.bool)
    log_prob = torch.zeros((len(source), 1), device=source.device)  # (B, W); -inf: has ended
    prefixes = source.new_full((len(source), 1, 1), bos_id)  # (B, W, 1 + T); one beam to begin with
    with evaluating(model):
        memory = model.encode(source)
        cache = KeyValueCache(model.config.n_layers)
        length = 0
        while len(active):  # each sentence is finished at its limit, if not before
            length += 1
            last_token = prefixes[:, :, -1].reshape(-1, 1)  # (B · W, 1)
            logits = model.decode(last_token, memory, source, cache=cache)  # (B · W, 1, V)
            logits = logits.unflatten(0, log_prob.shape)[:, :, 0]  # (B, W, V)
            check_largest(logits.amax(dim=-1))
            log_prob, beam, token = _continuations(logits, log_prob, greedy_lives, width)
            row = torch.arange(len(active), device=source.device)[:, None] * prefixes.size(1) + beam
            prefixes = torch.cat((prefixes.flatten(0, 1)[row], token[:, :, None]), dim=2)

            ended = (token == eos_id) | (limits == length)[:, None]
            score = log_prob / length_normaliser(length, length_penalty)
            good = ended & (score > best[:, -1:])
            sentences = active[good.nonzero()[:, 0]].tolist()
            new = _hypotheses(prefixes[good][:, 1:], log_prob[good], score[good], eos_id=eos_id)
            for sentence, hypothesis in zip(sentences, new, strict=True):
                found[sentence].append(hypothesis)
            best = torch.cat((best, score.where(ended, -torch.inf)), dim=1).topk(n_best).values

            # A further token leaves the log-probability as it is or lowers it. It is negative, so
            # the longest length makes the most of it: no beam can end with a score above this.
            log_prob = log_prob.masked_fill(ended, -torch.inf)
            bound = log_prob.amax(dim=1) / length_normaliser(limits, length_penalty)
            keep = (bound > best[:, -1]).nonzero()[:, 0]
            greedy_lives = greedy_lives & ~ended[:, 0]
            active, limits, best, greedy_lives = (
                x[keep] for x in (active, limits, best, greedy_lives)
            )
            prefixes, log_prob, row = prefixes[keep], log_prob[keep], row[keep]
            if row.shape == logits.shape[:2]:  # as many sentences, and as many beams of each
                cache.reorder(row.flatten())
            else:
                cache.select(row.flatten())
                memory, source = memory[row.flatten()], source[row.flatten()]
    return [sorted(each, key=lambda h: -h.score)[:n_best] for each in found]


def _limits(
    model: Transformer, source: Tensor, max_len: int | Sequence[int], *, eos_id: int
) -> Int[Tensor, " batch"]:
    limits = list(max_len) if isinstance(max_len, Iterable) else [max_len] * len(source)
    if len(limits) != len(source):
        raise ValueError(
            f"max_len must be one number, or one for each of {len(source)} sentences, got "
            f"{len(limits)} numbers"
        )
    for limit in limits:
        check_end(model, limit, eos_id)
    return torch.tensor(limits, device=source.device)


def _hypotheses(
    tokens: Int[Tensor, "n length"],
    log_prob: Float[Tensor, " n"],
    score: Float[Tensor, " n"],
    *,
    eos_id: int,
) -> list[Hypothesis]:
    finished = tokens[:, -1] == eos_id
    columns = {"tokens": tokens, "log_prob": log_prob, "score": score, "finished": finished}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [Hypothesis(**dict(zip(columns, row, strict=True))) for row in rows]


def _continuations(
    logits: Float[Tensor, "batch beams vocab"],
    log_prob: Float[Tensor, "batch beams"],
    greedy_lives: Bool[Tensor, " batch"],
    width: int,
) -> tuple[Float[Tensor, "batch width"], Int[Tensor, "batch width"], Int[Tensor, "batch width"]]:
    """The ``width`` most probable continuations: log-probability, the beam it continues, its token.

    Beam 0 is the greedy one while it lives: its most probable continuation survives whatever its
    rank, and comes first.
    """
    beams, vocab = logits.shape[1:]
    token_log_prob = logits.log_softmax(-1, torch.promote_types(logits.dtype, torch.float32))
    total = (token_log_prob + log_prob[:, :, None]).flatten(1)  # (B, W · V)
    greedy = logits[:, 0].argmax(dim=-1, keepdim=True)  # (B, 1), a token of beam 0
    greedy_total = total.gather(1, greedy)
    total.scatter_(1, greedy, greedy_total.masked_fill(greedy_lives[:, None], torch.inf))
    ranked, chosen = total.topk(min(width, beams * vocab))
    ranked[:, :1] = ranked[:, :1].where(~greedy_lives[:, None], greedy_total)  # instead of infinity
    return ranked, chosen // vocab, chosen % vocab
