"""04.scaled_dot_product_attention: Attention in four lines."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib import model
from course_lib.checks.item import Item
from course_lib.checks.items.attention_matmul.attention_parts import (
    ATTENTION_PROBES,
)
from course_lib.model.attention import masked_softmax

item = Item(
    "04.scaled_dot_product_attention",
    reference=model.attention_matmul,
    probes=ATTENTION_PROBES,
    tolerance=1e-4,
    hints=(
        "Follow the four steps of the lesson: scores, scale, softmax, weighted sum. Where does the "
        "mask belong, so that the remaining weights still sum to one?",
        "The scores (batch, heads, query, key) are query @ key with the last two axes of key "
        "swapped, divided by the square root of the size of query's last axis. Apply the mask "
        "before softmax. Softmax is over the keys.",
        "scores = query @ key.transpose(...) / math.sqrt(query.size(...))\n"
        "scores = scores.masked_fill(..., -1e9), if there is a mask\n"
        "weights = scores.softmax(dim=...), and return weights @ ..., weights",
    ),
)


Mask = Tensor | None


Pair = tuple[Tensor, Tensor]


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))


def _attend(scores: Tensor, value: Tensor, mask: Tensor | None) -> Pair:
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


@item.misconception(
    "You divide the scores by √d_model instead of √d_head.",
    why="A score is a sum of d_head products, those of one head. The larger divisor makes all "
    "scores small, and the weights are almost uniform.",
    hint="Over which axis does the dot product sum, and what is its size?",
)
def scaled_by_d_model(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    heads = query.size(1)
    return _attend(_scores(query, key) / math.sqrt(heads), value, mask)


@item.misconception(
    "You don't scale the scores: your weights are the softmax of query · key itself.",
    why="The standard deviation of a dot product grows with the square root of d_head. If d_head "
    "is large, softmax saturates: one key gets nearly all the weight, and gradients vanish.",
    hint="There's one more step between the product and softmax.",
)
def not_scaled(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _attend(query @ key.transpose(-2, -1), value, mask)


@item.misconception(
    "You divide the scores by d_head, not by its square root.",
    why="Positive and negative products cancel in part, so the standard deviation of a dot product "
    "grows only with √d_head. If you divide by d_head, the weights are almost uniform.",
    hint="What is the standard deviation of the score in the lesson's example of four coins?",
)
def divided_by_d_head(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _attend(query @ key.transpose(-2, -1) / query.size(-1), value, mask)


@item.misconception(
    "You divide the scores by the square root of the values' width.",
    why="Scores are computed from queries and keys. Values may have another width, and play no "
    "part in a score.",
    hint="Which two tensors do you multiply to get the scores?",
)
def scaled_by_the_values(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _attend(query @ key.transpose(-2, -1) / math.sqrt(value.size(-1)), value, mask)


@item.misconception(
    "You scale after softmax, so the rows of your weights don't sum to one.",
    why="Scaling keeps softmax from saturating, so it has to come first. Afterwards it only makes "
    "the context smaller.",
    hint="In the paper's formula, what comes first: softmax or the division?",
)
def scaled_after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    weights = masked_softmax(query @ key.transpose(-2, -1), mask) / math.sqrt(query.size(-1))
    return weights @ value, weights


@item.misconception(
    "Your softmax is over the queries: the columns of your weights sum to one, not the rows.",
    why="Each query distributes a total weight of one among the keys. A key may get weight from "
    "many queries or from none.",
    hint="Which axis of (batch, heads, query, key) are the keys?",
)
def softmax_over_queries(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-2)
    return weights @ value, weights


@item.misconception(
    "Your softmax is over the heads: with a single head all weights are 1.",
    why="Heads don't compete with each other. In each head, the weights of a query sum to one over "
    "the keys. Without dim, softmax takes axis 1 of four and only warns.",
    hint="Name the axis of the softmax, first in words and then as dim.",
)
def softmax_over_heads(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=1)
    return weights @ value, weights


@item.misconception(
    "Your mask is inverted: keys with True get weight 0, and keys with False don't.",
    why="In this course True means: may attend. So the other scores have to become very negative.",
    hint="Which scores should be replaced: those where the mask is True, or the others?",
)
def mask_turned_round(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@item.misconception(
    "Your mask has no effect: masked keys get weight like all others.",
    why="Without the mask, tokens attend to padding, and a decoder to the very token that it has "
    "to predict.",
    hint="Do you use the masked tensor afterwards? masked_fill without _ returns a new one.",
)
def mask_ignored(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _attend(_scores(query, key), value, None)


@item.misconception(
    "You apply the mask after softmax, so the remaining weights don't sum to one.",
    why="Softmax has already given weight to the masked keys. If you set it to 0, it's missing "
    "from the sum.",
    hint="Apply the mask to the scores, before softmax.",
)
def hidden_after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    weights = _scores(query, key).softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


@item.misconception(
    "You set masked scores to 0, but 0 is a score like any other: masked keys still get weight.",
    why="Softmax takes the exponential, and e⁰ is 1. Only a very negative score gives weight 0.",
    hint="With what number do you replace a masked score?",
)
def hidden_scores_are_zero(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores * mask
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@item.misconception(
    "Large scores give NaN: your softmax takes the exponential of the scores as they are.",
    why="In float32, e⁸⁹ is infinite and e⁻¹⁰⁴ is 0, so you divide infinity by infinity, or 0 by "
    "0.",
    hint="Softmax doesn't change if you subtract one number from a whole row. Which number would "
    "help?",
)
def softmax_overflows(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    powers = scores.exp()
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ value, weights


@item.misconception(
    "You return the two results in the wrong order: weights first.",
    why="Callers unpack `context, weights`. If both have the same shape, the swap raises no error.",
    hint="In which order does the task list the two results?",
)
def weights_first(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _attend(_scores(query, key), value, mask)[::-1]
