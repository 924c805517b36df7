"""The options of one training run: what is chosen anew each time, whatever the recipe.

They stand outside the package ``training``, which loads PyTorch, since ``course train --help``
needs them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from course_lib.arguments import option
from course_lib.errors import CourseError

HANDED_IN = "own_run"  # the folder beside a notebook that has a run's log and weights


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How long to train, on what device, from which seed, and what to do with an earlier run.

    ``device`` and ``precision`` may be "auto": ``training.runs.resolve_options`` replaces it.

    Raises:
        CourseError: a value makes no sense, or two of them contradict each other.
    """

    max_steps: int | None = option(
        "steps, instead of epochs", default=None, metavar="N", exclusive="length"
    )
    minutes: float | None = option(
        "minutes, instead of epochs", default=None, metavar="M", exclusive="length"
    )
    seed: int = option(
        "seed of weights, dropout and order of batches (default: %(default)s)",
        default=0,
        metavar="S",
    )
    device: str = option(
        "cpu, cuda, mps (an Apple GPU, which is untested), …, or auto for cuda if there is one and "
        "cpu otherwise (default: %(default)s)",
        default="cpu",
        metavar="D",
    )
    precision: str = option(
        "fp32, or bf16 (matrices are multiplied in bfloat16) where the device supports it, or "
        "auto for bf16 where that is faster (default: %(default)s)",
        default="fp32",
        metavar="P",
    )
    scores: bool = option(
        "translate no held-out sentences: no BLEU, no exact match, but done sooner", default=True
    )
    # On a CPU, exactly as if the run had never been stopped.
    resume: bool = option("go on where the run was stopped", default=False, exclusive="earlier run")
    overwrite: bool = option(
        "replace an earlier run in the folder", default=False, exclusive="earlier run"
    )
    accept_changed_data: bool = option(
        "with --resume: go on even if the data are no longer the same", default=False
    )

    def __post_init__(self) -> None:
        for name in ("max_steps", "minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:  # put this way, it also refuses NaN
                raise CourseError(f"{name} must be positive and finite, got {value}")
        if self.max_steps is not None and self.minutes is not None:
            raise CourseError(
                f"expected max_steps or minutes, got both ({self.max_steps} and {self.minutes}): "
                "a run ends after so many steps or after so much time, choose one"
            )
        if self.resume and self.overwrite:
            raise CourseError(
                "expected resume or overwrite, got both: resume goes on with the run in the "
                "folder, overwrite replaces it"
            )
        if self.accept_changed_data and not self.resume:
            raise CourseError(
                "expected resume with accept_changed_data, got it alone: only a run that goes on "
                "can find that its data have changed"
            )
        if not 0 <= self.seed < 2**63:
            raise CourseError(f"seed must be a whole number from 0 to 2^63 - 1, got {self.seed}")
