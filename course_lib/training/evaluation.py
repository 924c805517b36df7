"""Test a translator on sentences that it has not seen, the way it will be used."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.data import EncodedPair, SentencePair, epoch_batches, join_words, teacher_forcing
from course_lib.decoding import Translator, evaluating
from course_lib.training.loss import masked_cross_entropy
from course_lib.training.metrics import TranslationScores, masked_accuracy, translation_scores


def evaluate(translator: Translator, pairs: Sequence[SentencePair]) -> TranslationScores:
    """Scores of free-running greedy translations of the sources against the targets."""
    translations = translator.translate_all([pair.source for pair in pairs])
    return translation_scores(
        [str(translation) for translation in translations],
        [join_words(pair.target) for pair in pairs],
    )


def wrong_source_scores(translator: Translator, pairs: Sequence[SentencePair]) -> TranslationScores:
    """The control: each target is compared with the translation of the *next* pair's source.

    A model that translates must do badly here; one that only babbles likely sentences would not
    do worse than in ``evaluate``.
    """
    moved = [*pairs[1:], *pairs[:1]]
    return evaluate(
        translator,
        [right._replace(source=wrong.source) for right, wrong in zip(pairs, moved, strict=True)],
    )


def teacher_forced(
    translator: Translator, pairs: Sequence[EncodedPair], *, max_tokens: int = 4096
) -> tuple[float, float]:
    """Loss per token in nats and masked accuracy, each word predicted after the right ones."""
    model, pad_id = translator.model, translator.model.config.pad_id
    loss = accuracy = tokens = 0.0
    with evaluating(model):
        for batch in epoch_batches(pairs, max_tokens=max_tokens, pad_id=pad_id, seed=0):
            decoder_input, labels = teacher_forcing(batch.target.to(model.device), pad_id)
            logits = model(batch.source.to(model.device), decoder_input)
            real = float((labels != pad_id).sum())
            loss += float(masked_cross_entropy(logits, labels, pad_id)) * real
            accuracy += masked_accuracy(logits, labels, pad_id) * real
            tokens += real
    return loss / tokens, accuracy / tokens
