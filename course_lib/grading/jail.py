"""The jail in which learners' code runs, as the grader sees it: sessions that answer calls.

Three levels of isolation, of which the strongest that works is used, and always reported:

* ``bubblewrap``: own namespaces. The code sees a read-only Python, a view of the library and a
  small private /tmp; no network, no other process.
* ``landlock``: the same files, none that can be written, and the same limits on system calls.
* ``none``: a separate process and nothing else; only for submissions that are trusted.

Whether a level works is found out by trying to escape from it (see ``attempts``).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Literal, get_args

from course_lib.errors import CourseError
from course_lib.grading import library_view
from course_lib.grading.confinement import Limits
from course_lib.grading.jail_command import command_of
from course_lib.grading.session import Session, SessionEnded

Level = Literal["bubblewrap", "landlock", "none"]
LEVELS: tuple[Level, ...] = get_args(Level)
_START_SECONDS = 120.0  # PyTorch is read from a cold disk, at worst


class Jail:
    """A server with PyTorch loaded, and the libraries that its children see.

    ``level`` is the level of isolation, and ``reasons`` says why stronger ones could not be used.

    Args:
        levels: which levels may be used, the first that works is; by default the two that isolate.
        trusted: the submissions are trusted, so no isolation at all is accepted.

    Raises:
        CourseError: no level works; it says why for each.
    """

    def __init__(self, *, levels: tuple[Level, ...] | None = None, trusted: bool = False) -> None:
        wanted = levels or (("none",) if trusted else LEVELS[:2])
        if "none" in wanted and not trusted:
            raise CourseError(
                'the level "none" isolates nothing: it needs trusted=True (on the command line, '
                "--i-trust-these-submissions --no-sandbox)"
            )
        self._folder = tempfile.TemporaryDirectory(prefix="grading-")
        self.folder = Path(self._folder.name)
        self.folder.chmod(0o755)
        (self.folder / "views").mkdir()
        (self.folder / "views").chmod(0o755)
        self._write(library_view.engine_files(), self.folder / "engine")
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self.reasons: dict[Level, str] = {}
        for level in wanted:
            self.level: Level = level
            try:
                self._start()
                if level != "none":
                    self._try_to_escape()
                return
            except (OSError, SessionEnded, CourseError) as error:
                self.reasons[level] = str(error)
                self._stop()
        self._folder.cleanup()
        told = "; ".join(f"{level}: {reason}" for level, reason in self.reasons.items())
        raise CourseError(
            f"expected a way to isolate learners' code here, and none works ({told}): install "
            "bubblewrap (apt install bubblewrap), or grade in a virtual machine or a container "
            "that has it"
        )

    def __enter__(self) -> Jail:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and all that runs in the jail."""
        self._stop()
        self._folder.cleanup()

    def library(self, name: str, files: Mapping[str, str]) -> Path:
        """A library that sessions can be given; written once for each name."""
        folder = self.folder / "views" / name
        if not folder.exists():
            self._write(files, folder)
        return folder

    def _write(self, files: Mapping[str, str], folder: Path) -> None:
        before = os.umask(0o022)  # the user that code runs as has to read it
        try:
            library_view.write_files(files, folder, self.folder / "contents")
        finally:
            os.umask(before)

    def session(self, library: Path, limits: Limits | None = None) -> Session:
        """A new process that sees this library.

        Raises:
            SessionEnded: it could not be started, not even by a new server.
        """
        request = {
            "library": f"/views/{library.name}" if self.level == "bubblewrap" else str(library),
            "limits": asdict(limits or Limits()),
        }
        try:
            return self._session(request)
        except (OSError, SessionEnded):
            self._stop()
        try:
            return self._session(request)
        except (OSError, SessionEnded, CourseError) as error:
            self._stop()
            raise SessionEnded(f"no process could be started in the jail: {error}") from None

    def _session(self, request: Mapping[str, object]) -> Session:
        if self._server is None or self._server.poll() is not None:
            self._start()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                message = json.dumps(request).encode()
                socket.send_fds(self._control, [message], [theirs.fileno()])
            return Session(ours)
        except BaseException:
            ours.close()
            raise

    def _start(self) -> None:
        """Start the server.

        Raises:
            CourseError: it does not start.
        """
        self._stop()
        ours, theirs = socket.socketpair()
        command, environment = command_of(self.level, self.folder, theirs.fileno())
        with theirs, tempfile.TemporaryFile() as errors:
            self._server = subprocess.Popen(
                command,
                env=environment,
                cwd="/",
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            theirs.close()
            ours.settimeout(_START_SECONDS)
            self._control = ours
            with contextlib.suppress(OSError):
                if ours.recv(1) == b"R":
                    return
            self._stop()
            errors.seek(0)
            lines = errors.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
            raise CourseError(f"it does not start ({lines[-1] if lines else 'no message'})")

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._server is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._server.pid, signal.SIGKILL)
            self._server.wait()
        self._control = self._server = None

    def _try_to_escape(self) -> None:
        """Run the attempts in the jail.

        Raises:
            CourseError: some of them succeeded.
        """
        from course_lib.checks.call import Call

        source = Path(__file__).with_name("attempts.py").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="outside-") as outside:
            os.chmod(outside, 0o777)
            secret = Path(outside, "secret")
            secret.write_text(secrets.token_hex())
            with self.session(self.library("empty", library_view.engine_files())) as session:
                if failure := session.run("attempts", source, seconds=20):
                    raise CourseError(f"the attempts to escape could not be made ({failure})")
                call = Call((str(secret), outside))
                answer = session.ask("escapes", "course_lib.checks.call:call_plainly", call, 20)
            escaped = Path(outside, "escaped").exists()
        if answer.value != [] or escaped:
            told = answer.failure or answer.value or "a file was written"
            raise CourseError(f"code in it could escape: {told}")
