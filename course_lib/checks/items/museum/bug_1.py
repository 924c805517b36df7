"""14.bug_1: Right when you are alone."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe

NEXT = """\
def say_next(logits, said):
    places = logits.flatten(0, 1)
    last = places[-1:]
    token = last.argmax(dim=-1, keepdim=True)
    token = token.expand(said.size(0), 1)
    return torch.cat((said, token), dim=1)
"""


def _say_next(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits[:, -1], said)


def _with_best(chosen: Tensor, said: Tensor) -> Tensor:
    """What was said, (B, T), and the best word of these logits, (B, V) or (1, V)."""
    token = chosen.argmax(dim=-1, keepdim=True)
    return torch.cat((said, token.expand(said.size(0), 1)), dim=1)


def _step(draw: Draw, batch: int, length: int, about: str, *, words: int = 30) -> Call:
    """Logits (B, T, V) in which no two places have the same best word, and what was said."""
    best = torch.randperm(words, generator=draw.generator)[: batch * length].view(batch, length)
    logits = draw.normal(batch, length, words)
    logits = logits.scatter(-1, best[..., None], logits.amax(dim=-1, keepdim=True) + 0.5)
    return Call((logits, draw.ids(batch, length)), about=about)


item = Item(
    "14.bug_1",
    reference=_say_next,
    bug=Bug(NEXT, line=3),
    probes=[
        Probe(
            "each sentence gets a word of its own",
            lambda draw: [
                _step(draw, 3, 5, "three sentences of five words"),
                _step(draw, 4, 2, "four sentences of two words"),
            ],
        ),
        Probe(
            "the word is that of the last place",
            lambda draw: [
                _step(draw, 1, 6, "one sentence alone"),
                _step(draw, 2, 9, "two sentences of nine words"),
            ],
        ),
        Probe(
            "as many sentences as words, or one word each",
            lambda draw: [
                _step(draw, 4, 4, "four sentences of four words"),
                _step(draw, 5, 1, "the first word of five sentences"),
                _step(draw, 1, 1, "the first word of one sentence"),
            ],
        ),
    ],
    hints=(
        "Say for each line which shape comes out of it, for one sentence, and then for three.",
        "After line 2 the places of all sentences stand one after the other. Which of them are "
        "the last of a sentence?",
        "places[said.size(1) - 1 :: ...], or straight from logits, which still has its batch.",
    ),
)


@item.misconception(
    "All sentences still get the same word, that of the last sentence.",
    why="With one sentence it is right, and it was never tried with two. expand makes the shape "
    "fit, so no error tells.",
    hint="How many rows does `last` have, and how many should it have?",
)
def one_word_for_all(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits[-1:, -1], said)


@item.misconception(
    "You take the last rows of `places`, as many as there are sentences: all but the last of these "
    "are the wrong ones.",
    why="After flatten, sentence by sentence, the last places of the sentences are not neighbours.",
    hint="How far apart in `places` are the ends of two sentences?",
)
def the_last_rows(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits.flatten(0, 1)[-said.size(0) :], said)


@item.misconception(
    "You take the first place of each sentence.",
    why="What the first place says is the first word, and that was said long ago.",
    hint="Every T-th row is right. Starting with which?",
)
def the_first_places(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits[:, 0], said)


@item.misconception(
    "You take the last place but one of each sentence.",
    why="Its word is the last that was said already, so the model would stutter.",
    hint="Count the rows from 0.",
)
def last_but_one(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits[:, max(logits.size(1) - 2, 0)], said)


@item.misconception(
    "The new word stands in front of the others.",
    why="The model reads what was said from left to right: the new word goes to the end.",
    hint="Line 6 was right as it was.",
)
def put_in_front(logits: Tensor, said: Tensor) -> Tensor:
    return torch.cat((logits[:, -1].argmax(dim=-1, keepdim=True), said), dim=1)


@item.misconception(
    "You return the new words alone.",
    why="The next step needs all that was said so far, (B, T + 1).",
    hint="Line 6 was right as it was.",
)
def only_the_new_words(logits: Tensor, said: Tensor) -> Tensor:
    return logits[:, -1].argmax(dim=-1, keepdim=True)
