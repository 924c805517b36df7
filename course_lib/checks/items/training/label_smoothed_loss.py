"""11.label_smoothed_loss: cross-entropy with softened labels."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.training import loss


def _smoothed(
    draw: Draw,
    labels: Tensor,
    smoothing: float,
    *,
    pad_id: int = 0,
    vocab: int = 11,
    std: float = 2.0,
    dtype: torch.dtype = torch.float32,
) -> Call:
    logits = draw.normal(*labels.shape, vocab, std=std, dtype=dtype)
    about = f"{labels.size(0)} × {labels.size(1)} labels, V = {vocab}, smoothing {smoothing}"
    return Call((logits, labels, pad_id, smoothing), about=about)


def _shares(draw: Draw) -> list[Call]:
    full = draw.ids(2, 4, high=10)
    return [_smoothed(draw, full, smoothing) for smoothing in (0.1, 0.3, 1.0)]


def _padded(draw: Draw) -> list[Call]:
    return [
        _smoothed(draw, draw.tokens(4, 7, high=10), 0.1),
        _smoothed(draw, draw.tokens(3, 5, high=10, left=True), 0.2),
        _smoothed(draw, draw.tokens(3, 6, pad_id=4, high=10), 0.1, pad_id=4),
    ]


item = Item(
    "11.label_smoothed_loss",
    reference=loss.label_smoothed_loss,
    probes=[
        Probe("the share `smoothing` of each label is divided equally among all V tokens", _shares),
        Probe("padding isn't counted, in the sum or in the divisor", _padded),
        Probe(
            "with smoothing 0 it is the masked cross-entropy",
            lambda draw: [_smoothed(draw, draw.tokens(3, 5, high=10), 0.0)],
        ),
        Probe(
            "a batch of padding only has the loss 0, not NaN",
            lambda draw: [_smoothed(draw, torch.full((2, 3), 2), 0.1, pad_id=2)],
        ),
        Probe(
            "any sizes, float64, and logits in the hundreds",
            lambda draw: [
                _smoothed(draw, draw.tokens(2, 4, high=1), 0.1, vocab=2),
                _smoothed(draw, draw.ids(1, 1, high=6), 0.1, vocab=7),
                _smoothed(draw, draw.tokens(5, 5, high=4), 0.1, vocab=5, dtype=torch.float64),
                _smoothed(draw, draw.tokens(3, 4, high=10), 0.1, std=300.0),
            ],
        ),
        Probe(
            "the gradient reaches all real positions, and no padding",
            lambda draw: [
                Call(call.args, about=call.about, gradients=True)
                for call in (*_padded(draw), *_shares(draw)[:1])
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Compute two numbers for each position: the surprise of the right token, and the mean "
        "surprise of all tokens.",
        "Take log_softmax over V. Gather the right token's value for the first number, and take "
        "the mean over V for the second. Mix them, keep the real positions, divide by how many "
        "there are.",
        "mixed = (1 - smoothing) * ... + smoothing * ..., both (B, T)\n"
        "real = labels != pad_id\n"
        "mixed[real].sum() / real.sum().clamp(min=...)",
    ),
)


def _mixed(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """The smoothed loss of each position, (B, T)."""
    log_p = logits.log_softmax(dim=-1)
    surprise = -log_p.gather(-1, labels[..., None])[..., 0]
    return (1 - smoothing) * surprise - smoothing * log_p.mean(dim=-1)


def _real_mean(numbers: Tensor, real: Tensor) -> Tensor:
    return numbers[real].sum() / real.sum().clamp(min=1)


@item.misconception(
    "Your loss counts padding as if it were text.",
    why="A model soon knows that padding follows padding. The mean then falls with the amount of "
    "padding and says little about the real tokens.",
    hint="Which positions have a label that anyone will ever read?",
)
def pads_counted(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing).mean()


@item.misconception(
    "Your loss leaves padding out of the sum, but divides by all positions.",
    why="Then the same sentences have a lower loss in a batch with more padding.",
    hint="How many numbers did you add up? Divide by that.",
)
def divides_by_all_positions(
    logits: Tensor, labels: Tensor, pad_id: int, smoothing: float
) -> Tensor:
    mixed = _mixed(logits, labels, smoothing)
    return mixed.masked_fill(labels == pad_id, 0.0).mean()


@item.misconception(
    "Your loss is the mean over sentences of each sentence's mean.",
    why="A token of a short sentence then counts more than a token of a long one.",
    hint="Add up over the whole batch first, and divide once.",
)
def mean_of_sentences(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    real = labels != pad_id
    mixed = _mixed(logits, labels, smoothing).masked_fill(~real, 0.0)
    return (mixed.sum(dim=1) / real.sum(dim=1).clamp(min=1)).mean()


@item.misconception(
    "Your loss is a sum over the tokens, not a mean.",
    why="It then grows with the batch, and so does the gradient.",
    hint="Nats per token: what do you have to divide by?",
)
def not_divided(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing)[labels != pad_id].sum()


@item.misconception(
    "A batch of padding only has the loss NaN.",
    why="You divide 0 by 0. One batch like that, and every weight is NaN after the next step.",
    hint="What is the smallest number of tokens that you may divide by?",
)
def nothing_by_nothing(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing)[labels != pad_id].mean()


@item.misconception(
    "Your `smoothing` goes only to the V − 1 wrong tokens.",
    why="Then the right token keeps exactly 1 − smoothing. Here all V tokens get a share, the "
    "right one as well: it ends up with 1 − smoothing + smoothing / V.",
    hint="The task divides it among all V tokens. Is the right token one of them?",
)
def shared_by_the_others(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    others = (log_p.sum(dim=-1) - right) / (logits.size(-1) - 1)
    return _real_mean(-(1 - smoothing) * right - smoothing * others, labels != pad_id)


@item.misconception(
    "Your `smoothing` leaves out the pad token: it goes only to the other tokens.",
    why="That's a sensible choice, but a different loss: here all V tokens get a share, the pad "
    "token included. What's left out are the positions whose label is padding.",
    hint="Positions and vocabulary are two axes. Which of them does pad_id refer to?",
)
def no_share_for_the_pad(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    words = (log_p.sum(dim=-1) - log_p[..., pad_id]) / (logits.size(-1) - 1)
    return _real_mean(-(1 - smoothing) * right - smoothing * words, labels != pad_id)


@item.misconception(
    "Your `smoothing` isn't divided by V: every token gets all of it.",
    why="With a vocabulary of 30,000 and smoothing 0.1, the smoothing would have a weight of 3,000 "
    "and the label 0.9.",
    hint="The share is divided among V tokens: what does each of them get?",
)
def a_share_for_each(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    mixed = -(1 - smoothing) * right - smoothing * log_p.sum(dim=-1)
    return _real_mean(mixed, labels != pad_id)


@item.misconception(
    "Your two parts are swapped: the right token gets the small share.",
    why="With smoothing 0.1 the label would be nine tenths uniform.",
    hint="With smoothing 0, which part should be left?",
)
def parts_exchanged(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits, labels, 1 - smoothing), labels != pad_id)


@item.misconception(
    "Your loss does not depend on smoothing.",
    why="Without smoothing, the loss is lowest for infinite logits: the label allows no "
    "uncertainty.",
    hint="With smoothing 1, all tokens should be equally right.",
)
def smoothing_ignored(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits, labels, 0.0), labels != pad_id)


@item.misconception(
    "Your code applies softmax twice: once itself, and once more in the loss.",
    why="The second softmax takes numbers between 0 and 1 for logits, so no token can be more than "
    "e times as probable as another. The loss can't fall far.",
    hint="cross_entropy and log_softmax expect logits, not probabilities.",
)
def softmax_twice(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits.softmax(dim=-1), labels, smoothing), labels != pad_id)
