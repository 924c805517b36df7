"""A notebook's cells as plain Python: without IPython's commands, or with definitions only.

This runs in the jail: a hostile source can crash the parser, and with it the process that parses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = (ast.If, ast.Try, ast.With, ast.For)
_BODIES = ("body", "orelse", "finalbody")
_COMPUTES = (ast.Call, ast.BinOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NOT_PARSED = (SyntaxError, ValueError, RecursionError, MemoryError)


class Shell:
    """What ``get_ipython()`` is in the jail: every command does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return _do_nothing


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """What stands for a command of IPython."""


def without_magics(source: str) -> str:
    """The source as IPython translates it if it is no Python as it is; a first line such as
    ``%%time`` is left out.
    """
    try:
        ast.parse(source)
        return source
    except _NOT_PARSED:
        first, end, rest = source.lstrip("\n").partition("\n")
        plain = "pass" + end + rest if first.startswith("%%") else source
        return TransformerManager().transform_cell(plain)


def definitions_of(
    source: str, *, after: int = 0, computed: bool = False, every: bool = False
) -> list[ast.stmt]:
    """What a cell imports, defines and assigns below a line; [] if it is no Python.

    Of an ``if``, ``try``, ``with`` or ``for`` these statements are kept, and nothing else.

    Args:
        source: of the cell.
        after: the line.
        computed: also what it assigns after computing it, which may take long.
        every: all its statements, whatever they are.
    """
    try:
        body = ast.parse(source).body
    except _NOT_PARSED:
        return []
    below = _below(body, after)
    return below if every else _definitions(below, computed)


def _below(body: list[ast.stmt], line: int) -> list[ast.stmt]:
    """The statements below a line; of a block in which the line is, those in its rest."""
    found: list[ast.stmt] = []
    for node in body:
        if node.lineno > line:
            found.append(node)
        elif isinstance(node, (ast.If, ast.With, ast.Try)) and line < (node.end_lineno or 0):
            parts = [node.body, node.orelse] if isinstance(node, ast.If) else [node.body]
            part = next((each for each in reversed(parts) if each and each[0].lineno <= line), None)
            found += _below(part, line) if part else []
    return found


def _definitions(body: list[ast.stmt], computed: bool) -> list[ast.stmt]:
    return [kept for node in body if (kept := _definition(node, computed)) is not None]


def _definition(node: ast.stmt, computed: bool) -> ast.stmt | None:
    """The statement if it defines something; of a block, what it defines under its conditions."""
    if not isinstance(node, _BLOCKS):
        return node if _defines(node, computed) else None
    owners: list[Any] = [node, *getattr(node, "handlers", ())]
    keeps_any = False
    for owner in owners:
        for name in _BODIES:
            kept = _definitions(getattr(owner, name, []), computed)
            keeps_any = keeps_any or bool(kept)
            if hasattr(owner, name):
                setattr(owner, name, kept or ([ast.Pass()] if name == "body" else []))
    if isinstance(node, ast.Try) and not node.handlers:  # it needs one or the other
        node.finalbody = node.finalbody or [ast.Pass()]
    return ast.fix_missing_locations(node) if keeps_any else None


def _defines(node: ast.stmt, computed: bool) -> bool:
    if isinstance(node, (ast.Assign, ast.AnnAssign)):  # a constant, a type, another name
        computes = any(isinstance(part, _COMPUTES) for part in ast.walk(node))
        return computed or isinstance(node.value, ast.Lambda) or not computes
    return isinstance(node, _DEFINITIONS)
