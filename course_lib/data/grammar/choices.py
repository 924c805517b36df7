"""Weighted choices, and which words go together."""

from __future__ import annotations

from functools import cache
from random import Random

from course_lib.data.grammar.lexicon import ADJECTIVES, NOUNS, SPEAKER, VERBS, Adjective, Noun, Verb

# Kinds are drawn before nouns, so the only noun of a kind, as every ambiguous one is, is frequent.
_KIND_WEIGHTS = {
    **{"man": 4, "woman": 4, "animal": 2, "speaker": 2, "fruit": 2},
    **{"bench": 3, "ceiling": 4, "court": 3, "bank": 2, "pear": 2, "lock": 2, "snake": 2},
}


@cache
def _weighted(table: tuple[tuple[str, int], ...]) -> list[str]:
    return [name for name, weight in table for _ in range(weight)]


def draw(rng: Random, table: dict[str, int]) -> str:
    """One of the table's keys, drawn with its weight."""
    return rng.choice(_weighted(tuple(table.items())))


def maybe(rng: Random, probability: float) -> bool:
    """True with the given probability."""
    return rng.random() < probability


@cache
def nouns_of(kind: str) -> list[Noun]:
    """The nouns of one kind; the speaker is a kind by itself."""
    return [SPEAKER] if kind == "speaker" else [n for n in NOUNS if n.kind == kind]


@cache
def weighted_kinds(kinds: frozenset[str]) -> list[str]:
    """The kinds, sorted, each repeated as often as its weight."""
    # Sorted, because a set has no stable order, but a seed must always give the same sentences.
    return [kind for kind in sorted(kinds) for _ in range(_KIND_WEIGHTS.get(kind, 1))]


@cache
def verbs_of(frame: str, kind: str = "") -> list[Verb]:
    """The verbs of a frame that a subject of this kind may have."""
    return [v for v in VERBS if v.frame == frame and (not kind or kind in v.subjects)]


@cache
def verbs_between(subject: str, thing: str) -> list[Verb]:
    """The verbs with which one kind can act on another."""
    frames = ("transitive", "dative")
    return [v for frame in frames for v in verbs_of(frame, subject) if thing in v.objects]


@cache
def adjectives_of(kind: str) -> list[Adjective]:
    """The adjectives that a noun of this kind may have."""
    return [adjective for adjective in ADJECTIVES if kind in adjective.kinds]


def draw_noun(rng: Random, kinds: frozenset[str]) -> Noun:
    """A noun of one of the kinds, which are drawn by weight, however many nouns they have."""
    return rng.choice(nouns_of(rng.choice(weighted_kinds(kinds))))
