"""Merge a new release of a notebook into a learner's copy, cell by cell.

Three notebooks take part: the release that the copy was made from (``base``), the new release
(``theirs``), and the learner's copy (``mine``). A cell is the same in all three if its id is.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from nbformat import NotebookNode

from course_lib.errors import shortened

Cells = dict[str, NotebookNode]


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The merged notebook.

    Attributes:
        notebook: the new release with everything that the learner wrote.
        kept: how many cells have the learner's text.
        remarks: what the learner should know, a line for each cell.
    """

    notebook: NotebookNode
    kept: int
    remarks: tuple[str, ...]


def merge(
    base: NotebookNode,
    theirs: NotebookNode,
    *,
    mine: NotebookNode,
    new_id: Callable[[str], str] = lambda cell_id: cell_id,
) -> Merged:
    """Take over a new release; nothing that the learner wrote is lost.

    In an answer cell the learner's text wins. Where both changed another cell, the learner's comes
    right after the course's. The learner's own cells stay after their neighbour. What the learner
    deleted stays deleted, except answers, checks, and what the course changed since.

    Args:
        base: the release from which ``mine`` was made.
        theirs: the new release.
        mine: the learner's copy; none of the three is changed.
        new_id: the id in ``theirs`` of a cell that had another id before.
    """
    new = _by_name(theirs, (), new_id)
    old = _by_name(base, new, new_id)
    own = _by_name(mine, {**old, **new}, new_id, _lost(mine, {**new, **old}, new_id))
    merged = copy.deepcopy(theirs)
    merged.cells, remarks, kept = [], [], 0
    for name in _order(list(old), list(new), list(own)):
        start, released = old.get(name), new.get(name)
        cells, remark = _merged_cell(start, released, own.get(name))
        known = [cell.source for cell in (start, released) if cell is not None]
        kept += any(cell.source not in known for cell in cells)
        merged.cells += copy.deepcopy(cells)
        if remark:  # then one of the two has the cell
            cell, notebook = (own[name], mine) if released is None else (released, theirs)
            remarks.append(f"{_where(cell, notebook)}: {remark}")
    _make_ids_unique(merged.cells)
    return Merged(notebook=merged, kept=kept, remarks=tuple(remarks))


def is_answer(cell: NotebookNode) -> bool:
    """Whether the cell is there for the learner to write in."""
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def nbgrader_name(cell: NotebookNode) -> str:
    """The name that nbgrader has for the cell, empty if it has none."""
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _where(cell: NotebookNode, notebook: NotebookNode) -> str:
    """Where the cell stands, as a reader sees it: the heading above it, and how it begins."""
    before = notebook.cells[: notebook.cells.index(cell) + 1]
    text = "\n\n".join(c.source for c in before if c.cell_type == "markdown")
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)  # code has "#"
    headings = re.findall(r"^#+ +(.+)", text, re.MULTILINE)
    first = next((line.lstrip("# ") for line in cell.source.splitlines() if line.strip()), "")
    starts = f"the cell that begins with {shortened(first)}" if first else "an empty cell"
    return f"below {shortened(headings[-1])}, {starts}" if headings else starts


def _lost(mine: NotebookNode, released: Cells, new_id: Callable[[str], str]) -> dict[str, str]:
    """The names of released cells that no cell of ``mine`` has, by their text."""
    ids = {name for cell in mine.cells for name in (cell.id, nbgrader_name(cell))}
    ids |= {new_id(name) for name in ids}
    return {cell.source: name for name, cell in released.items() if name not in ids}


def _by_name(
    notebook: NotebookNode,
    known: Collection[str],
    new_id: Callable[[str], str],
    lost: Mapping[str, str] = MappingProxyType({}),
) -> Cells:
    """The cells by the ids that they have in the new release; other ids stay as they are.

    Colab takes the ids away; there a cell is known by nbgrader's name for it, or by its text, if
    that is in ``lost``.
    """
    cells: Cells = {}
    for cell in notebook.cells:
        grade_id = nbgrader_name(cell)
        names = [cell.id, new_id(cell.id), grade_id, new_id(grade_id), lost.get(cell.source, "")]
        name = next((name for name in names if name in known and name not in cells), cell.id)
        cells[_unused(name, cells)] = cell
    return cells


def _merged_cell(
    base: NotebookNode | None, theirs: NotebookNode | None, mine: NotebookNode | None
) -> tuple[list[NotebookNode], str]:
    """What becomes of one cell, and what the learner should know of it."""
    if theirs is None:
        if mine is None or (base is not None and mine.source == base.source):
            return [], ""
        dropped = "the course has dropped this cell; yours was kept"
        return ([mine], "") if base is None else ([_own(mine)], dropped)
    if mine is None:
        locked = is_answer(theirs) or not theirs.metadata.get("deletable", True)
        if base is None or (locked and theirs.source == base.source):
            return [theirs], "" if base is None else "was missing, and is back"
        changed = theirs.source != base.source
        return (
            ([theirs], "you deleted it, the course changed it: it is back") if changed else ([], "")
        )
    before = None if base is None else base.source
    if before == mine.source != theirs.source:
        return [theirs], ""
    if mine.cell_type == theirs.cell_type and theirs.source in (before, mine.source):
        ran = base is None or mine.source != before or mine.get("outputs") != base.get("outputs")
        return [_adopted(theirs, mine) if ran else theirs], ""
    if is_answer(theirs) and mine.cell_type == theirs.cell_type:
        return [_adopted(theirs, mine)], "the course changed its first lines; your answer was kept"
    return [theirs, _own(mine)], "you and the course changed it; yours comes after the course's"


def _adopted(theirs: NotebookNode, mine: NotebookNode) -> NotebookNode:
    """The learner's cell as a cell of the new release."""
    cell = copy.deepcopy(mine)
    cell.id, cell.metadata = theirs.id, copy.deepcopy(theirs.metadata)
    return cell


def _own(mine: NotebookNode) -> NotebookNode:
    """The learner's cell as one that the course knows nothing of."""
    cell = copy.deepcopy(mine)
    for name in ("nbgrader", "editable", "deletable"):
        cell.metadata.pop(name, None)
    cell.id = f"yours-{mine.id.removeprefix('yours-')}"[:60]
    return cell


def _order(old: Sequence[str], new: Sequence[str], own: Sequence[str]) -> list[str]:
    """The order of the cells: the learner's, unless the course moved some."""
    moved = [name for name in old if name in new] != [name for name in new if name in old]
    return _woven(new, own) if moved else _woven(own, new)


def _woven(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """All of ``first``, and each other name of ``second`` after the one that it follows there."""
    order, index = list(first), 0
    for name in second:
        if name not in order:
            order.insert(index, name)
        index = order.index(name) + 1
    return order


def _make_ids_unique(cells: Sequence[NotebookNode]) -> None:
    seen: set[str] = set()
    for cell in cells:
        cell.id = _unused(cell.id, seen)
        seen.add(cell.id)


def _unused(name: str, used: Collection[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, len(used) + 3))
    return name if name not in used else next(each for each in numbered if each not in used)
