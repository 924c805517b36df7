"""11.compare: Which learning curve is honest?"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.checks.items.training.tiny_model import WORDS, Adam, TinyModel, examples, sentences

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPOCHS, STEPS, SMOOTHING = 16, 5, 0.1  # steps in an epoch
Examples = tuple[Tensor, Tensor]
Log = dict[str, list[float]]


@dataclass(frozen=True)
class TwoCurves:
    """Two trainings from the same weights.

    Attributes:
        peak, warmup: of the learning rate, the latter in steps.
        logs: after each epoch: "rate", "train", "valid" (the losses) and "right".
        again: the validation loss of the weights that were kept, measured at the end.
    """

    error: str
    honest: str  # "A" or "B"
    peak: float
    warmup: int
    logs: Mapping[str, Log]
    again: Mapping[str, float]

    @property
    def epoch(self) -> int:
        """The epoch whose weights the honest run kept, counted from 1."""
        valid = self.logs[self.honest]["valid"]
        return 1 + valid.index(min(valid))


@dataclass(frozen=True)
class Training:
    """One training, from given weights and numbers, with an error, or "none"."""

    error: str
    seed: int
    peak: float
    warmup: int
    train: Examples
    valid: Examples

    def rate(self, step: int, epoch: int) -> float:
        """The learning rate at a step; both count from 1."""
        count = epoch if self.error == "stepped_per_epoch" else step
        rising = 1.0 if self.error == "no_warmup" else count / self.warmup
        return self.peak * min(rising, (self.warmup / count) ** 0.5, 1.0)

    def run(self, model: TinyModel) -> tuple[Log, float]:
        """What it writes down, and the validation loss of the weights that it keeps."""
        torch.manual_seed(self.seed)
        words, labels = self.train
        if self.error == "trained_on_validation":
            words, labels = torch.cat([words, self.valid[0]]), torch.cat([labels, self.valid[1]])
        optimizer = Adam(model)
        log: Log = {"rate": [], "train": [], "valid": [], "right": []}
        kept, best, step = model, math.inf, 0
        for epoch in range(1, EPOCHS + 1):
            total = 0.0
            for part in torch.randperm(len(labels)).chunk(STEPS):
                step += 1
                logits = model(words[part], dropout=True)
                loss = F.cross_entropy(logits, labels[part], label_smoothing=SMOOTHING)
                loss.backward()
                optimizer.step(self.rate(step, epoch))
                total += loss.item() * len(part) / len(labels)
            valid, right = self.measure(model)
            row = {"rate": self.rate(step, epoch), "train": total, "valid": valid, "right": right}
            for name, number in row.items():
                log[name].append(number)
            watched = total if self.error == "kept_by_training" else valid
            if watched < best:
                best, kept = watched, deepcopy(model)
        return log, self.measure(kept)[0]

    @torch.no_grad()
    def measure(self, model: TinyModel) -> tuple[float, float]:
        """Validation loss, and the share of words that are right."""
        words, labels = self.valid
        with torch.random.fork_rng(devices=[]):  # training goes on as if nothing had been measured
            logits = model(words, dropout=self.error == "dropout_left_on")
        smoothing = SMOOTHING if self.error == "validation_smoothed" else 0.0
        loss = F.cross_entropy(logits, labels, label_smoothing=smoothing).item()
        return loss, (logits.argmax(-1) == labels).double().mean().item()


def _make(drawn: random.Random) -> TwoCurves:
    error, honest = drawn.choice([*ERRORS]), drawn.choice("AB")
    to_train, to_validate = sentences()
    while True:
        plan = Training(
            error="none",
            seed=drawn.getrandbits(32),
            peak=drawn.choice([0.015, 0.02, 0.03]),
            warmup=drawn.choice([15, 20, 30]),
            train=examples(drawn.sample(to_train, drawn.randint(50, 90))),
            valid=examples(drawn.sample(to_validate, 60)),
        )
        model = TinyModel()
        right = plan.run(deepcopy(model))
        lowest, second = sorted(right[0]["valid"])[:2]
        if second - lowest < 0.001 or right[0]["valid"][-1] < lowest + 0.03:
            continue  # it has no one best epoch
        wrong = replace(plan, error=error).run(deepcopy(model))
        if _shows(error, wrong[0]["valid"], wrong[1], lowest):
            (a, b) = (right, wrong) if honest == "A" else (wrong, right)
            logs, again = {"A": a[0], "B": b[0]}, {"A": a[1], "B": b[1]}
            return TwoCurves(error, honest, plan.peak, plan.warmup, logs, again)


def _shows(error: str, valid: list[float], again: float, lowest: float) -> bool:
    """Whether the other log shows its error; ``lowest`` is the honest one's lowest loss."""
    return {
        "dropout_left_on": min(abs(loss - again) for loss in valid) > 0.002,
        "kept_by_training": again > min(valid) + 0.03,
        "trained_on_validation": valid[-1] < lowest - 0.3,
    }.get(error, True)


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
run = NumberedRun(
    id="11.compare",
    make=_make,
    show=_show,
    questions={
        "honest": Choice(
            options={"A": "A has no error", "B": "B has no error"},
            right=lambda run: run.honest,
            look={
                each: f"Go through {each} column by column: is the rate what the recipe says, and "
                "is the validation loss what its name says? And what was kept?"
                for each in "AB"
            },
            letters="AB",
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
        f"{run.honest} keeps the weights of epoch {run.epoch}. A log is worth something if you "
        "know how each of its columns was measured, and have checked one of them by hand."
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
