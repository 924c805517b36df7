"""Training curves that grow in a notebook while a run trains."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, display

from course_lib.viz.display import bundle, to_png
from course_lib.viz.plots.plot_runs import plot_runs

PAUSE = 0.5  # least number of seconds between two redraws
SHARE = 10  # drawing takes at most about a tenth of the time


@runtime_checkable
class Running(Protocol):
    """A run in progress: the loss of each step so far."""

    @property
    def losses(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def step(self) -> int: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A run in progress, in the form that ``plot_runs`` takes."""

    name: str
    losses: Sequence[float]
    epochs: Sequence[Mapping[str, float]]
    summary: str = ""
    learning_rates: Sequence[float] = ()
    minutes: Sequence[float] = ()


class LiveCurves:
    """A figure in a notebook that is redrawn as training goes on. Made by `live_curves`."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.run: Running | None = None
        self.rows: list[Mapping[str, float]] = []
        self._handle: DisplayHandle | None = None
        self._drawn = True  # whether the figure is up to date
        self._next = 0.0  # earliest time of the next redraw
        shell = InteractiveShell.instance() if InteractiveShell.initialized() else None
        # IPython in a terminal has no kernel, and no output that could be redrawn.
        self._live = hasattr(shell, "kernel") and not os.environ.get("COURSE_QUIET")
        if shell:
            shell.events.register("post_run_cell", self._end_cell)

    def step(self, run: Running) -> None:
        """Record a step; pass it to ``train`` as ``on_step``."""
        self.run = run
        self._changed()

    def epoch(self, row: Mapping[str, float]) -> None:
        """Record a validation; pass it to ``train`` as ``on_epoch``."""
        self.rows.append(row)
        self._changed()

    def _changed(self) -> None:
        self._drawn = False
        if self._live and time.monotonic() >= self._next:
            self.draw()

    def _end_cell(self, _: Any) -> None:
        """However the cell ended, leave an up-to-date figure: the only one with COURSE_QUIET."""
        if not self._drawn:
            self.draw()

    def draw(self) -> None:
        """Show the curves so far, replacing those shown before.

        Outside a notebook, print their alt text.

        Raises:
            ValueError: there is nothing to draw.
        """
        began = time.monotonic()
        step = self.run.step if self.run else int(self.rows[-1]["step"]) if self.rows else 0
        total = self.total or getattr(self.run, "total_steps", None)
        name = f"Step {step:,}" + (f" of {total:,}" if total else "")
        # A resumed run knows earlier validations, too.
        rows = getattr(self.run, "epochs", self.rows)
        now = Snapshot(name=name, losses=self.run.losses if self.run else [], epochs=rows)
        data = bundle(to_png(plot_runs([now], total=total)), describe_run(now))
        if not InteractiveShell.initialized():
            print(data["text/plain"])
        elif self._handle:
            self._handle.update(data, raw=True)
        else:
            self._handle = display(data, raw=True, display_id=True)
        self._drawn = True
        ended = time.monotonic()
        self._next = ended + max(PAUSE, SHARE * (ended - began))


def live_curves(total: int | None = None) -> LiveCurves:
    """Curves that grow during training: ``train(…, on_step=live.step, on_epoch=live.epoch)``.

    They are redrawn at most twice a second, and once more when the cell ends. With ``COURSE_QUIET``
    set they are drawn only at the end, so that a stored notebook is always the same. Outside a
    notebook nothing is drawn until you call ``live.draw()``.

    Args:
        total: number of steps of the whole run, so that the x axis shows from the start how far
            there is to go; by default the run's own ``total_steps``, if it has one.
    """
    return LiveCurves(total)


def describe_run(run: Snapshot) -> str:
    """Alt text of the curves: where they start and where they are now."""
    parts = []
    if len(run.losses):
        parts.append(f"the training loss went from {run.losses[0]:.2f} to {run.losses[-1]:.2f}")
    last = run.epochs[-1] if run.epochs else {}
    texts = {
        "valid_loss": "the validation loss is {:.2f}",
        "valid_accuracy_teacher_forced": "the teacher-forced accuracy is {:.1%}",
        "valid_exact": "the autoregressive exact match is {:.1%}",
        "valid_bleu": "BLEU is {:.1f}",
    }
    parts += [text.format(last[key]) for key, text in texts.items() if key in last]
    return f"Training curves, {run.name.lower()}: {', '.join(parts)}."
