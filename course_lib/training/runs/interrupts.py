"""Ctrl-C, or a closed terminal, while a model trains: the step under way is finished first.

A handler of signals runs in the midst of anything, of another handler too. These only note a
signal in a list: a handler that waits for a lock, as a ``threading.Event`` has, can wait for ever.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from course_lib.training.distributed import world_size

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")  # what asks a process to end


@contextmanager
def deferred_interrupts() -> Iterator[list[int]]:
    """Inside, Ctrl-C and what else asks a process to end get into the list, and tear no step apart.

    A second Ctrl-C acts at once, unless there are several processes: of one Ctrl-C they may hear
    twice, from the keyboard and from ``torchrun``. Of a closed terminal everybody may hear twice.
    """
    interrupts: list[int] = []
    ctrl_c, alone = signal.getsignal(signal.SIGINT), world_size() == 1

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        if alone and number == signal.SIGINT:
            signal.signal(number, ctrl_c)

    with _handled_by(note):
        yield interrupts


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Inside, what asks the process to end waits; it acts when the inside is done."""
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)

    try:
        with _handled_by(hold):
            yield
    finally:
        for number in dict.fromkeys(held):
            signal.raise_signal(number)


Handler = Callable[[int, FrameType | None], object]


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    """Inside, ``handler`` takes what asks the process to end, unless it is ignored (``nohup``)."""
    before: dict[int, Handler | int] = {}
    if threading.current_thread() is threading.main_thread():  # no other may handle signals
        for number in (getattr(signal, name) for name in NAMES if hasattr(signal, name)):
            present = signal.getsignal(number)
            if present is not None and present != signal.SIG_IGN:
                before[number] = present
                signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
