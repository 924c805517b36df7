"""Make exercises/ from solutions/, the same notebooks without their answers: ``make exercises``.

    python -m tools.notebooks.build_exercises             # all
    python -m tools.notebooks.build_exercises 06_masks    # or 06
    python -m tools.notebooks.build_exercises --stamp     # runs nothing, keeps what the cells show
    python -m tools.notebooks.build_exercises --check     # runs nothing, names what is stale

A solution is run and stored as a lesson is; cards, hints and buggy code are stamped into it from
`course_lib.checks`. Then nbgrader takes the answers out, and what is left is run and stored. A
second run changes no byte.
"""

import argparse
import copy
import re
import sys
import time
from pathlib import Path

from nbformat import NotebookNode

from course_lib.checks import TABLE, load_item
from course_lib.checks.report.report_html import folded_hints
from course_lib.grading.nbgrader.nbgrader_settings import CODE_STUB, TEXT_STUB
from tools import ROOT
from tools.notebooks import released
from tools.notebooks.build_notebooks import build
from tools.notebooks.notebook_normal_form import (
    NotebookError,
    linked_path,
    normal_form,
    read,
    repository,
    to_bytes,
)

SOLUTIONS, EXERCISES = ROOT / "solutions", ROOT / "exercises"
CARD = re.compile(r"^`\d\d\.\w+` · .*$", re.MULTILINE)
# The exact metadata that nbgrader asks of each kind of cell.
ROLES = {
    "task": {"grade": False, "locked": True, "solution": False},
    "answer": {"grade": False, "locked": False, "solution": True},
    "check": {"grade": True, "locked": True, "solution": False},
    "written": {"grade": True, "locked": False, "solution": True},
}


def role_of(cell: NotebookNode) -> str:
    """What a cell is for, told by the end of its id; all that is not an answer is locked."""
    for role in ("answer", "check", "written"):
        if cell.id.endswith(f"-{role}"):
            return role
    return "task"


def item_of(cell: NotebookNode) -> str | None:
    """The item that a cell belongs to: `06-padding-mask-answer` to "06.padding_mask"."""
    lesson, _, rest = cell.id.partition("-")
    name = rest.rpartition("-")[0].replace("-", "_")
    return f"{lesson}.{name}" if f"{lesson}.{name}" in TABLE else None


def stamp(solution: NotebookNode) -> NotebookNode:
    """A copy of a solution with cards, hints, buggy code and nbgrader's metadata as they must be.

    Raises:
        NotebookError: a cell names an item that is not in the table.
    """
    solution = copy.deepcopy(solution)
    for cell in solution.cells:
        item, role = item_of(cell), role_of(cell)
        if item is None and re.match(r"\d\d-", cell.id):
            raise NotebookError(f"cell {cell.id!r}: expected an id made of an item of the table")
        if item is not None:
            _stamp_text(cell, item)
        cell.metadata["nbgrader"] = {
            "grade_id": cell.id,
            "schema_version": 3,
            "task": False,
            **ROLES[role],
            **({"points": TABLE[item].points} if item and ROLES[role]["grade"] else {}),
        }
    return solution


def _stamp_text(cell: NotebookNode, item: str) -> None:
    if cell.id.endswith("-task"):
        if not CARD.search(cell.source):
            heading, _, rest = cell.source.partition("\n")
            cell.source = f"{heading}\n\n{TABLE[item].card}\n{rest}"
        cell.source = CARD.sub(lambda _: TABLE[item].card, cell.source)
    elif cell.id.endswith("-hints"):
        cell.source = folded_hints(load_item(item).hints)
    elif cell.id.endswith("-code"):
        bug = load_item(item).bug
        assert bug is not None, f"{item} has no bug to show"
        lines = bug.code.rstrip().splitlines()
        numbered = "\n".join(f"{i:2}  {line}" for i, line in enumerate(lines, 1))
        cell.source = f"```python\n{numbered}\n```"


