"""The arguments of a call by the names that a learner knows."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from torch import Tensor, nn

from course_lib.checks.engine.call import Call, call_plainly
from course_lib.checks.engine.compare import short
from course_lib.checks.engine.item import Item

MOST_CHARACTERS = 40  # of a value that is no tensor


def positional_names(item: Item, subject: Any = None) -> dict[Any, str]:
    """The names of a call's positional arguments, by their position.

    A function's are those that the learner wrote; nothing of theirs is run to find them out.
    """
    names = list(inspect.signature(item.use).parameters.values())[1:]  # after the learner's code
    if names[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        return dict(enumerate(parameter.name for parameter in names))
    code = item.reference
    if isinstance(code, type) and issubclass(code, nn.Module):
        return dict(enumerate(list(inspect.signature(code.forward).parameters)[1:]))
    found = dict(enumerate(inspect.signature(code).parameters))
    if type(subject) is FunctionType:
        found |= enumerate(subject.__code__.co_varnames[: subject.__code__.co_argcount])
    return found


def known_parameters(reference: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a function, or those with which a module is made and called, by name."""
    found = dict(inspect.signature(reference).parameters)
    if isinstance(reference, type) and issubclass(reference, nn.Module):
        called = inspect.signature(reference.forward).parameters
        found |= {name: called[name] for name in list(called)[1:]}
    return found


def describe_arguments(
    item: Item, call: Call, *, others: Sequence[Call] = (), subject: Any = None
) -> str:
    """What is given, "x (2, 5, 8), n_heads 2, mask None": tensors as shapes, the rest as values.

    Args:
        item: whose call it is.
        call: the call.
        others: what they give and this one does not is None.
        subject: the learner's code.
    """
    known = known_parameters(item.reference)
    names = positional_names(item, subject)
    elsewhere = {name for other in others for name in _argument_values(other, names)}
    received = {
        name: None for name in elsewhere if name in known and known[name].default is None
    } | _argument_values(call, names)
    shown = known.keys() | set(names.values() if item.use is call_plainly else ())
    return ", ".join(
        f"{item.shown.get(name, name)} {_word(value)}"
        for name, value in sorted(received.items(), key=lambda pair: pair[1] is None)
        if name in shown and not isinstance(value, (dict, nn.Module))
    )


def _argument_values(call: Call, names: dict[Any, str]) -> dict[str, Any]:
    received = {names.get(i, ""): value for i, value in enumerate(call.args)}
    for name, value in call.kwargs.items():
        received |= value if name == "init" and isinstance(value, dict) else {name: value}
    return received


def _word(value: Any) -> str:
    if isinstance(value, Tensor):
        return str(tuple(value.shape))
    return short(value, most=MOST_CHARACTERS)
