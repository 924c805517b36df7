"""The arguments of a call by the names that a learner knows."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from torch import Tensor, nn
from torch.utils import _pytree as tree

from course_lib.checks.engine.call import Call, call_plainly
from course_lib.checks.engine.compare import short
from course_lib.checks.engine.item import Item

MOST_CHARACTERS = 40  # of a value that is no tensor


def positional_names(item: Item, subject: Any = None, *, method: str = "") -> dict[Any, str]:
    """The names of a call's positional arguments, by their position.

    A function's are those that the learner wrote; nothing of theirs is run to find them out. A
    module's are those of the ``method`` that is called, usually ``forward``.
    """
    names = list(inspect.signature(item.use).parameters.values())[1:]  # after the learner's code
    if not names:  # it takes no arguments
        return {}
    if names[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        return dict(enumerate(parameter.name for parameter in names))
    code = item.reference
    if isinstance(code, type) and issubclass(code, nn.Module):
        return dict(enumerate(_parameters_of_method(code, method)))
    found = dict(enumerate(inspect.signature(code).parameters))
    if type(subject) is FunctionType:
        found |= enumerate(subject.__code__.co_varnames[: subject.__code__.co_argcount])
    return found


def known_parameters(reference: Any, *, method: str = "") -> dict[str, inspect.Parameter]:
    """The parameters of a function, or those with which a module is made and called, by name."""
    found = dict(inspect.signature(reference).parameters)
    if isinstance(reference, type) and issubclass(reference, nn.Module):
        found |= _parameters_of_method(reference, method)
    return found


def _parameters_of_method(kind: type[nn.Module], method: str) -> dict[str, inspect.Parameter]:
    called = getattr(kind, method if method and method != "__call__" else "forward")
    parameters = dict(inspect.signature(called).parameters)
    del parameters[next(iter(parameters))]  # self
    return parameters


def _names_known(item: Item, names: dict[Any, str], *, method: str) -> set[str]:
    """The names that a learner knows: those of the task, and those in their own code."""
    known = set(known_parameters(item.reference, method=method))
    return known | set(names.values()) if item.use is call_plainly else known


def method_of(call: Call) -> str:
    """Which method of a module a call calls, "" for the usual one; see ``use_module``."""
    return str(call.kwargs.get("method", ""))


def name_float_input(item: Item, call: Call, *, number: int, subject: Any = None) -> str:
    """The name of one of a call's tensors of floats, in the order in which their gradients come,
    such as "past[1]"; "" if a learner knows no name of it.
    """
    method = method_of(call)
    names = positional_names(item, subject, method=method)
    known = _names_known(item, names, method=method)
    leaves, _ = tree.tree_flatten_with_path((call.args, dict(call.kwargs)))
    paths = [path for path, x in leaves if isinstance(x, Tensor) and x.is_floating_point()]
    keys = (getattr(key, "idx", getattr(key, "key", "")) for key in paths[number])
    by_keyword, argument, *inner = keys
    name = argument if by_keyword else names.get(argument, "")
    if name not in known or not all(isinstance(index, int) for index in inner):
        return ""
    return item.shown.get(name, name) + "".join(f"[{index}]" for index in inner)


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
    method = method_of(call)
    known = known_parameters(item.reference, method=method)
    names = positional_names(item, subject, method=method)
    alike = [other for other in others if method_of(other) == method]
    elsewhere = {name: None for other in alike for name in _argument_values(other, names)}
    received = _argument_values(call, names)
    left_out = [name for name in elsewhere if name not in received and name in known]
    received |= {name: None for name in left_out if known[name].default is None}
    shown = _names_known(item, names, method=method)
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
