"""The time limit of a learner's code: an alarm that rings until the code has ended."""

from __future__ import annotations

import gc
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")
RING_AGAIN = 0.01  # seconds after which an alarm rings again, even if its handler broke off
PATIENCE = 5.0  # seconds for which a tracer or a debugger is not stopped when the time is over
_GetAndSet = tuple[Callable[[], Any], Callable[[Any], None]]
_PROFILER: _GetAndSet = (sys.getprofile, sys.setprofile)
_TRACER: _GetAndSet = (sys.gettrace, sys.settrace)


@dataclass(frozen=True, kw_only=True)
class Timer:
    """What a time limit is measured by; ``kind`` and ``signal`` are names in ``signal``, which not
    every system has.
    """

    kind: str
    signal: str
    now: Callable[[], float]


REAL_TIME = Timer(kind="ITIMER_REAL", signal="SIGALRM", now=time.perf_counter)
PROCESSOR_TIME = Timer(kind="ITIMER_PROF", signal="SIGPROF", now=time.process_time)


class TookTooLong(BaseException):
    """Not an Exception, so that a learner's `except Exception` does not swallow it."""


def within(seconds: float, function: Callable[[], Result], timer: Timer = REAL_TIME) -> Result:
    """The function's result; it is stopped by ``TookTooLong`` after so many seconds.

    Only in a program's main thread and where the system has alarms: elsewhere the learner
    interrupts the kernel.
    """
    can = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    return _Limit(seconds, timer).run(function) if can else function()


class _Limit:
    """An alarm that rings until the function has ended: a loop with a bare `except` swallows the
    first exceptions, but not one that is raised between two rounds.

    Nothing is raised in a tracer's own code (of coverage, of a debugger), nor in what Python calls
    by itself (see ``_called_by_python``): the exception could end it, or leave its lock taken, for
    which the next call that is traced would wait for ever.
    """

    def __init__(self, seconds: float, timer: Timer) -> None:
        self.seconds, self.now = seconds, timer.now
        self.kind, self.signal = getattr(signal, timer.kind), getattr(signal, timer.signal)
        self.delays, self.over = random.Random(0), False
        self.frame: FrameType | None = None  # below which the function runs
        self.set_timer, self.set_handler = signal.setitimer, signal.signal
        self.patient_until = self.now() + seconds + PATIENCE

    def run(self, function: Callable[[], Result]) -> Result:
        before = self.set_handler(self.signal, self.ring)
        try:
            self.set_timer(self.kind, self.seconds, RING_AGAIN)
            with _signals_untouched():
                return self.call(function)
        finally:
            self.over, self.frame = True, None
            self.set_timer(self.kind, 0)
            self.set_handler(self.signal, before)

    def call(self, function: Callable[[], Result]) -> Result:
        self.frame = sys._getframe()
        return function()

    def ring(self, signum: int, frame: FrameType | None) -> None:
        """Stop the function if it runs, and not just what is before or after it."""
        if self.over:
            return
        own, foreign = _called_by_python(), False
        while frame is not None and frame is not self.frame:
            foreign |= frame.f_code in own
            frame = frame.f_back
        patient = self.now() <= self.patient_until
        stop = frame is not None and not (patient and (foreign or _in_a_tracer()))
        self.set_timer(self.kind, 10 ** -(2 + 3 * self.delays.random()), RING_AGAIN)
        if stop:
            raise TookTooLong(f"still running after {self.seconds:g} seconds")


def _called_by_python() -> list[CodeType | None]:
    """The code of what is told of garbage collections and of exceptions that nobody can catch."""
    functions = (getattr(each, "func", each) for each in (*gc.callbacks, sys.unraisablehook))
    return [getattr(each, "__code__", None) for each in functions]


def _in_a_tracer() -> bool:
    """Whether a tracer, a profiler or a debugger is at work: Python traces nothing in there."""
    get, set_ = _PROFILER if _PROFILER[0]() is None else _TRACER  # a profiler in C stays set
    before, traced = get(), []
    try:
        set_(lambda *event: traced.append(event))
        (lambda: None)()
    finally:
        set_(before)
    return not traced


@contextmanager
def _signals_untouched() -> Iterator[None]:
    """Functions that could turn the alarm off do nothing in the block."""
    names = ("signal", "setitimer", "alarm", "pthread_sigmask", "siginterrupt")
    originals = {name: getattr(signal, name) for name in names if hasattr(signal, name)}
    try:
        for name in originals:
            setattr(signal, name, _do_nothing)
        yield
    finally:
        for name, original in originals.items():
            setattr(signal, name, original)


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """What stands for a function of ``signal``."""
