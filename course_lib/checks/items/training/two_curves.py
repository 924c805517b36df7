"""Two trainings of a tiny model by one recipe, one of them with an error."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.items.training.tiny_model import Adam, TinyModel, examples, sentences

EPOCHS, STEPS, SMOOTHING = 16, 5, 0.1  # steps in an epoch
ERRORS = (
    "no_warmup",
    "stepped_per_epoch",
    "validation_smoothed",
    "dropout_left_on",
    "kept_by_training",
    "trained_on_validation",
)
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
    _: KW_ONLY
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
    _: KW_ONLY
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


def draw_curves(drawn: random.Random) -> TwoCurves:
    error, honest = drawn.choice(ERRORS), drawn.choice("AB")
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
            return TwoCurves(
                error, honest, peak=plan.peak, warmup=plan.warmup, logs=logs, again=again
            )


def _shows(error: str, valid: list[float], again: float, lowest: float) -> bool:
    """Whether the other log shows its error; ``lowest`` is the honest one's lowest loss."""
    return {
        "dropout_left_on": min(abs(loss - again) for loss in valid) > 0.002,
        "kept_by_training": again > min(valid) + 0.03,
        "trained_on_validation": valid[-1] < lowest - 0.3,
    }.get(error, True)
