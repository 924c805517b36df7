"""A run in words: what ``course train`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from course_lib.training.evaluation import (
    evaluate,
    head_alignment_errors,
    shuffled_source_scores,
    translate_sources,
)
from course_lib.training.loss import target_only_entropy
from course_lib.training.run import Epoch, Run
from course_lib.training.training_data import TrainingData

BY_HEART = 20  # pairs that can be meant to be learnt by heart

_LABELS = {
    "loss": "loss {:.3f}",
    "valid_loss": "valid loss {:.3f}",
    "valid_accuracy_teacher_forced": "teacher-forced accuracy {:.1%}",
    "valid_exact": "free-running exactly right {:.1%}",
    "valid_bleu": "BLEU {:.1f}",
}


def epoch_line(row: Epoch) -> str:
    """One line for the numbers of an epoch."""
    numbers = [text.format(row[name]) for name, text in _LABELS.items() if name in row]
    return f"epoch {int(row['epoch']):2d}  " + "  ".join(numbers)


def report(run: Run, task: TrainingData) -> Iterator[str]:
    """What a finished run can do, line by line.

    A few pairs to be learnt by heart are checked on themselves, against the loss that a model blind
    to the source cannot beat. A corpus is tested free-running on sentences that were not trained
    on, and with the wrong sources as a control.
    """
    if held_out := [split for split in ("test", "valid") if split in task.corpus.splits]:
        yield from _report_unseen(run, task, held_out[0])
    elif len(task.train) <= BY_HEART:
        yield from _report_by_heart(run, task)
    else:
        yield (
            f"{task.corpus.name} holds nothing out, so there is no honest test: give sentences "
            "that are not trained on with --valid."
        )


def _report_by_heart(run: Run, task: TrainingData) -> Iterator[str]:
    floor = target_only_entropy([list(pair.target) for pair in task.train])
    crossed = [int(row["epoch"]) for row in run.epochs if row["loss"] < floor]
    if crossed:
        yield (
            f"The loss crossed {floor:.4f} at epoch {crossed[0]}: no model that is blind to the "
            "source can get below that, so by now it reads."
        )
    else:
        yield f"The loss never crossed {floor:.4f}: a model blind to the source can do as well."
    for pair, said in zip(task.train, translate_sources(run.translator, task.train), strict=True):
        wanted = pair.target_text
        verdict = "right" if str(said) == wanted else f"WRONG, expected: {wanted}"
        yield f"{pair.source_text} → {said}  ({verdict})"


def _report_unseen(run: Run, task: TrainingData, held_out: str) -> Iterator[str]:
    size, decoding = run.recipe.test_size or 500, run.recipe.decoding
    way = f"{decoding.method}, free-running"
    yield f"{way:<34}{'sentences':>9}{'exact':>9}{'BLEU':>8}{'chrF':>8}"
    signature = ""
    splits = {held_out: "unseen", "compositional": "unseen combinations"}
    for split, title in splits.items():
        if split in task.corpus.splits:
            pairs = task.corpus.pairs(split, size)
            for name, test in (
                (title, evaluate),
                (f"{title}, wrong source", shuffled_source_scores),
            ):
                scores = test(run.translator, pairs, decoding)
                signature = scores.signature
                yield (
                    f"{name:<34}{len(pairs):>9}{scores.exact:>9.1%}"
                    f"{scores.bleu:>8.1f}{scores.chrf:>8.1f}"
                )
    yield f"BLEU by sacrebleu, {signature}"
    aligned = task.corpus.pairs(held_out, min(size, 100))
    if run.recipe.tokens == "words" and all(pair.alignment for pair in aligned):
        errors = head_alignment_errors(run.translator, aligned)
        layer, head = divmod(int(errors.argmin()), errors.size(1))
        yield (
            f"Alignment error rate of cross-attention, best head (layer {layer + 1}, head "
            f"{head + 1} of {errors.size(1)}): {errors.min():.2f}; mean of all heads "
            f"{errors.mean():.2f}"
        )
