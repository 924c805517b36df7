"""06.masked_softmax: Softmax with a mask."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.model import masked_softmax


def _scores_and_mask(draw: Draw) -> list[Call]:
    return [
        Call(
            (draw.normal(2, 3, 4, 5, std=2), draw.mask(2, 1, 4, 5)),
            about="a different mask for each row",
        ),
        Call((draw.normal(2, 3, 5, 5, std=2), draw.mask(2, 1, 1, 5)), about="a padding mask"),
    ]


def _row_fully_masked(draw: Draw) -> list[Call]:
    mask = draw.mask(2, 1, 3, 4)
    mask[1, 0, 1] = False
    return [Call((draw.normal(2, 2, 3, 4), mask), about="all keys of one query are masked")]


def _extremes(draw: Draw) -> list[Call]:
    mask = draw.mask(2, 1, 3, 4)
    large = draw.normal(2, 2, 3, 4, std=300.0)
    return [
        Call((large, mask), about="scores in the hundreds"),
        Call((large - 2000.0, mask), about="scores far below zero"),
        Call((draw.normal(2, 2, 3, 4, dtype=torch.float64), mask), about="float64"),
        Call((draw.normal(2, 2, 3, 4, dtype=torch.float16), mask), about="float16"),
    ]


item = Item(
    "06.masked_softmax",
    reference=masked_softmax,
    probes=[
        Probe("masked keys get weight 0, and the other weights sum to one", _scores_and_mask),
        Probe(
            "without a mask it's the ordinary softmax",
            lambda draw: [Call((draw.normal(2, 2, 3, 4), None), about="mask is None")],
        ),
        Probe("a fully masked row gives zeros, not NaN", _row_fully_masked),
        Probe("the result is finite for large, small and half-precision scores", _extremes),
        Probe(
            "gradients are finite, and zero for masked scores",
            lambda draw: [
                Call(call.args, about=call.about, gradients=True)
                for call in (*_scores_and_mask(draw), *_row_fully_masked(draw))
            ],
        ),
    ],
    tolerance=1e-3,
    hints=(
        "With what number do you have to replace a masked score, so that its weight is zero after "
        "softmax?",
        "Fill masked scores with the lowest number of the dtype, take the softmax over the keys, "
        "then think about a row in which all keys are masked.",
        "scores.masked_fill(..., torch.finfo(scores.dtype).min).softmax(dim=...), and then another "
        "masked_fill, with zeros.",
    ),
)


@item.misconception(
    "Your mask is inverted: keys with True get weight 0, and keys with False don't.",
    why="masked_fill fills where its mask is True, but here True means: may attend.",
    hint="Which scores have to be filled: those where the mask is True, or the others?",
)
def fills_what_may_be_read(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-1)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(mask, lowest).softmax(dim=-1).masked_fill(mask, 0.0)


@item.misconception(
    "A fully masked row gives NaN.",
    why="If all scores of a row are minus infinity, softmax divides 0 by 0. One such row makes the "
    "whole loss NaN, and then its gradient makes every weight NaN.",
    hint="Which finite number would work as well as minus infinity?",
)
def minus_infinity(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


@item.misconception(
    "In a fully masked row, all masked keys get the same weight.",
    why="If all scores are equally low, their softmax is uniform. Such a query would attend to "
    "padding and nothing else.",
    hint="After softmax you need one more step, which sets masked weights to exactly zero.",
)
def nothing_left_is_uniform(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1)


@item.misconception(
    "You apply the mask after softmax, so the remaining weights don't sum to one.",
    why="Softmax has already given weight to the masked keys. If you set it to zero, it's missing "
    "from the sum.",
    hint="Apply the mask before softmax, not only after it.",
)
def hidden_too_late(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = scores.softmax(dim=-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@item.misconception(
    "You multiply the scores by the mask: masked scores become 0, a score like any other.",
    why="exp(0) is 1, so a masked key still gets weight, often more than an allowed one.",
    hint="A masked score has to be very low, not zero.",
)
def hidden_scores_are_zero(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    return (scores if mask is None else scores * mask).softmax(dim=-1)


@item.misconception(
    "Your softmax is over the queries: the columns sum to one, not the rows.",
    why="Each query distributes its attention among the keys, so each row has to sum to one.",
    hint="Which axis of (batch, heads, query, key) are the keys?",
)
def over_the_queries(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-2)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-2).masked_fill(~mask, 0.0)


@item.misconception(
    "You fill masked scores with a fixed number that's too low for float16.",
    why="The lowest float16 number is -65504. Large models often run in half precision, and there "
    "your code raises an error.",
    hint="What's the lowest number of the scores' own dtype? torch.finfo tells you.",
)
def a_fixed_low_number(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-1)
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0)
