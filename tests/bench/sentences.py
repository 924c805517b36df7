"""Sentence pairs as long as those of Multi30k, of random words."""

import math
import random

from course_lib.data import Batch, EncodedPair, collate, epoch_batches
from tests.bench.peers import BOS, EOS, PAD, VOCAB

# Words and marks of Multi30k's training pairs: the logarithms of the lengths have these means and
# spreads, and this correlation between German and English.
GERMAN, ENGLISH, TOGETHER = (2.48, 0.326), (2.53, 0.299), 0.854


def sentence_pairs(n: int, *, seed: int = 0) -> list[EncodedPair]:
    """Mean lengths 12.6 and 13.1, from 2 to 45; the target also begins and ends."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        b = TOGETHER * a + math.sqrt(1 - TOGETHER**2) * b
        lengths = [
            min(45, max(2, round(math.exp(mean + spread * z))))
            for (mean, spread), z in ((GERMAN, a), (ENGLISH, b))
        ]
        source, target = ([rng.randrange(3, VOCAB) for _ in range(k)] for k in lengths)
        pairs.append(EncodedPair(source, [BOS, *target, EOS]))
    return pairs


def random_batches(pairs: list[EncodedPair], size: int = 128) -> list[Batch]:
    """So many sentences a batch, as they come."""
    return [collate(pairs[i : i + size], PAD) for i in range(0, len(pairs), size)]


def even_batches(pairs: list[EncodedPair], max_tokens: int = 2048) -> list[Batch]:
    """Sentences of like lengths, so many cells a batch."""
    return list(epoch_batches(pairs, max_tokens=max_tokens, pad_id=PAD, seed=0))


def real_tokens(batch: Batch) -> int:
    """Tokens of both sides that are read, pads not counted."""
    return int((batch.source != PAD).sum() + (batch.target[:, 1:] != PAD).sum())
