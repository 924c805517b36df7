"""Changes of arguments and results, of which the translations of conventions are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.checks.conventions.convention import (
    Arguments,
    Change,
    Translation,
    renamed,
)

Function = Callable[[Any], Any]
Result = Callable[[Any, Arguments], Any]


def on(**changes: Function) -> Change:
    """Change the arguments of these names, where they are given and not None."""

    def change(arguments: Arguments) -> Arguments:
        return {
            name: changes[name](value) if name in changes and value is not None else value
            for name, value in arguments.items()
        }

    return change


def value(change: Function) -> Result:
    """Change a result, whatever the arguments are."""
    return lambda result, arguments: change(result)


def pair(first: Function, second: Function) -> Result:
    """Change both entries of a result that is a pair."""
    return lambda result, arguments: (first(result[0]), second(result[1]))


def same(x: Any) -> Any:
    """What leaves an entry as it is."""
    return x


def reversed_pair(result: Any, arguments: Arguments) -> Any:
    """A pair in the opposite order."""
    first, second = result
    return second, first


def as_dict(*names: str) -> Result:
    """A tuple as a dict with these names."""
    return lambda result, arguments: dict(zip(names, result, strict=True))


def times(factor: float) -> Result:
    """A number or tensor, multiplied."""
    return value(lambda x: x * factor)


def parameters_renamed(**names: str) -> Translation:
    """Other names for the parameters of a module."""

    def given(arguments: Arguments) -> Arguments:
        weights = arguments["weights"]
        return {**arguments, "weights": {renamed(n, names): w for n, w in weights.items()}}

    return Translation(given=given, renamed=names)


def exchanged(a: str, b: str) -> Translation:
    """Two arguments, exchanged."""

    def change(arguments: Arguments) -> Arguments:
        return {**arguments, a: arguments[b], b: arguments[a]}

    return Translation(given=change, understood=change)
