"""A notebook's cells as plain Python: without IPython's commands, or with definitions only.

This runs in the jail: a hostile source can crash the parser, and with it the process that parses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
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


def definitions_of(source: str, *, after: int = 0) -> list[ast.stmt]:
    """What a cell imports, defines and plainly assigns below a line; [] if it is no Python."""
    try:
        body = ast.parse(source).body
    except _NOT_PARSED:
        return []
    return [node for node in body if node.lineno > after and _defines(node)]


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Assign, ast.AnnAssign)):  # a constant, a type, another name
        computes = any(isinstance(part, _COMPUTES) for part in ast.walk(node))
        return isinstance(node.value, ast.Lambda) or not computes
    return isinstance(node, _DEFINITIONS)
