"""06.bug: A mask that hides the wrong thing."""

from __future__ import annotations

import math

from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
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
        "The scores have the axes (batch, heads, query, key). Which of these axes belongs to "
        "the source?",
        "Index real with two None and two colons, so that its second axis lines up with the keys.",
    ),
)


@item.misconception(
    "The padding of the source still masks rows, and these are queries from the target.",
    why="A padding token of the source is a key. If both lengths are equal the code runs without "
    "an error, but it's wrong.",
    hint="Along which axis of the scores does your mask run: that of the queries, or that of the "
    "keys?",
)
def still_rows(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill(~(source != pad_id)[:, None, :, None], -1e9).softmax(dim=-1)


@item.misconception(
    "Your mask is inverted: the real tokens of the source are masked and its padding isn't.",
    why="A score that gets a very low number loses its weight: where there is padding, the "
    "queries attend to nothing else.",
    hint="You found the right axis. Which tokens should get the low score there: real ones or "
    "padding?",
)
def words_hidden(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill((source != pad_id)[:, None, None, :], -1e9).softmax(dim=-1)


@item.misconception(
    "There's no mask any more, or it has no effect: the padding of the source gets weight like "
    "real tokens.",
    why="Without a mask the code works for every shape, but each query attends to padding.",
    hint="Which line hides the padding now, and does its result reach the softmax? The wrong line "
    "has to be fixed, not removed.",
)
def mask_removed(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    return (query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))).softmax(dim=-1)
