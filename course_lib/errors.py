"""The error that the course raises for problems that its users can fix."""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

Values = TypeVar("Values", bound=Iterable[Any])

DISTRIBUTION = "transformer-question-by-question"


class CourseError(ValueError):
    """One sentence: what was expected, what was found, the likely cause, and what to do.

    The ``course`` command prints it without a traceback.

    Args:
        message: the sentence.
        see: the anchor of the section of docs/troubleshooting.md that says more, if one does.
    """

    def __init__(self, message: str, *, see: str = "") -> None:
        super().__init__(f"{message} (more: {troubleshooting(see)})" if see else message)


def troubleshooting(anchor: str = "") -> str:
    """The address of docs/troubleshooting.md; its path where the course is not installed."""
    return f"{repository_files()}docs/troubleshooting.md" + (f"#{anchor}" if anchor else "")


def repository_files() -> str:
    """The address that the repository's paths follow, "" where the course is not installed."""
    try:
        urls = importlib.metadata.metadata(DISTRIBUTION).get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        urls = []
    home = [url.partition(", ")[2] for url in urls if url.startswith("Repository,")]
    return f"{home[0]}/blob/main/" if home else ""


# What a terminal obeys (a tab aside), what ends a line, half characters, and what overrides the
# direction of writing. Marks that only embed words of another script occur in honest sentences.
_OBEYED = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202d\u202e\u2066-\u2069\ud800-\udfff]"
)


def shown(text: str) -> str:
    """Text that may be somebody else's, as part of a line: what a terminal obeys, by its code."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


def shortened(text: str, longest: int = 60) -> str:
    """The text in quotes, as a message shows it: of a long one its start."""
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}… ({len(text):,} characters)"


def well_formed(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, as of an emoji that was cut in two.

    No file can hold such a half. It comes from JSON and from arguments that are not UTF-8.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def not_one_text(values: Values, what: str = "tokens") -> Values:
    """The values as they are, unless they are one text: Python would take its letters for them.

    Whatever takes a list of texts or of tokens passes it through here.

    Raises:
        CourseError: the values are one text.
    """
    if isinstance(values, str | bytes):
        raise CourseError(
            f"expected a list of {what}, got one text, {shortened(str(values))}: "
            + ("put it into a list, [text]" if what == "texts" else "split it first")
        )
    return values


def pip_install(*arguments: str, extra: str = "") -> str:
    """The command that installs packages for this Python, which the ``pip`` of a shell may not do.
    In a clone it keeps to the versions that the course is tested with.

    Args:
        arguments: of pip, such as "torch>=2.6".
        extra: of the course, to be installed instead, such as "lab".
    """
    root = Path(__file__).resolve().parents[1]
    clone = (root / "constraints.txt").is_file()
    if extra:
        arguments = ("-e", f"{root}[{extra}]") if clone else (f"{DISTRIBUTION}[{extra}]",)
    if clone:
        arguments = ("-c", str(root / "constraints.txt"), *arguments)
    return run_python("-m", "pip", "install", *arguments)


def run_python(*arguments: str) -> str:
    """The command that runs this Python, by its short name where a shell finds it under that."""
    python = sys.executable or "python"
    command = ["python" if shutil.which("python") == python else python, *arguments]
    line = " ".join(f'"{each}"' if re.search(r"[^-\w./\\:]", each) else each for each in command)
    return f"& {line}" if os.name == "nt" and line[0] == '"' else line  # or PowerShell only prints


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name: which known one is most like it, "" if none is."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f": did you mean {close[0]}?" if close else ""
