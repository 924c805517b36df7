"""A run in words: what ``course train`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from course_lib.data import join_words
from course_lib.training.evaluation import evaluate, wrong_source_scores
from course_lib.training.loop import Epoch, Run
from course_lib.training.loss import source_blind_floor
from course_lib.training.task import Task

_LABELS = {
    "loss": "loss {:.3f}",
    "valid_loss": "valid loss {:.3f}",
    "valid_accuracy_teacher_forced": "teacher-forced accuracy {:.1%}",
    "valid_exact": "free-running exactly right {:.1%}",
}


def epoch_line(row: Epoch) -> str:
    """One line for the numbers of an epoch."""
    numbers = [text.format(row[name]) for name, text in _LABELS.items() if name in row]
    return f"epoch {int(row['epoch']):2d}  " + "  ".join(numbers)


def report(run: Run, task: Task) -> Iterator[str]:
    """What a finished run can do, line by line.

    A corpus to be learnt by heart is checked on itself, against the loss that a model blind to the
    source cannot beat. Any other is tested free-running on sentences that were not trained on, and
    with the wrong sources as a control.
    """
    if "test" in task.corpus.splits:
        yield from _report_unseen(run, task)
    else:
        yield from _report_by_heart(run, task)


def _report_by_heart(run: Run, task: Task) -> Iterator[str]:
    floor = source_blind_floor([pair.target for pair in task.train])
    crossed = [int(row["epoch"]) for row in run.epochs if row["loss"] < floor]
    if crossed:
        yield (
            f"The loss crossed {floor:.4f} at epoch {crossed[0]}: no model that is blind to the "
            "source can get below that, so by now it reads."
        )
    else:
        yield f"The loss never crossed {floor:.4f}: a model blind to the source can do as well."
    for pair in task.train:
        said, wanted = run.translator.translate(join_words(pair.source)), join_words(pair.target)
        verdict = "right" if str(said) == wanted else f"WRONG, expected: {wanted}"
        yield f"{join_words(pair.source)} → {said}  ({verdict})"


def _report_unseen(run: Run, task: Task) -> Iterator[str]:
    size = run.recipe.test_size or 500
    yield f"{'greedy, free-running':<34}{'sentences':>9}{'exact':>9}{'BLEU':>8}{'chrF':>8}"
    signature = ""
    for split, title in (("test", "unseen"), ("compositional", "unseen combinations")):
        if split in task.corpus.splits:
            pairs = task.corpus.pairs(split, size)
            for name, test in ((title, evaluate), (f"{title}, wrong source", wrong_source_scores)):
                scores = test(run.translator, pairs)
                signature = scores.signature
                yield (
                    f"{name:<34}{len(pairs):>9}{scores.exact:>9.1%}"
                    f"{scores.bleu:>8.1f}{scores.chrf:>8.1f}"
                )
    yield f"BLEU by sacrebleu, {signature}"
