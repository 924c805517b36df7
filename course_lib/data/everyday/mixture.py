"""What the recipe ``everyday`` is trained on: Tatoeba's sentences, captions, and the grammar."""

from __future__ import annotations

from course_lib.data.corpus import Corpus, text_corpus
from course_lib.data.everyday.capitals import with_capitals
from course_lib.data.everyday.tatoeba import tatoeba_splits
from course_lib.data.everyday.variation import with_variation
from course_lib.data.file_corpus import first_of
from course_lib.data.grammar import sample_pairs
from course_lib.data.pairs import TextPair
from course_lib.data.published_corpora import multi30k_corpus

GRAMMAR_PAIRS = 12_000


def everyday_corpus() -> Corpus:
    """German to English: Tatoeba's sentences, and in training Multi30k's captions and the grammar's
    sentences, too, which are longer.

    The pairs that are held out are Tatoeba's, as they are; ``captions`` are Multi30k's for
    validation. The training pairs have other names and numbers (see ``with_variation``).

    Raises:
        CourseError: as in ``tatoeba_corpus`` and ``multi30k_corpus``.
    """
    sentences = tatoeba_splits()
    captions = multi30k_corpus()
    grammar = sample_pairs("grammar_de_en", "train", size=GRAMMAR_PAIRS)
    train = [
        *map(with_variation, sentences["train"]),
        *_texts(captions, "train"),
        *map(with_capitals, grammar),
    ]
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


def _texts(corpus: Corpus, split: str) -> list[TextPair]:
    return [TextPair(pair.source_text, pair.target_text) for pair in corpus.pairs(split)]
