"""15.bug_6: the best weights, overwritten by later steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult

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
Updates = Sequence[Weights]
Losses = Sequence[float]
Keeper = Callable[[Weights, Updates, Losses], Weights]


def _on_copies(keep_best: Keeper, weights: Weights, updates: Updates, losses: Losses) -> Weights:
    """Pass copies: the learner's code may change the weights it is given.

    Raises:
        WrongResult: the result is not a dictionary.
    """
    best: Any = keep_best({name: w.clone() for name, w in weights.items()}, updates, losses)
    if not isinstance(best, Mapping):
        got = "None" if best is None else f"a value of type {type(best).__name__}"
        raise WrongResult(f"expected a dictionary of tensors by name, got {got}")
    return dict(best)


def _after(weights: Weights, updates: Updates, steps: int) -> Weights:
    """The weights after this many updates, as new tensors."""
    total = {name: w.clone() for name, w in weights.items()}
    for update in updates[:steps]:
        for name in total:
            total[name] = total[name] + update[name]
    return total


def _keep_best(weights: Weights, updates: Updates, losses: Losses) -> Weights:
    return _after(weights, updates, losses.index(min(losses)) + 1)


def _training(draw: Draw, losses: Losses, about: str) -> Call:
    def state() -> Weights:
        return {"embedding": draw.normal(4, 3), "bias": draw.normal(5)}

    return Call((state(), [state() for _ in losses], list(losses)), about=about)


item = Item(
    "15.bug_6",
    reference=_keep_best,
    use=_on_copies,
    bug=Bug(BEST, line=7),
    probes=[
        Probe(
            "it returns the weights with the lowest loss, not later ones",
            lambda draw: [
                _training(draw, [3.0, 2.0, 1.2, 1.5, 1.9], "the third of five is best"),
                _training(draw, [2.5, 2.7, 3.1], "the first is best"),
                _training(draw, [3.0, 1.5, 2.6, 1.4, 2.2, 1.9], "the loss goes up and down"),
            ],
        ),
        Probe(
            "if the last step is best, it returns the last weights",
            lambda draw: [
                _training(draw, [3.0, 2.0, 1.0, 0.5], "the loss falls to the end"),
                _training(draw, [7.5], "a single step"),
            ],
        ),
        Probe(
            "of equal losses, the first is kept",
            lambda draw: [_training(draw, [2.0, 1.0, 1.0, 1.5], "two steps with the lowest loss")],
        ),
    ],
    hints=(
        "Run three steps by hand, the second of them the best. Print best after each step.",
        "Two names can refer to one object: after line 7, is `best` a different dictionary from "
        "`weights`? And are its tensors different ones?",
        "Lists do it, too: after a = [1], b = a and a.append(2), b is [1, 2]. With b = a.copy() "
        "it would still be [1]. But a copy of a dictionary still holds the same tensors; you want "
        "a new dictionary with new tensors. {name: word.upper() for name, word in words.items()} "
        "is a new dictionary with a new text for each name. Which method of a tensor makes a copy "
        "of it?",
    ),
)


@item.misconception(
    "You always return the last weights, however good earlier ones were.",
    why="The last weights are seldom the best. You get them if the same tensors have two names, "
    "because += then changes both; a new dictionary of the same tensors doesn't help. You also "
    "get them if you return the wrong variable, or never lower `lowest`.",
    hint="Print `best` and `lowest` after each step, and compare `best` with what you return.",
)
def the_same_tensors(weights: Weights, updates: Updates, losses: Losses) -> Weights:
    return _after(weights, updates, len(losses))


@item.misconception(
    "You return the weights from before the best step, not those after it.",
    why="A loss belongs to the weights it was measured with, and those are one update later.",
    hint="When are the weights that you keep copied or computed: before a step's update is added, "
    "or after?",
)
def one_step_too_early(weights: Weights, updates: Updates, losses: Losses) -> Weights:
    return _after(weights, updates, losses.index(min(losses)))


@item.misconception(
    "You keep the weights with the highest loss.",
    why="For a loss, lower is better. With accuracy it would be the other way round.",
    hint="Line 6 was right as it was.",
)
def the_worst_is_kept(weights: Weights, updates: Updates, losses: Losses) -> Weights:
    return _after(weights, updates, losses.index(max(losses)) + 1)


@item.misconception(
    "Of two steps with the same loss, you keep the later one.",
    why="The task asks for the first. More steps for the same loss gain nothing.",
    hint="Go through your code by hand with losses 2, 1, 1. Which step does it choose, and why?",
)
def the_later_of_equals(weights: Weights, updates: Updates, losses: Losses) -> Weights:
    last = max(i for i, loss in enumerate(losses) if loss == min(losses))
    return _after(weights, updates, last + 1)


@item.misconception(
    "You keep the weights whenever the loss is lower than at the previous step.",
    why="A loss that goes up and down falls often. Lower than the previous one isn't lower than "
    "all of them.",
    hint="With which earlier loss do you compare a new one: the previous loss, or the lowest so "
    "far?",
)
def better_than_the_step_before(weights: Weights, updates: Updates, losses: Losses) -> Weights:
    before = [math.inf, *losses]
    steps = [i for i, loss in enumerate(losses) if loss < before[i]]
    return _after(weights, updates, steps[-1] + 1)


@item.misconception(
    "You return the weights from before training.",
    why="Which weights are best only turns out during training. A copy made at the start never "
    "changes, and a step counts only if its update was added.",
    hint="When do you copy what you return, and which updates have been added to it by then?",
)
def never_trained(weights: Weights, updates: Updates, losses: Losses) -> Weights:
    return _after(weights, updates, 0)
