"""Two trainings of a tiny translator on a few sentences, one of them with an error."""

from __future__ import annotations

import random
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass

import torch

from course_lib.checks.items.two_sentences.tiny_translator import (
    Momentum,
    Task,
    TinyTranslator,
    draw_order_pairs,
)
from course_lib.training import target_only_entropy

LOGGED = [1, 2, 3, 5, *range(10, 131, 10)]
LR, TOO_HIGH = (0.2, 0.3, 0.4), 8.0
ERRORS = (
    "pads_counted",
    "not_shifted",
    "source_not_read",
    "control_keeps_the_source",
    "no_zero_grad",
    "rate_too_high",
)
Log = Mapping[str, list[float]]


@dataclass(frozen=True)
class TwoLogs:
    """Two trainings from the same weights on the same sentences."""

    task: Task
    error: str
    _: KW_ONLY
    honest: str  # "A" or "B"
    logs: Mapping[str, Log]

    @property
    def baseline(self) -> float:
        return target_only_entropy([pair.target for pair in self.task.pairs])

    @property
    def step(self) -> int:
        """The first step in the honest log at which the loss is below the baseline."""
        losses = self.logs[self.honest]["loss"]
        return next(s for s, loss in zip(LOGGED, losses, strict=True) if loss < self.baseline)


def _train(task: Task, model: TinyTranslator, error: str, lr: float) -> Log:
    """The log of a training with an error, or "none"."""
    source = task.batch.source * (error != "source_not_read")
    axis = 1 if error == "control_keeps_the_source" else 0
    log: dict[str, list[float]] = {"loss": [], "shuffled": [], "gradient": [], "right": []}
    optimizer = Momentum(model, lr=TOO_HIGH if error == "rate_too_high" else lr)
    for step in range(1, LOGGED[-1] + 1):
        losses = []
        for given in (source, source.roll(1, dims=axis)):
            costs, real = task.costs(model, given, shifted=error != "not_shifted")
            losses.append(costs.mean() if error == "pads_counted" else costs[real].mean())
            if step not in LOGGED:
                break
        if error != "no_zero_grad":
            optimizer.clear_gradients()
        losses[0].backward()
        if step in LOGGED:
            gradients = [p.grad.norm() for p in model.parameters() if p.grad is not None]
            log["loss"].append(losses[0].item())
            log["shuffled"].append(losses[1].item())
            log["gradient"].append(torch.stack(gradients).norm().item())
            log["right"].append(task.translated(model, source))
        optimizer.step()
    return log


def draw_logs(drawn: random.Random) -> TwoLogs:
    error, honest = drawn.choice(ERRORS), drawn.choice("AB")
    while True:
        task, lr = Task(draw_order_pairs(drawn)), drawn.choice(LR)
        model = task.new_model()
        right = _train(task, deepcopy(model), "none", lr)
        baseline = target_only_entropy([pair.target for pair in task.pairs])
        if not _is_clear(right, baseline):
            continue
        wrong = _train(task, deepcopy(model), error, lr)
        if _shows(error, wrong, right, baseline):
            logs = {"A": right, "B": wrong} if honest == "A" else {"A": wrong, "B": right}
            return TwoLogs(task, error, honest=honest, logs=logs)


def _is_clear(log: Log, baseline: float) -> bool:
    """Whether an honest run passes the baseline between two rows, and ends well below it."""
    apart = min(abs(loss - baseline) for loss in log["loss"])
    return apart > 0.003 and log["loss"][-1] < baseline / 2


def _shows(error: str, wrong: Log, right: Log, base: float) -> bool:
    """Whether the other log shows its error, and no other."""
    loss, shuffled = wrong["loss"], wrong["shuffled"]
    blind = [s - x < 0.03 * base for x, s in zip(loss, shuffled, strict=True)]
    last, most = loss[-1], max(right["right"])
    return {
        "pads_counted": any(b and x < 0.9 * base for b, x in zip(blind, loss, strict=True)),
        "not_shifted": last < base / 2 and blind[-1] and wrong["right"][-1] == 0,
        "source_not_read": base < last < 1.06 * base and all(blind),
        "control_keeps_the_source": all(blind) and wrong["right"][-1] == most,
        "no_zero_grad": last > base and wrong["gradient"][-1] > 3 * max(right["gradient"]),
        "rate_too_high": last > base and max(loss) > 1.2 * loss[0],
    }[error]
