"""The jail in which learners' code runs, as the grader sees it: sessions that answer calls.

Code is isolated by bubblewrap, or not at all: it sees a read-only Python, a view of the library and
a small private /tmp; no network, no other process. Only submissions that are trusted may run
without, in a separate process and nothing else. Whether the isolation works is found out by trying
to escape from it (see ``attempts``).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from course_lib.checks.engine.call import Call
from course_lib.errors import CourseError
from course_lib.grading.jail import inside, library_view
from course_lib.grading.jail.inside.confinement import Limits
from course_lib.grading.jail.server import Server
from course_lib.grading.jail.session import MachineBusy, Session, SessionEnded


class Jail:
    """A server with PyTorch loaded, and the libraries that its children see.

    ``isolation`` is what isolates the children: "bubblewrap" or "none".

    Args:
        trusted: the submissions are trusted, so nothing is to isolate them.
        begun: a server that is used if it isolates as is asked here, instead of a new one.

    Raises:
        CourseError: code can't be isolated here; it says why.
    """

    def __init__(self, *, trusted: bool = False, begun: Server | None = None) -> None:
        self._last = ""  # the last request, and what came after each: see `session`
        self._followed_by: dict[str, str] = {}
        self._ahead: tuple[str, socket.socket] | None = None
        self.isolation = "none" if trusted else "bubblewrap"
        try:
            self._open(trusted, begun)
        except (OSError, SessionEnded, MachineBusy, CourseError) as error:
            if trusted:
                raise CourseError(
                    f"the process that runs notebooks does not work: {error}"
                ) from None
            raise CourseError(
                f"expected to isolate learners' code with bubblewrap, and it does not work here "
                f"({error}): install bubblewrap (apt install bubblewrap) where user namespaces are "
                "allowed, or grade in the container that docs/grading.md describes",
                see="isolation",
            ) from None

    def _open(self, trusted: bool, begun: Server | None) -> None:
        self.server = begun if begun and begun.trusted == trusted else Server(trusted=trusted)
        try:
            self.server.wait()
            if not trusted:
                self._try_to_escape()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Jail:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and all that runs in the jail."""
        self._drop_ahead()
        self.server.close()

    def library(self, name: str, files: Mapping[str, str]) -> Path:
        """A library that sessions can be given; written once for each name."""
        return self.server.library(name, files)

    def session(
        self, library: Path, limits: Limits | None = None, *, withheld: str = ""
    ) -> Session:
        """A new process that sees this library.

        A class has the same items in the same order, so while this process is used, the one that
        came after it the last time is started already.

        Args:
            library: its folder.
            limits: of the process.
            withheld: an item; what is ready-made for it is taken away, and packages with their
                files. Without isolation, the files stay.

        Raises:
            SessionEnded: it could not be started, not even by a new server.
        """
        seen = str(library) if self.server.trusted else f"/views/{library.name}"
        request = json.dumps(
            {"library": seen, "limits": asdict(limits or Limits()), "withheld": withheld}
        )
        self._followed_by[self._last] = request
        self._last = request
        try:
            session = self._session(request)
        except (OSError, SessionEnded):
            self.server.stop()
            try:
                session = self._session(request)
            except (OSError, SessionEnded, CourseError) as error:
                self.server.stop()
                raise SessionEnded(f"no process could be started in the jail: {error}") from None
        if following := self._followed_by.get(request):
            with contextlib.suppress(OSError, CourseError):  # then it is tried when it is needed
                self._ahead = following, self.server.connection(following)
        return session

    def _session(self, request: str) -> Session:
        if self._ahead and self._ahead[0] == request and self.server.runs():
            connection, self._ahead = self._ahead[1], None
        else:
            self._drop_ahead()
            connection = self.server.connection(request)
        try:
            return Session(connection)
        except BaseException:
            connection.close()
            raise

    def _drop_ahead(self) -> None:
        if self._ahead:
            self._ahead[1].close()  # on which the process ends
            self._ahead = None

    def _try_to_escape(self) -> None:
        """Run the attempts in the jail.

        Raises:
            CourseError: some of them succeeded.
        """
        source = Path(inside.__file__).with_name("attempts.py").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="outside-") as outside:
            os.chmod(outside, 0o777)
            secret = Path(outside, "secret")
            secret.write_text(secrets.token_hex())
            secret.chmod(0o666)
            with self.session(self.library("empty", library_view.engine_files())) as session:
                if failure := session.run("attempts", source, seconds=20):
                    raise CourseError(f"the attempts to escape could not be made ({failure})")
                call = Call((str(secret), outside))
                answer = session.ask(
                    "escapes", "course_lib.checks.engine.call:call_plainly", call, 20
                )
            escaped = Path(outside, "escaped").exists()
        if answer.value != [] or escaped:
            told = answer.failure or answer.value or "a file was written"
            raise CourseError(f"code in it could escape: {told}")
