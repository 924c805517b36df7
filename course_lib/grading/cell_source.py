"""A notebook's cells as plain Python: without IPython's commands, or with definitions only.

This runs in the jail: a hostile source can crash the parser, and with it the process that parses.
"""

from __future__ import annotations

import ast

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPUTES = (ast.Call, ast.BinOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NOT_PARSED = (SyntaxError, ValueError, RecursionError, MemoryError)


def without_magics(source: str) -> str:
    """The source, with ``pass`` in place of IPython's commands if it is no Python as it is."""
    try:
        ast.parse(source)
        return source
    except _NOT_PARSED:
        lines = source.split("\n")
        if lines[0].startswith("%%"):
            lines[0] = ""
        return "\n".join(map(_plain, lines))


def _plain(line: str) -> str:
    text = line.strip()
    command = text.startswith(("%", "!", "?")) or (text.endswith("?") and "#" not in text)
    return line[: len(line) - len(line.lstrip())] + "pass" if command else line


def definitions_of(source: str) -> str:
    """The imports, functions, classes and plain assignments of a cell; "" if it is no Python."""
    try:
        body = ast.parse(without_magics(source)).body
    except _NOT_PARSED:
        return ""
    return "\n\n".join(ast.unparse(node) for node in body if _defines(node))


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Assign, ast.AnnAssign)):  # a constant, a type, another name
        return not any(isinstance(part, _COMPUTES) for part in ast.walk(node))
    return isinstance(node, _DEFINITIONS)
