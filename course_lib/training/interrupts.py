"""Ctrl-C, or a closed terminal, while a model trains: the step under way is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from course_lib.training.distributed import world_size


@contextmanager
def deferred_interrupts() -> Iterator[threading.Event]:
    """Inside, Ctrl-C and what else asks a process to end set the event, and tear no step apart.

    A second Ctrl-C acts at once, unless there are several processes: of one Ctrl-C they may hear
    twice, from the keyboard and from ``torchrun``.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted  # only the main thread may handle signals
        return
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")  # Windows lacks the last two
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}

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
