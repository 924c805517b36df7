"""Two bugs of lesson 14 about what a program holds on to: a table that stays, weights that go on.

B batch, S length, D d_model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.adapters import require_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import sinusoidal_positions

# --- 14.bug_5 ------------------------------------------------------------------------------------

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


places_left_behind = Item(
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


@places_left_behind.mistake(
    "Your table stays where it was made, in the precision in which it was made.",
    why="A tensor set on self is an attribute like any other: .to() does not see it. On a GPU the "
    "first call fails; in half precision every sum is turned back to float32 in silence.",
    hint="Which tensors of a module does .to() take along?",
)
class StillAnAttribute(_AddPlaces):
    def keep(self, table: Tensor) -> None:
        self.table = table


@places_left_behind.mistake(
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


@places_left_behind.mistake(
    "You take the table to the device of x, but its precision stays what it was.",
    why="float16 and float32 make float32: from here on the model computes in twice the width, and "
    "the next layer may refuse.",
    hint="What else about x may be different, besides where it is?",
)
class OnlyTheDevice(StillAnAttribute):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)].to(x.device)


@places_left_behind.mistake(
    "What comes out has the precision of x now, but the table stays on its device.",
    why="On the device on which it was made this is right. On any other the first call fails.",
    hint="What else about x may be different, besides its dtype?",
)
class OnlyThePrecision(StillAnAttribute):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)].to(x.dtype)


@places_left_behind.mistake(
    "Your places are counted along the batch: you cut the table at the number of sentences.",
    why="x is (batch, length, d_model). The line that cuts was right as it was.",
    hint="Mend the one line. What does x.size(0) count?",
)
class PlacesOfTheBatch(_AddPlaces):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(0)]


# --- 14.bug_6 ------------------------------------------------------------------------------------

BEST = """\
def keep_best(weights, updates, losses):
    best, lowest = None, math.inf
    for update, loss in zip(updates, losses):
        for name in weights:
            weights[name] += update[name]
        if loss < lowest:
            best, lowest = weights, loss
    return best
"""
Weights = dict[str, Tensor]
Keeper = Callable[[Weights, Sequence[Weights], Sequence[float]], Weights]


def _on_copies(
    keep_best: Keeper, weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    """Training may change the weights that it is given; here it is given its own."""
    return dict(keep_best({name: w.clone() for name, w in weights.items()}, updates, losses))


def _after(weights: Weights, updates: Sequence[Weights], steps: int) -> Weights:
    """The weights after so many updates, in tensors of their own."""
    total = {name: w.clone() for name, w in weights.items()}
    for update in updates[:steps]:
        for name in total:
            total[name] = total[name] + update[name]
    return total


def _keep_best(weights: Weights, updates: Sequence[Weights], losses: Sequence[float]) -> Weights:
    return _after(weights, updates, losses.index(min(losses)) + 1)


def _training(draw: Draw, losses: Sequence[float], about: str) -> Call:
    def state() -> Weights:
        return {"embedding": draw.normal(4, 3), "bias": draw.normal(5)}

    return Call((state(), [state() for _ in losses], list(losses)), about=about)


best_that_goes_on = Item(
    "14.bug_6",
    reference=_keep_best,
    use=_on_copies,
    bug=Bug(BEST, line=7),
    probes=[
        Probe(
            "the weights of the lowest loss come back, not later ones",
            lambda draw: [
                _training(draw, [3.0, 2.0, 1.2, 1.5, 1.9], "the third of five is best"),
                _training(draw, [2.5, 2.7, 3.1], "the first is best"),
                _training(draw, [3.0, 1.5, 2.6, 1.4, 2.2, 1.9], "the loss goes up and down"),
            ],
        ),
        Probe(
            "where the last is best, the last comes back",
            lambda draw: [
                _training(draw, [3.0, 2.0, 1.0, 0.5], "the loss falls to the end"),
                _training(draw, [7.5], "a single step"),
            ],
        ),
        Probe(
            "of equals the first is kept",
            lambda draw: [_training(draw, [2.0, 1.0, 1.0, 1.5], "two steps with the lowest loss")],
        ),
    ],
    hints=(
        "Run three steps by hand, the second of them the best. Print best after each step.",
        "Two names, one thing: after line 7, is `best` another dictionary than `weights`? And are "
        "its tensors others?",
        "A dictionary of copies: {name: w... for name, w in weights.items()}",
    ),
)


@best_that_goes_on.mistake(
    "You always return the last weights, however good others were before.",
    why="If the best and the weights are the same tensors under two names, += edits both, and a "
    "new dictionary around the same tensors does not help. All the care for the best is lost.",
    hint="Print your best after each step. When does it change, and when should it?",
)
def the_same_tensors(
    weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    return _after(weights, updates, len(losses))


@best_that_goes_on.mistake(
    "You keep copies now, but of the weights as they were before the step.",
    why="A loss belongs to the weights that it was measured with, and these are one update on.",
    hint="Where in the loop is your copy made?",
)
def one_step_too_early(
    weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    return _after(weights, updates, losses.index(min(losses)))


@best_that_goes_on.mistake(
    "You keep the weights of the highest loss.",
    why="A loss is better when it is lower. With accuracy it would be the other way round.",
    hint="Line 6 was right as it was.",
)
def the_worst_is_kept(
    weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    return _after(weights, updates, losses.index(max(losses)) + 1)


@best_that_goes_on.mistake(
    "Of two steps with the same loss you keep the later one.",
    why="The function as it was meant keeps the first. What costs more steps and is not better is "
    "not worth it.",
    hint="Should it be < or <= in line 6?",
)
def the_later_of_equals(
    weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    last = max(i for i, loss in enumerate(losses) if loss == min(losses))
    return _after(weights, updates, last + 1)


@best_that_goes_on.mistake(
    "You keep the weights whenever the loss is lower than at the step before.",
    why="A loss that goes up and down falls often. Lower than the last is not lower than all.",
    hint="What does your `lowest` hold after a step that was worse?",
)
def better_than_the_step_before(
    weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    before = [math.inf, *losses]
    steps = [i for i, loss in enumerate(losses) if loss < before[i]]
    return _after(weights, updates, steps[-1] + 1)


@best_that_goes_on.mistake(
    "You return the weights as they were before training.",
    why="A copy made at the start holds still, indeed. But the best is known only while training.",
    hint="How often should a copy be made?",
)
def never_trained(weights: Weights, updates: Sequence[Weights], losses: Sequence[float]) -> Weights:
    return _after(weights, updates, 0)
