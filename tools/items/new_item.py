"""Write the stubs of a new exercise item: ``make new-item ITEM=06.my_item``.

    python -m tools.items.new_item 06.my_item

The stubs run, and say FILL IN where a person has to write. This makes items of the kind "code"; for
one of the kind "bug" or "written", copy an existing one.
"""

import argparse
import keyword
import re
import sys
from pathlib import Path

import nbformat

from course_lib.atomic import write_atomically
from course_lib.checks.table import OWN_NUMBER, TABLE, TOPICS, cell_id
from course_lib.errors import CourseError
from tools import ROOT
from tools.items import own_number_stubs
from tools.notebooks.notebook_normal_form import read, to_bytes

ITEM_ID = re.compile(r"(\d\d)\.([a-z][a-z0-9]*(?:_[a-z0-9]+)*)")
ROW = (
    '    ("{item_id}", "FILL IN: a title", "{kind}", 2, 4, 10, 2),'
    "  # FILL IN: difficulty, importance, minutes, points\n"
)

MODULE = '''\
"""{item_id}: FILL IN: a title."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from course_lib.checks.engine import Call, Item, Probe


# FILL IN: the axes of its tensors, which decide how a variant may ask for them in another order;
# Bool[Tensor, "..."] is a mask.
def _{name}(x: Float[Tensor, "batch d_model"]) -> Float[Tensor, "batch d_model"]:
    # FILL IN: the right answer; if course_lib has it, name that as the reference instead.
    return x


item = Item(
    "{item_id}",
    reference=_{name},
    probes=[
        Probe(
            "FILL IN: a property that must hold, as a sentence that can be false",
            lambda draw: [Call((draw.normal(2, 3),), about="FILL IN: what is special here")],
        ),
    ],
    hints=(
        "FILL IN: a nudge.",
        "FILL IN: an approach.",
        "FILL IN: the operation, or a small example of it, and not the line itself.",
    ),
)
'''
MISCONCEPTION = """

@item.misconception(
    "FILL IN: what is seen in the learner's answer, such as: Your mask hides the diagonal.",
    why="FILL IN: why that is wrong.",
    hint="FILL IN: where to look, not the answer.",
)
def {function}(x: Tensor) -> Tensor:
    return {wrong}
"""
MISCONCEPTIONS = {"negated": "-x", "doubled": "2 * x", "shifted_by_one": "x + 1"}
ALTERNATIVES = {"by_cloning": "x.clone()", "by_negating_twice": "-(-x)", "by_adding_zero": "x + 0"}

CELLS = {
    "task": "## FILL IN: a title\n\nWrite `{name}(x)`: FILL IN: arguments, result, shapes.",
    "hints": "`make exercises` writes the item's hints here.",
    "answer": '''\
def {name}(x):
    """FILL IN: what it returns."""
    ### BEGIN SOLUTION
    return x
    ### END SOLUTION''',
    "check": 'check("{item_id}", {name})',
}
NEXT_STEPS = """\
Wrote the stubs of {item_id}. What is left to do:
1. Replace every FILL IN, and the stub functions with their names, in these files:
{files}
2. Test the item and bring all that counts it up to date: make item ITEM={item_id}
3. Before you commit: make test
"""


def parse(item_id: str) -> tuple[str, str]:
    """Lesson and name of a new item.

    Raises:
        CourseError: it is no id, its lesson does not exist, or the item does already.
    """
    found = ITEM_ID.fullmatch(item_id)
    if not found or keyword.iskeyword(found[2]):
        raise CourseError(
            "expected a lesson and the name of a Python function in lower case, such as "
            f"06.my_item, got {item_id!r}: make new-item ITEM=06.my_item"
        )
    lesson, name = found.groups()
    if lesson not in TOPICS:
        raise CourseError(f"lesson must be one of {', '.join(TOPICS)}, got {lesson!r}")
    if item_id in TABLE:
        raise CourseError(f"there is an item {item_id} already: choose another name")
    return lesson, name


def before_which(lesson: str, kind: str) -> str:
    """The id of the item before which a new one goes: the lesson's first that is not "code", or
    for a question about a run, its first that is not for a check to judge by itself.
    """
    items = [entry for entry in TABLE.values() if entry.id.startswith(f"{lesson}.")]
    if kind == "code":
        return next(entry.id for entry in items if entry.kind != "code")
    return next(entry.id for entry in items if entry.kind in ("run", "written"))


