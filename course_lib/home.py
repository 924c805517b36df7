"""Where the course's files are, and paths in the home folder, which not every machine has."""

from __future__ import annotations

from pathlib import Path

from course_lib.errors import CourseError

LIBRARY = Path(__file__).resolve().parent
# A wheel has the lessons inside the library (see setup.py); in a clone they are beside it.
COURSE = LIBRARY / "course" if (LIBRARY / "course").is_dir() else LIBRARY.parent


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
