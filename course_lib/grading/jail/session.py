"""One process in the jail that runs a learner's cells and answers calls, as the grader sees it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from dataclasses import replace
from typing import Any

from course_lib.checks.engine.call import Answer, Call, Failure
from course_lib.grading.jail.inside.wire import HEADER, WireError, decode, encode, sizes

GRACE_SECONDS = 1.0  # after a time limit, for the process to stop the code itself and say so
REAL_SECONDS = 3  # for each second of processor time, since others may need the processor, too
_START_SECONDS = 30.0


class SessionEnded(Exception):
    """The process is gone; ``timed_out`` tells whether it was stopped at a time limit."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.timed_out = timed_out


class Session:
    """A process in the jail, at the other end of a socket; use it in a ``with`` statement.

    Raises:
        SessionEnded: the process did not start.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.number = connection, 0
        self.ended: SessionEnded | None = None
        connection.settimeout(_START_SECONDS)
        message, descriptors, _, _ = socket.recv_fds(connection, 16, 1)
        if not message.isdigit():
            raise SessionEnded("it did not introduce itself")
        self.pid = int(message)
        self.handle = descriptors[0] if descriptors else None
        if (first := connection.recv(1)) != b"R":
            reason = connection.recv(500).decode("utf-8", "replace") if first else "it died"
            raise self._end(reason)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def run(
        self, name: str, source: str, seconds: float, *, only_definitions: bool = False
    ) -> Failure | None:
        """Run a cell; what it raised, if anything.

        Args:
            name: of the cell, for messages.
            source: its code.
            seconds: time limit, in processor time.
            only_definitions: run only what it imports and defines.

        Raises:
            SessionEnded: the process died, took too long, or sent nonsense.
        """
        message: dict[str, Any] = {"do": "run", "name": name, "source": source, "seconds": seconds}
        message["only_definitions"] = only_definitions
        failure = self._exchange(message, REAL_SECONDS * seconds)
        if not (failure is None or isinstance(failure, Failure)):
            raise self._end("it sent something else than what a cell raised")
        return failure

    def ask(self, subject: str, use: str, call: Call, seconds: float) -> Answer:
        """Make a call of what the learner defined under a name.

        Args:
            subject: the name.
            use: the function that makes the call, as "module:name".
            call: the arguments.
            seconds: time limit of the call, in processor time.

        Raises:
            SessionEnded: the process died, took too long, or sent nonsense.
        """
        message = {"do": "ask", "subject": subject, "use": use, "call": call, "seconds": seconds}
        start = time.perf_counter()
        answer = self._exchange(message, REAL_SECONDS * seconds)
        if not isinstance(answer, Answer):
            raise self._end("it sent something else than an answer")
        took = time.perf_counter() - start
        return replace(answer, seconds=min(max(0.0, answer.seconds), took))  # it may say anything

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
        end = time.monotonic() + seconds + GRACE_SECONDS
        try:
            self.connection.settimeout(seconds + GRACE_SECONDS)
            self.connection.sendall(encode({"number": self.number, **message}))
            text, tensors = sizes(self._received(HEADER.size, end))
            reply = decode(self._received(text, end), self._received(tensors, end))
        except TimeoutError:
            reason = f"still running after {seconds:.3g} seconds"
            raise self._end(reason, timed_out=True) from None
        except WireError as error:
            raise self._end(f"it sent something else than an answer: {error}") from None
        except OSError:
            raise self._end("the process ended: a crash, os._exit or out of memory") from None
        if not isinstance(reply, dict) or reply.get("number") != self.number:
            raise self._end("it sent an answer to another question")
        return reply.get("reply")

    def _received(self, size: int, end: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self.connection.settimeout(max(1e-3, end - time.monotonic()))
            part = self.connection.recv(min(1 << 20, size - len(data)))
            if not part:
                raise ConnectionError
            data += part
            if time.monotonic() > end:
                raise TimeoutError
        return bytes(data)
