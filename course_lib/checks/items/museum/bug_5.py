"""15.bug_5: a table that .to() leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult, require_module
from course_lib.model import sinusoidal_positions

ADD_TABLE = """\
class AddPositions(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        table = sinusoidal_positions(max_len, d_model)
        self.table = table

    def forward(self, x):
        positions = self.table[: x.size(1)]
        return x + positions
"""


class _AddPositions(nn.Module):
    table: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.store(sinusoidal_positions(max_len, d_model))

    def store(self, table: Tensor) -> None:
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Tensor:
        """(B, S, D) to (B, S, D)."""
        return x + self.table[: x.size(1)]


def _moved(
    make: Callable[..., nn.Module], x: Tensor, *, init: dict[str, int], to: str = ""
) -> dict[str, Any]:
    """Make the module, move it to a dtype or a device, and call it with an input like that.

    The device "meta" has shapes and no values. Every machine has it, and it isn't the CPU.

    Raises:
        WrongResult: the output is not a tensor.
    """
    module = require_module(make(**init))
    parameters = [list(p.shape) for p in module.parameters()]
    where: Any = getattr(torch, to) if to in ("float16", "float64") else to
    if to:
        module, x = module.to(where), x.to(where)
    output = module(x)
    if not isinstance(output, Tensor):
        got = "None" if output is None else f"a value of type {type(output).__name__}"
        raise WrongResult(f"expected that forward returns a tensor, got {got}")
    return {
        "its parameters": parameters,
        "dtype and device of the output": f"{output.dtype} on {output.device}",
        "output": list(output.shape) if to in ("float16", "meta") else output,
    }


def _add(draw: Draw, batch: int, length: int, d_model: int, about: str, **how: Any) -> Call:
    init = {"max_len": 9, "d_model": d_model}
    return Call((draw.normal(batch, length, d_model),), {"init": init, **how}, about=about)


item = Item(
    "15.bug_5",
    reference=_AddPositions,
    use=_moved,
    bug=Bug(ADD_TABLE, line=5),
    probes=[
        Probe(
            "each token gets the positional encoding of its position",
            lambda draw: [
                _add(draw, 2, 5, 6, "two sentences of five tokens"),
                _add(draw, 6, 4, 8, "more sentences than tokens"),
                _add(draw, 3, 9, 4, "as long as max_len allows"),
                _add(draw, 1, 1, 4, "a single token"),
            ],
        ),
        Probe(
            "it computes in the precision it was moved to",
            lambda draw: [
                _add(draw, 2, 5, 6, "moved to float16", to="float16"),
                _add(draw, 3, 4, 4, "moved to float64", to="float64"),
            ],
        ),
        Probe(
            "all of it moves to another device",
            lambda draw: [_add(draw, 2, 3, 6, 'moved to the device "meta"', to="meta")],
        ),
    ],
    hints=(
        "On one machine, in one precision, the class is right. Make one, call .half() on it, and "
        "look at the output for an x in half precision.",
        "module.to(...) moves what is registered with the module: its parameters, and one other "
        "kind of tensor that isn't trained.",
        "A module has a method register_parameter for what is trained, and one with a similar "
        "name for tensors that are not. Lesson 01 uses it for the same table.",
    ),
)


@item.misconception(
    "Your table stays on the device and in the precision in which it was made.",
    why=".to() moves parameters and buffers. It moves neither an ordinary attribute nor a table "
    "that forward makes anew. On a GPU the first call fails. In half precision nothing fails, but "
    "every sum comes out in float32, without a warning.",
    hint="Which tensors of a module does .to() move?",
)
class StillAnAttribute(_AddPositions):
    def store(self, table: Tensor) -> None:
        self.table = table


@item.misconception(
    "Your table moves with the module now, but it's a parameter.",
    why="A parameter is counted, and an optimiser trains it unless it is frozen. The positional "
    "encoding is a constant, so it should be neither counted nor trained.",
    hint="There's another way to register a tensor with a module.",
)
class MadeAParameter(_AddPositions):
    def store(self, table: Tensor) -> None:
        self.positions = nn.Parameter(table)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.positions[: x.size(1)]


@item.misconception(
    "Your table is on the device of x, but not in its precision.",
    why="float16 plus float32 gives float32: from here on the model computes in the larger "
    "precision, and the next layer may fail.",
    hint="What else about x can differ, besides its device?",
)
class OnlyTheDevice(StillAnAttribute):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)].to(x.device)


@item.misconception(
    "Your output has the precision of x now, but the table stays on its device.",
    why="On the device where it was made this is right. On any other, the first call fails.",
    hint="What else about x can differ, besides its dtype?",
)
class OnlyThePrecision(StillAnAttribute):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)].to(x.dtype)


@item.misconception(
    "You count positions along the batch: you slice the table by the number of sentences.",
    why="x is (batch, length, d_model). The line with the slice was right as it was.",
    hint="Fix only the wrong line. What does the first axis of x count?",
)
class PositionsAlongTheBatch(_AddPositions):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(0)]
