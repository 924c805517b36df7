"""Test a translator on sentences that it has not seen, the way it will be used."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.alignment_error_rate import alignment_error_rate
from course_lib.data import BOS, EncodedPair, Pair, epoch_batches, teacher_forcing
from course_lib.decoding import Decoding, Translation, Translator, evaluating
from course_lib.model import record_attention
from course_lib.training.loss import masked_cross_entropy
from course_lib.training.metrics import TranslationScores, masked_accuracy, translation_scores

GREEDY = Decoding()


def evaluate(
    translator: Translator, pairs: Sequence[Pair], decoding: Decoding = GREEDY
) -> TranslationScores:
    """Scores of free-running translations of the sources against the targets."""
    translations = translate_sources(translator, pairs, decoding)
    return translation_scores(
        [str(translation) for translation in translations], [pair.target_text for pair in pairs]
    )


def translate_sources(
    translator: Translator, pairs: Sequence[Pair], decoding: Decoding = GREEDY
) -> list[Translation]:
    """The translation of each pair's source; of one too long to be read, of its beginning."""
    longest = translator.model.config.max_len
    tokens = [translator.source_vocabulary.split(pair.source_text)[:longest] for pair in pairs]
    return translator.translate_all(tokens, decoding=decoding)


def shuffled_source_scores(
    translator: Translator, pairs: Sequence[Pair], decoding: Decoding = GREEDY
) -> TranslationScores:
    """The control: each translation is compared with the target of the pair *before*.

    A model that translates must do badly here; one that only babbles likely sentences would not
    do worse than in ``evaluate``.
    """
    translations = translate_sources(translator, [*pairs[1:], *pairs[:1]], decoding)
    return translation_scores(
        [str(translation) for translation in translations], [pair.target_text for pair in pairs]
    )


def head_alignment_errors(
    translator: Translator, pairs: Sequence[Pair]
) -> Float[Tensor, "layers heads"]:
    """How well each cross-attention head says which source word a target word comes from.

    Each right target word is linked to the source word that its step reads most, and all links of
    all pairs are compared with the gold ones. Only pairs of aligned words can be measured.

    Returns:
        Alignment error rates (layers, heads).
    """
    found: dict[tuple[int, int], set[tuple[int, int, int]]] = {}
    gold: set[tuple[int, int, int]] = set()
    for number, pair in enumerate(pairs):
        gold |= {(number, source, target) for source, target in pair.alignment}
        aligned = {target for _, target in pair.alignment}
        for layer, weights in enumerate(_cross_weights(translator, pair)):
            for head, read in enumerate(weights.argmax(dim=-1).tolist()):  # (H, T) keys
                links = {(number, read[target], target) for target in aligned}
                found.setdefault((layer, head), set()).update(links)
    layers, heads = translator.model.config.n_layers, translator.model.config.n_heads
    return torch.tensor(
        [
            [alignment_error_rate(found[layer, head], gold) for head in range(heads)]
            for layer in range(layers)
        ]
    )


def _cross_weights(translator: Translator, pair: Pair) -> list[Float[Tensor, "heads t s"]]:
    """Each layer's cross-attention when the right target is read; row t is the step that says
    target word t.
    """
    device = translator.model.device
    source = torch.tensor([translator.source_vocabulary.encode(pair.source)], device=device)
    said = [BOS, *pair.target]
    target = torch.tensor([translator.target_vocabulary.encode(said)], device=device)
    with evaluating(translator.model), record_attention(translator.model) as record:
        translator.model(source, target)
    return [weights[0] for weights in record.cross]


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
