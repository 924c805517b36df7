"""Batches of sentences of random lengths, made in one of several ways."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from statistics import mean, median

SENTENCES = 2048
SHORTEST, LONGEST = 4, 60
POOL = 8  # batches that are sorted together
TOKENS_A_ROW = 20  # of a budget

Batches = list[list[int]]


@dataclass(frozen=True)
class Padding:
    """The batches of an epoch, in the order of training: the lengths of their sentences.

    Attributes:
        way: how they were made.
        unsorted: the share of pads if the same sentences came in random order, 32 to a batch.
    """

    batches: Sequence[Sequence[int]]
    way: str
    _: KW_ONLY
    unsorted: float = 0.0

    @property
    def tokens(self) -> list[int]:
        """Of each batch, pads included."""
        return [len(batch) * max(batch) for batch in self.batches]

    @property
    def share(self) -> float:
        """Of pads in all tokens, in per cent."""
        return 100 * (1 - sum(map(sum, self.batches)) / sum(self.tokens))

    @property
    def peak(self) -> float:
        """How many times as many tokens as the mean batch the largest has, pads included."""
        return max(self.tokens) * len(self.batches) / sum(self.tokens)

    @property
    def is_clear(self) -> bool:
        """Whether, to two decimals, each formula that is nearly right gives another number."""
        shares = [1 - sum(batch) / (len(batch) * max(batch)) for batch in self.batches]
        real = [*map(sum, self.batches)]
        peaks = max(self.tokens) / median(self.tokens), max(real) / mean(real), 1.0
        return abs(100 * mean(shares) - self.share) > 0.02 and all(
            abs(each - self.peak) > 0.015 for each in peaks
        )


def _chunks(lengths: Sequence[int], rows: int) -> Batches:
    return [[*lengths[n : n + rows]] for n in range(0, len(lengths), rows)]


def _filled(lengths: Sequence[int], budget: int) -> Batches:
    """Batches in this order, each with at most ``budget`` tokens, pads included."""
    batches: Batches = []
    for length in lengths:
        if batches and (len(batches[-1]) + 1) * max(*batches[-1], length) <= budget:
            batches[-1].append(length)
        else:
            batches.append([length])
    return batches


def _shuffled(batches: Batches, drawn: random.Random) -> Batches:
    return drawn.sample(batches, len(batches))


def draw_batches(drawn: random.Random, way: str) -> Padding:
    """Batches of a random corpus; ``way`` is a key of the dict below."""
    while not (run := _draw(drawn, way)).is_clear:
        pass
    return run


def _draw(drawn: random.Random, way: str) -> Padding:
    rows = drawn.choice([16, 32, 64])
    middle, width = drawn.uniform(2.3, 2.8), drawn.uniform(0.4, 0.6)
    drawn_lengths = (round(drawn.lognormvariate(middle, width)) for _ in range(SENTENCES))
    lengths = [min(max(length, SHORTEST), LONGEST) for length in drawn_lengths]
    budget = TOKENS_A_ROW * rows
    batches = {
        "random": _chunks(lengths, rows),
        "sorted": _chunks(sorted(lengths), rows),
        "shuffled": _shuffled(_chunks(sorted(lengths), rows), drawn),
        "pools": [
            batch for pool in _chunks(lengths, POOL * rows) for batch in _chunks(sorted(pool), rows)
        ],
        "budget": _shuffled(_filled(sorted(lengths), budget), drawn),
        "random_budget": _filled(lengths, budget),
    }[way]
    return Padding(batches, way, unsorted=Padding(_chunks(lengths, 32), "random").share)
