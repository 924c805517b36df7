"""Splits of which none has a sentence of another, on either side."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from course_lib.data.cleaning import key
from course_lib.data.pairs import TextPair

LARGEST_GROUP = 50  # pairs of a group that may be held out: larger ones hold the common phrases
_END_MARKS = " .!?…"


def connected_splits(
    pairs: Sequence[TextPair], sizes: Mapping[str, int], *, rest: str, seed: int = 0
) -> dict[str, list[TextPair]]:
    """Pairs at random, divided so that all that are connected are in one split.

    Two pairs are connected if they share a sentence, whatever its capitals and its last mark:
    "Lauf!" with "Run!" and "Run." belongs to "Renn!" with "Run!". Else a model would be tested on
    a sentence that it has seen.

    Args:
        pairs: of a corpus in which sentences have several translations, such as Tatoeba.
        sizes: of the splits to be held out, by name; a split gets a few pairs more, if its last
            group has them.
        rest: the name of the split that gets all others.
        seed: of the order in which groups are held out.

    Returns:
        The splits. ``rest`` has the order of ``pairs``; the others are at random, so that the first
        pairs are like all of them, and neighbours are rarely connected.
    """
    rng = random.Random(seed)
    groups = connected_groups(pairs)
    rng.shuffle(groups)
    chosen: dict[str, list[int]] = {name: [] for name in [rest, *sizes]}
    waiting = dict(sizes)
    for group in groups:
        split = next((name for name, size in waiting.items() if len(chosen[name]) < size), rest)
        chosen[split if len(group) <= LARGEST_GROUP else rest] += group
    for name in sizes:
        rng.shuffle(chosen[name])
    chosen[rest].sort()
    return {name: [pairs[i] for i in indices] for name, indices in chosen.items()}


def connected_groups(pairs: Sequence[TextPair]) -> list[list[int]]:
    """The indices of the pairs, in groups that share no sentence (union-find)."""
    parent: dict[str, str] = {}

    def root(side: str) -> str:
        parent.setdefault(side, side)
        while parent[side] != side:
            parent[side] = parent[parent[side]]
            side = parent[side]
        return side

    sides = [tuple(f"{i}{_same(text)}" for i, text in enumerate(pair)) for pair in pairs]
    for source, target in sides:
        parent[root(source)] = root(target)
    groups = defaultdict(list)
    for i, (source, _) in enumerate(sides):
        groups[root(source)].append(i)
    return list(groups.values())


def without_sentences_of(pairs: Iterable[TextPair], held_out: Sequence[TextPair]) -> list[TextPair]:
    """The pairs of which no side is one of those that are held out."""
    known = [{_same(pair[side]) for pair in held_out} for side in (0, 1)]
    return [pair for pair in pairs if all(_same(pair[i]) not in known[i] for i in (0, 1))]


def _same(text: str) -> str:
    """What two sentences have in common that differ in capitals, apostrophes or the last mark."""
    return key(text).replace("’", "'").rstrip(_END_MARKS)
