"""13.align: From weights to links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.reading_attention.shared import Links


def _links_of(align: Callable[[Tensor], Links], weights: Tensor) -> dict[str, Any]:
    """What came out, as data. Links that are equal have to be equal as tuples."""
    links = align(weights)
    kinds = sorted({type(x).__name__ for link in links for x in link})
    whole = all(name.startswith("int") for name in kinds)  # numpy's are as good as Python's
    return {
        "it is": "a set" if isinstance(links, (set, frozenset)) else f"a {type(links).__name__}",
        "its indices are": "whole numbers" if whole else ", ".join(kinds),
        "links": sorted([int(s), int(t)] for s, t in links),
    }


def _align(weights: Tensor) -> Links:
    return {(int(s), t) for t, s in enumerate(weights[:-1].argmax(dim=-1))}


def _map(draw: Draw, target: int, source: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Cross-attention of a target of this many words, and <eos>; no two weights are alike."""
    return draw.normal(target + 1, source, std=2.0, dtype=dtype).softmax(dim=-1)


def _staircase(draw: Draw) -> list[Call]:
    """Word t reads source word t + 1, sharply, as a good head does where a source begins longer."""
    size = draw.integer(4, 6)
    steps = torch.eye(size, size + 2).roll(1, dims=1) * 9 + draw.normal(size, size + 2)
    return [Call((steps.softmax(dim=-1),), about="each word reads the source word after its own")]


item = Item(
    "13.align",
    reference=_align,
    use=_links_of,
    probes=[
        Probe("word t is said by row t", _staircase),
        Probe(
            "each word gets one link, and <eos> gets none",
            lambda draw: [
                Call((_map(draw, 4, 7),), about="5 rows, 7 source words"),
                Call((_map(draw, 8, 3),), about="9 rows, 3 source words"),
                Call((_map(draw, 5, 6),), about="as many rows as source words"),
            ],
        ),
        Probe(
            "any precision and any layout in memory",
            lambda draw: [
                Call((_map(draw, 3, 6, torch.float64),), about="float64"),
                Call((draw.strided(6, 4).softmax(dim=-1),), about="not contiguous"),
            ],
        ),
        Probe(
            "short sentences are sentences, too",
            lambda draw: [
                Call((_map(draw, 1, 5),), about="a target of one word"),
                Call((_map(draw, 3, 1),), about="a source of one word"),
                Call((_map(draw, 0, 4),), about="nothing said but <eos>"),
            ],
        ),
    ],
    hints=(
        "Write down a sentence of two words: what does each row read, and what does it say?",
        "The decoder reads <bos> in row 0 and says word 0 there. So rows and words have the same "
        "number, and one row at the end is left over.",
        "{(int(weights[t].argmax()), ...) for t in range(len(weights) - ...)}",
    ),
)


@item.misconception(
    "Your rows are off by one: word t is looked up in the row that has already read it, t + 1.",
    why="When the decoder has read a word, it is on its way to the next. On the lesson's 200 "
    "sentences this raises the error rate from 0.11 to 0.92.",
    hint="What does the decoder say in row 0, where it has read nothing but <bos>?",
)
def off_by_one(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights[1:])}


@item.misconception(
    "You link the last row, too, where <eos> is said.",
    why="<eos> has no source word, so this link can only be wrong, once in every sentence.",
    hint="How many rows are there, and how many words?",
)
def the_end_gets_a_link(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights)}


@item.misconception(
    "You leave out the first row and keep the last: word 0 has no link, and <eos> has one.",
    why="Row 0 has read <bos>, but what it says is the first word. It is the last row that says no "
    "word.",
    hint="Which of its two words does a row belong to here, the one it reads or the one it says?",
)
def first_row_left_out(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights) if t > 0}


@item.misconception(
    "Your target indices count <bos> as a word: they begin at 1.",
    why="Gold links count the words of the sentence, and <bos> is none. Row t says word t.",
    hint="What is the smallest target index in your links?",
)
def sos_counted(weights: Tensor) -> Links:
    return {(int(row.argmax()), t + 1) for t, row in enumerate(weights[:-1])}


@item.misconception(
    "Your links are turned round: (target, source).",
    why="Gold links are (source, target). Two sets that order their pairs differently share little "
    "but the diagonal.",
    hint="Which comes first in a link?",
)
def turned_round(weights: Tensor) -> Links:
    return {(t, s) for s, t in _align(weights)}


@item.misconception(
    "You look for the strongest row of each column: each source word gets a link, not each target "
    "word.",
    why="A row sums to one and says what its word reads. A column need not sum to anything: a "
    "source word may be read by all, or by none.",
    hint="Over which axis of (T, S) do you take the argmax?",
)
def strongest_of_each_column(weights: Tensor) -> Links:
    return {(s, int(column.argmax())) for s, column in enumerate(weights[:-1].T)}


@item.misconception(
    "You link all cells above one half.",
    why="A word whose head is undecided has no such cell and gets no link at all. The strongest "
    "cell is there in every row.",
    hint="How many links does a row without any large weight get?",
)
def above_one_half(weights: Tensor) -> Links:
    return {(s, t) for t, s in (weights[:-1] > 0.5).nonzero().tolist()}


@item.misconception(
    "Your links hold tensors, not whole numbers.",
    why="In a set, two tensors of the same number are two things: none of your links would ever "
    "be found among the gold ones.",
    hint="What turns a tensor of one number into a number?",
)
def tensors_in_the_links(weights: Tensor) -> set[Any]:
    return {(row.argmax(), t) for t, row in enumerate(weights[:-1])}
