"""Find lines of Python by a pattern, as ``scores.softmax(dim=-1)`` by ``_.softmax(...)``.

A pattern is an expression or a statement of Python in which the name ``_`` stands for any
expression, an attribute ``_`` for any attribute, and ``...`` for any further arguments of a call,
any elements of a list, or any body of a loop. This is the notation of Semgrep, with ``_`` for its
metavariables.

What is searched may have been written by anybody. It is parsed and never executed or compiled, and
a long or deeply nested text has no lines to be found.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from functools import cache

from course_lib.errors import CourseError

MOST_SOURCE = 20_000  # characters of an answer; the longest right one has 2,500
_COMMAND = re.compile(r"^([ \t]*)[%!][^\n]*", re.MULTILINE)  # of IPython


def parse_untrusted(source: str) -> ast.Module | None:
    """The syntax tree of source that anybody may have written; None if there is none."""
    if len(source) > MOST_SOURCE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes, and of `1 is 1`
            return ast.parse(_COMMAND.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a null byte; deep nesting
        return None


@cache
def parse_pattern(pattern: str) -> ast.AST:
    """The syntax tree of a pattern.

    Raises:
        CourseError: it is not one expression or statement of Python.
    """
    try:
        [statement] = ast.parse(pattern).body
    except (SyntaxError, ValueError) as error:
        raise CourseError(
            f"expected a pattern that is one expression or statement of Python, such as "
            f"_.softmax(...), got {pattern!r} ({error}): is a bracket missing?"
        ) from None
    return statement.value if isinstance(statement, ast.Expr) else statement


def find_lines(tree: ast.AST, patterns: Sequence[str]) -> list[int]:
    """The numbers of the lines on which something that fits one of the patterns begins, sorted."""
    wanted = [parse_pattern(each) for each in patterns]
    found = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.expr | ast.stmt) and any(_fits(each, node) for each in wanted)
    }
    return sorted(found)


def _fits(pattern: object, found: object) -> bool:
    """Whether a part of a tree fits that of a pattern. It goes as deep as the pattern does."""
    if isinstance(pattern, ast.Name) and pattern.id == "_":
        return isinstance(found, ast.expr)
    if isinstance(pattern, list):
        return isinstance(found, list) and _all_fit(pattern, found)
    if not isinstance(pattern, ast.AST):
        return type(pattern) is type(found) and pattern == found
    if type(pattern) is not type(found):
        return False
    if isinstance(pattern, ast.Call) and isinstance(found, ast.Call):
        return _fits(pattern.func, found.func) and _arguments_fit(pattern, found)
    if isinstance(pattern, ast.Attribute) and isinstance(found, ast.Attribute):
        return pattern.attr in ("_", found.attr) and _fits(pattern.value, found.value)
    return all(
        _fits(value, getattr(found, name, None))
        for name, value in ast.iter_fields(pattern)
        if name not in ("ctx", "type_comment", "kind")
    )


def _all_fit(pattern: Sequence[object], found: Sequence[object]) -> bool:
    """Whether the parts fit one by one; a last ``...`` fits any number of them."""
    if pattern and _is_rest(pattern[-1]):
        pattern, found = pattern[:-1], found[: len(pattern) - 1]
    return len(pattern) == len(found) and all(map(_fits, pattern, found))


def _arguments_fit(pattern: ast.Call, found: ast.Call) -> bool:
    """Whether the arguments fit; the order of those with a name doesn't count."""
    given = {each.arg: each.value for each in found.keywords}
    asked = {each.arg: each.value for each in pattern.keywords}
    has_rest = any(map(_is_rest, pattern.args))
    return (
        _all_fit(pattern.args, found.args)
        and (has_rest or len(given) == len(asked))
        and all(name in given and _fits(value, given[name]) for name, value in asked.items())
    )


def _is_rest(node: object) -> bool:
    """Whether it is ``...``, alone or as a statement."""
    node = node.value if isinstance(node, ast.Expr) else node
    return isinstance(node, ast.Constant) and node.value is ...
