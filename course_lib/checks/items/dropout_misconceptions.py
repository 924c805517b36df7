"""Misconceptions about dropout that the modules of several items may have, with the same words."""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from course_lib.checks.engine import Item, variation

# Words for ``item.misconception``.
DROPS_ALWAYS = {
    "symptom": "Your dropout is active in evaluation mode, too.",
    "why": "By default, F.dropout is in training mode whatever the mode of your module is, and so "
    "is an nn.Dropout created in forward. If you translated a sentence twice, you'd get two "
    "different results.",
    "hint": "How does dropout find out that your module is in evaluation mode?",
}
DROPS_BEFORE_THE_SUM = {
    "symptom": "Your dropout isn't applied to the sum: in training mode, hardly any element of the "
    "result is zero.",
    "why": "The paper applies dropout to the sum (section 5.4). If it's applied to one of the two "
    "terms, the other is still there wherever an element is dropped.",
    "hint": "Ordinary dropout sets elements to zero, and in this task it's the last operation. "
    "What comes after it in your code?",
}


def add_wrong_rates(item: Item, module: type[nn.Module], *, call: str) -> None:
    """A constructor's default for ``dropout`` isn't 0.1, or the argument has no effect.

    Args:
        item: gets the misconceptions.
        module: a right module, which they derive from.
        call: how the module is made if no rate is given, such as "AddNorm(d_model)".
    """
    signature = inspect.signature(module)

    def with_rate(name: str, *, default: float = 0.1, fixed: float | None = None) -> type[Any]:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            given = {"dropout": default, **signature.bind(*args, **kwargs).arguments}
            if fixed is not None:
                given["dropout"] = fixed
            module.__init__(self, **given)

        return variation(module, name, __init__=__init__)

    item.add(
        with_rate("AnotherDefault", default=0.5),
        "If no dropout rate is given, yours isn't 0.1.",
        why=f"The paper drops a tenth, and so does {call} in this task. nn.Dropout() without an "
        "argument drops half.",
        hint=f"Which rate does dropout get after {call}, with no rate given? Mind the defaults in "
        "your constructor.",
    )
    item.spelling("AnotherDefault")(with_rate("NoDropoutByDefault", default=0.0))
    item.add(
        with_rate("IgnoresTheRate", fixed=0.1),
        "Your dropout rate is always the same, whatever the argument is.",
        why="The rate is an argument so that each model can have its own: small data needs more "
        "dropout, and 0 switches it off.",
        hint="Follow the argument dropout from your constructor to where dropout is applied. Does "
        "it get there? nn.Dropout() without an argument drops half.",
    )
    item.spelling("IgnoresTheRate")(with_rate("AlwaysHalf", fixed=0.5))
