"""11.masked_accuracy: How many tokens are right."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.training import metrics


def _guesses(draw: Draw, labels: Tensor, *, pad_id: int = 0, vocab: int = 9) -> Call:
    """Logits that are right at some places; pads are often called pads, words sometimes."""
    at_random = draw.ids(*labels.shape, low=0, high=vocab - 1)
    said = torch.where(draw.mask(*labels.shape, share=0.5), labels, at_random)
    said = said.masked_fill(draw.mask(*labels.shape, share=0.15), pad_id)
    logits = draw.normal(*labels.shape, vocab) + 20.0 * F.one_hot(said, vocab)
    about = f"{labels.size(0)} × {labels.size(1)} labels, {vocab} words, pad_id {pad_id}"
    return Call((logits, labels, pad_id), about=about)


item = Item(
    "11.masked_accuracy",
    reference=metrics.masked_accuracy,
    probes=[
        Probe(
            "without pads it is the share of right tokens",
            lambda draw: [
                _guesses(draw, draw.ids(3, 8, high=8)),
                _guesses(draw, draw.ids(1, 5, high=8)),
            ],
        ),
        Probe(
            "pads are not counted, neither as right nor as tokens",
            lambda draw: [
                _guesses(draw, draw.tokens(6, 9, high=8)),
                _guesses(draw, draw.tokens(5, 7, high=8, left=True)),
            ],
        ),
        Probe(
            "a real token that is taken for a pad is wrong",
            lambda draw: [_all_pads_said(draw), _guesses(draw, draw.tokens(8, 6, high=8))],
        ),
        Probe(
            "any pad_id",
            lambda draw: [_guesses(draw, draw.tokens(4, 9, pad_id=5, high=8), pad_id=5)],
        ),
        Probe(
            "a batch of pads alone has the accuracy 0, not NaN",
            lambda draw: [_guesses(draw, torch.full((2, 4), 3), pad_id=3)],
        ),
        Probe(
            "any sizes, equal ones too, and logits of any height",
            lambda draw: [
                _guesses(draw, draw.tokens(9, 9, high=8)),
                _negative(draw),
                _single(draw),
            ],
        ),
    ],
    hints=(
        "Two questions for each place: is it real, and is the likeliest word the right one?",
        "argmax over V gives (B, T), compare it with the labels. Count the places where both "
        "hold, and divide by the number of real ones.",
        "real = labels != pad_id\n"
        "right = (logits.argmax(...) == labels) & ...\n"
        "right.sum() / real.sum().clamp(min=...)",
    ),
)


def _all_pads_said(draw: Draw) -> Call:
    labels = draw.tokens(3, 5, high=8)
    logits = draw.normal(3, 5, 9)
    logits[:2, :, 0] += 20.0  # the last sentence is guessed at random
    return Call((logits, labels, 0), about="the model says pad nearly everywhere")


def _negative(draw: Draw) -> Call:
    call = _guesses(draw, draw.tokens(4, 4, high=3), vocab=4)
    logits, labels, pad_id = call.args
    return Call((logits - 100.0, labels, pad_id), about="all logits are far below zero")


def _single(draw: Draw) -> Call:
    labels = draw.ids(1, 1, high=5)
    logits = draw.normal(1, 1, 6) + 20.0 * F.one_hot(labels, 6)
    return Call((logits, labels, 0), about="a single token, and it is right")


def _right(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.argmax(dim=-1) == labels


@item.misconception(
    "Your accuracy counts the pads like words.",
    why="A pad that says pad counts as right. Where half of a batch is pads, a model that "
    "says nothing else would be half right.",
    hint="Which places of the batch are tokens?",
)
def counts_pads(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels).float().mean())


@item.misconception(
    "Your accuracy leaves out pads that are right, but divides by all places.",
    why="More padding then makes the same model look worse.",
    hint="Divide by the number of places that could have been right.",
)
def out_of_all_places(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float((_right(logits, labels) & (labels != pad_id)).float().mean())


@item.misconception(
    "Your accuracy divides by the real tokens, but counts pads that are right.",
    why="It can get above 1.",
    hint="Above the line, too, only real tokens count.",
)
def more_than_all(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels).sum() / (labels != pad_id).sum().clamp(min=1))


@item.misconception(
    "Your code leaves out the places where the model says pad, not those where the label is pad.",
    why="A model could raise its accuracy by saying pad whenever it is not sure.",
    hint="Who decides whether a place is real: the label, or the prediction?",
)
def leaves_out_said_pads(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    said = logits.argmax(dim=-1) != pad_id
    return float((_right(logits, labels) & said).sum() / said.sum().clamp(min=1))


@item.misconception(
    "Your accuracy is the mean over sentences of each sentence's accuracy.",
    why="A word of a short sentence then weighs more than a word of a long one.",
    hint="Count over the whole batch, and divide once.",
)
def mean_over_sentences(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    real = labels != pad_id
    right = (_right(logits, labels) & real).sum(dim=1)
    return float((right / real.sum(dim=1).clamp(min=1)).mean())


@item.misconception(
    "Your accuracy counts sentences that are right as a whole.",
    why="That is a harder measure. Here each token counts by itself.",
    hint="Is there an .all() too many?",
)
def whole_sentences(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    real = labels != pad_id
    right = (_right(logits, labels) | ~real).all(dim=1) & real.any(dim=1)
    return float(right.float().mean())


@item.misconception(
    "A batch of pads alone has the accuracy NaN.",
    why="There, 0 is divided by 0, and one such batch makes the mean of an epoch NaN.",
    hint="What is the smallest number of tokens that you may divide by?",
)
def nothing_of_nothing(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels)[labels != pad_id].float().mean())


@item.misconception(
    "Your accuracy is in per cent.",
    why="The task asks for a share, from 0 to 1.",
    hint="Who multiplies by 100?",
)
def in_per_cent(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return 100 * metrics.masked_accuracy(logits, labels, pad_id)
