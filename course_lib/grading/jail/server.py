"""The jail's server, as the grader starts it: with PyTorch loaded, it starts processes on request.

PyTorch takes seconds to load, so `Server` only begins, and the first connection waits. What starts
one early loads its own libraries meanwhile; for that, this module needs none of them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.grading.jail import library_view
from course_lib.grading.jail.bubblewrap import server_command

_START_SECONDS = 120.0  # PyTorch is read from a cold disk, at worst


class Server:
    """A process that starts others, and the folder that they see, until it is closed.

    Args:
        trusted: isolate nothing.

    Raises:
        CourseError: code can't be isolated here; it says why.
        OSError: the program that isolates can't be run.
    """

    def __init__(self, *, trusted: bool) -> None:
        self.trusted = trusted
        self._folder = tempfile.TemporaryDirectory(prefix="grading-")
        self.folder = Path(self._folder.name)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        try:
            self.folder.chmod(0o755)
            (self.folder / "views").mkdir()
            (self.folder / "views").chmod(0o755)
            self._write(library_view.engine_files(), self.folder / "engine")
            self._begin()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process and all that it started, and remove the folder."""
        self.stop()
        self._folder.cleanup()

    def library(self, name: str, files: Mapping[str, str]) -> Path:
        """A library that processes can be given; written once for each name."""
        folder = self.folder / "views" / name
        if not folder.exists():
            self._write(files, folder, assets=True)
        return folder

    def _write(self, files: Mapping[str, str], folder: Path, *, assets: bool = False) -> None:
        before, store = os.umask(0o022), self.folder / "contents"  # the code's user has to read it
        try:
            library_view.write_files(files, folder, store)
            if assets:
                library_view.link_assets(folder, store)
        finally:
            os.umask(before)

    def runs(self) -> bool:
        """Whether the process is there: with it end all that it started."""
        return self._process is not None and self._process.poll() is None

    def connection(self, request: str) -> socket.socket:
        """Have a process started; the grader's end of its socket.

        Args:
            request: see ``worker.serve``.

        Raises:
            CourseError: the server does not start.
            OSError: it is gone.
        """
        if self._ready and not self.runs():
            self.stop()
        if self._process is None:
            self._begin()
        self.wait()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [request.encode()], [theirs.fileno()])
            return ours
        except BaseException:
            ours.close()
            raise

    def _begin(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs, open(self.folder / "errors", "wb") as errors:
            command, environment = server_command(
                self.folder, theirs.fileno(), trusted=self.trusted
            )
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd="/",
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )

    def wait(self) -> None:
        """Wait until the process that has begun is ready.

        Raises:
            CourseError: it does not start.
        """
        if self._ready:
            return
        assert self._control is not None
        self._control.settimeout(_START_SECONDS)
        with contextlib.suppress(OSError):
            self._ready = self._control.recv(1) == b"R"
        if not self._ready:
            self.stop()
            text = (self.folder / "errors").read_bytes()[-2000:].decode("utf-8", "replace")
            lines = text.strip().splitlines()
            raise CourseError(f"it does not start ({lines[-1] if lines else 'no message'})")

    def stop(self) -> None:
        """End the process and all that it started; the next connection begins a new one."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = self._control = None
        self._ready = False


@contextlib.contextmanager
def early_server(trusted: bool) -> Iterator[Server | None]:
    """A server that has begun to start; None if it can't work here."""
    try:
        server = Server(trusted=trusted)
    except (OSError, CourseError):  # the jail tries again, and says why
        yield None
        return
    with contextlib.closing(server):
        yield server
