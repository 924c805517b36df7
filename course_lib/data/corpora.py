"""The corpora that need no network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from course_lib.data.grammar import sample_pairs
from course_lib.data.pairs import SentencePair
from course_lib.errors import CourseError

_TWO_SENTENCES = [
    ("ich mochte ein bier", "i want a beer .", {(0, 0), (1, 1), (2, 2), (3, 3)}),
    ("ich mochte ein cola", "i want a coke .", {(0, 0), (1, 1), (2, 2), (3, 3)}),
]


def two_sentences() -> list[SentencePair]:
    """Two German sentences that differ in one word, and their English (as published: no umlaut)."""
    return [
        SentencePair(tuple(source.split()), tuple(target.split()), frozenset(links))
        for source, target, links in _TWO_SENTENCES
    ]


@dataclass(frozen=True)
class Corpus:
    """A named set of sentence pairs in splits.

    ``pairs(split, size, seed=0)`` gives at most ``size`` pairs of a split.
    """

    name: str
    source_language: str
    target_language: str
    splits: tuple[str, ...]
    sample: Callable[[str, int, int], list[SentencePair]]

    def pairs(self, split: str, size: int, *, seed: int = 0) -> list[SentencePair]:
        """Pairs of one split; the same for the same arguments.

        Raises:
            CourseError: the corpus has no such split, or the size is not positive.
        """
        if split not in self.splits:
            raise CourseError(f"{self.name} has the splits {', '.join(self.splits)}, got {split!r}")
        if size < 1:
            raise CourseError(f"size must be a positive number of pairs, got {size}")
        return self.sample(split, size, seed)


def _grammar(name: str, source_language: str) -> Corpus:
    return Corpus(
        name=name,
        source_language=source_language,
        target_language="English",
        splits=("train", "valid", "test", "compositional"),
        sample=lambda split, size, seed: sample_pairs(name, split, size, seed=seed),
    )


CORPORA: dict[str, Corpus] = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            name="two_sentences",
            source_language="German",
            target_language="English",
            splits=("train",),  # to learn by heart: there is nothing to hold out
            sample=lambda split, size, seed: two_sentences()[:size],
        ),
        _grammar("grammar_de_en", "German"),
        _grammar("grammar_pt_en", "Portuguese"),
    )
}


def load_corpus(name: str) -> Corpus:
    """The corpus called ``name``.

    Raises:
        CourseError: there is none of that name.
    """
    if name not in CORPORA:
        raise CourseError(f"corpus must be one of {', '.join(CORPORA)}, got {name!r}")
    return CORPORA[name]
