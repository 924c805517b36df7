"""13.align: from cross-attention weights to alignment links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.reading_attention.alignment_links import Links


def _links_of(align: Callable[[Tensor], Links], weights: Tensor) -> dict[str, Any]:
    """The links as plain data; equal links have to be equal tuples."""
    links = align(weights)
    kinds = sorted({type(x).__name__ for link in links for x in link})
    whole = all(name.startswith("int") for name in kinds)  # NumPy's count, too
    return {
        "it is": "a set" if isinstance(links, (set, frozenset)) else f"a {type(links).__name__}",
        "its indices are": "whole numbers" if whole else ", ".join(kinds),
        "links": sorted([int(s), int(t)] for s, t in links),
    }


def _align(weights: Tensor) -> Links:
    return {(int(s), t) for t, s in enumerate(weights[:-1].argmax(dim=-1))}


def _map(draw: Draw, target: int, source: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Cross-attention for a target of this many words and <eos>; no two weights are equal."""
    return draw.normal(target + 1, source, std=2.0, dtype=dtype).softmax(dim=-1)


def _staircase(draw: Draw) -> list[Call]:
    """Target word t attends sharply to source word t + 1, as where the source has an extra word."""
    size = draw.integer(4, 6)
    steps = torch.eye(size, size + 2).roll(1, dims=1) * 9 + draw.normal(size, size + 2)
    return [Call((steps.softmax(dim=-1),), about="target word t attends to source word t + 1")]


item = Item(
    "13.align",
    reference=_align,
    use=_links_of,
    probes=[
        Probe("word t is predicted in row t", _staircase),
        Probe(
            "each word gets one link, and <eos> gets none",
            lambda draw: [
                Call((_map(draw, 4, 7),), about="5 rows, 7 source words"),
                Call((_map(draw, 8, 3),), about="9 rows, 3 source words"),
                Call((_map(draw, 5, 6),), about="as many rows as source words"),
            ],
        ),
        Probe(
            "any precision and any memory layout",
            lambda draw: [
                Call((_map(draw, 3, 6, torch.float64),), about="float64"),
                Call((draw.strided(6, 4).softmax(dim=-1),), about="not contiguous"),
            ],
        ),
        Probe(
            "short sentences work, too",
            lambda draw: [
                Call((_map(draw, 1, 5),), about="a target of one word"),
                Call((_map(draw, 3, 1),), about="a source of one word"),
                Call((_map(draw, 0, 4),), about="a target of <eos> only"),
            ],
        ),
    ],
    hints=(
        "Write down a sentence of two words: what is the input of each row, and what does it "
        "predict?",
        "Row 0 has <bos> as its input and predicts word 0. So rows and words have the same "
        "numbers, and one row is left over at the end.",
        "{(int(weights[t].argmax()), ...) for t in range(len(weights) - ...)}",
    ),
)


@item.misconception(
    "Your rows are off by one: you look up word t in row t + 1, whose input is word t.",
    why="In that row the decoder is already predicting the next word. On the lesson's 200 "
    "sentences this raises the error rate from 0.11 to 0.92.",
    hint="What does the decoder predict in row 0, where its only input is <bos>?",
)
def off_by_one(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights[1:])}


@item.misconception(
    "You link the last row, too, which predicts <eos>.",
    why="<eos> has no source word, so this link is always wrong, once in every sentence.",
    hint="How many rows are there, and how many words?",
)
def the_end_gets_a_link(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights)}


@item.misconception(
    "You leave out the first row and keep the last: word 0 has no link, and <eos> has one.",
    why="The input of row 0 is <bos>, but it predicts the first word. It's the last row that "
    "predicts no word.",
    hint="Which word does a row belong to: its input or its prediction?",
)
def first_row_left_out(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights) if t > 0}


@item.misconception(
    "Your target indices count <bos> as a word: they start at 1.",
    why="Gold links count the words of the sentence, and <bos> isn't one. Row t predicts word t.",
    hint="What is the smallest target index in your links?",
)
def bos_counted(weights: Tensor) -> Links:
    return {(int(row.argmax()), t + 1) for t, row in enumerate(weights[:-1])}


@item.misconception(
    "Your links are reversed: (target, source).",
    why="Gold links are (source, target). With the two swapped, hardly any links match except "
    "those on the diagonal.",
    hint="Which comes first in a link?",
)
def turned_round(weights: Tensor) -> Links:
    return {(t, s) for s, t in _align(weights)}


@item.misconception(
    "You look for the largest weight in each column: each source word gets a link, instead of each "
    "target word.",
    why="A row sums to one and says what its word attends to. A column doesn't have to sum to "
    "anything: all target words may attend to a source word, or none.",
    hint="Over which axis of (T, S) do you take the argmax?",
)
def strongest_of_each_column(weights: Tensor) -> Links:
    return {(s, int(column.argmax())) for s, column in enumerate(weights[:-1].T)}


@item.misconception(
    "You link all weights above one half.",
    why="A word that attends to several source words has no such weight and gets no link. But "
    "every row has a largest weight.",
    hint="How many links does a row without any large weight get?",
)
def above_one_half(weights: Tensor) -> Links:
    return {(s, t) for t, s in (weights[:-1] > 0.5).nonzero().tolist()}


@item.misconception(
    "Your links contain tensors, not integers.",
    why="In a set, two tensors with the same value are different elements: none of your links "
    "would ever match a gold link.",
    hint="What turns a tensor with one element into a number?",
)
def tensors_in_the_links(weights: Tensor) -> set[Any]:
    return {(row.argmax(), t) for t, row in enumerate(weights[:-1])}
