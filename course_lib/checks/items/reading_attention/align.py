"""14.align: from cross-attention weights to alignment links."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult
from course_lib.checks.engine.compare import short
from course_lib.checks.items.reading_attention.alignment_links import Links


def _links_of(align: Callable[[Tensor], Links], weights: Tensor) -> dict[str, Any]:
    """The links as plain data; equal links have to be equal tuples.

    Raises:
        WrongResult: they are not a set, or one of them is not a pair of numbers.
    """
    links = align(weights)
    if not isinstance(links, (set, frozenset)):
        missing = "; a `return` may be missing" if links is None else ""
        raise WrongResult(f"expected a set of links, got {_with_article(links)}{missing}")
    for link in links:
        if not isinstance(link, tuple) or len(link) != 2 or not all(map(_is_number, link)):
            raise WrongResult(
                "expected links (source, target), tuples of two integers, "
                f"got {_with_article(link)}: {short(link)}"
            )
    kinds = sorted({type(x).__name__ for link in links for x in link})
    whole = all(name.startswith("int") for name in kinds)  # NumPy's count, too
    return {
        "its indices are": "integers" if whole else ", ".join(kinds),
        "links": sorted([int(s), int(t)] for s, t in links),
    }


def _is_number(x: Any) -> bool:
    return isinstance(x, Real) or (isinstance(x, Tensor) and x.numel() == 1)


def _with_article(x: Any) -> str:
    if x is None:
        return "None"
    name = type(x).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _align(weights: Float[Tensor, "rows source"]) -> Links:
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
    "14.align",
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
        "Small examples: torch.tensor([[1, 9, 2], [7, 3, 4]]).argmax(dim=1).tolist() is [1, 0], "
        'and enumerate(["x", "y"]) gives first 0 and "x", then 1 and "y". In a link, the source '
        "comes first: which of the two numbers of a row is that? And which row has to be left out?",
    ),
)


@item.switchable
def links_with(on: frozenset[str]) -> Callable[[Tensor], set[Any]]:
    """``align`` with these misconceptions."""

    def answer(weights: Tensor) -> set[Any]:
        rows = weights[:-1]
        first = 1 if "bos_counted" in on else 0
        if "off_by_one" in on:
            rows = weights[1:]
        elif "first_row_left_out" in on:
            rows, first = weights[1:], first + 1
        elif "the_end_gets_a_link" in on:
            rows = weights
        links = [(s, t + first) for s, t in pairs(rows)]
        if "source_off_by_one" in on:
            links = [(s - 1, t) for s, t in links]
        if "source_off_by_one_upwards" in on:
            links = [(s + 1, t) for s, t in links]
        if "turned_round" in on:
            links = [(t, s) for s, t in links]
        if "tensors_in_the_links" in on:
            return {(torch.tensor(s), t) for s, t in links}
        if "nothing_but_tensors" in on:
            return {(torch.tensor(s), torch.tensor(t)) for s, t in links}
        return set(links)

    def pairs(rows: Tensor) -> list[tuple[int, int]]:
        if "strongest_of_each_column" in on:
            return [(s, int(column.argmax())) for s, column in enumerate(rows.T)]
        if "strongest_of_each_column_if_any" in on:
            columns = enumerate(rows.T if len(rows) else [])
            return [(s, int(column.argmax())) for s, column in columns]
        if "weakest_of_each_row" in on:
            return [(int(row.argmin()), t) for t, row in enumerate(rows)]
        for name, limit in LIMITS.items():
            if name in on:
                return [(s, t) for t, s in (rows > (limit or 1 / rows.size(1))).nonzero().tolist()]
        return [(int(row.argmax()), t) for t, row in enumerate(rows)]

    return answer


LIMITS: dict[str, float | None] = {
    "above_one_half": 0.5,
    "above_a_third": 1 / 3,
    "above_three_tenths": 0.3,
    "above_one_tenth": 0.1,
    "above_uniform": None,  # 1 / S
}


item.switch(
    "off_by_one",
    "Your rows are off by one: you look up word t in row t + 1, whose input is word t.",
    why="In that row the decoder is already predicting the next word. On the lesson's 500 "
    "sentences, this raises the alignment error rate of the mean of the eight heads from 0.11 to "
    "0.92.",
    hint="What does the decoder predict in row 0, where its only input is <bos>?",
)
item.switch(
    "the_end_gets_a_link",
    "You link the last row, too, which predicts <eos>.",
    why="<eos> has no source word, so this link is always wrong, once in every sentence.",
    hint="How many rows are there, and how many words?",
)
item.switch(
    "first_row_left_out",
    "You leave out the first row and keep the last: word 0 has no link, and <eos> has one.",
    why="The input of row 0 is <bos>, but it predicts the first word. It's the last row that "
    "predicts no word.",
    hint="Which word does a row belong to: its input or its prediction?",
)
item.switch(
    "bos_counted",
    "Your target indices start at 1, as if <bos> were a word.",
    why="Gold links count the words of the sentence, and <bos> isn't one. Row t predicts word t.",
    hint="What is the smallest target index in your links?",
)
item.switch(
    "source_off_by_one",
    "Your source indices are off by one.",
    why="Column s belongs to source word s: the columns are the source words, and nothing else. "
    "Every link would point to a neighbour.",
    hint="What do you add to the column's index, or subtract from it, and why?",
    spellings=["source_off_by_one_upwards"],
)
item.switch(
    "turned_round",
    "Your links are reversed: (target, source).",
    why="Gold links are (source, target). With the two swapped, hardly any links match except "
    "those on the diagonal.",
    hint="Which comes first in a link?",
)
item.switch(
    "strongest_of_each_column",
    "You look for the largest weight in each column: each source word gets a link, instead of each "
    "target word.",
    why="A row sums to one and shows what its word attends to. A column doesn't have to sum to "
    "anything: all target words may attend to a source word, or none.",
    hint="Over which axis of (T, S) do you look for the largest weight?",
    spellings=["strongest_of_each_column_if_any"],
)
item.switch(
    "weakest_of_each_row",
    "You link each target word to the source word that it attends to least.",
    why="The smallest weight of a row shows what its word does not attend to.",
    hint="Do you want the smallest or the largest weight of a row? Look at the sorting order, too.",
)
item.switch(
    "above_one_half",
    "You link all weights above a limit, not the largest weight of each row.",
    why="A word that attends to several source words may have no weight above the limit and get no "
    "link, or have several and get several links. But every row has one largest weight.",
    hint="How many links does a row without any large weight get, and how many should it get?",
    spellings=[name for name in LIMITS if name != "above_one_half"],
)
item.switch(
    "tensors_in_the_links",
    "Your links contain tensors, not integers.",
    why="In a set, two tensors with the same value are different elements: none of your links "
    "would ever match a gold link.",
    hint="What turns a tensor with one element into a number?",
    spellings=["nothing_but_tensors"],
)
