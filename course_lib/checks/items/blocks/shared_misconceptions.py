"""Steps and misconceptions that blocks of several items may have, the latter with the same words.

Each ``add_…`` adds a misconception to an item. ``steps`` is the item's block in steps, of which a
misconception overrides one; it must be the only base of the new class, so that two can be put
together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.engine import Item, variation
from course_lib.checks.items.blocks.block_parts import Function, same

Steps = type[Any]
Step = Callable[[Any], list[Function]]  # from a block to a norm or dropout for each sublayer


def norms_in_order(*numbers: int) -> Step:
    """The norms of these numbers; none for 0."""
    return lambda block: [getattr(block, f"norm_{i}") if i else same for i in numbers]


def dropouts(*applied: int) -> Step:
    """Dropout for 1, none for 0."""
    return lambda block: [block.dropout if one else same for one in applied]


def no_residual(block: Any, x: Tensor, *others: Tensor) -> Tensor:
    """What the output of a sublayer is added to: nothing."""
    return torch.zeros_like(x)


def add_one_norm_twice(item: Item, steps: Steps, *, name: str) -> None:
    """Both norms of an encoder block are norm_1."""
    item.add(
        variation(steps, name, norms=norms_in_order(1, 1)),
        "Your block uses norm_1 twice and norm_2 never.",
        why="Each norm has its own weight and bias. Those of norm_2 get no gradient, so they're "
        "never trained.",
        hint="Which submodules does your forward use, and how often?",
    )


def add_mask_unused(item: Item, steps: Steps, *, name: str) -> None:
    """The ``attend`` of an encoder block, whose last argument is the mask, gets none."""

    def attend(block: Any, *inputs: Any) -> Tensor:
        return steps.attend(block, *inputs[:-1], None)

    item.add(
        variation(steps, name, attend=attend),
        "The mask has no effect in your block, so padding gets weight like real tokens.",
        why="Then the result for a sentence depends on how much padding its batch needs.",
        hint="Which of the submodules needs the mask, and does the mask reach it?",
    )


def add_mask_turned_round(item: Item, steps: Steps) -> None:
    """The ``attend`` of an encoder block, whose last argument is the mask, gets the inverse."""

    def attend(block: Any, *inputs: Any) -> Tensor:
        *vectors, mask = inputs
        inverse = None if mask is None else ~mask
        return steps.attend(block, *vectors, inverse)

    item.add(
        variation(steps, "MaskTurnedRound", attend=attend),
        "Your block inverts the mask before it passes it on.",
        why="In this course, True always means that a query may attend to the key. PyTorch's "
        "nn.MultiheadAttention wants the inverse, but this layer doesn't.",
        hint="Look at how you pass the mask to attention.",
    )


def add_one_output_not_dropped(item: Item, steps: Steps, *, why: str) -> None:
    """One of the two sublayers of an encoder block is without dropout."""
    name = "NoDropoutAfterFeedForward"
    item.add(
        variation(steps, name, drops=dropouts(1, 0)),
        "Only one sublayer's output goes through dropout: the other is added as it is.",
        why=why,
        hint="There are two sublayers. Does the output of each go through dropout before it's "
        "added?",
    )
    item.spelling_with(name, drops=dropouts(0, 1))


def add_drops_always(item: Item, steps: Steps) -> None:
    """Dropout at the block's rate, or at one that was written into the code, in every mode."""

    def drops(block: Any, rate: float | None = None) -> Any:
        return (partial(F.dropout, p=block.dropout.p if rate is None else rate),) * 3

    item.add(
        variation(steps, "DropsAlways", drops=drops),
        "You drop elements in evaluation mode, too.",
        why="A trained model gives another result at each call. F.dropout and a new nn.Dropout "
        "don't know the mode of your block unless they are told.",
        hint="Which of your lines drops something, and how would it know that training is over?",
    )
    for rate in (0.1, 0.5):
        item.spelling_with("DropsAlways", drops=lambda block, rate=rate: drops(block, rate))


def add_norms_the_sublayer_only(item: Item, steps: Steps) -> None:
    """The ``frame`` of a post-norm block normalises what is added, before dropout or after it."""

    def norms_first(block: Any, i: int, x: Tensor, update: Tensor) -> Tensor:
        return x + block.drops()[i](block.norms()[i](update))

    def drops_first(block: Any, i: int, x: Tensor, update: Tensor) -> Tensor:
        return x + block.norms()[i](block.drops()[i](update))

    name = "NormsTheSublayerOnly"
    item.add(
        variation(steps, name, frame=drops_first),
        "You normalise the output of each sublayer, and add x afterwards.",
        why="The sum itself is never normalised, so the residual stream grows with every block.",
        hint="Is x added inside or outside the norm's brackets?",
    )
    item.spelling_with(name, frame=norms_first)


def add_dropout_on_the_sums(item: Item, steps: Steps) -> None:
    """The ``frame`` of a post-norm block drops elements of the sum."""

    def frame(block: Any, i: int, x: Tensor, update: Tensor) -> Tensor:
        return block.norms()[i](block.drops()[i](x + update))

    item.add(
        variation(steps, "DropoutOnTheSums", frame=frame),
        "You apply dropout to the sums, between the sum and the norm.",
        why="If an element of a sublayer's output is dropped, x is still there. If an element of "
        "the sum is dropped, the token's own vector loses it, too.",
        hint="What should be inside the brackets of dropout: the sum, or what you add?",
    )
