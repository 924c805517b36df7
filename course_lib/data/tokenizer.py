"""What a model needs from a tokenizer, whether its tokens are words or subwords."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Tokenizer(Protocol):
    """Turns text into tokens and tokens into ids, and back.

    The tokens of a ``Vocabulary`` are words, those of ``Subwords`` are subwords.

    ``tokens`` lists all tokens in the order of their ids, and ``ids`` maps each token to its id.
    Among them are the special tokens PAD ``<pad>`` (padding, id 0), BOS ``<bos>`` and EOS ``<eos>``
    (before and after the target sequence) and UNK ``<unk>`` (any unknown token).
    """

    tokens: list[str]
    ids: dict[str, int]

    def __len__(self) -> int:
        """Vocabulary size: the number of tokens, special tokens included."""
        ...

    def __contains__(self, token: str) -> bool:
        """Whether the vocabulary has this token."""
        ...

    def split(self, text: str) -> list[str]:
        """Tokenise a text, without adding ``<bos>`` or ``<eos>``."""
        ...

    def join(self, tokens: Iterable[str]) -> str:
        """Detokenise: turn tokens back into readable text."""
        ...

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The ids of tokens."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """``encode(split(text))`` of each text, but faster for many texts."""
        ...

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids up to the first ``<eos>``, without ``<pad>`` and ``<bos>``."""
        ...

    def unknown(self, tokens: Iterable[str]) -> list[str]:
        """The tokens that are not in the vocabulary, each once."""
        ...

    def suggestion(self, token: str) -> str:
        """``: did you mean …?`` with a known token of similar spelling, or an empty string."""
        ...
