"""The one shape every parallel corpus takes."""

from __future__ import annotations

from typing import NamedTuple


class SentencePair(NamedTuple):
    """A sentence, its translation, and which words belong together.

    ``alignment`` holds (source index, target index); it is empty where nobody knows.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]] = frozenset()
