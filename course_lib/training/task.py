"""What a recipe works on: its corpus as ids, its vocabularies, a fresh model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from course_lib.data import (
    EOS,
    PAD,
    SOS,
    UNK,
    Corpus,
    EncodedPair,
    SentencePair,
    Vocabulary,
    load_corpus,
)
from course_lib.decoding import Translator
from course_lib.model import Transformer, preset
from course_lib.training.recipes import Recipe


@dataclass(frozen=True)
class Task:
    """The training and validation pairs of a recipe, and the vocabularies that number them."""

    corpus: Corpus
    train: list[SentencePair]
    valid: list[SentencePair]
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary

    def encode(self, pairs: Sequence[SentencePair]) -> list[EncodedPair]:
        """Pairs as ids, the target between ``<sos>`` and ``<eos>``."""
        return [
            EncodedPair(
                self.source_vocabulary.encode(pair.source),
                self.target_vocabulary.encode((SOS, *pair.target, EOS)),
            )
            for pair in pairs
        ]

    def new_translator(self, recipe: Recipe, *, seed: int) -> Translator:
        """An untrained model for this task; the seed decides its weights, on every device alike."""
        torch.manual_seed(seed)
        config = preset(
            recipe.preset,
            source_vocab=len(self.source_vocabulary),
            target_vocab=len(self.target_vocabulary),
            pad_id=self.source_vocabulary.ids[PAD],
            **recipe.model,
        )
        return Translator(Transformer(config), self.source_vocabulary, self.target_vocabulary)


def load_task(recipe: Recipe) -> Task:
    """Load the recipe's corpus and number its words.

    Raises:
        CourseError: there is no such corpus.
    """
    corpus = load_corpus(recipe.corpus)
    train = corpus.pairs("train", recipe.train_size)
    has_valid = recipe.valid_size and "valid" in corpus.splits
    unknown = (UNK,) if recipe.unknown_word else ()
    return Task(
        corpus=corpus,
        train=train,
        valid=corpus.pairs("valid", recipe.valid_size) if has_valid else [],
        source_vocabulary=Vocabulary.from_sentences(
            (pair.source for pair in train), specials=(PAD, *unknown)
        ),
        target_vocabulary=Vocabulary.from_sentences(
            (pair.target for pair in train), specials=(PAD, SOS, EOS, *unknown)
        ),
    )
