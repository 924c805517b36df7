"""06.masked_softmax: Softmax over what is left."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.model import masks


def _scores_and_mask(draw: Draw) -> list[Call]:
    return [
        Call((draw.normal(2, 3, 4, 5, std=2), draw.mask(2, 1, 4, 5)), about="a mask for each row"),
        Call((draw.normal(2, 3, 5, 5, std=2), draw.mask(2, 1, 1, 5)), about="a padding mask"),
    ]


def _nothing_left(draw: Draw) -> list[Call]:
    mask = draw.mask(2, 1, 3, 4)
    mask[1, 0, 1] = False
    return [Call((draw.normal(2, 2, 3, 4), mask), about="one query has nothing left to read")]


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
    reference=masks.masked_softmax,
    probes=[
        Probe("the weights of what is left sum to one", _scores_and_mask),
        Probe(
            "without a mask it is softmax",
            lambda draw: [Call((draw.normal(2, 2, 3, 4), None), about="mask is None")],
        ),
        Probe("a query with nothing left gets zeros, not NaN", _nothing_left),
        Probe("large, small and half-precision scores keep it finite", _extremes),
        Probe(
            "gradients are finite and leave hidden scores alone",
            lambda draw: [
                Call(call.args, about=call.about, gradients=True)
                for call in (*_scores_and_mask(draw), *_nothing_left(draw))
            ],
        ),
    ],
    tolerance=1e-3,
    hints=(
        "What number, put in place of a hidden score, makes its weight zero after softmax?",
        "Fill hidden scores with the smallest number that the dtype has, softmax over the keys, "
        "then think about the row in which all are hidden.",
        "scores.masked_fill(..., torch.finfo(scores.dtype).min).softmax(dim=...), and once more "
        "masked_fill, with zeros.",
    ),
)


@item.misconception(
    "Your softmax hides what the mask allows, and the other way round.",
    why="masked_fill fills where its mask is True; here True means may be read.",
    hint="Which scores have to be filled: those that may be read, or the others?",
)
def fills_what_may_be_read(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-1)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(mask, lowest).softmax(dim=-1).masked_fill(mask, 0.0)


@item.misconception(
    "A query with nothing left gets NaN.",
    why="With all its scores at minus infinity, softmax divides 0 by 0. One such row makes the "
    "whole loss NaN, and its gradient spoils every weight.",
    hint="What finite number would do the same work as minus infinity?",
)
def minus_infinity(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


@item.misconception(
    "A query with nothing left spreads its weight evenly over what is hidden.",
    why="When all scores are equally low, softmax makes them equally likely. Such a query would "
    "read pads and nothing else.",
    hint="After softmax, one more step brings hidden weights to exactly zero.",
)
def nothing_left_is_uniform(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1)


@item.misconception(
    "You hide weights after softmax: those that are left do not sum to one.",
    why="Softmax has already given a share to the hidden keys; setting it to zero loses it.",
    hint="Hide before softmax shares out, not only after.",
)
def hidden_too_late(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = scores.softmax(dim=-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@item.misconception(
    "You multiply scores by the mask: hidden scores become 0, and 0 is a score like any other.",
    why="exp(0) is 1, so a hidden key keeps a share, often more than an allowed one.",
    hint="Softmax needs a hidden score to be very low, not zero.",
)
def hidden_scores_are_zero(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    return (scores if mask is None else scores * mask).softmax(dim=-1)


@item.misconception(
    "Your softmax runs over the queries: columns sum to one, and rows do not.",
    why="Each query shares out its own attention among the keys, so each row has to sum to one.",
    hint="Which axis of (batch, heads, query, key) are the keys?",
)
def over_the_queries(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-2)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-2).masked_fill(~mask, 0.0)


@item.misconception(
    "Your code fills hidden scores with a fixed low number, which float16 cannot hold.",
    why="float16 ends at -65504. Large models are often run in half precision, and there your code "
    "would stop with an error.",
    hint="How low can a number of the scores' own dtype go? torch.finfo knows it.",
)
def a_fixed_low_number(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-1)
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0)
