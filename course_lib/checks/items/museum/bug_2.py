"""15.bug_2: a mask that broadcasts over the wrong axes."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
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
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *, swap: bool = True
) -> Tensor:
    mask = mask.transpose(1, 2) if swap else mask
    scores = _scores(query, key).masked_fill(~mask, torch.finfo(query.dtype).min)
    return _context(scores.softmax(dim=-1), value)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bqhk", query, key) / math.sqrt(query.size(-1))


def _context(weights: Tensor, value: Tensor) -> Tensor:
    return torch.einsum("bqhk,bkhe->bqhe", weights, value)


def _three(draw: Draw, queries: int, keys: int, heads: int) -> list[Tensor]:
    sizes = (queries, keys, keys)
    return [draw.normal(2, size, heads, 4, std=1.5) for size in sizes]


def _only_the_past(draw: Draw) -> list[Call]:
    decoder = decoder_mask(draw.tokens(2, 3), 0)
    return [
        Call((*_three(draw, 5, 5, 5), causal_mask(5)), about="5 positions, 5 heads"),
        Call((*_three(draw, 6, 6, 2), causal_mask(6)), about="6 positions, 2 heads"),
        Call((*_three(draw, 3, 3, 3), decoder), about="3 positions, 3 heads, padding"),
    ]


def _no_pads(draw: Draw) -> list[Call]:
    mask = padding_mask(draw.tokens(2, 6), 0)
    return [
        Call((*_three(draw, 4, 6, 3), mask), about="4 queries, 6 keys, 3 heads, padding"),
        Call((*_three(draw, 1, 6, 1), mask), about="one query and one head"),
    ]


def _a_mask_for_each_head(draw: Draw) -> list[Call]:
    return [
        Call(
            (*_three(draw, 4, 5, 3), draw.mask(2, 3, 4, 5)), about="a separate mask for each head"
        ),
        Call((*_three(draw, 4, 4, 4), draw.mask(2, 4, 4, 4)), about="4 heads, 4 queries, 4 keys"),
        Call((*_three(draw, 3, 5, 2), draw.mask(1, 1, 3, 5)), about="one mask for all sentences"),
    ]


def _learning(draw: Draw) -> list[Call]:
    tensors = (*_three(draw, 4, 4, 4), causal_mask(4))
    doubles = [draw.normal(2, 3, 2, 4, dtype=torch.float64) for _ in range(3)]
    return [
        Call(tensors, about="gradients", gradients=True),
        Call((*doubles, causal_mask(3)), about="float64"),
    ]


item = Item(
    "15.bug_2",
    reference=_attention_in_letters,
    bug=Bug(MASK, line=4),
    probes=[
        Probe("no position attends to the future", _only_the_past),
        Probe("nothing attends to padding, whatever the lengths", _no_pads),
        Probe("each head may have its own mask", _a_mask_for_each_head),
        Probe("gradients flow, in any precision", _learning),
    ],
    hints=(
        "Write the letters of the scores above the axes of the mask.",
        "The mask is made for (batch, heads, query, key). In which order are the axes of the "
        "scores in this function?",
        "There are two ways. If x has the shape (2, 3, 5), x.transpose(0, 2) has (5, 3, 2): so "
        "one tensor can get the order of another. Or you choose another order of letters for the "
        "scores; then both einsums change.",
    ),
)


@item.misconception(
    "The mask still has a different axis order than the scores: its queries line up with the "
    "scores' heads.",
    why="With a causal mask, different numbers of heads and queries give an error. Equal numbers "
    "don't: then head 0 may attend to one token only, and the last head attends to the future.",
    hint="(b, h, q, k) is the mask's order. What's the order of the scores?",
)
def queries_meet_heads(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _attention_in_letters(query, key, value, mask, swap=False)


@item.misconception(
    "You swap the mask's queries and keys, so its keys no longer line up with the keys of the "
    "scores.",
    why="Keys come last both in the mask and in the scores. A different pair of axes is out of "
    "order.",
    hint="Which two letters differ in position between bhqk and bqhk?",
)
def queries_and_keys_exchanged(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    transposed = mask.transpose(-2, -1)
    return _attention_in_letters(query, key, value, transposed, swap=False)


@item.misconception(
    "The axes are right now, but the mask hides what may be attended to.",
    why="True means: may attend. masked_fill fills where its mask is True; torch.where takes its "
    "second argument there.",
    hint="You fixed the order. What does your code do with the scores where the mask is True?",
)
def turned_inside_out(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _attention_in_letters(query, key, value, ~mask)


@item.misconception(
    "The mask has no effect: every position attends to everything, the future and padding "
    "included.",
    why="Without it no shape is wrong, but the model learns to copy the answer.",
    hint="Does your code use the mask, and does the result reach softmax? Note that masked_fill "
    "without _ returns a new tensor.",
)
def mask_removed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _context(_scores(query, key).softmax(dim=-1), value)


@item.misconception(
    "All heads use the mask of head 0.",
    why="A mask that's the same for all heads is the usual case, and your line is right for it. "
    "But a mask may also differ between heads.",
    hint="Which part of a mask (B, H, Q, K) does your code use? You can move an axis without "
    "selecting from it.",
)
def only_the_first_heads_mask(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _attention_in_letters(query, key, value, mask[:, :1])


@item.misconception(
    "You hide weights after softmax: the remaining ones don't sum to one.",
    why="Softmax has already given the hidden keys their share, and that share is lost.",
    hint="Mask where line 4 does: before softmax.",
)
def hidden_too_late(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    weights = _scores(query, key).softmax(dim=-1)
    return _context(weights.masked_fill(~mask.transpose(1, 2), 0.0), value)


@item.misconception(
    "The axes are right now, but hidden scores get a number that isn't low enough.",
    why="The exponential of a moderate number isn't zero: hidden positions keep some weight, and "
    "the future still leaks in.",
    hint="You changed the axes. What was the number in line 4?",
)
def not_low_enough(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return _filled_with(-10.0, query, key, value, mask)


def _filled_with(number: float, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    scores = _scores(query, key).masked_fill(~mask.transpose(1, 2), number)
    return _context(scores.softmax(dim=-1), value)


item.spelling("not_low_enough")(partial(_filled_with, 0.0))
item.spelling("not_low_enough")(partial(_filled_with, -1.0))