def stamped(solution: Path) -> NotebookNode:
    """A stored solution as it must be, outputs aside.

    Raises:
        NotebookError: it cannot be read, or a cell names an item that is not in the table.
    """
    return normal_form(stamp(read(solution)), path=linked_path(solution), home=repository())


def without_answers(solution: NotebookNode) -> NotebookNode:
    """The exercise: solution regions replaced by a stub, outputs gone, tasks locked."""
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearOutput,
        ClearSolutions,
        ComputeChecksums,
        LockCells,
    )

    exercise = copy.deepcopy(solution)
    clear = ClearSolutions(
        code_stub={"python": CODE_STUB},
        text_stub=TEXT_STUB,
    )
    for step in (clear, ClearOutput(), LockCells(), ComputeChecksums(), CheckCellMetadata()):
        exercise, _ = step.preprocess(exercise, {})
    return exercise


def make(solution: Path, *, run: bool) -> list[Path]:
    """Bring a solution and its exercise up to date; the files that changed.

    Args:
        solution: its notebook.
        run: also run both, to store what they show.

    Raises:
        NotebookError: a notebook cannot be read or run.
    """
    exercise = EXERCISES / solution.relative_to(SOLUTIONS)
    before = {path: path.read_bytes() if path.exists() else b"" for path in (solution, exercise)}
    _store(solution, to_bytes(stamped(solution)))
    if run:
        build(solution)
    fresh = without_answers(read(solution))
    if exercise.exists():
        _keep_outputs(fresh, read(exercise))
    fresh = normal_form(fresh, path=linked_path(exercise), home=repository())
    _store(exercise, to_bytes(fresh))
    if run:
        build(exercise)
    return [path for path, content in before.items() if path.read_bytes() != content]


def _store(path: Path, content: bytes) -> None:
    """Write a file, unless it is so already: somebody may be reading it."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        released.note(path)


def _keep_outputs(fresh: NotebookNode, stored: NotebookNode) -> None:
    """Keep what a cell showed before until it is run again."""
    known = {cell.id: cell for cell in stored.cells}
    for cell in fresh.cells:
        old = known.get(cell.id)
        if cell.cell_type == "code" and old is not None and old.cell_type == "code":
            cell.outputs, cell.execution_count = old.outputs, old.execution_count


def is_fresh(solution: Path) -> bool:
    """Whether an exercise is what its solution makes, outputs aside."""
    exercise = EXERCISES / solution.relative_to(SOLUTIONS)
    if not exercise.exists():
        return False
    wanted = without_answers(stamped(solution))
    _keep_outputs(wanted, read(exercise))
    wanted = normal_form(wanted, path=linked_path(exercise), home=repository())
    same_solution = to_bytes(stamped(solution)) == solution.read_bytes()
    return same_solution and to_bytes(wanted) == exercise.read_bytes()


def main(arguments: list[str] | None = None) -> int:
    """Make or check the named exercises; 1 if any fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.notebooks.build_exercises", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "topics", nargs="*", help="folders, or how they start; default: all of solutions/"
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="run nothing, only compare")
    only.add_argument("--stamp", action="store_true", help="run nothing, keep the outputs")
    options = parser.parse_args(arguments)
    paths = sorted(SOLUTIONS.glob("*/*.ipynb"))
    folders = [path.parent.name for path in paths]
    for topic in options.topics:
        if not any(folder.startswith(topic) for folder in folders):
            parser.error(
                f"expected the name of a folder of solutions/, or how it starts, got {topic!r}: "
                f"choose among {', '.join(folders)}"
            )
    failed = 0
    for path in paths:
        if options.topics and not path.parent.name.startswith(tuple(options.topics)):
            continue
        start = time.perf_counter()
        try:
            if options.check:
                verdict = "fresh" if is_fresh(path) else "STALE, run make exercises"
                failed += verdict != "fresh"
            else:
                changed = make(path, run=not options.stamp)
                verdict = f"changed {len(changed)}" if changed else "unchanged"
        except (NotebookError, OSError) as error:
            failed += 1
            print(f"FAILED {error}", file=sys.stderr)
            continue
        print(f"{path.parent.name}: {verdict}, {time.perf_counter() - start:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
