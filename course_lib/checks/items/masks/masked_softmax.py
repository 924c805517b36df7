"""06.masked_softmax: Softmax with a mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.model import masked_softmax


def _scores_and_mask(draw: Draw) -> list[Call]:
    return [
        Call(
            (draw.normal(2, 3, 4, 5, std=2), draw.mask(2, 1, 4, 5)),
            about="a different mask for each row",
        ),
        Call((draw.normal(2, 3, 5, 5, std=2), draw.mask(2, 1, 1, 5)), about="a padding mask"),
        Call((draw.normal(2, 2, 4, 6).round(), draw.mask(2, 1, 4, 6)), about="some scores are 0"),
    ]


def _row_fully_masked(draw: Draw) -> list[Call]:
    mask = draw.mask(2, 1, 3, 4)
    mask[1, 0, 1] = False
    equal = torch.zeros(2, 2, 3, 4)  # weights of a quarter that are no sign of an empty row
    return [
        Call((draw.normal(2, 2, 3, 4), mask), about="all keys of one query are masked"),
        Call((equal, mask), about="equal scores, and all keys of one query are masked"),
    ]


def _extremes(draw: Draw) -> list[Call]:
    mask = draw.mask(2, 1, 3, 4)
    empty = mask.clone()
    empty[0, 0, 2] = False
    large = draw.normal(2, 2, 3, 4, std=300.0)
    return [
        Call((large, mask), about="scores in the hundreds"),
        Call((large - 2000.0, mask), about="scores far below zero"),
        Call((large - 1e5, mask), about="scores around -100,000"),
        Call((large + 1e5, mask), about="scores around 100,000"),
        Call(((large - 3e4).half(), mask), about="float16 scores around -30,000"),
        Call(
            ((large - 3e4).half(), empty),
            about="float16 scores around -30,000, all keys of one query are masked",
        ),
        Call((draw.normal(2, 2, 3, 4, dtype=torch.float64), mask), about="float64"),
        Call((draw.normal(2, 2, 3, 4, dtype=torch.float16), mask), about="float16"),
        Call(
            (draw.normal(2, 2, 3, 4, dtype=torch.float16), empty),
            about="float16, all keys of one query are masked",
        ),
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
        "A score of 0 still gets a weight, because e⁰ is 1. Which number has to replace a "
        "masked score, so that its weight becomes 0?",
        "Fill the masked scores with the lowest number of their dtype, and take the softmax "
        "over the keys. What does that give in a row in which all keys are masked? One more "
        "step sets these weights to zero.",
        "x.masked_fill(x > 5, 0) writes 0 wherever x is above 5: the condition says where to "
        "write. Your mask says where not to write, and ~mask is its opposite. "
        "torch.finfo(x.dtype).min is the lowest number of the dtype of x.",
    ),
)


@item.switchable
def softmax_with(on: frozenset[str]) -> Callable[..., Tensor]:
    """masked_softmax with these misconceptions; a spelling "one+another" stands for two."""
    on = frozenset("+".join(on).split("+"))
    late = on & {"hidden_too_late", "renormalised", "renormalised_and_finite", "powers_by_hand"}
    one_fill = on & {"nothing_left_is_uniform", "minus_infinity", "mask_added"}

    def answer(scores: Tensor, mask: Any = None) -> Tensor:
        axis = -2 if "over_the_queries" in on else -1
        if mask is None and "scores_without_a_mask" in on:
            return scores
        if (mask is None and "none_forgotten" not in on) or "mask_ignored" in on:
            return scores.softmax(dim=axis)
        hidden = mask == 0 if "none_compared" in on else ~mask
        hidden = mask if "fills_what_may_be_read" in on else hidden
        if "always_float32" in on or ("float32_for_half" in on and is_half(scores)):
            scores = scores.float()
        if not late:
            scores = with_hidden(scores, hidden)
        powers = scores.exp() if "powers_by_hand" in on else scores.softmax(dim=axis)
        if "infinity_added" in on:
            return powers.nan_to_num(0.0)
        weights = powers if one_fill and not late else zeroed(powers, hidden)
        if not late or "hidden_too_late" in on:
            return weights
        total = weights.sum(dim=axis, keepdim=True)
        if "powers_by_hand" in on and "minus_infinity" not in on:  # an empty row is another error
            total = total.masked_fill(hidden.all(dim=axis, keepdim=True), 1.0)
        return weights / (total + (1e-9 if "renormalised_and_finite" in on else 0.0))

    def zeroed(weights: Tensor, hidden: Tensor) -> Tensor:
        return weights * ~hidden if "by_product" in on else weights.masked_fill(hidden, 0.0)

    def with_hidden(scores: Tensor, hidden: Tensor) -> Tensor:
        if "mask_added" in on:
            return scores + ~hidden
        if "low_number_added" in on:
            return scores + hidden * -1e9
        if "infinity_added" in on:
            return scores + torch.zeros_like(scores).masked_fill(hidden, -math.inf)
        return scores.masked_fill(hidden, lowest(scores))

    def lowest(scores: Tensor) -> Any:
        numbers = {
            "minus_infinity": -math.inf,
            "a_fixed_low_number": -1e9,
            "a_fixed_number_not_low_enough": -1e4,
            "lowest_of_float16": -65504.0,
            "minus_hundred": -100.0,
            "below_the_lowest_score": scores.min() - 1,
            "a_fixed_number_for_each_dtype": -1e4 if is_half(scores) else -1e9,
            "hidden_scores_are_zero": 0.0,
        }
        chosen = [number for name, number in numbers.items() if name in on]
        return chosen[0] if chosen else torch.finfo(scores.dtype).min

    return answer


def is_half(scores: Tensor) -> bool:
    return scores.dtype == torch.float16


item.switch(
    "fills_what_may_be_read",
    "Your mask is inverted: keys with True get weight 0, and keys with False don't.",
    why="Here True means that a query may attend to the key. Your code takes the weight from "
    "these keys and leaves it to the others.",
    hint="Which keys have to lose their weight: those where the mask is True, or the others?",
    spellings=[
        "fills_what_may_be_read+nothing_left_is_uniform",
        "fills_what_may_be_read+nothing_left_is_uniform+a_fixed_low_number",
        "fills_what_may_be_read+minus_infinity",
    ],
)
item.switch(
    "mask_ignored",
    "Your mask has no effect: masked keys get weight like all others.",
    why="Without the mask, tokens attend to padding, and a decoder to the very token that it has "
    "to predict.",
    hint="Does your code use its argument mask, and does what it makes of it reach the softmax? "
    "If you call masked_fill: without _ it returns a new tensor.",
)
item.switch(
    "none_forgotten",
    "Your code raises an error if there's no mask.",
    why="mask is None by default, and None can't be used like a tensor.",
    hint="What should be returned if mask is None? Ask that before you use it.",
    spellings=["none_forgotten+none_compared"],
)
item.switch(
    "scores_without_a_mask",
    "Without a mask you return the scores as they are.",
    why="None hides nothing, so it's the same as a mask of True only: softmax still applies.",
    hint="If mask is None, which of the two steps, masking and softmax, may be left out?",
)
item.switch(
    "minus_infinity",
    "A fully masked row gives NaN.",
    why="Softmax divides by a sum of exponentials, and in such a row nothing is left to sum. One "
    "such row makes the whole loss NaN, and then its gradient makes every weight NaN.",
    hint="In such a row, which step gives NaN? If you use minus infinity: which finite number "
    "would work as well?",
)
item.switch(
    "infinity_added",
    "In a fully masked row the gradient is NaN, although your result isn't.",
    why="A step of your code gives NaN or infinity there, as softmax does if all scores are minus "
    "infinity. You replace it afterwards, but the gradient still goes back through that step and "
    "is NaN.",
    hint="In such a row, which step gives NaN or infinity? If you use minus infinity: which "
    "finite number would work as well?",
)
item.switch(
    "nothing_left_is_uniform",
    "A fully masked row can still get weights: its masked keys all get equal ones.",
    why="If all scores are equally low, their softmax is uniform. Such a query would attend to "
    "padding and nothing else.",
    hint="After softmax you need one more step, which sets masked weights to exactly zero, "
    "in each row by itself.",
    spellings=[
        "nothing_left_is_uniform+a_fixed_number_for_each_dtype",
        "nothing_left_is_uniform+low_number_added",
    ],
)
item.switch(
    "hidden_too_late",
    "You apply the mask after softmax, so the remaining weights don't sum to one.",
    why="Softmax has already given weight to the masked keys. If you set it to zero, it's missing "
    "from the sum.",
    hint="Apply the mask before softmax, not only after it.",
)
item.switch(
    "renormalised",
    "You mask too late, and then divide by the sum that's left. For large scores, and in a fully "
    "masked row, nothing may be left.",
    why="The largest score of a row decides which exponentials are too small for a float. If that "
    "score is a masked one, all others may have become 0.",
    hint="Mask the scores, before any exponential or maximum is computed.",
    spellings=["renormalised+by_product", "renormalised_and_finite"],
)
item.switch(
    "powers_by_hand",
    "Large scores give NaN: you take the exponential of the scores as they are.",
    why="In float32, e⁸⁹ is infinite and e⁻¹⁰⁴ is 0. Infinity divided by infinity is NaN, and so "
    "is 0 divided by 0.",
    hint="softmax subtracts the largest score of each row first. Can you use it?",
    spellings=[
        "powers_by_hand+by_product",
        "powers_by_hand+renormalised_and_finite",
        "powers_by_hand+renormalised_and_finite+by_product",
    ],
)
item.switch(
    "hidden_scores_are_zero",
    "Masked scores become 0 in your code, or nearly 0, which is a score like any other.",
    why="exp(0) is 1, so softmax gives weight to a masked key, often more than to an allowed one.",
    hint="A masked score has to be very low, not zero. Note that 1e-9 is nearly 0.",
    spellings=["hidden_scores_are_zero+nothing_left_is_uniform"],
)
item.switch(
    "mask_added",
    "Your mask hides nothing: it only makes the scores of some keys larger by 1, compared with the "
    "others.",
    why="Masked keys keep a weight that is by no means 0. Only masks of 0 and very low numbers can "
    "be added, and yours is boolean.",
    hint="With what number do masked scores have to be replaced?",
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
    "The number in place of masked scores isn't low enough.",
    why="It has to be far lower than every other score of its row, and scores may be of any size. "
    "If it isn't, masked keys take the weight.",
    hint="What's the lowest number of the scores' own dtype? torch.finfo tells you.",
    spellings=[
        "a_fixed_number_for_each_dtype",
        "lowest_of_float16",
        "minus_hundred",
        "below_the_lowest_score",
    ],
)
item.switch(
    "float32_for_half",
    "For float16 scores your result is float32.",
    why="Weights should have the dtype of the scores, since the values that they are multiplied by "
    "have it, too, and matmul refuses two different ones.",
    hint="Which step makes float32 of float16: do you convert the scores, give softmax a dtype, "
    "or combine them with a float32 tensor?",
    spellings=["always_float32"],
)
item.apart.append({"minus_infinity", "over_the_queries"})
