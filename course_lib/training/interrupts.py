"""When a run stops: its clock, and Ctrl-C, which lets the step under way finish."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from course_lib.training.distributed import all_reduce_clock_and_stop, world_size
from course_lib.training.run import Run


class RunClock:
    """Adds the time that passes to ``run.seconds``, the same on all processes.

    Attributes:
        interrupted: whether a process was interrupted before the last tick.
    """

    def __init__(self, run: Run, interrupt: threading.Event) -> None:
        self.run, self.interrupted = run, False
        self._interrupt = interrupt
        self._last = time.monotonic()

    def tick(self) -> None:
        """Add the time since the last tick."""
        now = time.monotonic()
        seconds = self.run.seconds + now - self._last
        self._last = now
        self.run.seconds, self.interrupted = all_reduce_clock_and_stop(
            seconds, self._interrupt.is_set()
        )


@contextmanager
def run_clock(run: Run) -> Iterator[RunClock]:
    """A clock for the loop; inside, Ctrl-C only sets ``clock.interrupted``."""
    with deferred_interrupts() as interrupt:
        yield RunClock(run, interrupt)


@contextmanager
def deferred_interrupts() -> Iterator[threading.Event]:
    """Inside, SIGINT (Ctrl-C) and SIGTERM set the event instead of tearing a step apart.

    A second Ctrl-C acts at once, unless there are several processes: of one Ctrl-C they may hear
    twice, from the keyboard and from ``torchrun``.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted  # only the main thread may handle signals
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, frame: object) -> None:
        if world_size() == 1:
            signal.signal(number, before[signal.Signals(number)])
        interrupted.set()

    for number in before:
        signal.signal(number, handle)
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
