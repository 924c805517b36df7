"""A word vocabulary: split text into words, number them, and turn ids back into text."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from course_lib.errors import CourseError, shortened

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
"""The special tokens: padding, beginning of sequence, end of sequence, unknown token."""

LONGEST_WORD = 100  # characters of a word to which similar ones are looked for
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


def did_you_mean(token: str, known: Sequence[str]) -> str:
    """``: did you mean …?`` with a known token of similar spelling, or an empty string."""
    # Comparing a long text would take minutes.
    close = difflib.get_close_matches(token, known, n=1) if len(token) <= LONGEST_WORD else ()
    return f": did you mean {close[0]!r}?" if close else ""


def split_words(text: str) -> list[str]:
    """Lower-case words and punctuation marks: "Der Hund schläft." gives der, hund, schläft, "."."""
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def join_words(words: Iterable[str]) -> str:
    """Readable text from words; ``split_words`` of that text gives the words back."""
    return re.sub(r" ([.,?!])", r"\1", " ".join(words))


class Vocabulary:
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

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self.ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The ids of the tokens; a word that is not in the vocabulary becomes ``<unk>``.

        Raises:
            CourseError: a word is unknown and this vocabulary has no ``<unk>``.
        """
        return [self._id(token) for token in tokens]

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """``encode(split(text))`` of each text."""
        return [self.encode(self.split(text)) for text in texts]

    def _id(self, token: str) -> int:
        found = self.ids.get(token, self.ids.get(UNK))
        if found is None:
            raise CourseError(
                f"expected one of the {len(self)} words of this vocabulary, got {shortened(token)}"
                + self.suggestion(token)
            )
        return found

    def unknown(self, tokens: Iterable[str]) -> list[str]:
        """The tokens that are not in the vocabulary, each once."""
        return list(dict.fromkeys(token for token in tokens if token not in self.ids))

    def suggestion(self, token: str) -> str:
        """``: did you mean …?`` with a known word of similar spelling, or an empty string."""
        return did_you_mean(token, self.tokens)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids up to the first ``<eos>``, without ``<pad>`` and ``<bos>``."""
        tokens: list[str] = []
        for i in ids:
            token = self.tokens[i]
            if token == EOS:
                break
            if token not in (PAD, BOS):
                tokens.append(token)
        return tokens
