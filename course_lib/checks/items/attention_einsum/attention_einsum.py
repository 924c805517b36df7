"""05.attention_einsum: Attention in letters."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.item import Item
from course_lib.checks.items.attention_einsum.einsum_parts import Mask, Pair, mix, scaled_scores
from course_lib.checks.items.attention_matmul.attention_parts import (
    ATTENTION_PROBES,
)
from course_lib.model import attention

item = Item(
    "05.attention_einsum",
    reference=attention.attention_einsum,
    probes=ATTENTION_PROBES,
    tolerance=1e-4,
    hints=(
        "Two strings and a softmax. For each string: what goes in step, what is kept, what is "
        "summed over?",
        "Scores: for every b, h, q and k the sum over e. Context: for every b, h, q and e the sum "
        "over k. Scale and mask stand between, as in lesson 04.",
        'scores = torch.einsum("bhqe,...->bhqk", query, key) / math.sqrt(...)\n'
        'context = torch.einsum("bhqk,...->bhqe", weights, value)',
    ),
)


@item.misconception(
    "All your readers take home the same: the plain sum of the values.",
    why="The keys have one letter in the weights and another in the values. Those are two loops: "
    "the weights are added up alone, which gives 1, and the values alone.",
    hint="Look for a letter that stands in one input only, and not behind the arrow.",
)
def two_letters_for_the_keys(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return mix(scaled_scores(query, key), value, mask, "bhqk,bhve->bhqe")


@item.misconception(
    "In your scores each query meets the sum of the keys of all heads.",
    why="The heads of the key have a letter of their own, and it is missing behind the arrow.",
    hint="Heads go in step. How many letters do they have in your first string?",
)
def heads_have_two_letters(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bgke->bhqk", query, key) / math.sqrt(query.size(-1))
    return mix(scores, value, mask)


@item.misconception(
    "In your scores each sentence reads the keys of all sentences, added up.",
    why="The sentences of the key have a letter of their own, and it is missing behind the arrow.",
    hint="Sentences go in step. How many letters do they have in your first string?",
)
def sentences_have_two_letters(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask = None
) -> Pair:
    scores = torch.einsum("bhqe,ahke->bhqk", query, key) / math.sqrt(query.size(-1))
    return mix(scores, value, mask)


@item.misconception(
    "Without an arrow your first string gives only two axes, keys by queries.",
    why="Then einsum keeps the letters that occur once, in the order of the alphabet: k, q. "
    "Sentences and heads are summed into each other.",
    hint="Write the arrow and what you want behind it.",
)
def no_arrow(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bhke", query, key) / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhqk,bhke->bhqe", weights, value), weights


@item.misconception(
    "Your weights are mirrored, (b, h, k, q), and each key shares itself out among the readers.",
    why="The letters behind the first arrow say which axis is last, and softmax runs along the "
    "last. A reader gets more or less than one in sum.",
    hint="In which order do q and k stand behind your first arrow?",
)
def arrow_mirrored(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bhke->bhkq", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask.transpose(-2, -1), torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhkq,bhke->bhqe", weights, value), weights


@item.misconception(
    "Your weights equal those of attention scaled by √d_model, h · e, instead of √e.",
    why="The sum in the first string runs over e alone. The most copied einsum version has this "
    "bug; letters do not help against it.",
    hint="Take the width from the tensor that is multiplied.",
)
def root_of_d_model(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return mix(scaled_scores(query, key) / math.sqrt(query.size(1)), value, mask)


@item.misconception(
    "Your scores are not scaled.",
    why="The string adds up the products and nothing else. In a wide head softmax would settle on "
    "one key.",
    hint="What stood between the product and softmax in lesson 04?",
)
def no_scale(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return mix(torch.einsum("bhqe,bhke->bhqk", query, key), value, mask)


@item.misconception(
    "Your softmax runs over the readers: columns of the weights sum to one, and rows do not.",
    why="Each reader has a total of one to give to the keys. The order of the letters says which "
    "dim that is.",
    hint="Count along bhqk: which dim is k?",
)
def softmax_over_readers(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=2)
    return torch.einsum("bhqk,bhke->bhqe", weights, value), weights


@item.misconception(
    "What the mask allows has the weight 0, and what it hides is read.",
    why="In this course True means: may be read. It is the other scores that have to become very "
    "negative.",
    hint="Which scores are to be replaced: those that may be read, or the others?",
)
def mask_read_backwards(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return mix(scaled_scores(query, key), value, None if mask is None else ~mask)


@item.misconception(
    "Your mask changes nothing: hidden keys are read like all others.",
    why="Without the mask a word would read pads, and a decoder the very word it has to predict.",
    hint="Is your masked tensor the one that goes on? masked_fill without _ returns a new one.",
)
def mask_forgotten(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return mix(scaled_scores(query, key), value, None)
