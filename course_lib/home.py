"""Paths in the user's home folder, which not every machine has."""

from __future__ import annotations

from pathlib import Path

from course_lib.errors import CourseError


def expanded(path: str | Path, variable: str) -> Path:
    """The path with its ``~`` replaced.

    Args:
        variable: the environment variable that names another folder instead.

    Raises:
        CourseError: it begins with ``~``, and there is no home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise CourseError(
            f"expected a home folder for {path}, found none ({error}): set HOME, or {variable} to "
            "a folder of your choice"
        ) from error
