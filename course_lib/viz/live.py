"""Curves that grow in a notebook while a run trains."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, display

from course_lib.viz.display import bundle, to_png
from course_lib.viz.plot_runs import plot_runs

PAUSE = 0.5  # seconds between two pictures, at least
SHARE = 10  # drawing takes at most about one part in so many of the time


@runtime_checkable
class Running(Protocol):
    """A run under way: the loss of each step so far."""

    @property
    def losses(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def step(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class Snapshot:
    """A run under way as ``plot_runs`` takes it."""

    name: str
    losses: Sequence[float]
    epochs: Sequence[Mapping[str, float]]
    summary: str = ""
    rates: Sequence[float] = ()
    minutes: Sequence[float] = ()


class LiveCurves:
    """A picture in a notebook that is drawn anew as training goes on. Made by `live_curves`."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.run: Running | None = None
        self.rows: list[Mapping[str, float]] = []
        self._handle: DisplayHandle | None = None
        self._drawn = True  # whether the picture shows all that is known
        self._next = 0.0  # when it may be drawn again
        shell = InteractiveShell.instance() if InteractiveShell.initialized() else None
        # IPython in a terminal has no kernel, and no pictures that could be drawn anew.
        self._live = hasattr(shell, "kernel") and not os.environ.get("COURSE_QUIET")
        if shell:
            shell.events.register("post_run_cell", self._end_cell)

    def step(self, run: Running) -> None:
        """Note a step; to be given to ``train`` as ``on_step``."""
        self.run = run
        self._changed()

    def epoch(self, row: Mapping[str, float]) -> None:
        """Note a validation; to be given to ``train`` as ``on_epoch``."""
        self.rows.append(row)
        self._changed()

    def _changed(self) -> None:
        self._drawn = False
        if self._live and time.monotonic() >= self._next:
            self.draw()

    def _end_cell(self, _: Any) -> None:
        """However the cell ended, it leaves the last picture: the only one when quiet."""
        if not self._drawn:
            self.draw()

    def draw(self) -> None:
        """Show the curves as they are, in the place where they were shown before.

        Outside a notebook, print what they show.

        Raises:
            ValueError: there is nothing to draw.
        """
        began = time.monotonic()
        step = self.run.step if self.run else int(self.rows[-1]["step"]) if self.rows else 0
        total = self.total or getattr(self.run, "total_steps", None)
        name = f"Step {step:,}" + (f" of {total:,}" if total else "")
        # A run that was resumed knows of validations before this one's first.
        rows = getattr(self.run, "epochs", self.rows)
        now = Snapshot(name, self.run.losses if self.run else [], rows)
        data, metadata = bundle(to_png(plot_runs([now], total=total)), describe_run(now))
        if not InteractiveShell.initialized():
            print(data["text/plain"])
        elif self._handle:
            self._handle.update(data, metadata=metadata, raw=True)
        else:
            self._handle = display(data, metadata=metadata, raw=True, display_id=True)
        self._drawn = True
        ended = time.monotonic()
        self._next = ended + max(PAUSE, SHARE * (ended - began))


def live_curves(total: int | None = None) -> LiveCurves:
    """Curves that grow during training: ``train(…, on_step=live.step, on_epoch=live.epoch)``.

    They are drawn twice a second at most, and a last time when the cell ends. With ``COURSE_QUIET``
    set they are drawn only then, so that a stored notebook is the same each time. Outside a
    notebook nothing is drawn until you call ``live.draw()``.

    Args:
        total: steps to come, by default those of the run, where they are known: with them, the
            picture shows from the start how far there is to go.
    """
    return LiveCurves(total)


def describe_run(run: Snapshot) -> str:
    """Alt text of the curves: where they begin and where they are now."""
    parts = []
    if len(run.losses):
        parts.append(f"the training loss went from {run.losses[0]:.2f} to {run.losses[-1]:.2f}")
    last = run.epochs[-1] if run.epochs else {}
    texts = {
        "valid_loss": "the validation loss is {:.2f}",
        "valid_accuracy_teacher_forced": "the teacher-forced accuracy {:.1%}",
        "valid_exact": "free-running, {:.1%} of the sentences are exactly right",
        "valid_bleu": "BLEU is {:.1f}",
    }
    parts += [text.format(last[key]) for key, text in texts.items() if key in last]
    return f"Training curves, {run.name.lower()}: {', '.join(parts)}."
