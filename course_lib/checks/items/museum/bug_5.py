"""14.bug_5: What stays at home."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.adapters import require_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import sinusoidal_positions

PLACES = """\
class AddPlaces(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        table = sinusoidal_positions(max_len, d_model)
        self.table = table

    def forward(self, x):
        places = self.table[: x.size(1)]
        return x + places
"""


class _AddPlaces(nn.Module):
    table: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.keep(sinusoidal_positions(max_len, d_model))

    def keep(self, table: Tensor) -> None:
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Tensor:
        """(B, S, D) to (B, S, D)."""
        return x + self.table[: x.size(1)]


def _moved(
    make: Callable[..., nn.Module], x: Tensor, *, init: dict[str, int], to: str = ""
) -> dict[str, Any]:
    """Make it, move it to a dtype or a device, and hand it an input that is there already.

    The device "meta" holds shapes and no numbers. It is another device on every machine.
    """
    module = require_module(make(**init))
    parameters = [list(p.shape) for p in module.parameters()]
    where: Any = getattr(torch, to) if to in ("float16", "float64") else to
    if to:
        module, x = module.to(where), x.to(where)
    output = module(x)
    return {
        "its parameters": parameters,
        "output is of": f"{output.dtype} on {output.device}",
        "output": list(output.shape) if to in ("float16", "meta") else output,
    }


def _placed(draw: Draw, batch: int, length: int, d_model: int, about: str, **how: Any) -> Call:
    init = {"max_len": 9, "d_model": d_model}
    return Call((draw.normal(batch, length, d_model),), {"init": init, **how}, about=about)


item = Item(
    "14.bug_5",
    reference=_AddPlaces,
    use=_moved,
    bug=Bug(PLACES, line=5),
    probes=[
        Probe(
            "each word gets the code of its place",
            lambda draw: [
                _placed(draw, 2, 5, 6, "two sentences of five"),
                _placed(draw, 6, 4, 8, "more sentences than words"),
                _placed(draw, 3, 9, 4, "as long as can be"),
                _placed(draw, 1, 1, 4, "a single word"),
            ],
        ),
        Probe(
            "it computes in the precision that it was moved to",
            lambda draw: [
                _placed(draw, 2, 5, 6, "moved to float16", to="float16"),
                _placed(draw, 3, 4, 4, "moved to float64", to="float64"),
            ],
        ),
        Probe(
            "all of it goes along to another device",
            lambda draw: [_placed(draw, 2, 3, 6, 'moved to the device "meta"', to="meta")],
        ),
    ],
    hints=(
        "On one machine, in one precision, the class is right. Make one, call .half() on it, and "
        "look at what comes out for an x in half precision.",
        "module.to(...) moves what the module knows to be its own: parameters, and one more kind "
        "of tensors, which do not learn.",
        'self.register_...("table", table)',
    ),
)


@item.misconception(
    "Your table stays where it was made, in the precision in which it was made.",
    why="A tensor set on self is an attribute like any other: .to() does not see it. On a GPU the "
    "first call fails; in half precision every sum is turned back to float32 in silence.",
    hint="Which tensors of a module does .to() take along?",
)
class StillAnAttribute(_AddPlaces):
    def keep(self, table: Tensor) -> None:
        self.table = table


@item.misconception(
    "Your table goes along now, but it is a parameter.",
    why="Parameters are what optimisers are given and what formulas count. The code of places is a "
    "constant, and neither the one nor the other should meet it.",
    hint="There is a second way to make a tensor a module's own.",
)
class MadeAParameter(_AddPlaces):
    def keep(self, table: Tensor) -> None:
        self.places = nn.Parameter(table)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.places[: x.size(1)]


@item.misconception(
    "You take the table to the device of x, but its precision stays what it was.",
    why="float16 and float32 make float32: from here on the model computes in twice the width, and "
    "the next layer may refuse.",
    hint="What else about x may be different, besides where it is?",
)
class OnlyTheDevice(StillAnAttribute):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)].to(x.device)


@item.misconception(
    "What comes out has the precision of x now, but the table stays on its device.",
    why="On the device on which it was made this is right. On any other the first call fails.",
    hint="What else about x may be different, besides its dtype?",
)
class OnlyThePrecision(StillAnAttribute):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)].to(x.dtype)


@item.misconception(
    "Your places are counted along the batch: you cut the table at the number of sentences.",
    why="x is (batch, length, d_model). The line that cuts was right as it was.",
    hint="Mend the one line. What does x.size(0) count?",
)
class PlacesOfTheBatch(_AddPlaces):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(0)]
