"""Print on any terminal: whatever its encoding is, and even if nobody listens any more."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import suppress

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


def stop_printing() -> None:
    """Throw away what standard output still holds: whoever read it is gone, or its disk is full.

    Otherwise Python would try again when it ends, and say that it failed.
    """
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in characters), error.end
