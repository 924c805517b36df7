"""The options of one training run: what is chosen anew each time, whatever the recipe."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.training.device import choose_device, choose_precision
from course_lib.training.runs.checkpoint import read_info


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How long to train, on what device, from which seed, and what to do with an earlier run.

    Raises:
        CourseError: a value makes no sense, or two of them contradict each other.
    """

    seed: int = 0  # of the initial weights, the order of the batches and dropout
    device: str = "cpu"  # or "cuda", … ; "auto" takes a GPU if there is one
    # "bf16" multiplies matrices in bfloat16; "auto" does so where that is faster.
    precision: str = "fp32"
    max_steps: int | None = None  # stop after this many steps instead of the recipe's epochs
    minutes: float | None = None  # stop after this much time instead
    resume: bool = False  # go on from the run's folder, exactly as if never stopped (on a CPU)
    accept_changed_data: bool = False  # and go on even if the data are no longer the same
    overwrite: bool = False  # replace an earlier run in the folder
    scores: bool = True  # translate held-out sentences for BLEU and exact match; it takes its time

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

    def resolved(self, folder: Path | None = None) -> RunOptions:
        """The same options with "auto" replaced by what suits this machine.

        To resume, "auto" is the precision of the run in ``folder``.

        Raises:
            CourseError: there is no such device or precision here.
        """
        device, precision = choose_device(self.device), self.precision
        if precision == "auto" and self.resume and folder is not None:
            precision = _precision_of_run(folder) or precision
        return replace(self, device=device, precision=choose_precision(precision, device))


def _precision_of_run(folder: Path) -> str | None:
    try:
        return read_info(folder / "last.safetensors").get("precision")
    except CourseError:
        return None  # opening the folder will say what is wrong with it
