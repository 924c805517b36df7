"""Remove sentence pairs that would harm training, and report how many and why."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from course_lib.data.pairs import TextPair
from course_lib.data.text_files import LazySequence


@dataclass(kw_only=True)
class CleaningReport:
    """How many pairs there were, and the indices of those removed, by reason.

    ``seen_targets`` has the indices of pairs that are kept although their target sentence is also
    in a held-out split, by split: so are many short answers, but many more are a sign of overlap.
    """

    total: int
    removed: dict[str, list[int]] = field(default_factory=dict)
    seen_targets: dict[str, list[int]] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Number of pairs that remain."""
        return self.total - sum(map(len, self.removed.values()))

    def __str__(self) -> str:
        kept = f"kept {self.kept:,} of {self.total:,} pairs"
        if self.removed:
            kept += f": {', '.join(map(_counted, self.removed.values(), self.removed))}"
        for split, indices in self.seen_targets.items():
            kept += f"; among them {_counted(indices, f'with a target that is also in {split}')}"
        return kept


def _counted(indices: list[int], what: str) -> str:
    return f"{len(indices):,} {what} (first: line {indices[0] + 1:,})"


class HeldOut(NamedTuple):
    """The sentences of a split on which nothing may be trained, in the form of ``key``."""

    sources: frozenset[str]
    targets: frozenset[str]

    @classmethod
    def of(cls, pairs: Iterable[TextPair]) -> HeldOut:
        """The sentences of these pairs."""
        keys = [(key(source), key(target)) for source, target in pairs]
        return cls(frozenset(source for source, _ in keys), frozenset(target for _, target in keys))


def key(text: str) -> str:
    """The text as no tokenizer could tell it from another: without capitals and white space.

    A vocabulary of words reads "Der Hund ." and "der  Hund." as the same sentence.
    """
    return "".join(unicodedata.normalize("NFC", text).lower().split())


def clean(
    pairs: Sequence[TextPair],
    *,
    held_out: Mapping[str, HeldOut] | None = None,
    max_words: int | None = None,
    max_characters: int | None = None,
) -> tuple[Sequence[TextPair], CleaningReport]:
    """Remove pairs with an empty side, a side that is too long, or a source that is held out.

    A pair whose source is also in a held-out split is removed whatever its translation: a model
    trained on it would be tested on a sentence that it has seen. Equal targets are only reported.
    No text is copied, only indices.

    Args:
        pairs: in the order of their files, so that the report can name lines.
        held_out: the splits that must not overlap with these pairs, by name.
        max_words: most words on a side, separated by white space.
        max_characters: most characters on a side, for languages without white space.

    Returns:
        The remaining pairs in their order, and the report.
    """
    report = CleaningReport(total=len(pairs))
    for i, (source, target) in enumerate(pairs):
        reason = _empty(source, target)
        reason = reason or _too_long(source, target, max_words, max_characters)
        reason = reason or _seen(source, held_out or {})
        if reason:
            report.removed.setdefault(reason, []).append(i)
        elif held_out:
            target_key = key(target)
            for split, sentences in held_out.items():
                if target_key in sentences.targets:
                    report.seen_targets.setdefault(split, []).append(i)
    if not report.removed:
        return pairs, report
    keep = np.ones(len(pairs), dtype=bool)
    for indices in report.removed.values():
        keep[indices] = False
    return LazySequence(pairs.__getitem__, np.flatnonzero(keep)), report


def _empty(source: str, target: str) -> str | None:
    return None if source.strip() and target.strip() else "with an empty side"


def _too_long(
    source: str, target: str, max_words: int | None, max_characters: int | None
) -> str | None:
    longest = max(len(source), len(target))
    if max_characters is not None and longest > max_characters:
        return f"with more than {max_characters:,} characters on a side"
    # n words have at least 2n - 1 characters, so most lines need not be split to be counted.
    if max_words is not None and longest > 2 * max_words:
        words = max(len(source.split()), len(target.split()))
        if words > max_words:
            return f"with more than {max_words:,} words on a side"
    return None


def _seen(source: str, held_out: Mapping[str, HeldOut]) -> str | None:
    if not held_out:
        return None
    source_key = key(source)
    seen = (split for split, sentences in held_out.items() if source_key in sentences.sources)
    return next((f"also in {split}" for split in seen), None)
