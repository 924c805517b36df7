"""The corpora that need no download: two sentences, and the grammar's German and Portuguese."""

from __future__ import annotations

from course_lib.data.corpus import Corpus
from course_lib.data.grammar import sample_pairs
from course_lib.data.pairs import SentencePair
from course_lib.errors import CourseError

_TWO_SENTENCES = [
    ("ich mochte ein bier", "i want a beer .", {(0, 0), (1, 1), (2, 2), (3, 3)}),
    ("ich mochte ein cola", "i want a coke .", {(0, 0), (1, 1), (2, 2), (3, 3)}),
]


def two_sentences() -> list[SentencePair]:
    """Two German sentences that differ in one word, with their English translations.

    The spelling is that of the tutorial they come from, which writes "mochte" for "möchte".
    """
    return [
        SentencePair(tuple(source.split()), tuple(target.split()), frozenset(links))
        for source, target, links in _TWO_SENTENCES
    ]


def _grammar_corpus(name: str, source_language: str) -> Corpus:
    def sample(split: str, size: int | None, seed: int) -> list[SentencePair]:
        if size is None:
            raise CourseError(
                f"{name} never runs out of pairs: say how many pairs of {split} you want"
            )
        return sample_pairs(name, split, size=size, seed=seed)

    return Corpus(
        name=name,
        source_language=source_language,
        target_language="English",
        splits=("train", "valid", "test", "compositional"),
        sample=sample,
        summary=f"{source_language} to English: any number of generated pairs with gold alignments",
    )


CORPORA: dict[str, Corpus] = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            name="two_sentences",
            source_language="German",
            target_language="English",
            splits=("train",),  # meant to be overfitted: nothing is held out
            sample=lambda split, size, seed: two_sentences()[:size],
            summary="German to English: two sentences to overfit",
        ),
        _grammar_corpus("grammar_de_en", "German"),
        _grammar_corpus("grammar_pt_en", "Portuguese"),
    )
}
"""The built-in corpora by name."""
