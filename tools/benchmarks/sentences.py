"""Sentence pairs as long as those of Multi30k, of random words."""

import math
import random

from course_lib.data import Batch, EncodedPair, collate, epoch_batches
from tools.benchmarks.peers import BOS, EOS, PAD, VOCAB

# Of the logarithms of the lengths, in tokens, of Multi30k's training pairs: means and standard
# deviations, and the correlation between German and English.
GERMAN, ENGLISH, CORRELATION = (2.48, 0.326), (2.53, 0.299), 0.854


def sentence_pairs(n: int, *, seed: int = 0) -> list[EncodedPair]:
    """Pairs with mean lengths 12.6 and 13.1, from 2 to 45; the target has BOS and EOS besides."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        b = CORRELATION * a + math.sqrt(1 - CORRELATION**2) * b
        lengths = [
            min(45, max(2, round(math.exp(mean + std * z))))
            for (mean, std), z in ((GERMAN, a), (ENGLISH, b))
        ]
        source, target = ([rng.randrange(3, VOCAB) for _ in range(k)] for k in lengths)
        pairs.append(EncodedPair(source, [BOS, *target, EOS]))
    return pairs


def random_batches(pairs: list[EncodedPair], size: int = 128) -> list[Batch]:
    """Batches of ``size`` sentences, in the order given."""
    return [collate(pairs[i : i + size], PAD) for i in range(0, len(pairs), size)]


def even_batches(pairs: list[EncodedPair], max_tokens: int = 2048) -> list[Batch]:
    """Batches of sentences of similar length, at most ``max_tokens`` with padding."""
    return list(epoch_batches(pairs, max_tokens=max_tokens, pad_id=PAD, seed=0))


def real_tokens(batch: Batch) -> int:
    """Tokens that the model reads on both sides, padding not counted."""
    return int((batch.source != PAD).sum() + (batch.target[:, 1:] != PAD).sum())
