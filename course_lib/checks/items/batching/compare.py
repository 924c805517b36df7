"""09.compare: Two programs that make batches, one of them with an error."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from course_lib.checks.items.batching.batch_logs import EOS, PAD, ROWS, TwoLogs, draw_logs
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)


def _real(row: Sequence[str]) -> int:
    """The tokens of a row that are no pads."""
    return len(row) - row.count(PAD)


def _make(drawn: random.Random) -> TwoLogs:
    return draw_logs(drawn, drawn.choice([*ERRORS]))


def _show(run: TwoLogs) -> Outcome:
    numbers = range(len(run.pairs))
    text = [
        f"{len(run.pairs)} sentence pairs, {ROWS} in a batch; at most {run.most} labels a "
        "sentence, <eos> included",
        "sentence    " + "".join(f"{n:3}" for n in numbers),
        "source words" + "".join(f"{len(run.pairs[n].source):3}" for n in numbers),
        "target words" + "".join(f"{len(run.pairs[n].target):3}" for n in numbers),
    ]
    for name, log in run.batches.items():
        text += ["", f"{name}: epoch  sentences      source tokens   labels         <eos>  pads"]
        for line, batch in enumerate(log, 1):
            columns = [
                batch.sentences,
                *(map(_real, rows) for rows in (batch.source, batch.labels)),
            ]
            cells = ("".join(f"{n:3}" for n in column) for column in columns)
            ends = sum(EOS in row for row in batch.labels)
            pads = sum(row.count(PAD) for row in itertools.chain(batch.source, batch.labels))
            shown = "   ".join(f"{cell:12}" for cell in cells)
            text.append(f"{line:2}  {batch.epoch:4}   {shown}{ends:6}{pads:6}")
    values = {
        name: [
            {
                "epoch": batch.epoch,
                "sentences": list(batch.sentences),
                "source": [" ".join(row) for row in batch.source],
                "input": [" ".join(row) for row in batch.input],
                "labels": [" ".join(row) for row in batch.labels],
            }
            for batch in log
        ]
        for name, log in run.batches.items()
    }
    corpus = [(" ".join(pair.source), " ".join(pair.target)) for pair in run.pairs]
    return Outcome(text="\n".join(text), values={"corpus": corpus, **values})


ERRORS = {
    "lost": "the sentences that are left over at the end are dropped",
    "twice": "the last batch is filled up with sentences that are in another batch",
    "partners": "the rows of labels stand in another order than the rows of the source",
    "end": "where a target is too long, its `<eos>` is cut off",
    "shift": "the labels are the tokens that the decoder reads, and not the next ones",
    "order": "the second epoch has the batches of the first, in the same order",
}
TELLS = {
    "lost": "as the sentences are sorted, it is the same ones in every epoch, the longest",
    "twice": "those that fill up the batch count twice in the loss",
    "partners": "the loss still falls, as the decoder learns to write English without a source",
    "end": "a model trained that way doesn't stop after a long sentence",
    "shift": "its loss would go to zero, and it would have learned to copy",
    "order": "every epoch takes the same steps through the same batches",
}
LOOK = (
    "The other log keeps all the rules. A smaller batch is what is left over, and a row may have "
    "fewer labels than its target has words, as long as it still ends in <eos>."
)
run = NumberedRun(
    id="09.compare",
    make=_make,
    show=_show,
    questions={
        "honest": which_is_right(lambda run: run.right, look=LOOK),
        "line": Number(
            what="the first line of the wrong log in which its error shows",
            right=lambda run: run.line,
            look="For each line in turn, work out what a right program would write for these "
            "sentences: the tokens of each row, the labels, the <eos>. And has one of the "
            "sentences been in this epoch before? A sentence that is missing shows in the last "
            "line of its epoch.",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "lost": "Then a sentence would be in none of the batches of an epoch.",
                "twice": "Then a sentence would come a second time within an epoch.",
                "partners": "Then the numbers of labels of a batch would be those of its targets, "
                "with <eos>, but in another order.",
                "end": "Then exactly the rows that were cut would have no <eos>, and all others "
                "would.",
                "shift": "Then every row of labels would begin with <bos>: read `labels` of the "
                "first batch.",
                "order": "Then the lines of both epochs would be the same, one by one.",
            },
        ),
    },
    says=lambda run: (
        f"Line {run.line} of {run.wrong} shows that {ERRORS[run.error]}: {TELLS[run.error]}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "An epoch is every sentence once. A row of labels is its own target, without <bos> and "
        "with <eos>. Which of these can you see in the log, and which only in the batches?",
        "For each epoch of each log, sort all its sentences. Then compare the numbers of labels "
        "with the targets of the same sentences: a word each, one more for <eos>, but no more than "
        "allowed. Then read a batch.",
        'For "A" and then for "B": sorted(n for batch in run["A"] if batch["epoch"] == 1 for n in '
        'batch["sentences"]), and, for each sentence of a batch, its target beside its row: '
        'batch = run["A"][0]; [(run["corpus"][n][1], row) for n, row in zip(batch["sentences"], '
        'batch["labels"])].',
    ),
)
