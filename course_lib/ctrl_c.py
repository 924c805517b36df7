"""Ctrl-C ends a command with one line and the status 130, whatever it is just doing.

Loaded before all else, so it imports next to nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130  # the status that a shell expects of a program that was interrupted


def end_at_once(*_: object) -> None:
    """End the process: the handler of Ctrl-C where nothing is lost by that."""
    with suppress(OSError):
        os.write(2, b"\nstopped by Ctrl-C\n")  # print might be what is interrupted
    os._exit(INTERRUPTED)


@contextmanager
def interruptible_imports() -> Iterator[None]:
    """Inside, Ctrl-C ends the process if it comes while a module is imported.

    As an exception it could get lost there: PyTorch swallows what goes wrong when it imports NumPy,
    and runs on without it. Python swallows one in a destructor. Elsewhere Ctrl-C is a
    ``KeyboardInterrupt``, as ever.
    """
    before = signal.getsignal(signal.SIGINT)
    if (
        before in (signal.SIG_IGN, None)
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    hook = sys.unraisablehook

    def report_swallowed(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            end_at_once()
        else:
            hook(unraisable)

    sys.unraisablehook = report_swallowed
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            end_at_once()
        frame = frame.f_back
    raise KeyboardInterrupt
