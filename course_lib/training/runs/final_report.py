"""What ``course train`` prints of a run: a line for each validation, and the final test."""

from __future__ import annotations

from collections.abc import Iterator

from course_lib.data import Vocabulary
from course_lib.training.data.training_data import TrainingData
from course_lib.training.evaluation import (
    evaluate,
    head_alignment_errors,
    shuffled_source_scores,
    translate_sources,
)
from course_lib.training.loss import target_only_entropy
from course_lib.training.metrics import is_exact_match
from course_lib.training.runs.first_report import HELD_OUT, MEMORISABLE
from course_lib.training.runs.progress_bar import scoring_bar
from course_lib.training.runs.run import Epoch, Run

_LABELS = {
    "loss": "loss {:.3f}",
    "valid_loss": "valid loss {:.3f}",
    "valid_accuracy_teacher_forced": "teacher-forced accuracy {:.1%}",
    "valid_exact": "exact match {:.1%}",
    "valid_bleu": "BLEU {:.1f}",
}


def epoch_line(row: Epoch) -> str:
    """One line for the numbers of a validation."""
    numbers = [text.format(row[name]) for name, text in _LABELS.items() if name in row]
    return f"step {int(row['step']):,}  " + "  ".join(numbers)


def report(run: Run, data: TrainingData) -> Iterator[str]:
    """What a finished run can do, line by line.

    A few pairs to be memorised are checked on themselves, against the entropy of the targets alone.
    A corpus is tested by autoregressive decoding on held-out sentences, with the shuffled-source
    control beside each test. Where nothing is held out, ``first_report.describe`` says so.
    """
    if held_out := [split for split in HELD_OUT if split in data.corpus.splits]:
        yield from _report_unseen(run, data, held_out[0])
    elif len(data.train) <= MEMORISABLE:
        yield from _report_memorised(run, data)


def _report_memorised(run: Run, data: TrainingData) -> Iterator[str]:
    if not run.recipe.label_smoothing:  # the loss of smoothed labels has another lowest value
        yield _beside_entropy(run, data)
    translations = translate_sources(run.translator, data.train)
    for pair, translation in zip(data.train, translations, strict=True):
        verdict = "right"
        if not is_exact_match(str(translation), pair.target_text):
            verdict = f"WRONG, expected: {pair.target_text}"
        yield f"{pair.source_text} → {translation}  ({verdict})"


def _beside_entropy(run: Run, data: TrainingData) -> str:
    """Whether the loss shows that the source is read, both per token of the target's tokenizer."""
    # Without <bos>, which is not predicted, and <eos>, which the function adds.
    entropy = target_only_entropy([pair.target[1:-1] for pair in data.encode(data.train)])
    below = [int(row["epoch"]) for row in run.epochs if row["loss"] < entropy]
    if below:
        return (
            f"The loss fell below {entropy:.4f} at epoch {below[0]}: that is the entropy of the "
            "targets alone, and no model that ignores the source can get below it."
        )
    return (
        f"The loss never fell below {entropy:.4f}, the entropy of the targets alone: a model "
        "that ignores the source could do as well."
    )


def _report_unseen(run: Run, data: TrainingData, held_out: str) -> Iterator[str]:
    size, decoding = run.recipe.test_size or 500, run.recipe.decoding
    yield (
        "Scoring translates each held-out sentence token by token, and once more with the source "
        "of another. It takes longest while a model has learnt little: then it rarely ends a "
        "sentence before the maximum length. --no-scores leaves it out."
    )
    method = f"{decoding.method} decoding"
    yield f"{method:<38}{'sentences':>9}{'exact':>9}{'BLEU':>8}{'chrF':>8}"
    signature = ""
    splits = {held_out: "unseen", "compositional": "unseen combinations"}
    for split, title in splits.items():
        if split in data.corpus.splits:
            pairs = data.corpus.pairs(split, size)
            tests = {title: evaluate, f"{title}, shuffled source": shuffled_source_scores}
            if len(pairs) < 2:  # there is no other source
                tests.popitem()
            for name, test in tests.items():
                with scoring_bar(name, len(pairs)) as on_batch:
                    scores = test(run.translator, pairs, decoding, on_batch=on_batch)
                signature = scores.signature
                yield (
                    f"{name:<38}{len(pairs):>9}{scores.exact:>9.1%}"
                    f"{scores.bleu:>8.1f}{scores.chrf:>8.1f}"
                )
    yield f"BLEU by sacrebleu, {signature}"
    longest = run.translator.model.config.max_len
    aligned = [
        pair
        for pair in data.corpus.pairs(held_out, min(size, 100))
        if len(pair.source) <= longest and len(pair.target) < longest  # <bos> is added
    ]
    words = isinstance(data.target_vocabulary, Vocabulary)
    if words and aligned and all(pair.alignment for pair in aligned):
        errors = head_alignment_errors(run.translator, aligned)
        layer, head = divmod(int(errors.argmin()), errors.size(1))
        yield (
            "Alignment error rate of attention from target to source, best head "
            f"(layer {layer}, head {head}, both counted from 0): {errors.min():.2f}; "
            f"mean of all heads {errors.mean():.2f}"
        )
