"""Sentences of different lengths, side by side in one tensor.

B batch, S source length, T target length.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.errors import CourseError


class EncodedPair(NamedTuple):
    """A sentence pair as ids; the target stands between ``<bos>`` and ``<eos>``."""

    source: list[int]
    target: list[int]


class Batch(NamedTuple):
    """Padded ids: source (B, S), target (B, T)."""

    source: Int[Tensor, "batch source"]
    target: Int[Tensor, "batch target"]


def pad_sequences(
    sequences: Sequence[Sequence[int]], pad_id: int, *, pad_left: bool = False
) -> Int[Tensor, "batch length"]:
    """One row a sequence, filled with ``pad_id`` on the right (or left) to the longest."""
    length = max(map(len, sequences), default=0)
    rows = []
    for sequence in sequences:
        fill = [pad_id] * (length - len(sequence))
        rows.append([*fill, *sequence] if pad_left else [*sequence, *fill])
    return torch.tensor(rows, dtype=torch.int64)


def collate(pairs: Sequence[EncodedPair], pad_id: int, *, pad_left: bool = False) -> Batch:
    """Pad the sources to the longest source and the targets to the longest target.

    Raises:
        CourseError: there is no pair, or a side of one is empty.
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
    """What the decoder reads and what it shall say next: the target without its last token, and
    without its first. Where the decoder reads a pad there is nothing to say.
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
    """Group indices of like lengths; no batch holds more than ``max_tokens`` cells, pads counted.

    Args:
        lengths: of each sentence (for a pair, of its longer side).
        max_tokens: rows × longest length of a batch. A longer sentence gets a batch of its own.
        other_lengths: of the shorter sides, so that they too are alike within a batch.
        rng: shuffles equal lengths and the batches; without it, shortest first.

    Raises:
        CourseError: max_tokens is not positive.
    """
    if max_tokens < 1:
        raise CourseError(f"max_tokens must be positive, got {max_tokens}: it is the batch's size")
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
    """All pairs once, in batches of like lengths, in an order that seed and epoch determine."""
    sides = [sorted((len(pair.source), len(pair.target))) for pair in pairs]
    batches = bucket(
        [longer for _, longer in sides],
        max_tokens,
        other_lengths=[shorter for shorter, _ in sides],
        rng=random.Random(f"{seed}/{epoch}"),
    )
    for indices in batches:
        yield collate([pairs[i] for i in indices], pad_id)
