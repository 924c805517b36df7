"""11.label_smoothed_loss: Room for doubt."""

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
    size = f"{labels.size(0)} × {labels.size(1)} labels, {vocab} words, smoothing {smoothing}"
    return Call((logits, labels, pad_id, smoothing), about=size)


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
        Probe("a share `smoothing` of each label goes to all V words alike", _shares),
        Probe("pads are not counted, neither above nor below the line", _padded),
        Probe(
            "with smoothing 0 it is the masked cross-entropy",
            lambda draw: [_smoothed(draw, draw.tokens(3, 5, high=10), 0.0)],
        ),
        Probe(
            "a batch of pads alone has the loss 0, not NaN",
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
            "the gradient reaches all real places, and no pad",
            lambda draw: [
                Call(call.args, about=call.about, gradients=True)
                for call in (*_padded(draw), *_shares(draw)[:1])
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Compute two numbers for each place: the surprise of the right token, and the mean "
        "surprise of all tokens.",
        "log_softmax over V. Gather the right token's value for the first number, take the mean "
        "over V for the second. Mix them, keep the real places, divide by how many there are.",
        "mixed = (1 - smoothing) * ... + smoothing * ..., both (B, T)\n"
        "real = labels != pad_id\n"
        "mixed[real].sum() / real.sum().clamp(min=...)",
    ),
)


def _mixed(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """The smoothed loss of each place, (B, T)."""
    log_p = logits.log_softmax(dim=-1)
    surprise = -log_p.gather(-1, labels[..., None])[..., 0]
    return (1 - smoothing) * surprise - smoothing * log_p.mean(dim=-1)


def _real_mean(numbers: Tensor, real: Tensor) -> Tensor:
    return numbers[real].sum() / real.sum().clamp(min=1)


@item.misconception(
    "Your loss counts the pads like words.",
    why="A model soon knows that pads follow pads. The mean then falls with the padding and says "
    "little about the words.",
    hint="Which places have a label that somebody will ever read?",
)
def pads_counted(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing).mean()


@item.misconception(
    "Your loss leaves the pads out of the sum, but divides by all places.",
    why="Then the same words have a lower loss in a batch with more padding.",
    hint="How many numbers have you added up? Divide by that.",
)
def divides_by_all_places(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    mixed = _mixed(logits, labels, smoothing)
    return mixed.masked_fill(labels == pad_id, 0.0).mean()


@item.misconception(
    "Your loss is the mean over sentences of each sentence's mean.",
    why="A word of a short sentence then weighs more than a word of a long one.",
    hint="Add up over the whole batch first, and divide once.",
)
def mean_of_sentences(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    real = labels != pad_id
    mixed = _mixed(logits, labels, smoothing).masked_fill(~real, 0.0)
    return (mixed.sum(dim=1) / real.sum(dim=1).clamp(min=1)).mean()


@item.misconception(
    "Your loss is a sum over the tokens, not a mean.",
    why="It then grows with the batch, and so does every step that is taken by it.",
    hint="Nats per token: something has to be divided.",
)
def not_divided(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing)[labels != pad_id].sum()


@item.misconception(
    "A batch of pads alone has the loss NaN.",
    why="There, 0 is divided by 0. One such batch, and every weight is NaN after the next step.",
    hint="What is the smallest number of tokens that you may divide by?",
)
def nothing_by_nothing(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing)[labels != pad_id].mean()


@item.misconception(
    "Your share goes to the wrong words only, V − 1 of them.",
    why="Then the right word keeps 1 − smoothing. Here all V words get their part, the right one "
    "as well: it keeps 1 − smoothing + smoothing / V.",
    hint="The task says 'to all V words alike'. Is the right word one of them?",
)
def shared_by_the_others(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    others = (log_p.sum(dim=-1) - right) / (logits.size(-1) - 1)
    return _real_mean(-(1 - smoothing) * right - smoothing * others, labels != pad_id)


@item.misconception(
    "Your share leaves out the word pad: it is handed to the other words only.",
    why="It is a sensible thing to do, but another loss: here all V words get their part, pad, "
    "too. What is left out are the places whose label is pad.",
    hint="Places and words are two axes. Which of them does pad_id speak of?",
)
def no_share_for_the_pad(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    words = (log_p.sum(dim=-1) - log_p[..., pad_id]) / (logits.size(-1) - 1)
    return _real_mean(-(1 - smoothing) * right - smoothing * words, labels != pad_id)


@item.misconception(
    "Your share is not divided by V: every word gets all of it.",
    why="With 30,000 words and smoothing 0.1, the doubt would weigh 3,000 and the label 0.9.",
    hint="The share is handed out: what does one word of V get?",
)
def a_share_for_each(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    mixed = -(1 - smoothing) * right - smoothing * log_p.sum(dim=-1)
    return _real_mean(mixed, labels != pad_id)


@item.misconception(
    "Your two parts have changed places: the right word gets the small share.",
    why="With smoothing 0.1 the label would be nine tenths doubt.",
    hint="With smoothing 0, which part has to be left over?",
)
def parts_exchanged(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits, labels, 1 - smoothing), labels != pad_id)


@item.misconception(
    "Your loss does not depend on smoothing.",
    why="It asks for infinite logits: the label leaves no room for doubt.",
    hint="With smoothing 1, all words should be equally right.",
)
def no_doubt(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits, labels, 0.0), labels != pad_id)


@item.misconception(
    "Your code takes the softmax twice: once itself, once more in the loss.",
    why="A second softmax sees numbers between 0 and 1 as logits, and no word can be likelier "
    "than e times another. The loss cannot fall far.",
    hint="cross_entropy and log_softmax want logits, not probabilities.",
)
def softmax_twice(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits.softmax(dim=-1), labels, smoothing), labels != pad_id)
