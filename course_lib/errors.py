"""The error that the course raises for problems that its users can fix."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
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


def shortened(text: str, longest: int = 60) -> str:
    """The text in quotes, as a message shows it: of a long one its start."""
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}… ({len(text):,} characters)"


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
