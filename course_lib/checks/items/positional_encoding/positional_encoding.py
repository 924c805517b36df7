"""01.positional_encoding: Add it to a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.adapters import compare_last_dropout, require_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.model import positions


def _use_encoding(
    make: Callable[..., nn.Module],
    x: Tensor,
    *,
    init: dict[str, Any],
    train: bool = False,
    look: str = "output",
) -> Any:
    """Make the module and call it.

    Args:
        make: the learner's class.
        x: (B, S, D).
        init: what it is made with.
        train: its mode.
        look: at the "output", or "inside" the module, or at what type comes out when it is moved to
            "bfloat16" or "float16". What stays behind there stays behind on a GPU as well.
    """
    module = require_module(make(**init)).train(train)
    if look == "inside":
        fired: list[int] = []
        module.register_forward_hook(lambda *_: fired.append(1))
        module(x)
        trained = sum(p.numel() for p in module.parameters() if p.requires_grad)
        return {"numbers that are trained": trained, "hooks that fired": len(fired)}
    if look != "output":
        dtype: torch.dtype = getattr(torch, look)
        return {"type of the sum": str(module.to(dtype)(x.to(dtype)).dtype)}
    return module(x)


_EIGHT = {"d_model": 8, "dropout": 0.0, "max_len": 50}


def _falling(draw: Draw) -> list[Call]:
    x = draw.normal(4, 40, 32)
    init = {"d_model": 32, "dropout": 0.25, "max_len": 60}
    return [
        Call((x,), {"init": init, "train": train}, about="dropout 0.25") for train in (False, True)
    ]


item = Item(
    "01.positional_encoding",
    reference=positions.PositionalEncoding,
    use=_use_encoding,
    tolerance=1e-4,
    probes=[
        Probe(
            "each token gets the code of its own place, alike in every sentence",
            lambda draw: [
                Call((draw.normal(2, 5, 8),), {"init": _EIGHT}, about="two sentences of five"),
                Call((torch.zeros(3, 4, 8),), {"init": _EIGHT}, about="vectors of zeros"),
            ],
        ),
        Probe(
            "any batch and any length up to max_len fit",
            lambda draw: [
                Call((draw.normal(1, 1, 8),), {"init": _EIGHT}, about="a single token"),
                Call(
                    (draw.normal(6, 6, 8),), {"init": _EIGHT}, about="as many sentences as tokens"
                ),
                Call((draw.normal(2, 50, 8),), {"init": _EIGHT}, about="as long as max_len"),
                Call((draw.strided(3, 7, 8),), {"init": _EIGHT}, about="not contiguous"),
                Call((draw.normal(1, 300, 4),), {"init": {"d_model": 4}}, about="the defaults"),
            ],
        ),
        Probe(
            "dropout falls on the sum, and in training alone", _falling, compare_last_dropout(0.25)
        ),
        Probe(
            "the table is not trained, and the module is called as a module",
            lambda draw: [
                Call((draw.normal(2, 5, 8),), {"init": _EIGHT, "look": "inside"}, about="eval"),
                Call(
                    (draw.normal(2, 5, 8),),
                    {"init": _EIGHT},
                    about="the gradient of the tokens",
                    gradients=True,
                ),
            ],
        ),
        Probe(
            "the table goes with the module when that is moved",
            lambda draw: [
                Call((draw.normal(2, 5, 8),), {"init": _EIGHT, "look": look}, about=f"to {look}")
                for look in ("bfloat16", "float16")
            ],
        ),
    ],
    hints=(
        "The table is the same for all sentences, so it is made once, in the constructor. How many "
        "of its rows does a batch need?",
        "In __init__: the table as a buffer, so that .to() moves it and no optimizer trains it, "
        "and a dropout. In forward: add as many rows as there are tokens, then drop out.",
        'self.register_buffer("table", ..., persistent=False) and, in forward, '
        "self.dropout(x + self.table[: x.size(...)]).",
    ),
)


class _Encoding(nn.Module):
    """A right one; the misconceptions below change one thing of it."""

    table: Tensor

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        self.keep(positions.sinusoidal_positions(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def keep(self, table: Tensor) -> None:
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.table[: x.size(1)])


@item.misconception(
    "You add the whole table: only sentences of exactly max_len tokens fit.",
    why="One published system is like this, and fails at any length but 128.",
    hint="How many rows of the table does a batch of shape (B, S, D) need?",
)
class AddsTheWholeTable(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.table)


@item.misconception(
    "You take the sentence's number in the batch for the place: all tokens of a sentence get the "
    "same code.",
    why="Older code has the axes (S, B, D). Here they are (B, S, D), and broadcasting hides the "
    "difference. One sentence, put twice into a batch, would get two answers.",
    hint="On which axis of x do the tokens of a sentence stand?",
)
class BatchForPlace(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.table[: x.size(0), None])


@item.misconception(
    "Your table is a parameter: it would be trained.",
    why="The codes are computed, and the optimizer would move them away from what makes a shift a "
    "rotation. Learned positions exist, but here the formula is asked for.",
    hint="What may belong to a module without being trained?",
)
class TrainsTheTable(_Encoding):
    def keep(self, table: Tensor) -> None:
        self.table = nn.Parameter(table)


@item.misconception(
    "Your table stays behind when the module is moved.",
    why=".to() moves parameters and buffers. A plain attribute it does not know. In low "
    "precision the sum then comes out in another type, and on a GPU a tensor left behind stops the "
    "first batch.",
    hint="How does a module learn that a tensor belongs to it?",
)
class LeavesTheTableBehind(_Encoding):
    def keep(self, table: Tensor) -> None:
        self.table = table


@item.misconception(
    "You define __call__ where forward is meant: hooks never fire.",
    why="nn.Module's own __call__ runs the hooks and then forward. Whoever overrides it switches "
    "off all that looks into a model: recorded attention, profilers, counters.",
    hint="Under which name does a module keep what it computes?",
)
class OverridesCall(_Encoding):
    def __call__(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.table[: x.size(1)])


@item.misconception(
    "Your dropout falls before token and code are added, and not on their sum.",
    why="The paper drops out the sum (section 5.4). Where one part falls here, the other still "
    "stands, so hardly any number of the result is zero.",
    hint="Dropout is the last thing that happens.",
)
class DropsBeforeTheSum(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x) + self.table[: x.size(1)]


@item.misconception(
    "In training nothing is dropped.",
    why="Without dropout a small model learns its sentences by heart.",
    hint="Is the dropout that you made also called, and with the share that was asked for?",
)
class DropsNothing(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)]


@item.misconception(
    "Your dropout never stops, not even in eval mode.",
    why="The function F.dropout does not know the module's mode. Two translations of one sentence "
    "would differ.",
    hint="How does dropout learn whether the module is training? nn.Dropout asks by itself.",
)
class DropsAlways(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x + self.table[: x.size(1)], self.dropout.p)


@item.misconception(
    "Your code writes into the x that it was given.",
    why="x += … changes the caller's tensor. Whoever calls twice adds the codes twice.",
    hint="Make a new tensor of the sum.",
)
class EditsItsInput(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        x += self.table[: x.size(1)]
        return self.dropout(x)


@item.misconception(
    "Your first token gets the code of place 1.",
    why="Places count from 0. The last row of the table would never be reached, and a sentence of "
    "max_len tokens does not fit.",
    hint="At which row does your slice of the table begin?",
)
class StartsAtOne(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.table[1 : x.size(1) + 1])


@item.misconception(
    "You multiply tokens by codes.",
    why="Where a sine is 0 a product wipes out what the token says. The codes are added.",
    hint="Which operation stands between token and code in the paper?",
)
class Multiplies(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x * self.table[: x.size(1)])
