"""Print on any terminal: whatever its encoding, whoever wrote the text, even if nobody listens."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any

from course_lib.wording import shown

# What a terminal shows that has no such character; anything else becomes a question mark.
PLAIN = {
    "…": "...",
    "–": "-",
    "—": "-",
    "−": "-",
    "·": "-",
    "×": "x",
    "±": "+-",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "√": "sqrt",
    "■": "#",
    "□": ".",
    "●": "*",
    "○": ".",
}


def fit_terminal() -> None:
    """Let standard output and error print every character, and throw away what a closed one gets.

    Without this, ``print(…, file=sys.stderr)`` goes to standard output if standard error is closed.
    """
    codecs.register_error("plain", _plain)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="plain")


def say(*lines: str, error: bool = False) -> None:
    """Print each line, above the progress bars if there are any: how a command prints anything.

    A line stays one and does nothing to the terminal, whoever wrote the words in it: names come
    from files that others made.

    Args:
        lines: without their ends.
        error: on standard error.
    """
    stream = sys.stderr if error else sys.stdout
    text = "".join(f"{shown(line)}\n" for line in lines)
    if "tqdm" in sys.modules:
        sys.modules["tqdm"].tqdm.write(text, file=stream, end="")
    else:
        stream.write(text)
    stream.flush()


def stop_printing(stream: Any = None) -> None:
    """Throw away what a stream still holds, by default standard output: whoever read it is gone, or
    its disk is full.

    Otherwise Python would try again when it ends, and say that it failed.
    """
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (stream or sys.stdout).fileno())
        os.close(nowhere)


class LastingStream:
    """A stream that drops what it is given once nobody can read it, where others raise an error."""

    def __init__(self, stream: Any, on_failure: Callable[[OSError], object]) -> None:
        self._stream, self._on_failure = stream, on_failure

    def write(self, text: str) -> int:
        """Print, if anybody reads it."""
        with self._lasting():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Print what is held back, if anybody reads it."""
        with self._lasting():
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    @contextmanager
    def _lasting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # a reader that has gone, a closed terminal, a full disk
            stop_printing(self._stream)
            self._on_failure(error)


@contextmanager
def lasting_output() -> Iterator[None]:
    """Inside, nothing fails because it prints: an hour's work should not depend on its reader.

    What happened to standard output is told once, on standard error.
    """

    def tell(error: OSError) -> None:
        say(f"could not print any more ({error.strerror}): going on, Ctrl-C stops", error=True)

    error_stream = LastingStream(sys.stderr, lambda error: None)
    with redirect_stderr(error_stream), redirect_stdout(LastingStream(sys.stdout, tell)):
        yield


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in characters), error.end
