"""The data of a recipe: sentence pairs, and the tokenizers that number them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from course_lib.data import (
    BOS,
    EOS,
    PAD,
    UNK,
    Corpus,
    EncodedPair,
    Pair,
    Tokenizer,
    Vocabulary,
    load_corpus,
    load_tokenizer,
    train_bpe,
)
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.modern import PREFIX_PRESETS
from course_lib.training.data.fingerprint import (
    Fingerprint,
    fingerprint_pairs,
    fingerprint_tokenizer,
)
from course_lib.training.injected_bugs import inject_bugs
from course_lib.training.models import ModelConfig, model_config, new_model
from course_lib.training.recipes import Recipe

VOCABULARY_PAIRS = 200_000  # pairs from which a tokenizer is made


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """The training and validation pairs of a recipe, and the tokenizers that number them."""

    corpus: Corpus
    train: Sequence[Pair]
    valid: Sequence[Pair]
    source_vocabulary: Tokenizer
    target_vocabulary: Tokenizer

    @cached_property
    def encoded_valid(self) -> list[EncodedPair]:
        """``encode`` of the validation pairs."""
        return self.encode(self.valid)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Of pairs and tokenizers: all that decides what a model is trained and validated on."""
        return (
            fingerprint_pairs("train", self.train)
            | fingerprint_pairs("valid", self.valid)
            | fingerprint_tokenizer("source", self.source_vocabulary)
            | fingerprint_tokenizer("target", self.target_vocabulary)
        )

    def encode(self, pairs: Sequence[Pair]) -> list[EncodedPair]:
        """Pairs as ids, the target between BOS and EOS."""
        sources = _encode(self.source_vocabulary, pairs, "source")
        targets = _encode(self.target_vocabulary, pairs, "target")
        bos, eos = (self.target_vocabulary.ids[token] for token in (BOS, EOS))
        return [
            EncodedPair(source, [bos, *target, eos])
            for source, target in zip(sources, targets, strict=True)
        ]

    def config(self, recipe: Recipe) -> ModelConfig:
        """The configuration of the recipe's model for these vocabularies.

        Raises:
            CourseError: the model reads source and target in one row, and they have two
                vocabularies.
        """
        one_row = recipe.preset in PREFIX_PRESETS
        if one_row and self.source_vocabulary is not self.target_vocabulary:
            raise CourseError(
                f"expected one vocabulary, as {recipe.preset!r} reads source and target in one "
                "row, got two: set shared_vocabulary=true"
            )
        return model_config(
            recipe.preset,
            source_vocab=len(self.source_vocabulary),
            target_vocab=len(self.target_vocabulary),
            pad_id=self.source_vocabulary.ids[PAD],
            **recipe.model,
        )

    def new_translator(self, recipe: Recipe) -> Translator:
        """An untrained model for these vocabularies, with the bugs that the recipe asks for.

        Its weights come from PyTorch's global random numbers, on every device alike: call
        ``torch.manual_seed`` first.
        """
        model = new_model(self.config(recipe))
        inject_bugs(recipe.bugs, model)
        return Translator(model, self.source_vocabulary, self.target_vocabulary)


def _encode(tokenizer: Tokenizer, pairs: Sequence[Pair], side: str) -> list[list[int]]:
    if isinstance(tokenizer, Vocabulary):  # a corpus may come in words: no need to join them first
        return [tokenizer.encode(getattr(pair, side)) for pair in pairs]
    return tokenizer.encode_texts([getattr(pair, f"{side}_text") for pair in pairs])


def load_training_data(recipe: Recipe, corpus: Corpus | None = None) -> TrainingData:
    """Load the recipe's corpus (or take another) and make its tokenizers.

    Raises:
        CourseError: there is no such corpus, or it is not where it should be.
    """
    corpus = corpus or load_corpus(recipe.corpus)
    train = corpus.pairs("train", recipe.train_size)
    has_valid = recipe.valid_size and "valid" in corpus.splits
    source, target = _tokenizers(recipe, train)
    return TrainingData(
        corpus=corpus,
        train=train,
        valid=corpus.pairs("valid", recipe.valid_size) if has_valid else [],
        source_vocabulary=source,
        target_vocabulary=target,
    )


def _tokenizers(recipe: Recipe, train: Sequence[Pair]) -> tuple[Tokenizer, Tokenizer]:
    """One for each side, or one for both: loaded, or made from the training pairs."""
    if recipe.tokenizer:
        both = load_tokenizer(recipe.tokenizer)
        return both, both
    if len(train) > VOCABULARY_PAIRS:
        some = random.Random(0).sample(range(len(train)), VOCABULARY_PAIRS)
        train = [train[i] for i in sorted(some)]
    if recipe.tokens == "bpe":
        sources = [pair.source_text for pair in train]
        targets = [pair.target_text for pair in train]
        if recipe.shared_vocabulary:
            both = train_bpe([*sources, *targets], recipe.vocab_size)
            return both, both
        return train_bpe(sources, recipe.vocab_size), train_bpe(targets, recipe.vocab_size)
    unknown = (UNK,) if recipe.unknown_word else ()
    specials = (PAD, BOS, EOS, *unknown)
    if recipe.shared_vocabulary:
        sides = (side for pair in train for side in (pair.source, pair.target))
        both_words = Vocabulary.from_sentences(sides, specials=specials)
        return both_words, both_words
    return (
        Vocabulary.from_sentences((pair.source for pair in train), specials=(PAD, *unknown)),
        Vocabulary.from_sentences((pair.target for pair in train), specials=specials),
    )
