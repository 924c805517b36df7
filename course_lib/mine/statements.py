"""The part of a notebook that some of its names need, as it was written, comments included."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from course_lib.checks.report.earlier_answer import globals_read

_NOT_PARSED = (SyntaxError, ValueError, RecursionError, MemoryError)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of a cell.

    Attributes:
        text: with the comments above it.
        binds: the names to which it gives a value.
        changes: the names of objects of which it sets a part, as ``Model.forward = forward`` does.
        uses: the names that it looks up, now or when its functions are called.
        is_import: whether it is an import.
    """

    text: str
    binds: frozenset[str]
    changes: frozenset[str]
    uses: frozenset[str]
    is_import: bool = False


def read_statements(cells: Sequence[str]) -> list[Statement]:
    """The statements of cells, in order; a cell that is no valid Python has none."""
    return [statement for cell in cells for statement in _of_cell(cell)]


def select(statements: Sequence[Statement], wanted: Collection[str]) -> list[Statement]:
    """Those that the wanted names need: for each name the last statement that gives it a value,
    what changes it afterwards, and all that these use. Names that nothing binds are builtins.
    """
    kept: set[int] = set()
    waiting = [(name, len(statements)) for name in wanted]
    seen = set(waiting)
    while waiting:
        name, before = waiting.pop()
        for number in _needed(statements, name, before):
            if number in kept:
                continue
            kept.add(number)
            statement = statements[number]
            for used in statement.uses:
                # What a function uses may be defined below it; what rebinds a name, as in
                # `f = faster(f)`, uses what it was above.
                limit = number if used in statement.binds else len(statements)
                if (used, limit) not in seen:
                    seen.add((used, limit))
                    waiting.append((used, limit))
    return [statements[number] for number in sorted(kept)]


def as_module(heading: str, statements: Sequence[Statement]) -> str:
    """A module with these statements: its imports first, each of them once."""
    imports = dict.fromkeys(each.text for each in statements if each.is_import)
    others = [each.text for each in statements if not each.is_import]
    parts = [f'"""{heading}\n"""', "from __future__ import annotations", "\n".join(imports)]
    return "\n\n\n".join(["\n\n".join(filter(None, parts)), *others]) + "\n"


def _needed(statements: Sequence[Statement], name: str, before: int) -> Iterator[int]:
    """The numbers of the last statement above ``before`` that binds a name and of those that
    change it after that.
    """
    for number in reversed(range(before)):
        statement = statements[number]
        if name in statement.changes:
            yield number
        if name in statement.binds:
            yield number
            return


def _of_cell(cell: str) -> Iterator[Statement]:
    try:
        body = ast.parse(cell).body
    except _NOT_PARSED:
        return
    lines = cell.splitlines()
    end = 0
    for node in body:
        start, last = end, node.end_lineno or node.lineno
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        shares_a_line = first <= start or any(
            other is not node and other.lineno == last for other in body
        )
        if shares_a_line:  # a = 1; b = 2
            text = ast.unparse(node)
        else:
            text = "\n".join(_without_blank_start(lines[start:last]))
        end = last
        yield _statement(node, text)


def _without_blank_start(lines: list[str]) -> list[str]:
    while lines and not lines[0].strip():
        lines = lines[1:]
    return lines


def _statement(node: ast.stmt, text: str) -> Statement:
    uses = set(globals_read(compile(ast.Module([node], []), "cell", "exec", dont_inherit=True)))
    binds, changes = set[str](), set[str]()
    for each in _outside_functions(node):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            binds.add(each.id)
        elif isinstance(each, _DEFINITIONS):
            binds.add(each.name)
        elif isinstance(each, ast.alias):
            binds.add((each.asname or each.name).split(".")[0])
        elif isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store):
            changes |= _root(each)
    if isinstance(node, _DEFINITIONS):
        uses.discard(node.name)  # a function that calls itself
    return Statement(
        text=text,
        binds=frozenset(binds),
        changes=frozenset(changes),
        uses=frozenset(uses),
        is_import=isinstance(node, (ast.Import, ast.ImportFrom)),
    )


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and all that it runs itself: not what its functions and classes hold."""
    yield node
    if not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def _root(node: ast.AST) -> set[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()
