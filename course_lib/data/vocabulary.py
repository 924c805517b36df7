"""From a line of text to words and back, and the vocabulary that numbers them."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from course_lib.errors import CourseError

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


def split_words(text: str) -> list[str]:
    """Lower-case words and punctuation marks: "Der Hund schläft." gives der, hund, schläft, "."."""
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def join_words(words: Iterable[str]) -> str:
    """Readable text; ``split_words`` gives the words back."""
    return re.sub(r" ([.,?!])", r"\1", " ".join(words))


class Vocabulary:
    """Words and their ids; the specials come first, so ``<pad>`` is 0.

    Args:
        words: distinct words in the order of their ids, specials included.

    Raises:
        CourseError: a word stands twice, or ``<pad>`` is not the first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.tokens = list(words)
        self.ids = {word: i for i, word in enumerate(self.tokens)}
        if len(self.ids) != len(self.tokens):
            twice = next(word for word, n in Counter(self.tokens).items() if n > 1)
            raise CourseError(f"a vocabulary lists each word once, but {twice!r} stands twice")
        if self.tokens[:1] != [PAD]:
            raise CourseError(
                f"a vocabulary begins with {PAD!r} (id 0), got {self.tokens[:1]}: "
                "build it with Vocabulary.from_sentences"
            )

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[Sequence[str]], *, specials: Sequence[str] = (PAD, BOS, EOS, UNK)
    ) -> Vocabulary:
        """All words of the sentences, most frequent first, ties in alphabetical order."""
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

    def __contains__(self, word: str) -> bool:
        return word in self.ids

    def encode(self, words: Iterable[str]) -> list[int]:
        """Ids of the words; an unknown word becomes ``<unk>``.

        Raises:
            CourseError: a word is unknown and this vocabulary has no ``<unk>``.
        """
        return [self._id(word) for word in words]

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """``encode(split(text))`` of each."""
        return [self.encode(self.split(text)) for text in texts]

    def _id(self, word: str) -> int:
        found = self.ids.get(word, self.ids.get(UNK))
        if found is None:
            raise CourseError(
                f"expected one of the {len(self)} words of this vocabulary, got {word!r}"
                + self.suggestion(word)
            )
        return found

    def unknown(self, words: Iterable[str]) -> list[str]:
        """The words that this vocabulary does not have, each once."""
        return list(dict.fromkeys(word for word in words if word not in self.ids))

    def suggestion(self, word: str) -> str:
        """`` : did you mean …?`` for a known word spelt alike, else nothing."""
        close = difflib.get_close_matches(word, self.tokens, n=1)
        return f": did you mean {close[0]!r}?" if close else ""

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of the ids, up to ``<eos>`` and without other specials."""
        words: list[str] = []
        for i in ids:
            word = self.tokens[i]
            if word == EOS:
                break
            if word not in (PAD, BOS):
                words.append(word)
        return words
