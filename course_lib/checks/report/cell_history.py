"""What the cells of the learner's notebook say of their code, in the kernel that runs them."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

_NOT_PARSED = (SyntaxError, ValueError, RecursionError, MemoryError)


def outdated_name(subject: Any) -> str:
    """The subject's name, if a later cell that defines it failed before it got there; else "".

    Found by comparing sources: the last cell that defines the name is another one than the cell in
    which the subject was made. Nothing is told if a cell binds the name in any
    other way than by a plain definition, or if the subject comes from no cell.
    """
    # Only of these two the attributes are Python's own, and not the learner's code.
    if type(subject) is not FunctionType and not issubclass(type(subject), type):
        return ""
    name = subject.__name__
    cells, names = _cells_and_names()
    if not cells or names.get(name) is not subject:
        return ""
    sources, running = list(_sources_of_cells(subject)), _running_cell(names)
    made_in = [i for i, cell in enumerate(cells) if any(_same(each, cell) for each in sources)]
    if not made_in:
        return ""
    # The running cell may define the name below the check.
    later = [cell for cell in cells[made_in[-1] + 1 :] if not _same(cell, running)]
    ways = [how for cell in later if (how := _binds(cell, name))]
    return name if ways and set(ways) == {"defines"} else ""


def conventions_of_check(
    item_id: str, *, if_none: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """With which conventions the last cell that was run and checks an item does so; None if they
    aren't written out there; ``if_none`` if no cell checks it.
    """
    for cell in reversed(_cells_and_names()[0]):
        for node in _nodes(cell):
            if not (isinstance(node, ast.Call) and node.args and _is_check(node.func)):
                continue
            first = node.args[0]
            if isinstance(first, ast.Constant) and first.value == item_id:
                return _conventions_in(node)
    return if_none


def _is_check(function: ast.expr) -> bool:
    return getattr(function, "id", getattr(function, "attr", "")) == "check"


def _conventions_in(call: ast.Call) -> tuple[str, ...] | None:
    for keyword in call.keywords:
        if keyword.arg in ("conventions", None):  # None: `**options`
            try:
                return tuple(map(str, ast.literal_eval(keyword.value)))
            except (*_NOT_PARSED, TypeError):
                return None
    return ()


def _cells_and_names() -> tuple[list[str], dict[str, Any]]:
    """The cells that were run, as Python, in order; and the notebook's names."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    history = getattr(shell, "history_manager", None)
    if shell is None or history is None:
        return [], {}
    return list(history.input_hist_parsed)[1:], shell.user_ns  # counted from 1


def _running_cell(names: dict[str, Any]) -> str:
    """The cell from which this is called, "" if there is none."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals is not names:
        frame = frame.f_back
    return _source_of_code(frame.f_code) or ""


def _sources_of_cells(subject: Any) -> Iterator[str]:
    """The whole cells in which a function, or a class with its methods, was made; none if it was
    made elsewhere. A method may come from an earlier cell than its class, as of a decorator.
    """
    made = [subject, *vars(subject).values()] if inspect.isclass(subject) else [subject]
    for each in made:
        with suppress(ValueError):  # wrappers that wrap one another
            source = _source_of_code(getattr(inspect.unwrap(each), "__code__", None))
            if source is not None:
                yield source


def _source_of_code(code: CodeType | None) -> str | None:
    entry = linecache.cache.get(code.co_filename) if code else None
    if entry and len(entry) == 4 and entry[1] is None:  # a file has a time of change there
        return "".join(entry[2])
    return None


def _same(a: str, b: str) -> bool:
    return a.strip() == b.strip()


def _binds(cell: str, name: str) -> str:
    """How a cell binds a name: it plainly "defines" it, or "otherwise"; or not at all, ""."""
    tree = _parsed(cell)
    if tree is None:
        return "defines" if re.search(rf"^(async +def|def|class) +{name}\b", cell, re.M) else ""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    plain = [node for node in tree.body if isinstance(node, definitions) and node.name == name]
    bound = sum(name in _names_bound(node) for node in ast.walk(tree))
    if bound > len(plain):
        return "otherwise"
    return "defines" if plain else ""


def _names_bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).split(".")[0]]
    return []


def _nodes(cell: str) -> Iterator[ast.AST]:
    tree = _parsed(cell)
    if tree is not None:
        yield from ast.walk(tree)


def _parsed(cell: str) -> ast.Module | None:
    try:
        return ast.parse(cell)
    except _NOT_PARSED:
        return None
