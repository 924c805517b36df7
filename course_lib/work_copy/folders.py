"""Where the course's files are: the released ones, and a learner's copy of them."""

from __future__ import annotations

import os
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.home import COURSE, LIBRARY, expanded
from course_lib.wording import did_you_mean

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


def find_notebook(name: str, folder: Path | None = None, *, exercise: bool = False) -> Path:
    """The notebook with this path, or the lesson of the course whose name starts like this.

    Args:
        name: a path, or the start of a lesson's name, such as 06, or 6.
        folder: the course, or a copy of it; by default the course itself. What the learner added
            to a copy is found by its path alone.
        exercise: the lesson's exercise instead.

    Raises:
        CourseError: there is none with that name, or the copy has it no more.
    """
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path.resolve()
    if path.parent != Path():
        raise CourseError(
            f"expected a notebook at {name}, found none: is the path right? A lesson of the course "
            "opens by its number, such as 06"
        )
    course = NOTEBOOKS.parent
    if exercise:
        exercises = (course / "exercises").glob("*/*.ipynb")
        ours = (path for path in exercises if path.parent.name.partition("_")[2] == path.stem)
        by_name = {path.parent.name: path for path in ours}
    else:
        by_name = {path.stem: path for path in NOTEBOOKS.glob("*.ipynb")}
    if not by_name:
        raise CourseError(
            f"expected lessons and exercises in {course}, found none: install the course again, or "
            "clone its repository and run `make lab` there",
            see="no-lessons-beside-the-library",
        )
    start = path.stem.zfill(2) if path.stem.isdigit() else path.stem
    names = sorted(by_name)  # in this order a whole name comes before those that it begins
    full_name = next((each for each in names if start and each.startswith(start)), None)
    if full_name is None:
        raise CourseError(
            f"expected a notebook or the start of a lesson's name, got {name!r}"
            f"{did_you_mean(name, names) or ':'} the "
            f"{'exercises' if exercise else 'lessons'} are {', '.join(names)}"
        )
    notebook = (folder or course) / by_name[full_name].relative_to(course)
    if not notebook.is_file():
        raise CourseError(
            f"expected {notebook}, found none: was it deleted, or is it new in the course? "
            "`course update` copies it"
        )
    return notebook
