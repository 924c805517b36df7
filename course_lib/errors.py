"""The error that the course raises for problems that its users can fix."""

from __future__ import annotations


class CourseError(ValueError):
    """One sentence: what was expected, what was found, the likely cause, and what to do.

    The ``course`` command prints it without a traceback.
    """


def shortened(text: str, longest: int = 60) -> str:
    """The text in quotes, as a message shows it: its beginning, if it is long."""
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}… ({len(text):,} characters)"
