"""nbgrader's course folder: its configuration, what was released, and where things are in it."""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.atomic import below, replace_atomically, write_atomically
from course_lib.checks.written_answer import SOLUTION
from course_lib.errors import CourseError
from course_lib.grading.nbgrader.nbgrader_settings import (
    CONFIG_FILE,
    CONFIGURATION,
    configured,
)
from course_lib.grading.submissions.exercise import solution_file
from course_lib.wording import pip_install


@dataclass(frozen=True)
class CourseFolder:
    """A course folder of nbgrader: its ``CourseDirectory``, and the settings of its config file."""

    directory: Any
    config: Any

    def file(self, step: str, assignment: str, *, name: str, student: str = ".") -> Path:
        """The file of a step, such as "release", "submitted" or "autograded"."""
        folder = getattr(self.directory, f"{step}_directory")
        path = Path(self.directory.format_path(folder, student, assignment)) / name
        # A step's own folder may be a link or anywhere else: the instructor says where it is.
        base = Path(self.directory.root, folder)
        base = base if path.is_relative_to(base) else Path(self.directory.root)
        return below(base, path.relative_to(base))


def open_course_folder(path: Path) -> CourseFolder:
    """The course folder at a path, which is made if it is not there.

    Raises:
        CourseError: nbgrader is not installed, or the folder has a configuration without the
            course's settings.
    """
    try:
        from nbgrader.coursedir import CourseDirectory
        from traitlets.config.loader import PyFileConfigLoader
    except ImportError as error:
        raise CourseError(
            f"expected nbgrader, which keeps the gradebook, and it is not installed ({error}): "
            f"{pip_install(extra='grading')}"
        ) from None
    file = path / CONFIG_FILE
    if not file.exists():
        write_atomically(file, CONFIGURATION)
    try:
        config = PyFileConfigLoader(CONFIG_FILE, path=str(path)).load_config()
    except Exception as error:  # it is Python of the instructor's own
        raise CourseError(
            f"could not read {file} ({type(error).__name__}: {error}): correct it, or move it away "
            "and a new one is made"
        ) from error
    if not configured(config):
        raise CourseError(
            f"expected {file} to use the course's settings, and it does not, so that `nbgrader "
            "autograde` would run what students handed in as your own code: add the lines "
            '"from course_lib.grading.nbgrader.nbgrader_settings import configure" and '
            '"configure(c)"'
        )
    return CourseFolder(CourseDirectory(config=config, root=str(path.resolve())), config)


def add_released(folder: CourseFolder, assignment: str, *, exercise: Path) -> None:
    """Put the exercise into release/ and its solution, if there is one, into source/.

    What is there already is left as it is: an instructor may have changed it.
    """
    solution = solution_file(exercise)
    for step, original in (("release", exercise), ("source", solution or exercise)):
        target = folder.file(step, assignment, name=exercise.name)
        if not target.exists():
            copy_file(original.read_bytes(), target)


def copy_file(data: bytes, target: Path) -> None:
    """Write a file unless it has this content already."""
    with contextlib.suppress(OSError):
        if target.read_bytes() == data:
            return
    replace_atomically(target, lambda draft: draft.write_bytes(data))


def rubrics(exercise: Path) -> dict[str, str]:
    """For each cell that is answered in words, the model answer and its rubric, if there are any.

    Args:
        exercise: the released notebook; its solution is looked for in ``solutions`` beside
            ``exercises``.
    """
    import nbformat

    solution = solution_file(exercise)
    if solution is None:
        return {}
    cells = nbformat.read(solution, as_version=4).cells
    found = {cell.id: SOLUTION.findall(cell.source) for cell in cells if cell.cell_type != "code"}
    return {name: "\n\n".join(parts) for name, parts in found.items() if parts}


def student_id(name: str) -> str:
    """What nbgrader calls a student: the folder's name, if it is plain.

    formgrader writes it into pages and paths as it is, so that of other names the other characters
    are left out; a few letters of a hash keep two such names apart.
    """
    if re.fullmatch(r"\w[\w.@+-]*", name, re.ASCII):
        return name
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    plain = plain[:200] or "student"  # the name of a folder has at most 255 bytes
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"
