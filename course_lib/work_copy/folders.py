"""Where the course's files are: the released ones, and a learner's copy of them."""

from __future__ import annotations

import os
from pathlib import Path

from course_lib.home import expanded

LIBRARY = Path(__file__).resolve().parents[1]
# A wheel has the lessons inside the library (see setup.py); in a clone they are beside it.
COURSE = LIBRARY / "course" if (LIBRARY / "course").is_dir() else LIBRARY.parent
NOTEBOOKS = COURSE / "notebooks"


def work_folder() -> Path:
    """The learner's copy of the course: $COURSE_WORK, or else in a clone its folder ``work``,
    which git ignores, and without one ``~/transformer-course``.

    Raises:
        CourseError: it would be in the home folder, and there is none.
    """
    default = COURSE / "work" if LIBRARY.parent == COURSE else "~/transformer-course"
    return expanded(os.environ.get("COURSE_WORK") or default, "COURSE_WORK").absolute()


def path_inside(path: Path, folder: Path) -> Path | None:
    """The path relative to the folder, also where one of them leads through a link, as some home
    folders do; None if it is not inside.
    """
    resolved = (path.parent.resolve() / path.name, folder.resolve())
    for inner, outer in ((path, folder), resolved):
        if inner.is_relative_to(outer):
            return inner.relative_to(outer)
    return None
