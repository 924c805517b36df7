"""The corpora that need no network, and all corpora by name."""

from __future__ import annotations

from course_lib.data.corpus import Corpus
from course_lib.data.grammar import sample_pairs
from course_lib.data.hub import hub_corpus
from course_lib.data.pairs import SentencePair
from course_lib.data.public import PUBLIC
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


def _grammar(name: str, source_language: str) -> Corpus:
    def sample(split: str, size: int | None, seed: int) -> list[SentencePair]:
        if size is None:
            raise CourseError(f"{name} has no end: say how many pairs of {split} you want")
        return sample_pairs(name, split, size, seed=seed)

    return Corpus(
        name=name,
        source_language=source_language,
        target_language="English",
        splits=("train", "valid", "test", "compositional"),
        sample=sample,
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


HUB = "hub:OWNER/NAME[:CONFIG[:SOURCE-TARGET]]"


def load_corpus(name: str) -> Corpus:
    """The corpus called ``name``: built in, published, or of the hub, as ``HUB`` says.

    ``hub:Helsinki-NLP/opus_books:en-fr`` translates from English, as its configuration is called;
    ``hub:Helsinki-NLP/opus_books:en-fr:fr-en`` from French.

    Raises:
        CourseError: there is none of that name, or it could not be fetched.
    """
    if name.startswith("hub:"):
        return _hub(*name.removeprefix("hub:").split(":", maxsplit=2))
    if name in PUBLIC:
        return PUBLIC[name]()
    if name not in CORPORA:
        raise CourseError(
            f"corpus must be one of {', '.join([*CORPORA, *PUBLIC])} or {HUB}, got {name!r}"
        )
    return CORPORA[name]


def _hub(dataset: str, config: str = "", direction: str = "") -> Corpus:
    source, _, target = direction.partition("-")
    return hub_corpus(dataset, config or None, languages=(source, target) if direction else None)
