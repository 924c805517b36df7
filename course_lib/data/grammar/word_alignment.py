"""The gold alignment: words are linked if they express the same part of the meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from course_lib.data.grammar.lexicon import Adverb


class Word(NamedTuple):
    """A word and the keys of the parts of the meaning that it expresses.

    A key is a path: "0s" is the subject of the first clause, "0sn" the noun in it. The letters:
    s subject, o object, r recipient, l location, c company, x standard of comparison; within a noun
    phrase p preposition, d determiner, a adjective, n noun, & "and", r relative clause; within a
    clause v verb, m modal, g fondness, - negation, q quality, t time, f frequency, h manner.
    """

    text: str
    keys: tuple[str, ...] = ()


def adverb_words(groups: Sequence[str], key: str) -> list[Word]:
    """An adverb's words; its k-th group of words has the same key in every language."""
    return [
        Word(text, (f"{key}{k}",)) for k, group in enumerate(groups) for text in group.split("_")
    ]


def align(source: Sequence[Word], target: Sequence[Word]) -> frozenset[tuple[int, int]]:
    """The gold alignment: (source index, target index) of every two words that share a key."""
    positions: dict[str, list[int]] = {}
    for j, word in enumerate(target):
        for key in word.keys:
            positions.setdefault(key, []).append(j)
    return frozenset(
        (i, j) for i, word in enumerate(source) for key in word.keys for j in positions.get(key, ())
    )


def texts(words: Iterable[Word]) -> tuple[str, ...]:
    """The words without their keys."""
    return tuple(word.text for word in words)


def maybe_adverb(adverb: Adverb | None, language: str, *, key: str) -> list[Word]:
    """The adverb's words in "de", "en" or "pt"; none for no adverb."""
    return adverb_words(getattr(adverb, language), key) if adverb else []
