"""11.compare: Which learning curve is honest?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)
from course_lib.checks.items.training.tiny_model import WORDS
from course_lib.checks.items.training.two_curves import EPOCHS, STEPS, TwoCurves, draw_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _show(run: TwoCurves) -> Outcome:
    one = "   rate  training  validation  right"
    lines = [
        f"peak rate {run.peak}, warm-up {run.warmup} steps, {STEPS} steps an epoch, {WORDS} words",
        "",
        f"{'':8}A{'':37}B",
        f"epoch {one} {one}",
    ]
    for epoch in range(EPOCHS):
        cells = [f"{epoch + 1:5}"]
        for log in run.logs.values():
            rate, train, valid, right = (numbers[epoch] for numbers in log.values())
            cells.append(f"{rate:7.4f}  {train:8.3f}  {valid:10.3f}  {right:5.2f}")
        lines.append(" ".join(cells))
    a, b = run.again.values()
    lines += ["", "validation loss of the kept weights, measured again at the end:"]
    lines.append(f"A {a:.3f}, B {b:.3f}")
    values = {name: log | {"again": run.again[name]} for name, log in run.logs.items()}
    return Outcome(
        text="\n".join(lines),
        values={**values, "peak": run.peak, "warmup": run.warmup},
        picture=lambda: _picture(run),
    )


def _picture(run: TwoCurves) -> Axes:
    from course_lib.viz import plot_curves

    return plot_curves(
        {
            f"{name}, {what}": log[key]
            for name, log in run.logs.items()
            for what, key in (("training", "train"), ("validation", "valid"))
        },
        x=range(1, EPOCHS + 1),
        x_label="epoch",
        y_label="loss (nats per word)",
        title="Two logs of one recipe",
    )


ERRORS = {
    "no_warmup": "the learning rate doesn't rise first: the warm-up is missing",
    "stepped_per_epoch": "the schedule counts epochs in place of steps",
    "validation_smoothed": "its validation loss is smoothed as well",
    "dropout_left_on": "dropout is left on while it validates",
    "kept_by_training": "it keeps the weights of its lowest training loss",
    "trained_on_validation": "it trains on the validation sentences, too",
}
SEEN = {  # in the log with the error
    "no_warmup": "Its rate is at the peak at the end of the first epoch",
    "stepped_per_epoch": "Its rate at the end of epoch 3 is what the recipe says for step 3",
    "validation_smoothed": "Its training loss and its share of right words are those of the other "
    "log, and yet its validation loss is higher in every epoch",
    "dropout_left_on": "Its kept weights, measured again, have a loss that is nowhere in its "
    "column, since dropout draws anew each time",
    "kept_by_training": "The columns of both logs are the same, but the loss of its kept weights "
    "isn't the lowest in the column",
    "trained_on_validation": "Its validation loss goes on falling with the training loss, and "
    "doesn't turn",
}
run = NumberedRun(
    id="11.compare",
    make=draw_curves,
    show=_show,
    questions={
        "honest": which_is_right(
            lambda run: run.honest,
            look="Go through {run} column by column: is the rate what the recipe says, and is the "
            "validation loss what its name says? And what was kept?",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "no_warmup": "Then the rate would be at its peak at the end of the first epoch.",
                "stepped_per_epoch": "Then the rate at the end of epoch 3 would be what the recipe "
                "says for step 3.",
                "validation_smoothed": "Then both logs would have the same training loss and the "
                "same share of right words, and one validation loss would be higher throughout: "
                "the share that smoothing gives to all words costs at least ln V.",
                "dropout_left_on": "Then both logs would have the same training loss, but the same "
                "weights, measured again, would have another validation loss than any in the log.",
                "kept_by_training": "Then both logs would be the same, row by row, but the kept "
                "weights would have the validation loss of another epoch than the best one.",
                "trained_on_validation": "Then the validation loss would go on falling with the "
                "training loss, and never turn.",
            },
        ),
        "epoch": Number(
            what="the epoch whose weights the honest run keeps",
            right=lambda run: run.epoch,
            look="It is the one with the lowest validation loss in the log that you call honest, "
            "counted from 1.",
        ),
    },
    says=lambda run: (
        f"{'B' if run.honest == 'A' else 'A'} has the error: {ERRORS[run.error]}. "
        f"{SEEN[run.error]}. {run.honest} is as it should be and keeps the weights of epoch "
        f"{run.epoch}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Which columns of A and B are equal, and from which row on do the others differ?",
        "Check the rate against the recipe: what does it say for the last step of the first "
        "epochs? Then look at the validation losses: which of the two turns, which is higher, and "
        "does the loss of the kept weights occur in the column?",
        'run["peak"] * min(step / run["warmup"], (run["warmup"] / step) ** 0.5) for the steps 5, '
        '10, 15, …, beside run["A"]["rate"] and run["B"]["rate"]; then min(run["A"]["valid"]) '
        'beside run["A"]["again"], and the same for B.',
    ),
)
