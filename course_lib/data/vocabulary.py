"""A word vocabulary: split text into words, number them, and turn ids back into text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from course_lib.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from course_lib.errors import CourseError

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


def split_words(text: str) -> list[str]:
    """Lower-case words and punctuation marks: "Der Hund schläft." gives der, hund, schläft, "."."""
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def join_words(words: Iterable[str]) -> str:
    """Readable text from words; ``split_words`` of that text gives the words back."""
    return re.sub(r" ([.,?!])", r"\1", " ".join(words))


class Vocabulary(Tokenizer):
    """A tokenizer whose tokens are words.

    Args:
        words: distinct words in the order of their ids, special tokens included, ``<pad>`` first.

    Raises:
        CourseError: a word appears twice, or ``<pad>`` is not the first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.tokens = list(words)
        self.ids = {word: i for i, word in enumerate(self.tokens)}
        if len(self.ids) != len(self.tokens):
            twice = next(word for word, n in Counter(self.tokens).items() if n > 1)
            raise CourseError(f"a vocabulary lists each word once, but {twice!r} appears twice")
        if self.tokens[:1] != [PAD]:
            raise CourseError(
                f"a vocabulary begins with {PAD!r} (id 0), got {self.tokens[:1]}: "
                "build it with Vocabulary.from_sentences"
            )

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[Sequence[str]], *, specials: Sequence[str] = (PAD, BOS, EOS, UNK)
    ) -> Vocabulary:
        """All words of the sentences, most frequent first, ties in alphabetical order.

        Args:
            sentences: as words.
            specials: special tokens, which get the first ids.
        """
        counts = Counter(word for sentence in sentences for word in sentence)
        return cls([*specials, *sorted(counts, key=lambda word: (-counts[word], word))])

    def split(self, text: str) -> list[str]:
        """The tokens of a text: its words."""
        return split_words(text)

    def join(self, tokens: Iterable[str]) -> str:
        """Readable text from tokens."""
        return join_words(tokens)
