"""What a model needs to know about text, whether it reads words or pieces of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Tokenizer(Protocol):
    """Text to tokens to ids, and back. ``Vocabulary`` has words, ``Subwords`` pieces of words.

    ``tokens`` lists all tokens in the order of their ids, ``ids`` maps each to its id; the specials
    come first, so ``<pad>`` is 0.
    """

    tokens: list[str]
    ids: dict[str, int]

    def __len__(self) -> int:
        """Number of tokens, specials included."""
        ...

    def __contains__(self, word: str) -> bool:
        """Whether there is such a token."""
        ...

    def split(self, text: str) -> list[str]:
        """The tokens of a text."""
        ...

    def join(self, tokens: Iterable[str]) -> str:
        """Readable text from tokens."""
        ...

    def encode(self, words: Iterable[str]) -> list[int]:
        """Ids of tokens."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """``encode(split(text))`` of each text, as fast as it can be had."""
        ...

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids, up to ``<eos>`` and without other specials."""
        ...

    def unknown(self, words: Iterable[str]) -> list[str]:
        """The tokens that have no id of their own, each once."""
        ...

    def suggestion(self, word: str) -> str:
        """`` : did you mean …?`` for a known token spelt alike, else nothing."""
        ...
