"""The vocabulary of conventions: changes of arguments, results and texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course_lib.checks.conventions.convention import (
    Arguments,
    Change,
    Edits,
    Rewrite,
    Translation,
    as_it_is,
    renamed,
    unchanged,
)

Function = Callable[[Any], Any]


def on(**changes: Function) -> Change:
    """Change the arguments of these names, where they are given and not None."""

    def change(arguments: Arguments) -> Arguments:
        return {
            name: changes[name](value) if name in changes and value is not None else value
            for name, value in arguments.items()
        }

    return change


def value(change: Function) -> Callable[[Any, Arguments], Any]:
    """Change a result, whatever the arguments are."""
    return lambda result, arguments: change(result)


def pair(first: Function, second: Function) -> Callable[[Any, Arguments], Any]:
    """Change both entries of a result that is a pair."""
    return lambda result, arguments: (first(result[0]), second(result[1]))


def same(x: Any) -> Any:
    """What leaves an entry as it is."""
    return x


def self_inverse(
    change: Function,
    *names: str,
    result: Callable[[Any, Arguments], Any] = as_it_is,
    edits: Edits = (),
    left_out: tuple[str, ...] = (),
) -> Translation:
    """For a change that undoes itself, of these arguments, and of the result."""
    both = on(**dict.fromkeys(names, change)) if names else unchanged
    return Translation(both, both, result, edits=edits, left_out=left_out)


def swapped(a: int, b: int) -> Function:
    """A tensor with two axes swapped."""
    return lambda x: x.transpose(a, b)


def moved(source: int, target: int) -> Function:
    """A tensor with one axis moved."""
    return lambda x: x.movedim(source, target)


def reversed_pair(result: Any, arguments: Arguments) -> Any:
    """A pair in the opposite order."""
    first, second = result
    return second, first


def as_dict(*names: str) -> Callable[[Any, Arguments], Any]:
    """A tuple as a dict with these names."""
    return lambda result, arguments: dict(zip(names, result, strict=True))


def times(factor: float) -> Callable[[Any, Arguments], Any]:
    """A number or tensor, multiplied."""
    return value(lambda x: x * factor)


def parameters_renamed(edits: Edits = (), **names: str) -> Translation:
    """Other names for the parameters of a module."""

    def given(arguments: Arguments) -> Arguments:
        weights = arguments["weights"]
        return {**arguments, "weights": {renamed(n, names): w for n, w in weights.items()}}

    return Translation(given=given, renamed=names, edits=edits)


def exchanged(a: str, b: str) -> Change:
    """Two arguments, exchanged."""

    def change(arguments: Arguments) -> Arguments:
        return {**arguments, a: arguments[b], b: arguments[a]}

    return change


def phrases(changes: Mapping[str, str]) -> Rewrite:
    """Replace phrases wherever they are."""

    def rewrite(text: str) -> str:
        for old, new in changes.items():
            text = text.replace(old, new)
        return text

    return rewrite


def words(changes: Mapping[str, str]) -> Rewrite:
    """Replace whole words, all at once, so that two may be exchanged."""
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in changes))
    return lambda text: pattern.sub(lambda found: changes[found[0]], text)


_SHAPE = re.compile(r"\(([\w …·+−-]+(?:, [\w …·+−-]+)+)\)")
_LETTER = re.compile(
    r"[A-Z]|t|1|…|[A-Z] [·+−-] [A-Z1]|t \+ 1|"
    r"batch|seq|heads?|quer(y|ies)|keys?|d_head|d_model|length|target|source|n_heads"
)


def shapes(order: Callable[[Sequence[str]], Sequence[str] | None]) -> Rewrite:
    """Reorder the axes in shapes such as "(B, S, D)" or "(batch, seq, d_model)".

    Args:
        order: from the names of the axes to them in another order, or None for a shape that stays.
    """

    def shape(found: re.Match[str]) -> str:
        axes = found[1].split(", ")
        if not all(_LETTER.fullmatch(axis) for axis in axes):
            return found[0]
        return f"({', '.join(order(axes) or axes)})"

    return lambda text: _SHAPE.sub(shape, text)
