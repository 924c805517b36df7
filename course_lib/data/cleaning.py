"""Remove sentence pairs that would harm training, and report how many and why."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.data.pairs import TextPair
from course_lib.data.text_files import LazySequence
from course_lib.data.tokenizer import is_blank, visible


@dataclass(kw_only=True)
class CleaningReport:
    """How many pairs there were, and the lines of those removed, by reason.

    Lines count from 0; of pairs that are from no file, they are indices, and of a list in JSON
    numbers of objects, as ``what`` says. ``remarks`` has the lines of pairs that are kept, by what
    is strange about them. A target that is also in a held-out split is so of many short answers;
    many more are a sign of overlap.
    """

    total: int
    what: str = "line"
    removed: dict[str, list[int]] = field(default_factory=dict)
    remarks: dict[str, list[int]] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Number of pairs that remain."""
        return self.total - sum(map(len, self.removed.values()))

    def __str__(self) -> str:
        kept = f"kept {self.kept:,} of {self.total:,} pairs"
        if self.removed:
            kept += f": {', '.join(map(self._counted, self.removed))}"
        for remark in self.remarks:
            kept += f"; among them {self._counted(remark)}"
        return kept

    def _counted(self, reason: str) -> str:
        lines = (self.removed | self.remarks)[reason]
        return f"{len(lines):,} {reason} (first: {self.what} {lines[0] + 1:,})"


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
    """The text as no tokenizer could tell it from another: without capitals and what nobody sees.

    A vocabulary of words reads "Der Hund ." and "der  Hund." as the same sentence.
    """
    return "".join(visible(text).lower().split())


def clean(
    pairs: Sequence[TextPair],
    *,
    held_out: Mapping[str, HeldOut] | None = None,
    max_words: int | None = None,
    max_characters: int | None = None,
) -> tuple[Sequence[TextPair], CleaningReport]:
    """Remove pairs with an empty side, a side that is too long, or a source that is held out.

    A pair whose source is also in a held-out split is removed whatever its translation: a model
    trained on it would be tested on a sentence that it has seen. Equal targets are only reported,
    and so are pairs that look damaged (of the first 10,000, which is enough to know), and equal
    sides if there are many. No text is copied, only indices.

    Args:
        pairs: in the order of their files, so that the report can name lines.
        held_out: the splits that must not overlap with these pairs, by name.
        max_words: most words on a side, separated by white space.
        max_characters: most characters on a side, for languages without white space.

    Returns:
        The remaining pairs in their order, and the report.
    """
    report = CleaningReport(total=len(pairs))
    lines: range | NDArray[np.int64] = range(len(pairs))
    if isinstance(pairs, LazySequence):
        report.what, lines = pairs.what, pairs.indices
    same: list[int] = []
    first = f"of the first {ASKED:,} " if len(pairs) > ASKED else ""
    for i, (source, target) in enumerate(pairs):
        reason = "with an empty side" if is_blank(source) or is_blank(target) else None
        reason = reason or _too_long(source, target, max_words, max_characters)
        reason = reason or (_seen(source, held_out) if held_out else None)
        if reason:
            report.removed.setdefault(reason, []).append(i)
            continue
        asked = STRANGE if i < ASKED else {}
        remarks = [first + what for what, is_so in asked.items() if is_so(source) or is_so(target)]
        if held_out:
            target_key = key(target)
            seen = (name for name, split in held_out.items() if target_key in split.targets)
            remarks += [f"with a target that is also in {name}" for name in seen]
        for remark in remarks:
            report.remarks.setdefault(remark, []).append(i)
        if source.strip() == target.strip():
            same.append(i)
    if len(same) * MANY > len(pairs):  # names and numbers are the same in both languages
        report.remarks["with the same text on both sides"] = same
    keep = np.ones(len(pairs), dtype=bool)
    for indices in report.removed.values():
        keep[indices] = False
    for indices in (*report.removed.values(), *report.remarks.values()):
        indices[:] = [int(lines[i]) for i in indices]
    if not report.removed:
        return pairs, report
    return LazySequence(pairs.__getitem__, np.flatnonzero(keep)), report


# The bytes of characters in encodings as which UTF-8 is often read by accident. A byte without a
# character there stands for itself.
_BYTES = [
    {ord(bytes([i]).decode(encoding, "ignore") or chr(i)): i for i in range(256)}
    for encoding in ("latin-1", "cp1252", "cp1251", "mac_roman")
]
_ALONE = re.compile(r"(?<![^\x00-\x7f])[^\x00-\x7f](?![^\x00-\x7f])")


def _is_encoded_twice(text: str) -> bool:
    """Whether its bytes in an older encoding are UTF-8, as those of "schÃ¶n" are."""
    if text.isascii() or _ALONE.search(text):  # in UTF-8, a character beyond ASCII is several bytes
        return False
    for table in _BYTES:
        with suppress(UnicodeError):
            codecs.charmap_encode(text, "strict", table)[0].decode()
            return True
    return False


# What a conversion has left behind, by how a report calls it.
STRANGE: dict[str, Callable[[str], object]] = {
    "encoded twice, such as Ã¤ for ä (get the original file)": _is_encoded_twice,
    "with a character lost in a conversion (\ufffd)": lambda text: "\ufffd" in text,
    "with marks of HTML, such as &amp; for &": re.compile(
        r"&(?:amp|quot|apos|lt|gt|nbsp|#\d+|#x[0-9a-f]+);", re.I
    ).search,
    "with control characters": re.compile(r"[\x01-\x08\x0e-\x1b\x7f]").search,
}
ASKED = 10_000  # pairs that are searched for it
MANY = 10  # one pair in so many


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
    source_key = key(source)
    seen = (split for split, sentences in held_out.items() if source_key in sentences.sources)
    return next((f"also in {split}" for split in seen), None)
