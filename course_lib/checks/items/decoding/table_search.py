"""Models that are tables, and a beam search of them, for items that ask what a search does."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise

EOS = "<eos>"
WORDS = [
    ("the", "my", "that"),
    ("old", "tired", "young"),
    ("dog", "cook", "king"),
    ("sleeps", "sings", "eats"),
]
ENDS = (0.3, 0.5, 0.4, 0.4)  # how often a prefix of so many words may be followed by EOS
GAP = 0.02  # nats between neighbours in a ranking, so that it is the same on every machine

Table = Mapping[str, Mapping[str, float]]  # prefix -> probabilities of the next word


@dataclass(frozen=True)
class Prefix:
    """A prefix of a sentence, or a whole sentence.

    Attributes:
        log_prob: ln p of its words together.
        last: ln p of its last word.
        parent: the words before the last one.
    """

    words: tuple[str, ...]
    log_prob: float
    _: KW_ONLY
    last: float = 0.0

    @property
    def parent(self) -> tuple[str, ...]:
        return self.words[:-1]

    @property
    def ended(self) -> bool:
        return self.words[-1:] == (EOS,)

    def __str__(self) -> str:
        return " ".join(self.words)


def draw_table(drawn: random.Random, longest: int = 3) -> dict[str, dict[str, float]]:
    """Sentences of up to so many words; after a prefix that is missing comes EOS, for certain."""
    sizes = [2, 2, 3] if longest <= 3 else [2]  # a table has to fit on a page
    table: dict[str, dict[str, float]] = {}
    prefixes: list[tuple[str, ...]] = [()]
    for depth, choices in enumerate(WORDS[:longest]):
        longer = []
        for prefix in prefixes:
            following = drawn.sample(choices, drawn.choice(sizes))
            ends = [EOS] if drawn.random() < ENDS[depth] else []
            table[" ".join(prefix)] = _probabilities([*following, *ends], drawn)
            longer += [(*prefix, word) for word in following]
        prefixes = longer
    return table


def _probabilities(words: Sequence[str], drawn: random.Random) -> dict[str, float]:
    """In hundredths, the most probable first: nearly even ones, or with one that stands out."""
    least = 85 // len(words) if drawn.random() < 0.5 else 5
    rest = 100 - least * len(words)
    parts = [0, 0]
    while len(set(parts)) < len(parts):
        cuts = sorted(drawn.sample(range(1, rest), len(words) - 1))
        parts = sorted((least + b - a for a, b in pairwise([0, *cuts, rest])), reverse=True)
    mixed = drawn.sample(words, len(words))
    return {word: part / 100 for word, part in zip(mixed, parts, strict=True)}


def continuations(table: Table, prefix: Prefix) -> list[Prefix]:
    """A prefix continued by each word that may follow."""
    following = table.get(str(prefix), {EOS: 1.0})
    return [
        Prefix((*prefix.words, word), prefix.log_prob + math.log(p), last=math.log(p))
        for word, p in following.items()
    ]


def score(prefix: Prefix, length_penalty: float) -> float:
    """What hypotheses are ranked by; the length counts the end."""
    return prefix.log_prob / ((5 + len(prefix.words)) / 6) ** length_penalty


def hypotheses(table: Table, width: int | None) -> list[Prefix]:
    """Every hypothesis of a beam of this width, in the order in which they end; None: all."""
    beams, found = [Prefix((), 0.0)], []
    while beams:
        kept = ranked([each for beam in beams for each in continuations(table, beam)])[:width]
        found += [each for each in kept if each.ended]
        beams = [each for each in kept if not each.ended]
    return found


def ranked(prefixes: Sequence[Prefix]) -> list[Prefix]:
    """The most probable first."""
    return sorted(prefixes, key=lambda each: -each.log_prob)


def clear(numbers: Sequence[float]) -> bool:
    """Whether no two of them are so near that rounding could exchange them."""
    return all(b - a >= GAP for a, b in pairwise(sorted(numbers)))


def cuts_are_clear(table: Table, width: int) -> bool:
    """Whether a beam of this width keeps no prefix by a hair."""
    beams = [Prefix((), 0.0)]
    while beams:
        best = ranked([each for beam in beams for each in continuations(table, beam)])
        if not clear([each.log_prob for each in best[: width + 1]]):
            return False
        beams = [each for each in best[:width] if not each.ended]
    return True


def table_lines(table: Table) -> list[str]:
    """The table as text, a prefix a line."""
    return [
        f"{prefix or '(nothing)':>16}: "
        + ", ".join(f"{word} {p:.2f}" for word, p in following.items())
        for prefix, following in table.items()
    ]
