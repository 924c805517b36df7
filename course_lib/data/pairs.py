"""Sentence pairs: as words with a gold word alignment, or as two lines of text."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.data.vocabulary import join_words, split_words


class SentencePair(NamedTuple):
    """A source sentence and its translation as words, with their gold alignment.

    ``alignment`` is the gold word alignment: a set of links (source index, target index) between
    words that translate each other. It is empty where no gold alignment is known.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]] = frozenset()

    @property
    def source_text(self) -> str:
        """The source sentence as running text."""
        return join_words(self.source)

    @property
    def target_text(self) -> str:
        """The target sentence as running text."""
        return join_words(self.target)


class TextPair(NamedTuple):
    """A line of text and its translation, exactly as in the file: capitals, spacing and all."""

    source_text: str
    target_text: str

    @property
    def source(self) -> tuple[str, ...]:
        """The words of the source line."""
        return tuple(split_words(self.source_text))

    @property
    def target(self) -> tuple[str, ...]:
        """The words of the target line."""
        return tuple(split_words(self.target_text))

    @property
    def alignment(self) -> frozenset[tuple[int, int]]:
        """Empty: lines of text come without a gold alignment."""
        return frozenset()


Pair = SentencePair | TextPair
"""A parallel sentence pair: either kind has ``source``, ``target`` (words), ``source_text``,
``target_text`` and ``alignment``."""
