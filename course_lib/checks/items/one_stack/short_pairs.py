"""Short pairs of sentences for the runs of lesson 16."""

from __future__ import annotations

import random
from collections.abc import Callable

from course_lib.data import SentencePair
from course_lib.data.grammar import sample_pairs

BOS, EOS, PAD = "<bos>", "<eos>", "<pad>"
DRAWN = 60  # pairs, of which those that fit are taken


def draw_short_pairs(
    drawn: random.Random, count: int, *, fits: Callable[[SentencePair], bool]
) -> list[SentencePair]:
    """So many pairs of the grammar that fit, with sources of different lengths."""
    while True:
        seed = drawn.randrange(1000)
        found: dict[int, SentencePair] = {}
        for pair in sample_pairs("grammar_de_en", "train", size=DRAWN, seed=seed):
            if fits(pair):
                found.setdefault(len(pair.source), pair)
        if len(found) >= count:
            return drawn.sample([*found.values()], count)


def row_of(pair: SentencePair) -> list[str]:
    """A pair as one stack reads it."""
    return [*pair.source, BOS, *pair.target, EOS]
