"""One process in the jail that runs a learner's cells and answers calls, as the grader sees it.

Its time limits are in processor time, which the process measures itself. In case it doesn't, or
sleeps, there is a limit in real time, too, from which the time is taken off in which it could run
and other processes had the processor: the kernel counts that. So a busy machine stops nobody, and
sleeping is the process's own doing on any machine, as is using up its processor time. One that
still waits for a processor after `MOST_REAL_SECONDS` for each second is given up without a result.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from course_lib.checks.engine.call import SECONDS, Answer, Call, Failure
from course_lib.grading.jail.inside.wire import HEADER, WireError, decode, digest, encode, sizes

GRACE_SECONDS = 1.0  # after a time limit, for the process to stop the code itself and say so
REAL_SECONDS = 3  # for each second of processor time: reading files takes some, too
MOST_REAL_SECONDS = 30  # in all, on a machine that is so busy
_START_SECONDS = 30.0


class SessionEnded(Exception):
    """The process is gone; ``timed_out`` tells whether it was stopped at a time limit."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.timed_out = timed_out


class MachineBusy(Exception):
    """The process got so little of the processor that nothing is known about its code. That is no
    ``SessionEnded``, which a learner's code can bring about: nothing is concluded from it.
    """


class Usage(NamedTuple):
    """Seconds of processor time of a process, and seconds for which it waited for a processor."""

    processor: float
    waited: float


class Called(NamedTuple):
    """What a process says was called of what is withheld.

    Attributes:
        anything: whether a cell or an answer called any of it.
        by_answers: the names of what the answers called; they may be anything.
    """

    anything: bool = False
    by_answers: Sequence[Any] = ()


