"""The error that the course raises for problems that its users can fix."""

from __future__ import annotations

import difflib
import importlib.metadata
import re
import sys
from collections.abc import Iterable
from pathlib import Path

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


def shortened(text: str, longest: int = 60) -> str:
    """The text in quotes, as a message shows it: of a long one its start."""
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}… ({len(text):,} characters)"


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
    command = [sys.executable, "-m", "pip", "install", *arguments]
    return " ".join(f'"{each}"' if re.search(r"[^-\w./\\:]", each) else each for each in command)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name: which known one is most like it, "" if none is."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f": did you mean {close[0]}?" if close else ""
