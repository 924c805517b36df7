"""11.masked_accuracy: the share of real tokens that are predicted correctly."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.training import metrics


def _predictions(draw: Draw, labels: Tensor, *, pad_id: int = 0, vocab: int = 9) -> Call:
    """Logits that are right at some positions; padding is often predicted, rightly or wrongly."""
    at_random = draw.ids(*labels.shape, low=0, high=vocab - 1)
    predicted = torch.where(draw.mask(*labels.shape, share=0.5), labels, at_random)
    predicted = predicted.masked_fill(draw.mask(*labels.shape, share=0.15), pad_id)
    logits = draw.normal(*labels.shape, vocab) + 20.0 * F.one_hot(predicted, vocab)
    about = f"{labels.size(0)} × {labels.size(1)} labels, V = {vocab}, pad_id {pad_id}"
    return Call((logits, labels, pad_id), about=about)


item = Item(
    "11.masked_accuracy",
    reference=metrics.masked_accuracy,
    probes=[
        Probe(
            "without padding it is the share of tokens that are right",
            lambda draw: [
                _predictions(draw, draw.ids(3, 8, high=8)),
                _predictions(draw, draw.ids(1, 5, high=8)),
            ],
        ),
        Probe(
            "padding isn't counted, neither as right nor as a token",
            lambda draw: [
                _predictions(draw, draw.tokens(6, 9, high=8)),
                _predictions(draw, draw.tokens(5, 7, high=8, left=True)),
            ],
        ),
        Probe(
            "a real token for which padding is predicted is wrong",
            lambda draw: [_padding_predicted(draw), _predictions(draw, draw.tokens(8, 6, high=8))],
        ),
        Probe(
            "any pad_id",
            lambda draw: [_predictions(draw, draw.tokens(4, 9, pad_id=5, high=8), pad_id=5)],
        ),
        Probe(
            "a batch of padding only has the accuracy 0, not NaN",
            lambda draw: [_predictions(draw, torch.full((2, 4), 3), pad_id=3)],
        ),
        Probe(
            "any sizes, equal ones too, and logits of any magnitude",
            lambda draw: [
                _predictions(draw, draw.tokens(9, 9, high=8)),
                _negative(draw),
                _single(draw),
            ],
        ),
    ],
    hints=(
        "Two questions for each position: is it real, and is the most probable token the right "
        "one?",
        "argmax over V gives (B, T); compare it with the labels. Count the positions where both "
        "hold, and divide by the number of real ones.",
        "real = labels != pad_id\n"
        "right = (logits.argmax(...) == labels) & ...\n"
        "right.sum() / real.sum().clamp(min=...)",
    ),
)


def _padding_predicted(draw: Draw) -> Call:
    labels = draw.tokens(3, 5, high=8)
    logits = draw.normal(3, 5, 9)
    logits[:2, :, 0] += 20.0  # the last sentence is predicted at random
    return Call((logits, labels, 0), about="the model predicts padding nearly everywhere")


def _negative(draw: Draw) -> Call:
    call = _predictions(draw, draw.tokens(4, 4, high=3), vocab=4)
    logits, labels, pad_id = call.args
    return Call((logits - 100.0, labels, pad_id), about="all logits are far below zero")


def _single(draw: Draw) -> Call:
    labels = draw.ids(1, 1, high=5)
    logits = draw.normal(1, 1, 6) + 20.0 * F.one_hot(labels, 6)
    return Call((logits, labels, 0), about="a single token, and it is right")


def _right(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.argmax(dim=-1) == labels


@item.misconception(
    "Your accuracy counts padding as if it were text.",
    why="Padding predicted as padding counts as right. In a batch that is half padding, a model "
    "that predicts nothing else would be half right.",
    hint="Which positions of the batch are real tokens?",
)
def counts_pads(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels).float().mean())


@item.misconception(
    "Your accuracy leaves correctly predicted padding out of the count, but divides by all "
    "positions.",
    why="More padding then makes the same model look worse.",
    hint="Divide by the number of positions that could have been right.",
)
def out_of_all_positions(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float((_right(logits, labels) & (labels != pad_id)).float().mean())


@item.misconception(
    "Your accuracy divides by the real tokens, but counts correctly predicted padding.",
    why="It can get above 1.",
    hint="In the numerator, too, only real tokens count.",
)
def more_than_all(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels).sum() / (labels != pad_id).sum().clamp(min=1))


@item.misconception(
    "Your code leaves out the positions where the model predicts padding, not those where the "
    "label is padding.",
    why="A model could raise its accuracy by predicting padding whenever it is unsure.",
    hint="What decides whether a position is real: the label, or the prediction?",
)
def leaves_out_predicted_padding(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    counted = logits.argmax(dim=-1) != pad_id
    return float((_right(logits, labels) & counted).sum() / counted.sum().clamp(min=1))


@item.misconception(
    "Your accuracy is the mean over sentences of each sentence's accuracy.",
    why="A token of a short sentence then counts more than a token of a long one.",
    hint="Count over the whole batch, and divide once.",
)
def mean_over_sentences(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    real = labels != pad_id
    right = (_right(logits, labels) & real).sum(dim=1)
    return float((right / real.sum(dim=1).clamp(min=1)).mean())


@item.misconception(
    "Your accuracy counts sentences in which every token is right.",
    why="That's a stricter measure. Here each token counts by itself.",
    hint="Is there one .all() too many?",
)
def whole_sentences(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    real = labels != pad_id
    right = (_right(logits, labels) | ~real).all(dim=1) & real.any(dim=1)
    return float(right.float().mean())


@item.misconception(
    "A batch of padding only has the accuracy NaN.",
    why="You divide 0 by 0, and one such batch makes the mean of an epoch NaN.",
    hint="What is the smallest number of tokens that you may divide by?",
)
def nothing_of_nothing(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels)[labels != pad_id].float().mean())


@item.misconception(
    "Your accuracy is a percentage.",
    why="The task asks for a share from 0 to 1.",
    hint="Which line multiplies by 100?",
)
def in_per_cent(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return 100 * metrics.masked_accuracy(logits, labels, pad_id)
