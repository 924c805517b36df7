"""What a training run has come to so far: its losses, its validations, its model."""

from __future__ import annotations

import math
import secrets
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from course_lib.decoding import Translator
from course_lib.run_options import RunOptions
from course_lib.training.recipes import Recipe

Epoch = dict[str, int | float]  # the numbers of one validation, by name


@dataclass(kw_only=True)
class Run:
    """A training run, finished or interrupted.

    Attributes:
        translator: the model being trained; once finished, with the weights that are kept.
        total_steps: None if the run was given minutes instead.
        losses, learning_rates: an entry for each step.
        epochs: the numbers of each validation.
        seconds: spent in the loop, validation included.
        tokens: real target tokens trained on.
        id: tells the run from any other, in all of its files.
        data_changes: the steps after which it went on with other data.
    """

    recipe: Recipe
    options: RunOptions
    translator: Translator
    total_steps: int | None
    losses: list[float] = field(default_factory=list)
    learning_rates: list[float] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    seconds: float = 0.0
    tokens: int = 0
    stopped_early: bool = False
    folder: Path | None = None
    id: str = field(default_factory=partial(secrets.token_hex, 6))  # not from the seeded numbers
    data_changes: list[int] = field(default_factory=list)

    def record_step(self, loss: float, learning_rate: float, tokens: int) -> None:
        """Note a step that was taken; this is what advances ``step``."""
        self.losses.append(loss)
        self.learning_rates.append(learning_rate)
        self.tokens += tokens

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return len(self.losses)

    @property
    def progress(self) -> float:
        """The share of the run that is done, of its steps or of its time."""
        if self.total_steps is not None:
            return self.step / self.total_steps
        assert self.options.minutes is not None
        return self.seconds / (60 * self.options.minutes)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; False after an interruption."""
        return self.progress >= 1 or self.stopped_early

    def describe(self) -> dict[str, Any]:
        """What was asked for, as JSON: a resumed run must have been asked for the same."""
        return {
            "recipe": asdict(self.recipe),
            "seed": self.options.seed,
            "total_steps": self.total_steps,
            "minutes": self.options.minutes,
            "precision": self.options.precision,
        }

    def state_dict(self) -> dict[str, Any]:
        """The results so far, as JSON."""
        return {name: getattr(self, name) for name in _RESULTS}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over the results that ``state_dict`` gave.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: one is missing or is something else.
        """
        self.losses = [float(loss) for loss in state["losses"]]
        self.learning_rates = [float(rate) for rate in state["learning_rates"]]
        self.epochs = [row | {"step": int(row["step"])} for row in state["epochs"]]
        self.seconds, self.tokens = float(state["seconds"]), int(state["tokens"])
        self.stopped_early, self.id = bool(state["stopped_early"]), str(state["id"])
        self.data_changes = [int(step) for step in state["data_changes"]]
        if len(self.learning_rates) != self.step:
            raise ValueError(f"{self.step} losses, {len(self.learning_rates)} learning rates")
        if self.epochs and self.epochs[-1]["step"] > self.step:
            raise ValueError(f"a validation after step {self.epochs[-1]['step']} of {self.step}")
        if not 0 <= self.seconds < math.inf:
            raise ValueError(f"{self.seconds} seconds")


_RESULTS = (
    *("losses", "learning_rates", "epochs", "seconds", "tokens", "stopped_early"),
    *("id", "data_changes"),
)
