"""The part of a module's source that a few of its names need, and nothing else of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator


def slice_source(source: str, wanted: Collection[str]) -> str:
    """The definitions of the wanted names, of all that these use, and the imports they need.

    Annotations are not followed: with ``from __future__ import annotations`` they are never
    evaluated, and they would bring in much that a call does not need.

    Args:
        source: of a module that has that import.
        wanted: names that it defines or imports.

    Raises:
        KeyError: the module has no such name.
    """
    module = ast.parse(source)
    owners = {name: node for node in module.body for name in _bound(node)}
    kept: dict[str, ast.stmt] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in kept:
            continue
        node = kept[name] = owners[name]
        waiting += [used for used in _used(node) if used in owners]
    body = [part for node in module.body if (part := _kept_of(node, kept.keys()))]
    return "\n\n\n".join([_FUTURE, *map(ast.unparse, body)]) + "\n"


_FUTURE = "from __future__ import annotations"


def course_imports(source: str) -> dict[str, set[str]]:
    """The names that a source imports from each module of the course."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_lib"):
            found.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
    return found


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def _used(node: ast.stmt) -> set[str]:
    """The names that running a statement may look up."""
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name):
            found.add(part.id)
        annotations = {id(getattr(part, name, None)) for name in ("annotation", "returns")}
        waiting += [child for child in ast.iter_child_nodes(part) if id(child) not in annotations]
    return found


def _kept_of(node: ast.stmt, names: Collection[str]) -> ast.stmt | None:
    """The statement, of an import only the names that are kept; None if nothing is."""
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return None
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        kept = [a for a in node.names if (a.asname or a.name.split(".")[0]) in names]
        if not kept:
            return None
        if isinstance(node, ast.Import):
            return ast.Import(kept)
        return ast.ImportFrom(node.module, kept, node.level)
    return node if any(name in names for name in _bound(node)) else None
