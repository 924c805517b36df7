"""The exercise as it was released: its cells, and what each item's check is about."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from course_lib.checks.table import TABLE, Entry
from course_lib.errors import CourseError
from course_lib.grading.submissions.submission import (
    SubmissionError,
    read_regular_file,
    read_submission,
)
from course_lib.home import COURSE
from course_lib.wording import did_you_mean
from course_lib.work_copy.folders import NOTEBOOKS

ROLES = ("task", "hints", "code", "answer", "check", "written")


@dataclass(frozen=True, kw_only=True)
class ReleasedCell:
    """A cell of the exercise.

    Attributes:
        id: its grade_id, which is its cell id, too.
        source: as it was released.
        is_code: or text.
        locked: whether a learner is to leave it as it is.
        item: the id of its item, "" for cells of the whole notebook.
        role: what it is for, by the end of its id; "" for cells of the whole notebook.
    """

    id: str
    source: str
    is_code: bool
    locked: bool
    item: str = ""
    role: str = ""

    @property
    def defines(self) -> frozenset[str]:
        """The names that it defines."""
        return defined_names(self.source) if self.is_code else frozenset()


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is graded: an item, the names of what a learner writes for it ("" for none), and the
    conventions by which it differs from the course's.
    """

    entry: Entry
    subject: str = ""
    line: str = ""
    conventions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """The cells and tasks of an assignment, such as "06_masks"; ``sha256`` is of its ``file``."""

    assignment: str
    cells: tuple[ReleasedCell, ...]
    tasks: tuple[Task, ...]
    sha256: str
    file: Path = field(compare=False)

    @cached_property
    def earlier_parts(self) -> tuple[str, ...]:
        """The parts of earlier lessons that its cells import. In grading they are the course's."""
        imports = (
            node
            for cell in self.cells
            if cell.is_code and "course_lib.mine" in cell.source
            for node in ast.walk(ast.parse(cell.source))
            if isinstance(node, ast.ImportFrom) and node.module == "course_lib.mine"
        )
        return tuple(alias.name for node in imports for alias in node.names)


def exercise_file(folder: Path, assignment: str) -> Path:
    """The notebook of an assignment; the arguments are those of ``load_exercise``.

    Raises:
        CourseError: there is no such assignment, or it has no notebook or several.
    """
    notebooks = sorted((folder / assignment).glob("*.ipynb"))
    if len(notebooks) != 1:
        known = sorted(path.parent.name for path in folder.glob("*/*.ipynb"))
        number = assignment.zfill(2)  # 6, as in `course lab 6`
        meant = [name for name in known if name.startswith(f"{number}_") or assignment in name]
        raise CourseError(
            f"expected one notebook in {folder / assignment}, got {len(notebooks)}: the "
            f"assignments in {folder} are {', '.join(known) or 'none at all'}; name one of them, "
            "or the folder with --exercises"
            + did_you_mean(meant[0] if meant else assignment, known)
        )
    return notebooks[0]


def solution_file(exercise: Path) -> Path | None:
    """The solution of a released notebook, in ``solutions`` beside ``exercises``; None without."""
    solution = exercise.parents[2] / "solutions" / exercise.parent.name / exercise.name
    return solution if solution.is_file() else None


@cache
def lesson_code(assignment: str) -> frozenset[str]:
    """The code of the lesson of an assignment, a text for each cell; nothing where it is not."""
    try:
        file = NOTEBOOKS / f"{assignment}.ipynb"
        cells = read_submission(file).cells
    except SubmissionError:
        return frozenset()
    return frozenset(cell.source.strip() for cell in cells if cell.is_code) - {""}


def exercises_folder() -> Path:
    """The folder of the exercises: here, or beside the library."""
    here = Path("exercises")
    return here if here.is_dir() else COURSE / "exercises"


def load_exercise(folder: Path, assignment: str) -> Exercise:
    """The released exercise of an assignment.

    Args:
        folder: of all exercises, with a folder for each assignment.
        assignment: such as "06_masks".

    Raises:
        CourseError: there is no such assignment, or it has no notebook or another format.
    """
    file = exercise_file(folder, assignment)
    data = read_regular_file(file)
    try:
        cells = tuple(released_cell(cell) for cell in json.loads(data)["cells"])
    except (ValueError, KeyError, TypeError) as error:
        raise CourseError(
            f"expected an exercise with nbgrader's metadata in {file}, got another format "
            f"({type(error).__name__}): make it with `make exercises`"
        ) from None
    return Exercise(
        assignment=assignment,
        cells=cells,
        tasks=_tasks(cells),
        sha256=hashlib.sha256(data).hexdigest(),
        file=file,
    )


def released_cell(cell: dict[str, Any]) -> ReleasedCell:
    """A cell of a released notebook, as JSON has it.

    Raises:
        KeyError, TypeError: it is not one.
    """
    name, metadata = str(cell["id"]), cell["metadata"]
    if not isinstance(metadata, dict):
        raise TypeError
    item, role = item_and_role(name)
    source = cell["source"]
    return ReleasedCell(
        id=name,
        source="".join(source) if isinstance(source, list) else str(source),
        is_code=cell["cell_type"] == "code",
        locked=bool(metadata["nbgrader"]["locked"]),
        item=item,
        role=role,
    )


def item_and_role(cell_id: str) -> tuple[str, str]:
    """What a cell is about, "06.causal_mask" and "check"; "" for cells of the whole notebook."""
    lesson, _, rest = cell_id.partition("-")
    topic, _, role = rest.rpartition("-")
    item = f"{lesson}.{topic.replace('-', '_')}"
    return (item, role) if item in TABLE and role in ROLES else ("", "")


def _tasks(cells: Collection[ReleasedCell]) -> tuple[Task, ...]:
    """One task for each cell with points.

    Raises:
        CourseError: a check cell is not of the form `check("06.item", subject, line)`.
    """
    tasks = []
    for cell in cells:
        if cell.role == "written":
            tasks.append(Task(entry=TABLE[cell.item]))
        elif cell.role == "check":
            tasks.append(_checked(cell))
    return tuple(tasks)


def _checked(cell: ReleasedCell) -> Task:
    match ast.parse(cell.source).body:
        case [ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(item), *names], keywords))] if (
            item == cell.item and names and all(isinstance(name, ast.Name) for name in names)
        ):
            subject, line, *_ = (*(name.id for name in names if isinstance(name, ast.Name)), "")
            match keywords:
                case []:
                    return Task(entry=TABLE[cell.item], subject=subject, line=line)
                case [ast.keyword("conventions", value)]:
                    conventions = tuple(map(str, ast.literal_eval(value)))
                    return Task(
                        entry=TABLE[cell.item], subject=subject, line=line, conventions=conventions
                    )
    raise CourseError(
        f"expected a cell {cell.id} such as check({cell.item!r}, its_name), got {cell.source!r}"
    )


_DEFINITION = re.compile(
    r"^(?:async +def|def|class) +(\w+)|^(\w+) *(?::[^=\n]*)?=(?!=)", re.MULTILINE
)


def defined_names(source: str) -> frozenset[str]:
    """The functions, classes and variables that a cell defines, even if it is no valid Python."""
    return frozenset(found[1] or found[2] for found in _DEFINITION.finditer(source))


_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+([^\n#]+)", re.MULTILINE)


def bound_names(source: str) -> frozenset[str]:
    """What a cell defines or imports, even if it is no valid Python."""
    imported = " ".join(_IMPORT.findall(source))
    return defined_names(source) | {word[0] for word in re.finditer(r"\w+", imported)}
