"""14.bug_2: As many heads as words."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import causal_mask, decoder_mask, padding_mask

MASK = """\
def attention_in_letters(query, key, value, mask):
    scores = torch.einsum("bqhe,bkhe->bqhk", query, key)
    scores = scores / math.sqrt(query.size(-1))
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    return torch.einsum("bqhk,bkhe->bqhe", weights, value)
"""


def _attention_in_letters(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *, turned: bool = True
) -> Tensor:
    mask = mask.transpose(1, 2) if turned else mask
    scores = _scores(query, key).masked_fill(~mask, torch.finfo(query.dtype).min)
    return _context(scores.softmax(dim=-1), value)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bqhk", query, key) / math.sqrt(query.size(-1))


def _context(weights: Tensor, value: Tensor) -> Tensor:
    return torch.einsum("bqhk,bkhe->bqhe", weights, value)


def _three(draw: Draw, queries: int, keys: int, heads: int, *, width: int = 4) -> list[Tensor]:
    sizes = (queries, keys, keys)
    return [draw.normal(2, size, heads, width, std=1.5) for size in sizes]


def _only_the_past(draw: Draw) -> list[Call]:
    decoder = decoder_mask(draw.tokens(2, 3), 0)
    return [
        Call((*_three(draw, 5, 5, 5), causal_mask(5)), about="5 positions, 5 heads"),
        Call((*_three(draw, 6, 6, 2), causal_mask(6)), about="6 positions, 2 heads"),
        Call((*_three(draw, 3, 3, 3), decoder), about="3 positions, 3 heads, and pads"),
    ]


def _no_pads(draw: Draw) -> list[Call]:
    mask = padding_mask(draw.tokens(2, 6), 0)
    return [
        Call((*_three(draw, 4, 6, 3), mask), about="4 queries, 6 keys, 3 heads, pads"),
        Call((*_three(draw, 1, 6, 1), mask), about="one query and one head"),
    ]


def _a_mask_for_each_head(draw: Draw) -> list[Call]:
    return [
        Call((*_three(draw, 4, 5, 3), draw.mask(2, 3, 4, 5)), about="a mask for each head"),
        Call((*_three(draw, 4, 4, 4), draw.mask(2, 4, 4, 4)), about="4 heads, 4 queries, 4 keys"),
        Call((*_three(draw, 3, 5, 2), draw.mask(1, 1, 3, 5)), about="a mask for all sentences"),
    ]


def _learning(draw: Draw) -> list[Call]:
    tensors = (*_three(draw, 4, 4, 4), causal_mask(4))
    doubles = [draw.normal(2, 3, 2, 4, dtype=torch.float64) for _ in range(3)]
    return [
        Call(tensors, about="gradients", gradients=True),
        Call((*doubles, causal_mask(3)), about="float64"),
    ]


item = Item(
    "14.bug_2",
    reference=_attention_in_letters,
    bug=Bug(MASK, line=4),
    probes=[
        Probe("nothing is read from the future", _only_the_past),
        Probe("pads are not read, whatever the lengths", _no_pads),
        Probe("each head may have a mask of its own", _a_mask_for_each_head),
        Probe("gradients flow, in any precision", _learning),
    ],
    hints=(
        "Write the letters of the scores over the axes of the mask.",
        "The mask is made for (batch, heads, query, key). In which order do the scores of this "
        "function have their axes?",
        "Line 4 needs the mask with two of its axes exchanged: mask.transpose(..., ...).",
    ),
)


@item.misconception(
    "The mask still meets the scores in another order: its queries stand where the heads are.",
    why="With other numbers of heads than of queries that is an error. With the same, head 0 sees "
    "one word and the last head sees the future, in silence.",
    hint="(b, h, q, k) is the mask's order. What is the scores'?",
)
def queries_meet_heads(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _attention_in_letters(query, key, value, mask, turned=False)


@item.misconception(
    "You exchange the mask's queries and keys: the past is hidden and the future is read.",
    why="Keys stand last in the mask and in the scores. It is another pair that is out of order.",
    hint="Which two letters have changed places between bhqk and bqhk?",
)
def queries_and_keys_exchanged(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    turned = mask.transpose(-2, -1)
    return _attention_in_letters(query, key, value, turned, turned=False)


@item.misconception(
    "The axes are right now, but the mask hides what may be read.",
    why="True means: may be read. masked_fill fills where it is True.",
    hint="You mended the order. What became of the ~?",
)
def turned_inside_out(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _attention_in_letters(query, key, value, ~mask)


@item.misconception(
    "The mask is gone: all is read, the future and the pads.",
    why="Without it everything fits, and the model learns to copy the answer.",
    hint="Mend the line, do not remove it.",
)
def mask_removed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _context(_scores(query, key).softmax(dim=-1), value)


@item.misconception(
    "All heads use the mask of head 0.",
    why="Masks of one head for all are the most usual, and for these your line is right. A mask "
    "may have all its heads, though.",
    hint="An axis may be moved instead of being taken out and put in elsewhere.",
)
def only_the_first_heads_mask(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _attention_in_letters(query, key, value, mask[:, :1])


@item.misconception(
    "You hide weights after softmax: what is left does not sum to one.",
    why="Softmax has given the hidden keys their share already, and it is lost.",
    hint="Hide where line 4 hides, before softmax.",
)
def hidden_too_late(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    weights = _scores(query, key).softmax(dim=-1)
    return _context(weights.masked_fill(~mask.transpose(1, 2), 0.0), value)
