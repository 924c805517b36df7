"""15.bug_1: a decoding step that is right for a batch of one."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe

NEXT = """\
def append_next(logits, prefix):
    flat = logits.flatten(0, 1)
    last = flat[-1:]
    token = last.argmax(dim=-1, keepdim=True)
    token = token.expand(prefix.size(0), 1)
    return torch.cat((prefix, token), dim=1)
"""


def _append_next(logits: Tensor, prefix: Tensor) -> Tensor:
    return _with_best(logits[:, -1], prefix)


def _with_best(chosen: Tensor, prefix: Tensor) -> Tensor:
    """The prefix (B, T) and the most probable token of these logits, (B, V) or (1, V)."""
    token = chosen.argmax(dim=-1, keepdim=True)
    return torch.cat((prefix, token.expand(prefix.size(0), 1)), dim=1)


def _step(draw: Draw, batch: int, length: int, about: str, *, vocab: int = 30) -> Call:
    """Logits (B, T, V) in which no two positions have the same best token, and a prefix."""
    best = torch.randperm(vocab, generator=draw.generator)[: batch * length].view(batch, length)
    logits = draw.normal(batch, length, vocab)
    logits = logits.scatter(-1, best[..., None], logits.amax(dim=-1, keepdim=True) + 0.5)
    return Call((logits, draw.ids(batch, length)), about=about)


item = Item(
    "15.bug_1",
    reference=_append_next,
    bug=Bug(NEXT, line=3),
    probes=[
        Probe(
            "each sentence gets its own token",
            lambda draw: [
                _step(draw, 3, 5, "three sentences of five tokens"),
                _step(draw, 4, 2, "four sentences of two tokens"),
            ],
        ),
        Probe(
            "the token is the one predicted at the last position",
            lambda draw: [
                _step(draw, 1, 6, "a single sentence"),
                _step(draw, 2, 9, "two sentences of nine tokens"),
            ],
        ),
        Probe(
            "as many sentences as tokens, or one token each",
            lambda draw: [
                _step(draw, 4, 4, "four sentences of four tokens"),
                _step(draw, 5, 1, "the first token of five sentences"),
                _step(draw, 1, 1, "the first token of one sentence"),
            ],
        ),
    ],
    hints=(
        "For each line, say which shape it produces for one sentence, and then for three.",
        "After line 2 the rows of all sentences are stacked one after the other. Which of them is "
        "the last of its sentence?",
        "torch.arange(12)[2::5] is 2 7: the slice starts at 2 and takes every fifth number. Where "
        "in `flat` is the last row of the first sentence, and how many rows further is that of "
        "the second? You can also index logits directly, which still has its batch axis.",
    ),
)


@item.misconception(
    "All sentences still get the same token, the one of the last sentence.",
    why="With one sentence it's right, and the author never translated two at once. expand and "
    "broadcasting make the shape fit, so there's no error.",
    hint="From how many rows of logits do you choose a token, and how many should it be?",
)
def one_word_for_all(logits: Tensor, prefix: Tensor) -> Tensor:
    return _with_best(logits[-1:, -1], prefix)


@item.misconception(
    "You take the last rows of the flattened logits, one for each sentence: with several tokens, "
    "only the very last row is right.",
    why="flatten stacks sentence after sentence, so the last positions of the sentences aren't "
    "neighbours.",
    hint="How far apart in the flattened logits are the ends of two sentences?",
)
def the_last_rows(logits: Tensor, prefix: Tensor) -> Tensor:
    return _with_best(logits.flatten(0, 1)[-prefix.size(0) :], prefix)


@item.misconception(
    "You take the first position of each sentence.",
    why="The first position predicts the first token, which was generated long ago.",
    hint="Look at the row that you take for the second sentence: which token does it predict?",
)
def the_first_positions(logits: Tensor, prefix: Tensor) -> Tensor:
    return _with_best(logits[:, 0], prefix)


@item.misconception(
    "You take the second-to-last position of each sentence.",
    why="It predicts the last token of the prefix again, so the model would repeat itself.",
    hint="Which position has seen the whole prefix? Rows count from 0.",
)
def last_but_one(logits: Tensor, prefix: Tensor) -> Tensor:
    return _with_best(logits[:, max(logits.size(1) - 2, 0)], prefix)


@item.misconception(
    "The new token comes before the others.",
    why="The model reads the prefix from left to right: the new token goes at the end.",
    hint="Line 6 was right as it was.",
)
def put_in_front(logits: Tensor, prefix: Tensor) -> Tensor:
    return torch.cat((logits[:, -1].argmax(dim=-1, keepdim=True), prefix), dim=1)


@item.misconception(
    "You return only the new tokens.",
    why="The next step needs the whole prefix, (B, T + 1).",
    hint="Line 6 was right as it was.",
)
def only_the_new_words(logits: Tensor, prefix: Tensor) -> Tensor:
    return logits[:, -1].argmax(dim=-1, keepdim=True)
