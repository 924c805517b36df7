"""10.compare: Which of two logs can you believe?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)
from course_lib.checks.items.two_sentences.two_logs import LOGGED, TwoLogs, draw_logs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _show(run: TwoLogs) -> Outcome:
    lines = [f"{' '.join(p.source):36} {' '.join(p.target)}" for p in run.task.pairs]
    one = "    loss  shuffled  gradient  right"
    lines += ["", f"{'':6}A{'':34} B", f"step  {one[2:]} {one}"]
    for row, step in enumerate(LOGGED):
        cells = [f"{step:4}"]
        for log in run.logs.values():
            numbers = [log[key][row] for key in ("loss", "shuffled", "gradient")]
            cells.append("{:8.3f}  {:8.3f}  {:8.2f}".format(*numbers) + f"  {log['right'][row]:5}")
        lines.append(" ".join(cells))
    return Outcome(
        text="\n".join(lines),
        values={
            "pairs": run.task.pairs,
            "vocabulary": len(run.task.english),
            "steps": LOGGED,
            **run.logs,
        },
        picture=lambda: _picture(run),
    )


def _picture(run: TwoLogs) -> Axes:
    from course_lib.viz import plot_curves

    return plot_curves(
        {
            f"{name}, {what}": log[key]
            for name, log in run.logs.items()
            for what, key in (("own sources", "loss"), ("shuffled sources", "shuffled"))
        },
        x=LOGGED,
        x_label="step",
        y_label="loss (nats per token)",
        title="Two logs of one training",
        log_y=True,
        baselines={"ln V": math.log(len(run.task.english))},
    )


ERRORS = {
    "pads_counted": "its loss counts the padding as well",
    "not_shifted": "the labels aren't shifted: it should predict the token that it has just read",
    "source_not_read": "the model never gets to see the source",
    "control_keeps_the_source": "in its control, each sentence keeps the words of its own source",
    "no_zero_grad": "the gradients of earlier steps aren't cleared",
    "rate_too_high": "its learning rate is far too high",
}
SEEN = {  # in the log with the error
    "pads_counted": "Its loss is below the baseline while shuffled sources cost nothing yet, since "
    "padding can be predicted without a source",
    "not_shifted": "Its loss goes to almost 0, and yet shuffled sources cost nothing and no "
    "sentence comes out right",
    "source_not_read": "Its loss stops at the baseline, and shuffled sources cost nothing",
    "control_keeps_the_source": "Both of its losses stay the same, although it translates",
    "no_zero_grad": "Its first step is right, since at step 2 both losses are still the same, and "
    "then its gradient grows and grows",
    "rate_too_high": "Its gradient at step 1 is right, and yet at step 2 its loss is another one: "
    "this step was too long",
}
run = NumberedRun(
    id="10.compare",
    make=draw_logs,
    show=_show,
    questions={
        "honest": which_is_right(
            lambda run: run.honest,
            look="Compare both losses of {run} with the target-only baseline, row by row. Does "
            "what they say agree with how many sentences are right?",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "pads_counted": "Padding is easy to predict. With it, the loss would lie below the "
                "baseline while shuffled sources cost nothing yet, and the translations would come "
                "out right in the end all the same.",
                "not_shifted": "Then the loss would go to almost 0 without any source, and the "
                "model could translate nothing: left to itself, it repeats `<bos>`.",
                "source_not_read": "Then the loss would stop at the baseline, and a shuffled "
                "source would cost nothing.",
                "control_keeps_the_source": "Then both losses would be the same in every row, and "
                "yet the loss would fall far below the baseline and the translations come out "
                "right.",
                "no_zero_grad": "Then the first step would still be right, so at step 2 both logs "
                "would have the same loss; and the gradient would grow from row to row.",
                "rate_too_high": "Then the first step would already be too long, so at step 2 the "
                "two logs would have different losses although their gradients at step 1 were the "
                "same.",
            },
        ),
        "step": Number(
            what="the first step in the honest log at which its loss is below the baseline",
            right=lambda run: run.step,
            look="The target-only baseline is what `target_only_entropy` gives for "
            '`run["pairs"]`. Compare it with the column "loss" of the run that you call honest, '
            "and give the step, not the row.",
        ),
    },
    says=lambda run: (
        f"{'B' if run.honest == 'A' else 'A'} has the error: {ERRORS[run.error]}. "
        f"{SEEN[run.error]}. The baseline is {run.baseline:.3f}; {run.honest} is below it at step "
        f"{run.step}, which can't be explained without the source."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Three things have to agree: the loss against the baseline, what a shuffled source costs, "
        "and how many sentences are right. In which of the two logs do they not?",
        "Compute the baseline first. A loss above it needs no source. Below it, the source is "
        "used, and then a shuffled source must cost something. If both runs look well, look at "
        "the rows in which a shuffled source costs nothing yet. If one of them breaks down, look "
        "at the first three steps.",
        'target_only_entropy(run["pairs"]), and then, for each of "A" and "B", the rows '
        'zip(run["steps"], run["A"]["loss"], run["A"]["shuffled"]) in which the loss is below it.',
    ),
)
