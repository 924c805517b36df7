"""04.scaled_dot_product_attention: Attention in four lines."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.item import Item
from course_lib.checks.items.attention_matmul.attention_parts import (
    ATTENTION_PROBES,
)
from course_lib.model import attention
from course_lib.model.masks import masked_softmax

item = Item(
    "04.scaled_dot_product_attention",
    reference=attention.attention_matmul,
    probes=ATTENTION_PROBES,
    tolerance=1e-4,
    hints=(
        "Take the four steps of the lesson in order: scores, scale, softmax, mix. Where does the "
        "mask belong, so that what is left still sums to one?",
        "Scores (B, H, Q, K) are query @ key with its last two axes swapped, divided by the root "
        "of the last axis of query. Hide before softmax. Softmax runs along the keys.",
        "scores = query @ key.transpose(...) / math.sqrt(query.size(...))\n"
        "scores = scores.masked_fill(..., -1e9), if there is a mask\n"
        "weights = scores.softmax(dim=...), and return weights @ ..., weights",
    ),
)


Mask = Tensor | None


Pair = tuple[Tensor, Tensor]


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))


def _mix(scores: Tensor, value: Tensor, mask: Tensor | None) -> Pair:
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


@item.misconception(
    "Your weights equal those of attention scaled by √d_model, H · E, instead of √d_head, E.",
    why="A score adds up the d_head products of one head. The larger divisor makes all scores "
    "small, and every word reads everything almost alike.",
    hint="Along which axis does the dot product run, and how long is it?",
)
def scaled_by_d_model(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    heads = query.size(1)
    return _mix(_scores(query, key) / math.sqrt(heads), value, mask)


@item.misconception(
    "Your scores are not scaled: your weights equal softmax of query · key itself.",
    why="The spread of a dot product grows with the root of its width. In a wide head softmax "
    "would settle on one key, and pass on almost no gradient.",
    hint="Between the product and softmax there is one more step.",
)
def not_scaled(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(query @ key.transpose(-2, -1), value, mask)


@item.misconception(
    "Your scores are divided by d_head, not by its root.",
    why="Pluses and minuses cancel in a dot product, so its spread grows with the root only. "
    "Dividing by d_head itself makes every word read everything almost alike.",
    hint="What is the standard deviation of the score in the lesson's example of four coins?",
)
def divided_by_d_head(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(query @ key.transpose(-2, -1) / query.size(-1), value, mask)


@item.misconception(
    "Your scores are divided by the root of the values' width.",
    why="Scores are made of queries and keys. Values may have another width, and do not take part "
    "in a score.",
    hint="Which two tensors were multiplied to get the scores?",
)
def scaled_by_the_values(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(query @ key.transpose(-2, -1) / math.sqrt(value.size(-1)), value, mask)


@item.misconception(
    "You scale after softmax: the rows of your weights do not sum to one.",
    why="The scale is there to keep softmax soft, so it has to come before it. Afterwards it only "
    "shrinks the context.",
    hint="In which order do softmax and the root stand in the paper's formula?",
)
def scaled_after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    weights = masked_softmax(query @ key.transpose(-2, -1), mask) / math.sqrt(query.size(-1))
    return weights @ value, weights


@item.misconception(
    "Your softmax runs over the queries: columns of the weights sum to one, and rows do not.",
    why="Each query has a total of one to give to the keys. A column is a key, and it may be read "
    "by many or by nobody.",
    hint="Which axis of (batch, heads, query, key) are the keys?",
)
def softmax_over_queries(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-2)
    return weights @ value, weights


@item.misconception(
    "Your softmax runs over the heads: with a single head all weights are 1.",
    why="Heads do not compete with each other. Each of them shares out a total of one among the "
    "keys. Softmax without a dim takes axis 1 of four, with a warning.",
    hint="Name the axis that softmax has to run along, in words and as dim.",
)
def softmax_over_heads(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=1)
    return weights @ value, weights


@item.misconception(
    "What the mask allows has the weight 0, and what it hides is read.",
    why="In this course True means: may be read. It is the other scores that have to become very "
    "negative.",
    hint="Which scores are to be replaced: those that may be read, or the others?",
)
def mask_turned_round(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@item.misconception(
    "Your mask changes nothing: hidden keys are read like all others.",
    why="Without the mask a word would read pads, and a decoder the very word it has to predict.",
    hint="Is your masked tensor the one that goes on? masked_fill without _ returns a new one.",
)
def mask_ignored(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(_scores(query, key), value, None)


@item.misconception(
    "You hide weights after softmax: those that are left do not sum to one.",
    why="Softmax has already given a share to the hidden keys. Setting it to 0 loses it.",
    hint="Hide before softmax shares out.",
)
def hidden_after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    weights = _scores(query, key).softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


@item.misconception(
    "Hidden scores are 0, and 0 is a score like any other: hidden keys keep a share.",
    why="Softmax takes powers, and e to the 0 is 1. Only a very negative score has a weight of 0.",
    hint="By what number do you replace a hidden score?",
)
def hidden_scores_are_zero(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores * mask
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@item.misconception(
    "Large scores give NaN: your softmax takes powers of the scores as they are.",
    why="In float32, e to the 89 is infinite and e to the -104 is 0. One divides infinity by "
    "infinity then, or 0 by 0.",
    hint="Softmax stays the same if one number is taken from a whole row. Which one would help?",
)
def softmax_overflows(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    powers = scores.exp()
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ value, weights


@item.misconception(
    "Your two results stand in the other order: weights first.",
    why="Whoever calls it unpacks context, weights. Where their shapes agree, nobody would notice.",
    hint="Look at the arrow of the signature.",
)
def weights_first(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(_scores(query, key), value, mask)[::-1]
