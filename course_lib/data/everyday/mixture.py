"""What the recipe ``everyday`` is trained on: Tatoeba's sentences, and what they lack."""

from __future__ import annotations

from course_lib.data.corpus import Corpus, text_corpus
from course_lib.data.everyday.capitals import with_capitals
from course_lib.data.everyday.connected_splits import without_sentences_of
from course_lib.data.everyday.joined import joined_pairs
from course_lib.data.everyday.phrasebook import all_phrases
from course_lib.data.everyday.tatoeba import tatoeba_splits
from course_lib.data.everyday.variation import with_variation
from course_lib.data.file_corpus import first_of
from course_lib.data.grammar import sample_pairs
from course_lib.data.pairs import TextPair
from course_lib.data.published_corpora import multi30k_corpus

CAPTIONS, JOINED, GRAMMAR_PAIRS = 15_000, 8_000, 6_000


def everyday_corpus() -> Corpus:
    """German to English: Tatoeba's sentences, and in training what they lack: the course's
    phrasebook, pairs of sentences joined, and longer ones: captions, and the grammar's.

    The pairs that are held out are Tatoeba's, as they are; no side of them is in training.
    ``captions`` are Multi30k's for validation. The training pairs have other names and numbers
    (see ``with_variation``).

    Raises:
        CourseError: as in ``tatoeba_corpus`` and ``multi30k_corpus``.
    """
    sentences = tatoeba_splits()
    captions = multi30k_corpus()
    grammar = sample_pairs("grammar_de_en", "train", size=GRAMMAR_PAIRS)
    varied = [with_variation(pair) for pair in sentences["train"]]
    train = [
        *varied,
        *all_phrases(),
        *joined_pairs(varied, JOINED),
        *_texts(captions, "train", CAPTIONS),
        *map(with_capitals, grammar),
    ]
    train = without_sentences_of(train, [*sentences["valid"], *sentences["test"]])
    splits = {
        "train": train,
        "valid": sentences["valid"],
        "test": sentences["test"],
        "captions": _texts(captions, "valid"),
    }
    return text_corpus(
        "everyday_de_en",
        ("de", "en"),
        splits={name: first_of(pairs) for name, pairs in splits.items()},
    )


def _texts(corpus: Corpus, split: str, size: int | None = None) -> list[TextPair]:
    return [TextPair(pair.source_text, pair.target_text) for pair in corpus.pairs(split, size)]