def stubs(item_id: str, root: Path = ROOT) -> dict[Path, str]:
    """The files of a new item with their new content; nothing is written yet.

    Raises:
        CourseError: the id cannot be used, or there is a module of that name.
    """
    lesson, name = parse(item_id)
    kind = name if name in OWN_NUMBER else "code"
    topic, following = TOPICS[lesson], before_which(lesson, kind)
    table = root / "course_lib" / "checks" / "table.py"
    module = root / "course_lib" / "checks" / "items" / topic / f"{name}.py"
    alternatives = root / "tests" / "checks" / "alternatives" / f"{topic}.py"
    solution = root / "solutions" / f"{lesson}_{topic}" / f"{topic}.ipynb"
    if module.exists():
        raise CourseError(f"{module.relative_to(root)} exists already: choose another name")
    row = ROW.format(item_id=item_id, kind=kind)
    files = {
        table: _inserted(table.read_text("utf-8"), row, before=f'    ("{following}",'),
        module: _module(item_id, name),
        solution: _with_cells(solution, item_id, name, following),
    }
    if kind != "code":
        return files
    return files | {
        alternatives: _with_alternatives(alternatives.read_text("utf-8"), item_id, name),
    }


def _module(item_id: str, name: str) -> str:
    if name in OWN_NUMBER:
        return own_number_stubs.MODULE.substitute(item_id=item_id)
    wrong = (MISCONCEPTION.format(function=f, wrong=w) for f, w in MISCONCEPTIONS.items())
    return MODULE.format(item_id=item_id, name=name) + "".join(wrong)


def _with_cells(path: Path, item_id: str, name: str, following: str) -> str:
    notebook = read(path)
    index = [cell.id for cell in notebook.cells].index(cell_id(following, "task"))
    new = {
        "markdown": nbformat.v4.new_markdown_cell,
        "code": nbformat.v4.new_code_cell,
    }
    notebook.cells[index:index] = [
        new["markdown" if role in ("task", "hints") else "code"](source, id=cell_id(item_id, role))
        for role, source in _sources(item_id, name).items()
    ]
    return to_bytes(notebook).decode("utf-8")


def _sources(item_id: str, name: str) -> dict[str, str]:
    """The cells of an item by what they are for."""
    if name not in OWN_NUMBER:
        return {role: text.format(item_id=item_id, name=name) for role, text in CELLS.items()}
    stubs = own_number_stubs
    words = {"item_id": item_id, "name": name, "setting": stubs.SETTINGS[name]}
    return {role: text.substitute(words) for role, text in stubs.CELLS.items()}


def _with_alternatives(text: str, item_id: str, name: str) -> str:
    functions = {f"{name}_{how}": answer for how, answer in ALTERNATIVES.items()}
    code = "".join(
        f"def {f}(x):  # FILL IN: another right answer\n    return {answer}\n\n\n"
        for f, answer in functions.items()
    )
    names = "".join(f"        {function},\n" for function in functions)
    text = _inserted(text, code, before="ALTERNATIVES = {")
    return _inserted(text, f'    "{item_id}": (\n{names}    ),\n', before="}\n", last=True)


def _inserted(text: str, new: str, *, before: str, last: bool = False) -> str:
    """``text`` with ``new`` put before the line that begins with ``before``."""
    lines = text.splitlines(keepends=True)
    numbers = [number for number, line in enumerate(lines) if line.startswith(before)]
    if not numbers:
        raise CourseError(f"expected a line that begins with {before!r}, found none: was it moved?")
    lines.insert(numbers[-1 if last else 0], new)
    return "".join(lines)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the stubs and print what is left to do; 1 if the item cannot be made."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.items.new_item",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("item", help="lesson and name, such as 06.my_item")
    item_id = parser.parse_args(arguments).item
    try:
        contents = stubs(item_id, root)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    for path, content in contents.items():
        write_atomically(path, content)
    files = "\n".join(f"   {path.relative_to(root).as_posix()}" for path in contents)
    print(NEXT_STEPS.format(item_id=item_id, files=files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
