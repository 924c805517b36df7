"""The batches of a whole run, in an order that a seed decides, from any position on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from course_lib.data import Batch, EncodedPair, bucket, epoch_batches
from course_lib.errors import CourseError
from course_lib.training.data.training_data import TrainingData
from course_lib.training.models import ModelConfig
from course_lib.training.recipes import Recipe

SHARD_SIZE = 100_000  # pairs that are encoded, and put into batches of similar lengths, together


class DataPosition(NamedTuple):
    """How far a run is: the shards that it has finished, and the batches of the present one."""

    shards: int = 0
    batches: int = 0


def fits(pair: EncodedPair, max_len: int) -> bool:
    """Whether a model of that length can be trained on the pair: the decoder reads all of the
    target but its last token, and of a line that looks empty, a tokenizer may leave nothing.
    """
    return 0 < len(pair.source) <= max_len and len(pair.target) <= max_len + 1


class BatchSampler:
    """Batches without end, epoch after epoch.

    A corpus larger than ``SHARD_SIZE`` is shuffled and taken shard by shard, so that training
    starts at once and memory holds one shard. Pairs longer than the model's ``max_len`` are left
    out.

    Attributes:
        batches_per_epoch: an estimate from the first shard if there are several.
        left_out: a sentence about the pairs that were too long or without a token, empty if there
            was none.

    Raises:
        CourseError: no pair is left.
    """

    def __init__(
        self, data: TrainingData, recipe: Recipe, config: ModelConfig, *, seed: int
    ) -> None:
        self.data, self.seed = data, seed
        self.max_tokens, self.max_len, self.pad_id = (
            recipe.batch_tokens,
            config.max_len,
            config.pad_id,
        )
        total = len(data.train)
        self.shards_per_epoch = -(-total // SHARD_SIZE)
        self._shard: tuple[int, list[EncodedPair]] = 0, self._encode(0)
        pairs, taken = self._shard[1], min(SHARD_SIZE, total)
        limit = f"more than {self.max_len} tokens" + (" or of none" if self._has_empty else "")
        self.left_out = _left_out(taken - len(pairs), taken, total, limit)
        if not pairs:
            raise CourseError(
                f"expected pairs of at most {self.max_len} tokens, the longest that this model can "
                f"read, but all {taken:,} are longer: is the corpus one sentence a line?"
            )
        lengths = [max(len(pair.source), len(pair.target)) for pair in pairs]
        in_shard = len(bucket(lengths, self.max_tokens))
        self.batches_per_epoch = max(1, in_shard * total // taken)

    def batches(self, start: DataPosition) -> Iterator[tuple[Batch, DataPosition]]:
        """Each batch from ``start`` on, with the position after it."""
        shard, done = start
        while True:
            if self._shard[0] != shard and self.shards_per_epoch > 1:
                self._shard = shard, self._encode(shard)
            batches = epoch_batches(
                self._shard[1],
                max_tokens=self.max_tokens,
                pad_id=self.pad_id,
                seed=self.seed,
                epoch=shard,
            )
            for number, batch in enumerate(islice(batches, done, None), start=done + 1):
                yield batch, DataPosition(shard, number)
            shard, done = shard + 1, 0

    def _encode(self, shard: int) -> list[EncodedPair]:
        """The pairs of a shard, counted from the start of the run, that are not too long."""
        pairs = self.data.train
        if self.shards_per_epoch > 1:
            epoch, number = divmod(shard, self.shards_per_epoch)
            order = np.random.default_rng((self.seed, epoch)).permutation(len(pairs))
            chosen = order[number * SHARD_SIZE : (number + 1) * SHARD_SIZE]
            pairs = [pairs[i] for i in sorted(chosen.tolist())]
        encoded = self.data.encode(pairs)
        self._has_empty = any(not pair.source for pair in encoded)
        return [pair for pair in encoded if fits(pair, self.max_len)]


def _left_out(count: int, taken: int, total: int, limit: str) -> str:
    if not count:
        return ""
    of = "" if taken == total else f" of the first {taken:,}"
    pairs, are = ("pair", "is") if count == 1 else ("pairs", "are")
    return f"{count:,} {pairs}{of} of {limit} {are} left out"
