"""Test inputs, probes and a layer that several items on attention share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from course_lib import model
from course_lib.checks.engine import Call, Draw, Item, Probe


def _different_lengths(draw: Draw) -> list[Call]:
    query, key, value = draw.normal(2, 3, 4, 6), draw.normal(2, 3, 5, 6), draw.normal(2, 3, 5, 7)
    return [
        Call((query, key, value), about="4 queries, 5 keys, and wider values"),
        Call((query, key[:, :, :1], value[:, :, :1]), about="a single key, whose weight is 1"),
        Call(
            (query[:1, :1, :1], key[:1, :1], value[:1, :1]),
            about="one sentence, one head, one query",
        ),
    ]


def _widths(draw: Draw) -> list[Call]:
    return [
        Call(tuple(draw.normal(2, 3, 4, width) for _ in range(3)), about=f"d_head is {width}")
        for width in (1, 4, 9, 25)
    ]


def _masks(draw: Draw) -> list[Call]:
    inputs = tuple(draw.normal(2, 3, 4, 5) for _ in range(3))
    query, key, value = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 5), draw.normal(2, 3, 6, 5)
    return [
        Call(
            (query, key, value),
            {"mask": hiding_mask(draw, 2, 1, 1, 6)},
            about="a mask that hides keys",
        ),
        Call((*inputs, recent_mask(4)), about="a mask that hides the future and the distant past"),
        Call(
            (query, key, value, hiding_mask(draw, 2, 3, 4, 6)),
            about="a different mask for each head and query",
        ),
        Call(
            (query * 0, key, value, hiding_mask(draw, 2, 1, 1, 6)),
            about="queries of zeros: all scores are 0",
        ),
    ]


def _large_scores(draw: Draw) -> list[Call]:
    def integers(length: int, low: int, high: int) -> Tensor:
        return draw.ids(2, 2, length, 4, low=low, high=high).float()  # sums of these are exact

    value, mask = draw.normal(2, 2, 5, 4), hiding_mask(draw, 2, 1, 3, 5)
    mixed = integers(3, -30, 30), integers(5, -30, 30), value
    low = integers(3, 10, 20), integers(5, -20, -10), value
    best = (mixed[0] @ mixed[1].mT)[:, :1].argmax(dim=-1, keepdim=True)  # the keys of softmax's 1
    mask = mask.scatter(-1, best, False).scatter(-1, (best + 1) % 5, True)
    return [
        Call(mixed, about="scores in the hundreds"),
        Call(low, about="all scores far below zero"),
        Call((*mixed, mask), about="scores in the hundreds, some masked"),
        Call((*low, mask), about="all scores far below zero, some masked"),
    ]


def _memory_and_types(draw: Draw) -> list[Call]:
    strided = tuple(draw.strided(2, 3, 4, 5) for _ in range(3))
    heads = tuple(model.split_heads(draw.normal(2, 4, 15), 3) for _ in range(3))
    doubles = tuple(draw.normal(2, 3, 4, 5, dtype=torch.float64) for _ in range(3))
    return [
        Call(strided, about="tensors that are not contiguous"),
        Call(heads, about="heads just split, also not contiguous"),
        Call((*doubles, hiding_mask(draw, 2, 1, 1, 4)), about="float64"),
        Call(tuple(draw.normal(3, 3, 3, 3) for _ in range(3)), about="all sizes equal"),
    ]


ATTENTION_PROBES = (  # lesson 05 asks for the same function, with einsum
    Probe(
        "the context is the values' average, weighted by the softmax of the scores",
        _different_lengths,
    ),
    Probe("scores are divided by √d_head, whatever d_head is", _widths),
    Probe("a masked key gets weight 0, and the other weights sum to one", _masks),
    Probe("the result is finite for scores of any size", _large_scores),
    Probe("it works on any memory layout and in float64", _memory_and_types),
    Probe(
        "gradients reach query, key and value",
        lambda draw: [
            replace(call, gradients=True) for call in (*_different_lengths(draw), *_masks(draw))
        ],
    ),
)


def _product(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1)


def attention_with(
    on: frozenset[str],
    product: Callable[[Tensor, Tensor], Tensor] = _product,
    average: Callable[[Tensor, Tensor], Tensor] = torch.matmul,
) -> Callable[..., Any]:
    """Scaled dot-product attention with the misconceptions of ``add_attention_switches``.

    ``product`` makes the scores of query and key, ``average`` the context of weights and value.
    A spelling "one+another" stands for two switches.
    """
    on = frozenset("+".join(on).split("+"))
    late = on & {
        "hidden_after_softmax",
        "renormalised",
        "renormalised_and_finite",
        "powers_multiplied",
    }

    def answer(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
        if "keys_reshaped" in on:
            key = key.reshape(*key.shape[:-2], key.size(-1), key.size(-2)).mT
        scores, divisor = product(query, key), math.sqrt(under_the_root(query, key, value))
        if "scaled_after_softmax" not in on:
            scores = scores / divisor
        hidden = None
        if mask is not None and "mask_ignored" not in on:
            hidden = mask if "mask_turned_round" in on else ~mask
            hidden = hidden[:, None] if "mask_with_another_axis" in on else hidden
        if hidden is not None and "mask_added" in on:
            scores = scores + ~hidden
        elif hidden is not None and not late:
            scores = scores.masked_fill(hidden, number_for_masked(scores))
        weights = normalised(scores, hidden)
        if hidden is not None and late and "powers_multiplied" not in on:
            weights = weights.masked_fill(hidden, 0.0)
        if on & {"renormalised", "renormalised_and_finite"}:
            epsilon = 1e-9 if "renormalised_and_finite" in on else 0.0
            weights = weights / (weights.sum(dim=-1, keepdim=True) + epsilon)
        if "scaled_after_softmax" in on:
            weights = weights / divisor
        context = average(scores if "context_from_scores" in on else weights, value)
        if "only_the_context" in on:
            return context
        if "only_the_weights" in on:
            return weights
        second = scores if "scores_returned" in on else weights
        return (second, context) if "weights_first" in on else (context, second)

    def under_the_root(query: Tensor, key: Tensor, value: Tensor) -> float:
        d_head = query.size(-1)
        sizes = {
            "scaled_by_d_model": query.size(1) * d_head,
            "not_scaled": 1,
            "divided_by_d_head": d_head**2,
            "multiplied_by_the_root": 1 / d_head,
            "power_before_division": (d_head / 2) ** 2,
            "power_before_both_divisions": (d_head * 2) ** 2,
            "scaled_by_the_values": value.size(-1),
            "scaled_by_another_axis": key.size(-2),
            "scaled_by_the_queries": query.size(-2),
            "scaled_by_the_heads": query.size(1),
        }
        return next((size for name, size in sizes.items() if name in on), d_head)

    def number_for_masked(scores: Tensor) -> float:
        numbers = {
            "hidden_scores_are_zero": 0.0,
            "hidden_scores_not_low_enough": -100.0,
            "hidden_scores_are_high": 1e9,
            "minus_a_billion": -1e9,
            "minus_infinity": -math.inf,
        }
        lowest = torch.finfo(scores.dtype).min
        return next((number for name, number in numbers.items() if name in on), lowest)

    def normalised(scores: Tensor, hidden: Tensor | None) -> Tensor:
        if "no_softmax" in on:
            return scores
        axis = {"softmax_over_queries": -2, "softmax_over_heads": 1}
        dim = next((dim for name, dim in axis.items() if name in on), -1)
        if "softmax_overflows" in on:
            powers = scores.exp()
            if hidden is not None and "powers_multiplied" in on:
                powers = powers * ~hidden
            return powers / powers.sum(dim=dim, keepdim=True)
        return scores.softmax(dim=dim)

    return answer


def attending(*on: str) -> Callable[..., Tensor]:
    """The step ``attend`` of ``Layer`` with these misconceptions: the context alone."""
    attention = attention_with(frozenset(on))

    def attend(
        layer: Layer, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        return attention(query, key, value, mask)[0]

    return attend


def add_attention_switches(item: Item) -> None:
    """Add the misconceptions of ``attention_with`` to an item."""
    item.switch(
        "scaled_by_d_model",
        "You divide the scores by √d_model instead of √d_head.",
        why="A score is a sum of d_head products, those of one head. The larger divisor makes all "
        "scores too small, and the weights are closer to uniform than they should be. A widely "
        "copied implementation has this bug.",
        hint="Over which axis does the dot product sum, and what is its size?",
    )
    item.switch(
        "not_scaled",
        "You don't scale the scores: your weights are the softmax of query · key itself.",
        why="The standard deviation of a dot product grows with the square root of d_head. If "
        "d_head is large, one key gets nearly all the weight, and the gradients become "
        "uneven: some queries get almost none, and others far more than usual (lesson 04, "
        "Deeper).",
        hint="There's one more step between the product and softmax.",
    )
    item.switch(
        "keys_reshaped",
        "You swap the axes of the keys with reshape or view, which mixes up the numbers of "
        "different keys.",
        why="The shape fits the product, so there's no error. But reshape keeps the order of the "
        "numbers: where a key should be, there are numbers of several.",
        hint="Which operation swaps two axes?",
    )
    item.switch(
        "divided_by_d_head",
        "You divide the scores by d_head, not by its square root.",
        why="Positive and negative products cancel in part, so the standard deviation of a dot "
        "product grows only with √d_head. If you divide by d_head, the weights are too close to "
        "uniform.",
        hint="What is the standard deviation of the score in Q4b's example of the four coins, and "
        "what is left of it if you divide by 4?",
    )
    item.switch(
        "multiplied_by_the_root",
        "You multiply the scores by √d_head, but they have to become smaller.",
        why="The standard deviation of a dot product is already √d_head. Multiplied by it once "
        "more, it's d_head, and softmax gives nearly all the weight to one key.",
        hint="After scaling, the standard deviation should be about 1. What do you have to do with "
        "√d_head?",
    )
    item.switch(
        "power_before_division",
        "There's no root in your scale: you divide the scores by d_head / 2, or by d_head and "
        "then by 2.",
        why="In Python, ** comes before /, so d_head ** 1/2 is (d_head ** 1) / 2. For a d_head of "
        "4, dividing by d_head / 2 is right by chance.",
        hint="Compute your divisor for a d_head of 64. Is it 8?",
        spellings=["power_before_both_divisions"],
    )
    item.switch(
        "scaled_by_the_values",
        "You divide the scores by the square root of the values' width.",
        why="Scores are computed from queries and keys. Values may have another width, and play no "
        "part in a score.",
        hint="Which two tensors do you multiply to get the scores?",
    )
    item.switch(
        "scaled_by_another_axis",
        "You divide the scores by the square root of the wrong size: how many tokens or heads "
        "there are.",
        why="A score is a sum of d_head products, however many tokens and heads there are. With "
        "more of these, your weights would be closer to uniform for no reason.",
        hint="Print the shape of the tensor whose size you take. Which axis do you count?",
        spellings=["scaled_by_the_queries", "scaled_by_the_heads"],
    )
    item.switch(
        "scaled_after_softmax",
        "You scale after softmax, so the rows of your weights don't sum to one.",
        why="Scaling keeps softmax from giving nearly all the weight to one key, so it has to "
        "come first. Afterwards it only makes the context smaller.",
        hint="In the paper's formula, what comes first: softmax or the division?",
    )
    item.switch(
        "no_softmax",
        "Your weights are the scores themselves: softmax is missing, or its result isn't used.",
        why="Scores may be negative and of any size. Only softmax makes weights of them: positive, "
        "with a sum of one in each row, so that the context is an average of the values.",
        hint="Sum a row of your weights. What turns any numbers into weights that sum to one?",
        spellings=["no_softmax+minus_a_billion", "no_softmax+minus_infinity"],
    )
    item.switch(
        "softmax_over_queries",
        "Your softmax is over the queries: the columns of your weights sum to one, not the rows.",
        why="Each query distributes a total weight of one among the keys. A key may get weight "
        "from many queries or from none.",
        hint="Which axis of (batch, heads, query, key) are the keys?",
    )
    item.switch(
        "softmax_over_heads",
        "Your softmax is over the heads: with a single head all weights are 1.",
        why="Heads don't compete with each other. In each head, the weights of a query sum to one "
        "over the keys. Without dim, softmax chooses an axis itself and only warns.",
        hint="Name the axis of the softmax, first in words and then as dim.",
    )
    item.switch(
        "softmax_overflows",
        "Large scores give NaN: your softmax takes the exponential of the scores as they are.",
        why="In float32, e⁸⁹ is infinite and e⁻¹⁰⁴ is 0, so you divide infinity by infinity, or 0 "
        "by 0.",
        hint="Softmax doesn't change if you subtract one number from a whole row. Which number "
        "would help?",
        spellings=["softmax_overflows+powers_multiplied"],
    )
    item.switch(
        "mask_turned_round",
        "Your mask is inverted: keys with True get weight 0, and keys with False don't.",
        why="In this course, True means that a query may attend to the key. So it's the scores of "
        "the other keys that have to become very negative.",
        hint="Which keys get weight 0 in your code: those with True, or those with False?",
    )
    item.switch(
        "mask_ignored",
        "Your mask has no effect: masked keys get weight like all others.",
        why="Without the mask, tokens attend to padding, and a decoder to the very token that it "
        "has to predict.",
        hint="Does your code use its argument mask, and does the result reach the softmax? Note "
        "that masked_fill without _ returns a new tensor.",
    )
    item.switch(
        "mask_added",
        "Your mask hides nothing: it only makes the scores of some keys larger by 1, compared with "
        "the others.",
        why="Masked keys keep a weight that is by no means 0. Only masks of 0 and very "
        "negative numbers can be added, and yours is boolean.",
        hint="With what number do masked scores have to be replaced?",
    )
    item.switch(
        "mask_with_another_axis",
        "You give the mask another axis, but it already has four axes, as the scores have.",
        why="Broadcasting aligns axes on the right. The first of your mask's five axes then has "
        "no partner among the scores', so the scores get a fifth axis, too.",
        hint="Print mask.shape before and after that line. To which shape does the mask broadcast, "
        "according to the task?",
    )
    item.switch(
        "hidden_after_softmax",
        "You apply the mask after softmax, so the remaining weights don't sum to one.",
        why="Softmax has already given weight to the masked keys. If you set it to 0, it's missing "
        "from the sum.",
        hint="Apply the mask to the scores, before softmax.",
    )
    item.switch(
        "renormalised",
        "You apply the mask after softmax and divide by the sum that's left. For large scores, "
        "nothing is left.",
        why="If a masked key has by far the largest score, softmax rounds all other weights of its "
        "row to 0.",
        hint="Apply the mask to the scores. Then softmax does the division for you.",
        spellings=["renormalised_and_finite"],
    )
    item.switch(
        "hidden_scores_are_zero",
        "Your masked scores are 0, or close to 0. That is a score like any other: masked keys "
        "still get weight.",
        why="Softmax takes the exponential, and e⁰ is 1. Only a very negative score gives weight "
        "0.",
        hint="Which score does a masked key have in your code just before softmax? Note that 1e-9 "
        "is nearly 0.",
    )
    item.switch(
        "hidden_scores_not_low_enough",
        "The number in place of masked scores isn't low enough: other scores may be lower.",
        why="Scores may run into the hundreds, and below minus a hundred, too. Then your masked "
        "keys have the highest score of their row.",
        hint="How low can a float be?",
    )
    item.switch(
        "hidden_scores_are_high",
        "You replace masked scores with a very large number, so masked keys get all the weight.",
        why="The larger a score, the larger its weight after softmax.",
        hint="Is there a sign missing?",
    )
    item.switch(
        "context_from_scores",
        "Your context isn't computed from your weights: it's scores · value.",
        why="The context is an average of the values, and its weights are those after softmax.",
        hint="What do you multiply by value: the scores, or the result of softmax?",
        spellings=["context_from_scores+minus_a_billion", "context_from_scores+minus_infinity"],
    )
    item.switch(
        "scores_returned",
        "You return the scores instead of the weights.",
        why="Plots and tests of attention need the weights after softmax, which sum to one.",
        hint="What should a row of the weights sum to, and what does a row of yours sum to?",
        spellings=["scores_returned+minus_a_billion", "scores_returned+minus_infinity"],
    )
    item.switch(
        "weights_first",
        "You return the two results in the wrong order: weights first.",
        why="Callers unpack `context, weights`. If both have the same shape, the swap raises no "
        "error.",
        hint="In which order does the task list the two results?",
    )
    item.switch(
        "only_the_context",
        "You return the context alone.",
        why="Callers unpack `context, weights`. Without the weights, nobody can see what a head "
        "attends to.",
        hint="How many results does the task ask for?",
    )
    item.switch(
        "only_the_weights",
        "You return the weights alone.",
        why="The weights only say how much of each value a query takes. The next layer needs the "
        "context, the average of the values.",
        hint="How many results does the task ask for?",
    )
    item.apart.append({"no_softmax", "hidden_after_softmax"})


class Layer(nn.Module):
    """Multi-head attention in steps; each misconception of the items overrides one of them."""

    attend = attending()

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(query), self.k_proj(key), self.v_proj(value)

    def split(self, x: Tensor) -> Tensor:
        return model.split_heads(x, self.n_heads)

    def merge(self, context: Tensor) -> Tensor:
        return model.merge_heads(context)

    def project_out(self, merged: Tensor) -> Tensor:
        return self.out_proj(merged)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        query, key, value = (self.split(x) for x in self.project(query, key, value))
        return self.project_out(self.merge(self.attend(query, key, value, mask)))


def hiding_mask(draw: Draw, *shape: int) -> Tensor:
    """Each row has both a True and a False, so the inverted mask is valid, too."""
    mask = draw.mask(*shape)
    mask[..., -1] &= ~mask.all(dim=-1)
    return mask


def recent_mask(size: int) -> Tensor:
    """Each query attends to itself and at most two positions before it, (1, 1, size, size)."""
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril().triu(-2)


def layer_call(
    draw: Draw,
    first: Tensor,
    *others: Tensor,
    heads: int,
    about: str,
    gradients: bool = False,
    **more: object,
) -> Call:
    """A layer as wide as its inputs, with random weights."""
    init = {"d_model": first.size(-1), "n_heads": heads}
    with torch.device("meta"):  # only its shapes are needed
        layer = Layer(**init).to(first.dtype)
    weights = draw.weights(layer)
    return Call(
        (first, *others),
        {"init": init, "weights": weights, **more},
        about=about,
        gradients=gradients,
    )


def three(draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
    return draw.normal(2, 4, 12), draw.normal(2, 6, 12), draw.normal(2, 6, 12)


def self_attention(draw: Draw) -> list[Call]:
    x, lone = draw.normal(2, 5, 12), draw.normal(1, 1, 4)
    return [
        layer_call(draw, x, x, x, heads=3, about="two sentences of 5 tokens, 3 heads"),
        layer_call(draw, lone, lone, lone, heads=2, about="one sentence of one token"),
    ]


def masked_layers(draw: Draw) -> list[Call]:
    x, mask = draw.normal(2, 5, 12), hiding_mask(draw, 2, 1, 1, 6)
    return [
        layer_call(
            draw,
            x,
            x,
            x,
            recent_mask(5),
            heads=3,
            about="a mask that hides the future and the distant past",
        ),
        layer_call(draw, *three(draw), heads=2, mask=mask, about="a mask that hides keys"),
        layer_call(
            draw,
            *three(draw),
            hiding_mask(draw, 2, 2, 4, 6),
            heads=2,
            about="a different mask for each head",
        ),
    ]


def gradient_calls(draw: Draw) -> list[Call]:
    mask = hiding_mask(draw, 2, 1, 1, 6)
    return [
        layer_call(
            draw, *three(draw), mask, heads=3, learns=True, about="gradients of the parameters"
        ),
        layer_call(
            draw, *three(draw), mask, heads=3, gradients=True, about="gradients of the inputs"
        ),
    ]
