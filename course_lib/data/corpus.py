"""What a corpus is, and a corpus of text whose pairs are cleaned before anybody sees them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from course_lib.data.cleaning import clean, source_keys
from course_lib.data.languages import language_name
from course_lib.data.pairs import Pair, TextPair
from course_lib.errors import CourseError


@dataclass(frozen=True)
class Corpus:
    """A named set of sentence pairs in splits.

    ``pairs(split, size, seed=0)`` gives at most ``size`` pairs of a split, or all.
    """

    name: str
    source_language: str
    target_language: str
    splits: tuple[str, ...]
    sample: Callable[[str, int | None, int], Sequence[Pair]]

    def pairs(self, split: str, size: int | None = None, *, seed: int = 0) -> Sequence[Pair]:
        """Pairs of one split; the same for the same arguments. Files know no ``seed``.

        Raises:
            CourseError: the corpus has no such split, or the size is not positive, or missing
                where the corpus has no end.
        """
        if split not in self.splits:
            raise CourseError(f"{self.name} has the splits {', '.join(self.splits)}, got {split!r}")
        if size is not None and size < 1:
            raise CourseError(f"size must be a positive number of pairs, got {size}")
        return self.sample(split, size, seed)


def text_corpus(
    name: str,
    languages: tuple[str, str],
    *,
    splits: Mapping[str, Callable[[int | None], Sequence[TextPair]]],
    max_words: int = 250,
    max_characters: int = 2000,
    tell: Callable[[str], None] = print,
) -> Corpus:
    """A corpus of text that leaves out what would do harm, and says so.

    ``train`` loses pairs with an empty side, with a side that is too long, and pairs whose source
    also stands in another split. The other splits lose only pairs with an empty side.

    Args:
        name: of the corpus.
        languages: their codes.
        splits: the first pairs (or all) of each split, in the order of the files.
        max_words: that a side of train may have.
        max_characters: that a side of train may have.
        tell: is given a sentence where something was left out.

    Raises:
        CourseError: (when pairs are asked for) none is left.
    """

    @functools.cache
    def held_out() -> dict[str, frozenset[str]]:
        return {split: source_keys(splits[split](None)) for split in splits if split != "train"}

    @functools.cache
    def cleaned(split: str, size: int | None) -> Sequence[TextPair]:
        if split == "train":
            pairs, report = clean(
                splits[split](size),
                held_out=held_out(),
                max_words=max_words,
                max_characters=max_characters,
            )
        else:
            pairs, report = clean(splits[split](size))
        if not pairs:
            raise CourseError(f"expected at least one pair in {split} of {name}, {report}")
        if report.removed:
            tell(f"{name}, {split}: {report}")
        return pairs

    return Corpus(
        name=name,
        source_language=language_name(languages[0]),
        target_language=language_name(languages[1]),
        splits=tuple(splits),
        sample=lambda split, size, seed: cleaned(split, size),
    )
