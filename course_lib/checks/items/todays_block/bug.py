"""17.bug: Rows of a published file."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe

BUG = """\
def rows_in_halves(rows, n_heads):
    d_head = rows.size(0) // n_heads
    by_head = rows.unflatten(0, (n_heads, d_head))
    by_pair = by_head.unflatten(1, (2, d_head // 2))
    return by_pair.transpose(1, 2).flatten(0, 2)
"""


def _in_halves(rows: Tensor, n_heads: int) -> Tensor:
    by_head = rows.unflatten(0, (n_heads, -1))
    return torch.cat((by_head[:, 0::2], by_head[:, 1::2]), dim=1).flatten(0, 1)


def _rows(draw: Draw, n_heads: int, d_head: int, d_model: int, about: str) -> Call:
    return Call((draw.normal(n_heads * d_head, d_model), n_heads), about=about)


def _numbered(n_heads: int, d_head: int, about: str) -> Call:
    """Rows that hold their own number."""
    return Call((torch.arange(float(n_heads * d_head))[:, None], n_heads), about=about)


item = Item(
    "17.bug",
    reference=_in_halves,
    bug=Bug(BUG, line=4),
    probes=[
        Probe(
            "the first rows of all pairs come first, and then the second ones",
            lambda draw: [
                _numbered(1, 6, "one head of three pairs, rows that hold their number"),
                _rows(draw, 1, 8, 5, "one head of four pairs"),
            ],
        ),
        Probe(
            "each head is reordered on its own",
            lambda draw: [
                _numbered(2, 6, "two heads of three pairs, rows that hold their number"),
                _rows(draw, 3, 8, 4, "three heads of four pairs"),
                _rows(draw, 9, 16, 6, "nine heads, as in SmolLM2"),
            ],
        ),
        Probe(
            "it works for the narrowest heads",
            lambda draw: [
                _rows(draw, 2, 4, 3, "two pairs, where both readings agree"),
                _rows(draw, 4, 2, 3, "a single pair: nothing to do"),
            ],
        ),
    ],
    hints=(
        "Call it on rows that hold their own number, torch.arange(6.)[:, None], with one head. In "
        "which order should they come out, and in which do they?",
        "unflatten cuts an axis as a book is cut into lines: the last of the new sizes runs "
        "fastest. In the file, what runs fastest within a head: the pair, or the position in the "
        "pair?",
        "torch.arange(6).unflatten(0, (2, 3)) has the rows 0 1 2 and 3 4 5, and with (3, 2) it has "
        "the rows 0 1, 2 3 and 4 5. Which of the two shows the pairs of the file? Try heads of six "
        "rows: with four, the two shapes are the same.",
    ),
)


@item.misconception(
    "Your fix leaves the rows as they are in the file.",
    why="The course's rotate pairs feature i with i + E/2. With rows in pairs, it turns features "
    "together that don't belong together.",
    hint="Your rows come out in the order in which they went in. Which line should reorder them?",
)
def left_as_they_are(rows: Tensor, n_heads: int) -> Tensor:
    return rows.clone()


@item.misconception(
    "It still reorders in the other direction: from halves to pairs.",
    why="The file has pairs side by side and rotate wants halves. The way back is another order "
    "unless a head has just two pairs.",
    hint="Call it on six rows that hold their own number. Which rows are a pair in the file?",
)
def the_other_way(rows: Tensor, n_heads: int) -> Tensor:
    return rows.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).flatten(0, 2)


@item.misconception(
    "You reorder all rows together, over the borders of the heads.",
    why="Then the first heads get the first numbers of all pairs, and the last ones the second. "
    "Each head has to keep its own rows.",
    hint="Call it on two heads of rows that hold their number: which rows does the first head get?",
)
def over_all_heads(rows: Tensor, n_heads: int) -> Tensor:
    return torch.cat((rows[0::2], rows[1::2]))


@item.misconception(
    "The halves of each head are exchanged.",
    why="The first half should hold the first row of each pair. Exchanged, every rotation would "
    "run backwards.",
    hint="Which row of the first pair should come first?",
)
def halves_exchanged(rows: Tensor, n_heads: int) -> Tensor:
    by_head = rows.unflatten(0, (n_heads, -1))
    return torch.cat((by_head[:, 1::2], by_head[:, 0::2]), dim=1).flatten(0, 1)


@item.misconception(
    "Heads and pairs are exchanged: the rows of one head no longer lie together.",
    why="Only the order within a head changes. Split into heads afterwards, each head would get "
    "rows of others.",
    hint="Which two axes have to be exchanged? Write down the sizes of all of them.",
)
def heads_exchanged(rows: Tensor, n_heads: int) -> Tensor:
    return rows.unflatten(0, (n_heads, -1, 2)).transpose(0, 2).flatten(0, 2)


@item.spelling("heads_exchanged")
def heads_behind_pairs(rows: Tensor, n_heads: int) -> Tensor:
    return rows.unflatten(0, (n_heads, -1, 2)).transpose(0, 1).flatten(0, 2)


@item.misconception(
    "You return the rows with their heads on an axis of their own.",
    why="What is loaded into q_proj has one axis of rows, n_heads · d_head of them.",
    hint="How many axes should the result have?",
)
def not_joined(rows: Tensor, n_heads: int) -> Tensor:
    return _in_halves(rows, n_heads).unflatten(0, (n_heads, -1))
