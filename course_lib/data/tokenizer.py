"""What a model needs from a tokenizer, whether its tokens are words or subwords."""

from __future__ import annotations

import difflib
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from course_lib.errors import CourseError, not_one_text, shortened

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
"""The special tokens: padding, beginning of sequence, end of sequence, unknown token."""

LONGEST_WORD = 100  # characters of a word to which similar ones are looked for

# Characters that nobody sees and that change no word, such as byte order marks, soft hyphens and
# marks of writing direction.
_UNSEEN = "\u00ad\u034f\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
# Of these alone nothing can be seen either: joiners, blank letters, the end of a file of DOS.
_BLANK = re.compile(rf"[\s{_UNSEEN}\u200b-\u200d\u2800\u3164\ufe0f\x1a]*")


def visible(text: str) -> str:
    """The text in NFC, without invisible characters.

    A zero-width space becomes a space: in Khmer and Thai it parts words.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text).replace("\u200b", " "))


def is_blank(text: str) -> bool:
    """Whether nothing in the text can be seen, which is more than white space alone."""
    return _BLANK.fullmatch(text) is not None


class Tokenizer(ABC):
    """Turns text into tokens and tokens into ids, and back.

    The tokens of a ``Vocabulary`` are words, those of ``Subwords`` are subwords.

    ``tokens`` lists all tokens in the order of their ids, and ``ids`` maps each token to its id.
    Among them are the special tokens PAD ``<pad>`` (padding, id 0), BOS ``<bos>`` and EOS ``<eos>``
    (before and after the target sequence) and UNK ``<unk>`` (any unknown token).
    """

    tokens: list[str]
    ids: dict[str, int]

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """Tokenise a text, without adding ``<bos>`` or ``<eos>``."""

    @abstractmethod
    def join(self, tokens: Iterable[str]) -> str:
        """Detokenise: turn tokens back into readable text."""

    def __len__(self) -> int:
        """Vocabulary size: the number of tokens, special tokens included."""
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        """Whether the vocabulary has this token."""
        return token in self.ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The ids of tokens; one that is not in the vocabulary becomes ``<unk>``.

        Raises:
            CourseError: a token is unknown and this vocabulary has no ``<unk>``.
        """
        return [self._id(token) for token in not_one_text(tokens)]

    def _id(self, token: str) -> int:
        found = self.ids.get(token, self.ids.get(UNK))
        if found is None:
            raise CourseError(
                f"expected one of the {len(self)} words of this vocabulary, got {shortened(token)}"
                + self.suggestion(token)
            )
        return found

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """``encode(split(text))`` of each text."""
        return [self.encode(self.split(text)) for text in not_one_text(texts, "texts")]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids up to the first ``<eos>``, without ``<pad>`` and ``<bos>``.

        Raises:
            CourseError: there is no token with one of the ids.
        """
        tokens: list[str] = []
        for i in ids:
            if not 0 <= i < len(self.tokens):
                raise CourseError(
                    f"expected ids from 0 to {len(self.tokens) - 1}, got {int(i)}: "
                    "do the tokenizer and the model belong together?"
                )
            token = self.tokens[i]
            if token == EOS:
                break
            if token not in (PAD, BOS):
                tokens.append(token)
        return tokens

    def unknown(self, tokens: Iterable[str]) -> list[str]:
        """The tokens that are not in the vocabulary, each once."""
        unknown = (token for token in not_one_text(tokens) if token not in self.ids)
        return list(dict.fromkeys(unknown))

    def suggestion(self, token: str) -> str:
        """``: did you mean …?`` with a known token of similar spelling, or an empty string."""
        # Comparing a long text would take minutes.
        known = self.tokens if len(token) <= LONGEST_WORD else ()
        close = difflib.get_close_matches(token, known, n=1)
        return f": did you mean {close[0]!r}?" if close else ""