class Session:
    """A process in the jail, at the other end of a socket; use it in a ``with`` statement.

    Raises:
        SessionEnded: the process did not start.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.number = connection, 0
        self.ended: SessionEnded | MachineBusy | None = None
        connection.settimeout(_START_SECONDS)
        message, descriptors, _, _ = socket.recv_fds(connection, 16, 1)
        if not message.isdigit():
            raise SessionEnded("it did not introduce itself")
        self.pid = int(message)
        self.handle = descriptors[0] if descriptors else None
        self.kernel = _folder_of(self.handle)
        if (first := connection.recv(1)) != b"R":
            reason = connection.recv(500).decode("utf-8", "replace") if first else "it died"
            raise self._end(reason)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def run(
        self,
        name: str,
        source: str,
        seconds: float,
        *,
        only_definitions: bool = False,
        keep: Sequence[str] = (),
    ) -> Failure | None:
        """Run a cell; what it raised, if anything.

        Args:
            name: of the cell, for messages.
            source: its code.
            seconds: time limit, in processor time.
            only_definitions: run only what it imports and defines.
            keep: names of functions and classes that it must not make anything else of.

        Raises:
            SessionEnded: the process died, took too long, or sent nonsense.
            MachineBusy: it could hardly run.
        """
        message: dict[str, Any] = {"do": "run", "name": name, "source": source, "seconds": seconds}
        message |= {"only_definitions": only_definitions, "keep": list(keep)}
        failure = self._exchange(message, seconds)
        if not (failure is None or isinstance(failure, Failure)):
            raise self._end("it sent something else than what a cell raised")
        return failure

    def ask(self, subject: str, use: str, call: Call, seconds: float) -> Answer:
        """Make a call of what the learner defined under a name.

        Whether it changes its arguments is seen by comparing them with what the process has then,
        and not only told by the process, in which a learner's code may patch what notices it. Who
        can send the arguments as they were has kept a copy, and could have computed on that.

        Args:
            subject: the name.
            use: the function that makes the call, as "module:name".
            call: the arguments.
            seconds: time limit of the call, in processor time.

        Raises:
            SessionEnded: the process died, took too long, or sent nonsense.
            MachineBusy: it could hardly run.
        """
        message = {"do": "ask", "subject": subject, "use": use, "call": call, "seconds": seconds}
        start = time.perf_counter()
        reply = self._exchange(message, seconds)
        answer = reply.get("answer") if isinstance(reply, dict) else None
        if not isinstance(answer, Answer):
            raise self._end("it sent something else than an answer")
        took = time.perf_counter() - start
        sent = digest((call.args, dict(call.kwargs)))
        changed = answer.failure is None and reply.get("arguments") != sent
        return replace(
            answer,
            seconds=min(max(0.0, answer.seconds), took),  # it may say anything
            changed_inputs=answer.changed_inputs or changed,
        )

    def called(self) -> Called:
        """What was called of what is withheld.

        Raises:
            SessionEnded: the process died, took too long, or sent nonsense.
            MachineBusy: it could hardly run.
        """
        found = self._exchange({"do": "called"}, SECONDS)
        match found:
            case [list(names), bool(by_cells)]:
                return Called(anything=by_cells or bool(names), by_answers=names)
            case _:
                return Called(anything=True)

    def rebinds(self, answer: Sequence[str], *, cells: int, asked_for: Sequence[str]) -> bool:
        """Whether cells made something else of what an answer needs; see ``worker.Cells.rebinds``.

        Args:
            answer: its names.
            cells: how many of those that ran stand above it.
            asked_for: names of functions and classes that should stay some.

        Raises:
            SessionEnded: the process died, took too long, or sent nonsense.
            MachineBusy: it could hardly run.
        """
        message = {"do": "rebinds", "answer": list(answer), "cells": cells}
        found = self._exchange(message | {"asked_for": list(asked_for)}, SECONDS)
        if not isinstance(found, bool):
            raise self._end("it sent something else than whether names are bound again")
        return found

    def kill(self) -> None:
        """End the process and all that it started."""
        if self.ended is None:
            self.ended = SessionEnded("it has been closed")
        with contextlib.suppress(ProcessLookupError):
            if self.handle is not None:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
                os.close(self.handle)
            elif self.pid:
                os.killpg(self.pid, signal.SIGKILL)
        self.handle, self.pid = None, 0
        self.connection.close()

    def _end(self, reason: str, *, timed_out: bool = False) -> SessionEnded:
        self.ended = SessionEnded(reason, timed_out=timed_out)
        self.kill()
        return self.ended

    def _exchange(self, message: dict[str, Any], seconds: float) -> Any:
        if self.ended:
            raise self.ended
        self.number += 1
        clock = _Clock(self.usage, seconds)
        try:
            self._send(encode({"number": self.number, **message}, trusted=True), clock)
            text, tensors = sizes(self._received(HEADER.size, clock))
            reply = decode(self._received(text, clock), self._received(tensors, clock))
        except TimeoutError:
            reason = f"still running after {REAL_SECONDS * seconds:.3g} seconds"
            raise self._end(reason, timed_out=True) from None
        except MachineBusy as error:
            self.ended = error
            self.kill()
            raise
        except WireError as error:
            raise self._end(f"it sent something else than an answer: {error}") from None
        except OSError:
            raise self._end("the process ended: a crash, os._exit or out of memory") from None
        number = reply.get("number") if isinstance(reply, dict) else None
        if type(number) is not int or number != self.number:  # a tensor would compare as it likes
            raise self._end("it sent an answer to another question")
        return reply.get("reply")

    def usage(self) -> Usage:
        """What the kernel has counted for the process so far; nothing where it doesn't."""
        if self.kernel is None:
            return Usage(0.0, 0.0)
        try:
            waited = self.kernel.joinpath("schedstat").read_text(encoding="ascii").split()[1]
            fields = self.kernel.joinpath("stat").read_text("utf-8", "replace").rpartition(")")[2]
            ticks = sum(map(int, fields.split()[11:13]))
        except (OSError, ValueError, IndexError):  # it has ended
            return Usage(0.0, 0.0)
        return Usage(ticks / os.sysconf("SC_CLK_TCK"), int(waited) / 1e9)

    def _send(self, data: bytes, clock: _Clock) -> None:
        rest = memoryview(data)  # more than the socket's buffer holds waits until it is read
        while rest:
            self.connection.settimeout(clock.left())
            with contextlib.suppress(TimeoutError):  # the clock knows whether the time is over
                rest = rest[self.connection.send(rest) :]

    def _received(self, size: int, clock: _Clock) -> bytes:
        data = bytearray()
        while len(data) < size:
            self.connection.settimeout(clock.left())
            try:
                part = self.connection.recv(min(1 << 20, size - len(data)))
            except TimeoutError:
                continue  # the clock knows whether the time is over
            if not part:
                raise ConnectionError
            data += part
        return bytes(data)


class _Clock:
    """The limit in real time of one message: see the top of this file.

    Args:
        usage: what the process has used so far.
        seconds: its limit in processor time.
    """

    def __init__(self, usage: Callable[[], Usage], seconds: float) -> None:
        self.usage, self.processor = usage, seconds + GRACE_SECONDS
        self.real = REAL_SECONDS * seconds + GRACE_SECONDS
        self.start, self.before = time.monotonic(), usage()

    def left(self) -> float:
        """The seconds until the limit, as far as one can say now.

        Raises:
            TimeoutError: it is reached.
            MachineBusy: the process has waited for a processor for too long.
        """
        real = time.monotonic() - self.start
        if real < self.real:
            return self.real - real
        now = self.usage()
        left = self.real - real + now.waited - self.before.waited
        if left <= 0.01 or now.processor - self.before.processor > self.processor:
            raise TimeoutError
        if real > self.real * MOST_REAL_SECONDS / REAL_SECONDS:
            raise MachineBusy(
                f"the machine was too busy: in {real:.0f} seconds, it ran for "
                f"{now.processor - self.before.processor:.1f}; grade again later"
            )
        return left


def _folder_of(handle: int | None) -> Path | None:
    """The folder in which Linux tells about a process; None if it doesn't."""
    if handle is None:
        return None
    try:
        known = Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii")
        pid = int(known.partition("\nPid:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return Path(f"/proc/{pid}") if pid > 0 else None
