"""06.bug: A mask that hides the wrong thing."""

from __future__ import annotations

import math

from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import masks

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
    return masks.masked_softmax(scores, masks.padding_mask(source, pad_id))


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
        Probe("source and target of unlike lengths", lambda draw: [_cross(draw, 3, 5)]),
        Probe("source and target of one length", lambda draw: [_cross(draw, 4, 4)]),
        Probe("any pad_id", lambda draw: [_cross(draw, 2, 6, pad_id=7)]),
    ],
    hints=(
        "Say for each line which shape comes out of it.",
        "scores are (batch, heads, query, key). Which of these axes belongs to the source?",
        "real[...] has to stand where the keys stand.",
    ),
)


@item.misconception(
    "The source's pads still hide rows, the queries, which are the target's.",
    why="A pad of the source is a key. With equal lengths the code runs, and is wrong in silence.",
    hint="The two None and the two colons of one line: are they in the right order?",
)
def still_rows(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill(~(source != pad_id)[:, None, :, None], -1e9).softmax(dim=-1)


@item.misconception(
    "Pads and words are mixed up: the words of the source are hidden and its pads are read.",
    why="`real` is True for words, and masked_fill fills where its mask is True.",
    hint="You found the axes. What does the ~ do there?",
)
def words_hidden(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill((source != pad_id)[:, None, None, :], -1e9).softmax(dim=-1)


@item.misconception(
    "The mask is gone: the source's pads are read like words.",
    why="Without a mask the code fits every shape, but each query gives a share to pads.",
    hint="Mend the line, do not remove it.",
)
def mask_removed(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    return (query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))).softmax(dim=-1)
