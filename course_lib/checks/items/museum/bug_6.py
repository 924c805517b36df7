"""14.bug_6: The best of all weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe

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


item = Item(
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


@item.misconception(
    "You always return the last weights, however good others were before.",
    why="If the best and the weights are the same tensors under two names, += edits both, and a "
    "new dictionary around the same tensors does not help. All the care for the best is lost.",
    hint="Print your best after each step. When does it change, and when should it?",
)
def the_same_tensors(
    weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    return _after(weights, updates, len(losses))


@item.misconception(
    "You keep copies now, but of the weights as they were before the step.",
    why="A loss belongs to the weights that it was measured with, and these are one update on.",
    hint="Where in the loop is your copy made?",
)
def one_step_too_early(
    weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    return _after(weights, updates, losses.index(min(losses)))


@item.misconception(
    "You keep the weights of the highest loss.",
    why="A loss is better when it is lower. With accuracy it would be the other way round.",
    hint="Line 6 was right as it was.",
)
def the_worst_is_kept(
    weights: Weights, updates: Sequence[Weights], losses: Sequence[float]
) -> Weights:
    return _after(weights, updates, losses.index(max(losses)) + 1)


@item.misconception(
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


@item.misconception(
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


@item.misconception(
    "You return the weights as they were before training.",
    why="A copy made at the start holds still, indeed. But the best is known only while training.",
    hint="How often should a copy be made?",
)
def never_trained(weights: Weights, updates: Sequence[Weights], losses: Sequence[float]) -> Weights:
    return _after(weights, updates, 0)
