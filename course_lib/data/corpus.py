"""What a corpus is, and corpora of text, which are cleaned before use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from course_lib.data.cleaning import HeldOut, clean
from course_lib.data.languages import language_name
from course_lib.data.pairs import Pair, TextPair
from course_lib.errors import CourseError, not_one_text


@dataclass(frozen=True)
class Corpus:
    """A named parallel corpus, divided into splits such as train, valid and test.

    ``sample(split, size, seed)`` gives at most ``size`` pairs of a split, or all; call ``pairs``,
    which checks the arguments first. ``summary`` is a line for a list of corpora.
    """

    name: str
    _: KW_ONLY
    source_language: str
    target_language: str
    splits: tuple[str, ...]
    sample: Callable[[str, int | None, int], Sequence[Pair]]
    summary: str = ""

    def __post_init__(self) -> None:
        not_one_text(self.splits, "splits")

    def pairs(self, split: str, size: int | None = None, *, seed: int = 0) -> Sequence[Pair]:
        """The first ``size`` pairs of one split, or all; the same for the same arguments.

        Args:
            split: one of ``splits``.
            size: number of pairs; fewer come if the split has no more.
            seed: of a generated corpus; a corpus of files ignores it.

        Raises:
            CourseError: the corpus has no such split, the size is not positive, or a generated
                corpus, which never runs out of pairs, is asked for all of them.
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
    """A corpus of text without the pairs that would harm training; it reports what it removes.

    From ``train`` it removes pairs with an empty or too long side, and pairs whose source sentence
    is also in another split, whatever its capitals and white space. From the other splits it
    removes only pairs with an empty side.

    Args:
        name: of the corpus.
        languages: codes of the source and the target language, such as de and en.
        splits: for each split a function from a size to its first pairs (from None: all pairs),
            in the order of the files.
        max_words: most words on a side of a training pair.
        max_characters: most characters on a side of a training pair.
        tell: called with a sentence about the pairs that were removed, if there are any.

    Raises:
        CourseError: no pair is left. Raised when the pairs are first asked for.
    """

    @functools.cache
    def held_out() -> dict[str, HeldOut]:
        return {split: HeldOut.of(splits[split](None)) for split in splits if split != "train"}

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
        if report.removed or report.remarks:
            tell(f"{name}, {split}: {report}")
        return pairs

    not_one_text(languages, "two language codes")
    return Corpus(
        name=name,
        source_language=language_name(languages[0]),
        target_language=language_name(languages[1]),
        splits=tuple(splits),
        sample=lambda split, size, seed: cleaned(split, size),
    )
