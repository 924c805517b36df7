"""06.masked_softmax: Softmax with a mask."""

from __future__ import annotations

import math
from collections.abc import Callable

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
        Call((large - 1e5, mask), about="scores around -100,000"),
        Call((large + 1e5, mask), about="scores around 100,000"),
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


@item.switchable
def softmax_with(on: frozenset[str]) -> Callable[..., Tensor]:
    """masked_softmax with these misconceptions."""

    def answer(scores: Tensor, mask: Tensor | None = None) -> Tensor:
        axis = -2 if "over_the_queries" in on else -1
        if mask is None or "mask_ignored" in on:
            return scores.softmax(dim=axis)
        hidden = mask if "fills_what_may_be_read" in on else ~mask
        if "hidden_scores_are_zero" in on:
            return (scores * ~hidden).softmax(dim=axis)
        if not on & {"hidden_too_late", "hidden_too_late_by_product"}:
            scores = scores.masked_fill(hidden, lowest(scores))
        weights = scores.softmax(dim=axis)
        if "hidden_too_late_by_product" in on:
            return weights * ~hidden
        if on & {"nothing_left_is_uniform", "minus_infinity"}:
            return weights
        return weights.masked_fill(hidden, 0.0)

    def lowest(scores: Tensor) -> float:
        numbers = {
            "minus_infinity": -math.inf,
            "a_fixed_low_number": -1e9,
            "a_fixed_number_not_low_enough": -1e4,
        }
        chosen = [number for name, number in numbers.items() if name in on]
        return chosen[0] if chosen else torch.finfo(scores.dtype).min

    return answer


item.switch(
    "fills_what_may_be_read",
    "Your mask is inverted: keys with True get weight 0, and keys with False don't.",
    why="masked_fill fills where its mask is True, but here True means: may attend.",
    hint="Which scores have to be filled: those where the mask is True, or the others?",
)
item.switch(
    "mask_ignored",
    "Your mask has no effect: masked keys get weight like all others.",
    why="Without the mask, tokens attend to padding, and a decoder to the very token that it has "
    "to predict.",
    hint="Do you use the masked tensor afterwards? masked_fill without _ returns a new one.",
)
item.switch(
    "minus_infinity",
    "A fully masked row gives NaN.",
    why="If all scores of a row are minus infinity, softmax divides 0 by 0. One such row makes the "
    "whole loss NaN, and then its gradient makes every weight NaN.",
    hint="Which finite number would work as well as minus infinity?",
)
item.switch(
    "nothing_left_is_uniform",
    "In a fully masked row, all masked keys get the same weight.",
    why="If all scores are equally low, their softmax is uniform. Such a query would attend to "
    "padding and nothing else.",
    hint="After softmax you need one more step, which sets masked weights to exactly zero.",
)
item.switch(
    "hidden_too_late",
    "You apply the mask after softmax, so the remaining weights don't sum to one.",
    why="Softmax has already given weight to the masked keys. If you set it to zero, it's missing "
    "from the sum.",
    hint="Apply the mask before softmax, not only after it.",
    spellings=["hidden_too_late_by_product"],
)
item.switch(
    "hidden_scores_are_zero",
    "You multiply the scores by the mask: masked scores become 0, a score like any other.",
    why="exp(0) is 1, so a masked key still gets weight, often more than an allowed one.",
    hint="A masked score has to be very low, not zero.",
)
item.switch(
    "over_the_queries",
    "Your softmax is over the queries: the columns sum to one, not the rows.",
    why="Each query distributes its attention among the keys, so each row has to sum to one.",
    hint="Which axis of (batch, heads, query, key) are the keys?",
)
item.switch(
    "a_fixed_low_number",
    "You fill masked scores with a fixed number that's too low for float16.",
    why="The lowest float16 number is -65504. Large models often run in half precision, and there "
    "your code raises an error.",
    hint="What's the lowest number of the scores' own dtype? torch.finfo tells you.",
)
item.switch(
    "a_fixed_number_not_low_enough",
    "You fill masked scores with a fixed number that isn't low enough: other scores can be lower.",
    why="The filled score has to be lower than every other score of its row, and scores may be of "
    "any size. If it isn't, masked keys take the weight.",
    hint="What's the lowest number of the scores' own dtype? torch.finfo tells you.",
)
