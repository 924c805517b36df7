"""Test a translator on sentences that it has not seen, with the decoding that inference uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.alignment_error_rate import alignment_error_rate
from course_lib.data import BOS, EncodedPair, Pair, epoch_batches, teacher_forcing
from course_lib.decoding import Decoding, Translation, Translator, evaluating
from course_lib.model import record_attention
from course_lib.training.data.batch_sampler import fits
from course_lib.training.data.training_data import TrainingData
from course_lib.training.distributed import broadcast_from_first_rank, rank
from course_lib.training.loss import masked_cross_entropy
from course_lib.training.metrics import TranslationScores, masked_accuracy, translation_scores
from course_lib.training.runs.progress_bar import scoring_bar
from course_lib.training.runs.run import Epoch, Run

GREEDY = Decoding()
OnBatch = Callable[[int], object]  # told how many more sentences are translated


def evaluate(
    translator: Translator,
    pairs: Sequence[Pair],
    decoding: Decoding = GREEDY,
    *,
    on_batch: OnBatch | None = None,
) -> TranslationScores:
    """Scores of the translations of the sources, decoded autoregressively, against the targets."""
    return _scores(translate_sources(translator, pairs, decoding, on_batch=on_batch), pairs)


def _scores(translations: Sequence[Translation], pairs: Sequence[Pair]) -> TranslationScores:
    return translation_scores(
        [str(translation) for translation in translations], [pair.target_text for pair in pairs]
    )


def translate_sources(
    translator: Translator,
    pairs: Sequence[Pair],
    decoding: Decoding = GREEDY,
    *,
    on_batch: OnBatch | None = None,
) -> list[Translation]:
    """The translation of each pair's source; one that is too long for the model is truncated."""
    longest = translator.model.config.max_len
    tokens = [translator.source_vocabulary.split(pair.source_text)[:longest] for pair in pairs]
    return translator.translate_all(tokens, decoding=decoding, on_batch=on_batch)


def shuffled_source_scores(
    translator: Translator,
    pairs: Sequence[Pair],
    decoding: Decoding = GREEDY,
    *,
    on_batch: OnBatch | None = None,
) -> TranslationScores:
    """The shuffled-source control: each target is compared with the translation of the next source.

    A model that translates must score badly here; one that ignores the source and outputs probable
    sentences scores as in ``evaluate``.
    """
    shuffled = [*pairs[1:], *pairs[:1]]
    return _scores(translate_sources(translator, shuffled, decoding, on_batch=on_batch), pairs)


def head_alignment_errors(
    translator: Translator, pairs: Sequence[Pair]
) -> Float[Tensor, "layers heads"]:
    """How well each cross-attention head shows which source word a target word comes from.

    Each reference target word is linked to the source word with the largest attention weight in the
    step that predicts it, and all links of all pairs are compared with the gold alignment. Only
    pairs of aligned words can be measured.

    Returns:
        Alignment error rates (layers, heads).
    """
    found: dict[tuple[int, int], set[tuple[int, int, int]]] = {}
    gold: set[tuple[int, int, int]] = set()
    for number, pair in enumerate(pairs):
        gold |= {(number, source, target) for source, target in pair.alignment}
        aligned = {target for _, target in pair.alignment}
        for layer, weights in enumerate(cross_weights(translator, pair)):
            for head, keys in enumerate(weights.argmax(dim=-1).tolist()):  # one for each query
                links = {(number, keys[target], target) for target in aligned}
                found.setdefault((layer, head), set()).update(links)
    layers, heads = translator.model.config.n_layers, translator.model.config.n_heads
    errors = [
        [alignment_error_rate(found[layer, head], gold) for head in range(heads)]
        for layer in range(layers)
    ]
    return torch.tensor(errors)


def cross_weights(translator: Translator, pair: Pair) -> list[Float[Tensor, "heads t s"]]:
    """Each layer's cross-attention under teacher forcing; row t is the step that predicts target
    word t. In one stack, it is what the target's rows give to the source's columns.
    """
    device = translator.model.device
    source = torch.tensor([translator.source_vocabulary.encode(pair.source)], device=device)
    decoder_input = translator.target_vocabulary.encode([BOS, *pair.target])
    target = torch.tensor([decoder_input], device=device)
    with evaluating(translator.model), record_attention(translator.model) as record:
        translator.model(source, target)
    if "cross" in record.kinds:
        return [weights[0] for weights in record.cross]
    columns = source.size(1)
    return [weights[0, :, columns:, :columns] for weights in record.decoder]


def teacher_forced(
    translator: Translator, pairs: Sequence[EncodedPair], *, max_tokens: int = 4096
) -> tuple[float, float]:
    """Loss per token in nats and masked accuracy, each token predicted from the right prefix."""
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


def validate(run: Run, data: TrainingData) -> Epoch:
    """The numbers of a validation, measured by the first process and the same on all.

    Teacher-forced loss and accuracy, and, unless the options leave them out, scores of translations
    decoded by the model itself. A run without validation pairs has only the training loss since the
    last time.
    """
    return broadcast_from_first_rank(_measure(run, data) if rank() == 0 else None)


def _measure(run: Run, data: TrainingData) -> Epoch:
    since = int(run.epochs[-1]["step"]) if run.epochs else 0
    recent = run.losses[since:]
    row: Epoch = {
        "epoch": len(run.epochs) + 1,
        "step": run.step,
        "seconds": run.seconds,
        "loss": sum(recent) / len(recent),
    }
    max_len = run.translator.model.config.max_len
    if pairs := [pair for pair in data.encoded_valid if fits(pair, max_len)]:
        loss, accuracy = teacher_forced(run.translator, pairs)
        row |= {"valid_loss": loss, "valid_accuracy_teacher_forced": accuracy}
        if run.options.scores:
            with scoring_bar("validation", len(data.valid)) as on_batch:
                scores = evaluate(run.translator, data.valid, on_batch=on_batch)
            row |= {"valid_exact": scores.exact, "valid_bleu": scores.bleu}
    return row
