"""Watches a run while it trains: its clock, its progress bar, and Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from course_lib.training.distributed import all_reduce_clock_and_stop, rank
from course_lib.training.runs.interrupts import deferred_interrupts
from course_lib.training.runs.progress_bar import ProgressBar
from course_lib.training.runs.run import Run


class RunMonitor:
    """Made by ``monitored``.

    Attributes:
        interrupted: whether Ctrl-C was pressed, on any process.
    """

    def __init__(
        self,
        run: Run,
        on_step: Callable[[Run], None] | None,
        interrupts: Sequence[int],
        progress_bar: ProgressBar,
    ) -> None:
        self.run, self.on_step, self.interrupted = run, on_step, False
        self._interrupts, self._progress_bar = interrupts, progress_bar
        self._last = time.monotonic()

    def report_step(self) -> None:
        """Clock, progress bar and ``on_step``, after each step."""
        self.tick()
        self._progress_bar.update()
        if self.on_step and rank() == 0:
            self.on_step(self.run)

    def tick(self) -> None:
        """Add the time since the last tick to ``run.seconds``, the same on all processes."""
        now = time.monotonic()
        seconds = self.run.seconds + now - self._last
        self._last = now
        self.run.seconds, self.interrupted = all_reduce_clock_and_stop(
            seconds, bool(self._interrupts)
        )


@contextmanager
def monitored(run: Run, on_step: Callable[[Run], None] | None) -> Iterator[RunMonitor]:
    """A monitor for the loop; inside, Ctrl-C stops nothing but sets ``interrupted``."""
    with deferred_interrupts() as interrupts, closing(ProgressBar(run)) as progress_bar:
        yield RunMonitor(run, on_step, interrupts, progress_bar)
