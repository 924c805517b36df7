"""06.bug: A mask that hides the wrong thing."""

from __future__ import annotations

import math

from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import masked_softmax, padding_mask

BUG = """\
def cross_attention_weights(query, key, source, pad_id):
    scores = query @ key.transpose(-2, -1)
    scores = scores / math.sqrt(query.size(-1))
    real = source != pad_id
    scores = scores.masked_fill(~real[:, None, :, None], -1e9)
    return scores.softmax(dim=-1)
"""


def _cross_attention_weights(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return masked_softmax(scores, padding_mask(source, pad_id))


def _cross(draw: Draw, target: int, source: int, pad_id: int = 0) -> Call:
    query, key = draw.normal(2, 3, target, 4), draw.normal(2, 3, source, 4)
    tokens = draw.tokens(2, source, pad_id=pad_id)
    about = f"{target} queries, {source} keys, pad_id {pad_id}"
    return Call((query, key, tokens, pad_id), about=about)


item = Item(
    "06.bug",
    reference=_cross_attention_weights,
    bug=Bug(BUG, line=5),
    probes=[
        Probe("source and target have different lengths", lambda draw: [_cross(draw, 3, 5)]),
        Probe("source and target have the same length", lambda draw: [_cross(draw, 4, 4)]),
        Probe("it works for any pad_id", lambda draw: [_cross(draw, 2, 6, pad_id=7)]),
    ],
    hints=(
        "For each line, write down the shape of its result.",
        "scores are (batch, heads, query, key). Which of these axes belongs to the source?",
        "Index real with two None and two colons, so that its second axis lines up with the keys.",
    ),
)


@item.misconception(
    "The padding of the source still masks rows, and these are queries from the target.",
    why="A padding token of the source is a key. If both lengths are equal the code runs without "
    "an error, but it's wrong.",
    hint="One line has two None and two colons. Are they in the right order?",
)
def still_rows(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill(~(source != pad_id)[:, None, :, None], -1e9).softmax(dim=-1)


@item.misconception(
    "Your mask is inverted: the real tokens of the source are masked and its padding isn't.",
    why="`real` is True for real tokens, and masked_fill fills where its mask is True.",
    hint="You found the right axis. What was the ~ for?",
)
def words_hidden(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill((source != pad_id)[:, None, None, :], -1e9).softmax(dim=-1)


@item.misconception(
    "The mask is gone: the padding of the source gets weight like real tokens.",
    why="Without a mask the code works for every shape, but each query attends to padding.",
    hint="Fix the line, don't remove it.",
)
def mask_removed(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    return (query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))).softmax(dim=-1)
