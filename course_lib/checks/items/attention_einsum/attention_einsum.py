"""05.attention_einsum: Attention with einsum."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib import model
from course_lib.checks.item import Item
from course_lib.checks.items.attention_einsum.einsum_parts import Mask, Pair, attend, scaled_scores
from course_lib.checks.items.attention_matmul.attention_parts import (
    ATTENTION_PROBES,
)

item = Item(
    "05.attention_einsum",
    reference=model.attention_einsum,
    probes=ATTENTION_PROBES,
    tolerance=1e-4,
    hints=(
        "Two einsums and a softmax. For each einsum: which axes are shared, which are kept, which "
        "are summed over?",
        "Scores: for every b, h, q and k, the sum over e. Context: for every b, h, q and e, the "
        "sum over k. Scale and mask come in between, as in lesson 04.",
        'scores = torch.einsum("bhqe,...->bhqk", query, key) / math.sqrt(...)\n'
        'context = torch.einsum("bhqk,...->bhqe", weights, value)',
    ),
)


@item.misconception(
    "Your context is the same for every query: the plain sum of the values.",
    why="The keys have one letter in the weights and another in the values. So weights and values "
    "are summed separately, and the weights sum to 1.",
    hint="Look for a letter that occurs in one input only, and not after the arrow.",
)
def two_letters_for_the_keys(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return attend(scaled_scores(query, key), value, mask, "bhqk,bhve->bhqe")


@item.misconception(
    "In your scores, each query is multiplied by the sum of the keys of all heads.",
    why="The heads of the key have their own letter, which is missing after the arrow.",
    hint="Query and key share the heads. How many letters does your first string use for them?",
)
def heads_have_two_letters(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bgke->bhqk", query, key) / math.sqrt(query.size(-1))
    return attend(scores, value, mask)


@item.misconception(
    "In your scores, each sentence uses the sum of the keys of all sentences.",
    why="The batch axis of the key has its own letter, which is missing after the arrow.",
    hint="Query and key share the batch axis. How many letters does your first string use for it?",
)
def sentences_have_two_letters(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask = None
) -> Pair:
    scores = torch.einsum("bhqe,ahke->bhqk", query, key) / math.sqrt(query.size(-1))
    return attend(scores, value, mask)


@item.misconception(
    "Your first string has no arrow, so its result has only two axes, (k, q).",
    why="Without an arrow, einsum keeps the letters that occur once, in alphabetical order: k, q. "
    "It sums over batch and heads.",
    hint="Write an arrow, and after it the letters that you want to keep.",
)
def no_arrow(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bhke", query, key) / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhqk,bhke->bhqe", weights, value), weights


@item.misconception(
    "Your weights are transposed, (b, h, k, q), and the weights of each key sum to one.",
    why="The letters after the first arrow determine which axis is last, and softmax is over the "
    "last one. So the weights of a query sum to more or less than one.",
    hint="In which order do q and k come after your first arrow?",
)
def arrow_mirrored(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bhke->bhkq", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask.transpose(-2, -1), torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhkq,bhke->bhqe", weights, value), weights


@item.misconception(
    "You divide the scores by √d_model instead of √d_head.",
    why="The first einsum sums over e, whose size is d_head. The most widely copied einsum "
    "implementation has this bug.",
    hint="Take d_head from the shape of the tensor that you multiply.",
)
def root_of_d_model(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return attend(scaled_scores(query, key) / math.sqrt(query.size(1)), value, mask)


@item.misconception(
    "You don't scale the scores.",
    why="Einsum computes the sum of products and nothing else. If d_head is large, softmax "
    "saturates.",
    hint="Which step came between the product and softmax in lesson 04?",
)
def no_scale(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return attend(torch.einsum("bhqe,bhke->bhqk", query, key), value, mask)


@item.misconception(
    "Your softmax is over the queries: the columns of your weights sum to one, not the rows.",
    why="Each query distributes a total weight of one among the keys. The order of the letters "
    "tells you which dim the keys are.",
    hint="Count along bhqk: which dim is k?",
)
def softmax_over_readers(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=2)
    return torch.einsum("bhqk,bhke->bhqe", weights, value), weights


@item.misconception(
    "Your mask is inverted: keys with True get weight 0, and keys with False don't.",
    why="In this course True means: may attend. So the other scores have to become very negative.",
    hint="Which scores should be replaced: those where the mask is True, or the others?",
)
def mask_read_backwards(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return attend(scaled_scores(query, key), value, None if mask is None else ~mask)


@item.misconception(
    "Your mask has no effect: masked keys get weight like all others.",
    why="Without the mask, tokens attend to padding, and a decoder to the very token that it has "
    "to predict.",
    hint="Do you use the masked tensor afterwards? masked_fill without _ returns a new one.",
)
def mask_forgotten(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return attend(scaled_scores(query, key), value, None)
