"""Batching: pad sentences to one length, bucket them by length, shift targets for teacher forcing.

B batch size, S source length, T target length.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.errors import CourseError, not_one_text


class EncodedPair(NamedTuple):
    """A sentence pair as token ids; the target begins with ``<bos>`` and ends with ``<eos>``."""

    source: list[int]
    target: list[int]


class Batch(NamedTuple):
    """Padded token ids: source (B, S), target (B, T)."""

    source: Int[Tensor, "batch source"]
    target: Int[Tensor, "batch target"]


def pad_sequences(
    sequences: Sequence[Sequence[int]], pad_id: int, *, pad_left: bool = False
) -> Int[Tensor, "batch length"]:
    """One row for each sequence, padded with ``pad_id`` on the right (or left) to the longest.

    Returns:
        Token ids (B, length of the longest sequence).
    """
    length = max(map(len, sequences), default=0)
    rows = []
    for sequence in sequences:
        fill = [pad_id] * (length - len(not_one_text(sequence, "token ids")))
        rows.append([*fill, *sequence] if pad_left else [*sequence, *fill])
    return torch.tensor(rows, dtype=torch.int64)


def collate(pairs: Sequence[EncodedPair], pad_id: int, *, pad_left: bool = False) -> Batch:
    """Pad the sources to the longest source and the targets to the longest target.

    Raises:
        CourseError: there are no pairs, or a source or target is empty.
    """
    if not pairs or not all(pair.source and pair.target for pair in pairs):
        raise CourseError(
            "a batch needs at least one pair and a token on each side, got an empty one: "
            "were empty lines left in the data?"
        )
    return Batch(
        pad_sequences([pair.source for pair in pairs], pad_id, pad_left=pad_left),
        pad_sequences([pair.target for pair in pairs], pad_id, pad_left=pad_left),
    )


def teacher_forcing(
    target: Int[Tensor, "batch t"], pad_id: int = 0
) -> tuple[Int[Tensor, "batch t-1"], Int[Tensor, "batch t-1"]]:
    """The decoder input and the labels: the target without its last and without its first token.

    At each position the decoder sees the right tokens up to there (teacher forcing), and the label
    is the next token. Where the decoder input is padding, so is the label: the loss ignores it.

    Args:
        target: padded token ids (B, T), from ``<bos>`` to ``<eos>``.
        pad_id: id of ``<pad>``.

    Returns:
        Decoder input and labels, each (B, T - 1).
    """
    decoder_input, labels = target[:, :-1], target[:, 1:]
    return decoder_input, labels.masked_fill(decoder_input == pad_id, pad_id)


def bucket(
    lengths: Sequence[int],
    max_tokens: int,
    *,
    other_lengths: Sequence[int] | None = None,
    rng: random.Random | None = None,
) -> list[list[int]]:
    """Group sentences of similar length into batches of at most ``max_tokens`` tokens.

    Args:
        lengths: of each sentence (of a pair, the longer side), in tokens.
        max_tokens: token budget of a batch, padding included: rows × longest length. A sentence
            longer than that gets a batch of its own.
        other_lengths: of the shorter sides, so that these too are similar within a batch.
        rng: shuffles sentences of equal length and the order of the batches; without it, the
            shortest come first.

    Returns:
        The batches, each a list of indices into ``lengths``.

    Raises:
        CourseError: max_tokens is not positive.
    """
    if max_tokens < 1:
        raise CourseError(f"max_tokens must be positive, got {max_tokens}: it is the batch size")
    order = list(range(len(lengths)))
    if rng:
        rng.shuffle(order)
    shorter = other_lengths or lengths
    order.sort(key=lambda i: (lengths[i], shorter[i]))  # stable: equal lengths stay shuffled
    batches: list[list[int]] = []
    for i in order:
        # Sorted by length, so sentence i is the longest of the batch it would join.
        if batches and (len(batches[-1]) + 1) * lengths[i] <= max_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    if rng:
        rng.shuffle(batches)
    return batches


def epoch_batches(
    pairs: Sequence[EncodedPair], *, max_tokens: int, pad_id: int, seed: int, epoch: int = 0
) -> Iterator[Batch]:
    """Every pair once, in batches of similar lengths, shuffled by seed and epoch.

    Args:
        pairs: to be batched.
        max_tokens: token budget of a batch, padding included; see ``bucket``.
        pad_id: id of ``<pad>``.
        seed: together with ``epoch`` determines the order.
        epoch: number of the pass over the pairs, so that each epoch has another order.
    """
    sides = [sorted((len(pair.source), len(pair.target))) for pair in pairs]
    batches = bucket(
        [longer for _, longer in sides],
        max_tokens,
        other_lengths=[shorter for shorter, _ in sides],
        rng=random.Random(f"{seed}/{epoch}"),
    )
    for indices in batches:
        yield collate([pairs[i] for i in indices], pad_id)
