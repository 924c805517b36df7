"""A word vocabulary: split text into words, number them, and turn ids back into text."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from course_lib.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, visible
from course_lib.errors import CourseError, not_one_text

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


def _marks(codes: Iterable[int]) -> str:
    """The combining marks among the characters with these codes, as ranges of a pattern."""
    marks = {i for i in codes if unicodedata.category(chr(i)).startswith("M")}
    first = sorted(i for i in marks if i - 1 not in marks)
    last = sorted(i for i in marks if i + 1 not in marks)
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(first, last, strict=True))


# Python's \w has no combining marks, such as the vowel signs of Hindi, Thai and Arabic, and no
# joiners, which stand within words of Persian and Sinhala and within emoji. Patterns with all of
# them are slow, and most texts have none: they are made when a text is not Latin.
_MAY_HAVE_MARKS = re.compile("[^\x00-\u02ff]")


@functools.cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{_marks(range(0x300, 0x10000))}\u200c\u200d\U00010000-\U0010ffff]")


@functools.cache
def _marked_word() -> re.Pattern[str]:
    marks = _marks((*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)))
    letter, sign = rf"[\w{marks}\u200c\u200d]", rf"[^\w\s][{marks}]*"
    return re.compile(rf"{letter}+(?:['’-]{letter}+)*|{sign}(?:\u200d{sign})*")


def split_words(text: str) -> list[str]:
    """Lower-case words and punctuation marks: "Der Hund schläft." gives der, hund, schläft, "."."""
    text = visible(text).lower()
    marked = _MAY_HAVE_MARKS.search(text) and _mark().search(text)
    return (_marked_word() if marked else _WORD).findall(text)


def join_words(words: Iterable[str]) -> str:
    """Readable text from words; ``split_words`` of that text gives the words back."""
    return re.sub(r" ([.,?!])", r"\1", " ".join(not_one_text(words)))


class Vocabulary(Tokenizer):
    """A tokenizer whose tokens are words.

    Args:
        words: distinct words in the order of their ids, special tokens included, ``<pad>`` first.

    Raises:
        CourseError: a word appears twice, or ``<pad>`` is not the first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.tokens = list(not_one_text(words))
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
        counts = Counter(
            word for sentence in not_one_text(sentences) for word in not_one_text(sentence)
        )
        return cls(
            [*not_one_text(specials), *sorted(counts, key=lambda word: (-counts[word], word))]
        )

    def split(self, text: str) -> list[str]:
        """The tokens of a text: its words."""
        return split_words(text)

    def join(self, tokens: Iterable[str]) -> str:
        """Readable text from tokens."""
        return join_words(tokens)
