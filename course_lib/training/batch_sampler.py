"""The batches of a whole run, in an order that a seed decides, from any place on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from course_lib.data import Batch, EncodedPair, bucket, epoch_batches
from course_lib.errors import CourseError
from course_lib.training.training_data import TrainingData

POOL = 100_000  # pairs that are encoded together, and put into batches of like lengths


class Place(NamedTuple):
    """Where a run is: the pools that it has finished, and the batches of the one under way."""

    pools: int = 0
    batches: int = 0


def fits(pair: EncodedPair, max_len: int) -> bool:
    """Whether a model of that length can learn the pair: of its target, the decoder reads all but
    the last token.
    """
    return len(pair.source) <= max_len and len(pair.target) <= max_len + 1


class BatchSampler:
    """Batches without end, epoch after epoch.

    A corpus larger than ``POOL`` is shuffled and taken pool by pool, so that training starts at
    once and memory holds one pool. Pairs longer than ``max_len`` are left out.

    Attributes:
        per_epoch: batches of an epoch; an estimate from the first pool if there are several.
        left_out: a sentence about the pairs that were too long, empty if there was none.

    Raises:
        CourseError: no pair is left.
    """

    def __init__(
        self, task: TrainingData, *, max_tokens: int, max_len: int, pad_id: int, seed: int
    ) -> None:
        self.task, self.seed = task, seed
        self.max_tokens, self.max_len, self.pad_id = max_tokens, max_len, pad_id
        self.pools_per_epoch = -(-len(task.train) // POOL)
        self._pool: tuple[int, list[EncodedPair]] = 0, self._encode(0)
        first = self._pool[1]
        taken = min(POOL, len(task.train))
        self.left_out = _left_out(taken - len(first), taken, len(task.train), max_len)
        if not first:
            raise CourseError(
                f"expected pairs of at most {max_len} tokens, the longest that this model can "
                f"read, but all {taken:,} are longer: is the corpus one sentence a line?"
            )
        lengths = [max(len(pair.source), len(pair.target)) for pair in first]
        self.per_epoch = max(1, len(bucket(lengths, max_tokens)) * len(task.train) // taken)

    def batches(self, place: Place) -> Iterator[tuple[Batch, Place]]:
        """Each batch from ``place`` on, with the place after it."""
        pools, done = place
        while True:
            if self._pool[0] != pools and self.pools_per_epoch > 1:
                self._pool = pools, self._encode(pools)
            batches = epoch_batches(
                self._pool[1],
                max_tokens=self.max_tokens,
                pad_id=self.pad_id,
                seed=self.seed,
                epoch=pools,
            )
            for number, batch in enumerate(islice(batches, done, None), start=done + 1):
                yield batch, Place(pools, number)
            pools, done = pools + 1, 0

    def _encode(self, pools: int) -> list[EncodedPair]:
        """The pool that comes after so many."""
        pairs = self.task.train
        if self.pools_per_epoch > 1:
            epoch, pool = divmod(pools, self.pools_per_epoch)
            order = np.random.default_rng((self.seed, epoch)).permutation(len(pairs))
            pairs = [pairs[i] for i in sorted(order[pool * POOL : (pool + 1) * POOL].tolist())]
        return [pair for pair in self.task.encode(pairs) if fits(pair, self.max_len)]


def _left_out(count: int, taken: int, total: int, max_len: int) -> str:
    if not count:
        return ""
    of = "" if taken == total else f" of the first {taken:,}"
    pairs, are = ("pair", "is") if count == 1 else ("pairs", "are")
    return f"{count:,} {pairs}{of} of more than {max_len} tokens {are} left out"
