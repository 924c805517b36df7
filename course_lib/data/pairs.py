"""The two shapes of a parallel corpus: words that somebody aligned, or two lines of text."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.data.vocabulary import join_words, split_words


class SentencePair(NamedTuple):
    """A sentence, its translation, and which words belong together.

    ``alignment`` holds (source index, target index); it is empty where nobody knows.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]] = frozenset()

    @property
    def source_text(self) -> str:
        """The sentence as one reads it."""
        return join_words(self.source)

    @property
    def target_text(self) -> str:
        """Its translation as one reads it."""
        return join_words(self.target)


class TextPair(NamedTuple):
    """A line of text and its translation, as a file has them: capitals, spacing and all."""

    source_text: str
    target_text: str

    @property
    def source(self) -> tuple[str, ...]:
        """The line's words."""
        return tuple(split_words(self.source_text))

    @property
    def target(self) -> tuple[str, ...]:
        """The translation's words."""
        return tuple(split_words(self.target_text))

    @property
    def alignment(self) -> frozenset[tuple[int, int]]:
        """Nobody knows."""
        return frozenset()


Pair = SentencePair | TextPair
