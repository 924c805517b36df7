"""Items of lesson 11: what to count, how far to step. The score of translations: ``bleu``.

B batch, T target length, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.bleu import bleu as bleu
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.training import loss, metrics, schedules

# --- 11.inverse_sqrt_lr --------------------------------------------------------------------------


def _rates(
    rate: Callable[..., Any], steps: Sequence[int], d_model: int, warmup: int
) -> dict[str, Any]:
    return {f"step {step}": rate(step, d_model, warmup) for step in steps}


def _schedule(draw: Draw, *steps: int, d_model: int, warmup: int) -> Call:
    about = f"d_model {d_model}, {warmup} steps of warm-up"
    return Call((list(steps), d_model, warmup), about=about)


inverse_sqrt_lr = Item(
    "11.inverse_sqrt_lr",
    reference=schedules.inverse_sqrt_lr,
    use=_rates,
    tolerance=1e-6,
    probes=[
        Probe(
            "the rate rises in proportion to the step while it warms up",
            lambda draw: [
                _schedule(draw, 1, 2, 5, 10, d_model=16, warmup=20),
                _schedule(draw, 1, 7, d_model=8, warmup=draw.integer(30, 40)),
            ],
        ),
        Probe(
            "the peak is at step warmup, and is 1 / √(d_model · warmup)",
            lambda draw: [
                _schedule(draw, 24, 25, 26, d_model=4, warmup=25),
                _schedule(draw, 3999, 4000, 4001, d_model=128, warmup=4000),
            ],
        ),
        Probe(
            "after the peak, four times the steps have half the rate",
            lambda draw: [
                _schedule(draw, 9, 36, 144, draw.integer(200, 300), d_model=8, warmup=9),
                _schedule(draw, 4000, 16_000, 100_000, d_model=512, warmup=4000),
            ],
        ),
        Probe(
            "four times the width has half the rate",
            lambda draw: [
                _schedule(draw, 3, 50, d_model=width, warmup=10) for width in (1, 4, 16, 64)
            ],
        ),
        Probe(
            "a warm-up of one step begins at the peak",
            lambda draw: [_schedule(draw, 1, 2, 100, d_model=draw.integer(3, 9), warmup=1)],
        ),
    ],
    hints=(
        "Two curves, one that rises with the step and one that falls. Which of them counts at a "
        "step?",
        "Equation (3) of the paper: d_model^−0.5 times the smaller of step^−0.5 and "
        "step · warmup^−1.5. They are equal at step warmup.",
        "d_model ** ... * min(step ** ..., step * warmup ** ...)",
    ),
)


@inverse_sqrt_lr.mistake(
    "Your rate takes the larger of the two curves where the smaller is due.",
    why="It starts far too high and falls to the peak's height, then it grows without end.",
    hint="Put in step 1: which of the two numbers is the careful one?",
)
def the_larger_one(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


@inverse_sqrt_lr.mistake(
    "Your rate has no warm-up: it is highest at step 1.",
    why="Adam's first steps are as long as the rate, for every weight, however little its "
    "gradient means: a random model is thrown about.",
    hint="The task names two curves. Yours is the one that falls.",
)
def no_warm_up(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * step**-0.5)


@inverse_sqrt_lr.mistake(
    "Your rate stays at the peak after the warm-up.",
    why="Without a fall, the last steps are as long as the longest, and the model never settles.",
    hint="What becomes of the rate at step 4 · warmup?",
)
def never_falls(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * min(warmup**-0.5, step * warmup**-1.5))


@inverse_sqrt_lr.mistake(
    "Your rate is one step ahead: you count the steps from 0.",
    why="The step that you are given counts from 1, as the paper's does. Whoever counts from 0 "
    "adds the 1 outside.",
    hint="What is `step` in the first call of a training?",
)
def counts_from_zero(step: int, d_model: int, warmup: int) -> float:
    return schedules.inverse_sqrt_lr(step + 1, d_model, warmup)


@inverse_sqrt_lr.mistake(
    "Your rate does not depend on d_model.",
    why="A wider model adds up more products in each sum, and the paper gives it shorter steps.",
    hint="One factor of equation (3) is missing.",
)
def any_width(step: int, d_model: int, warmup: int) -> float:
    return float(min(step**-0.5, step * warmup**-1.5))


@inverse_sqrt_lr.mistake(
    "Your rate grows with the width: it is multiplied by √d_model.",
    why="It is divided by it: the exponent is −0.5. At width 512 yours is 512 times too large.",
    hint="Mind the sign of an exponent.",
)
def grows_with_the_width(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**0.5 * min(step**-0.5, step * warmup**-1.5))


@inverse_sqrt_lr.mistake(
    "Your rising curve is step / warmup: it reaches 1 at the end of the warm-up, and meets the "
    "falling curve long before.",
    why="The two have to meet at step warmup, so the rising one must be warmup^−0.5 there.",
    hint="Which exponent of warmup makes both equal at step = warmup?",
)
def rises_to_one(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * min(step**-0.5, step / warmup))


@inverse_sqrt_lr.mistake(
    "Your rate falls exponentially after the warm-up.",
    why="An exponential halves after equal numbers of steps and is soon gone. The inverse square "
    "root halves when the steps are four times as many.",
    hint="'Inverse square root' says it: of what is the root taken?",
)
def falls_exponentially(step: int, d_model: int, warmup: int) -> float:
    peak = (d_model * warmup) ** -0.5
    return float(peak * step / warmup if step <= warmup else peak * 0.5 ** (step / warmup - 1))


# --- 11.label_smoothed_loss ----------------------------------------------------------------------


def _smoothed(
    draw: Draw,
    labels: Tensor,
    smoothing: float,
    *,
    pad_id: int = 0,
    vocab: int = 11,
    spread: float = 2.0,
    dtype: torch.dtype = torch.float32,
) -> Call:
    logits = draw.normal(*labels.shape, vocab, spread=spread, dtype=dtype)
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


label_smoothed_loss = Item(
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
                _smoothed(draw, draw.tokens(3, 4, high=10), 0.1, spread=300.0),
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


@label_smoothed_loss.mistake(
    "Your loss counts the pads like words.",
    why="A model soon knows that pads follow pads. The mean then falls with the padding and says "
    "little about the words.",
    hint="Which places have a label that somebody will ever read?",
)
def pads_counted(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing).mean()


@label_smoothed_loss.mistake(
    "Your loss leaves the pads out of the sum, but divides by all places.",
    why="Then the same words have a lower loss in a batch with more padding.",
    hint="How many numbers have you added up? Divide by that.",
)
def divides_by_all_places(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    mixed = _mixed(logits, labels, smoothing)
    return mixed.masked_fill(labels == pad_id, 0.0).mean()


@label_smoothed_loss.mistake(
    "Your loss is the mean over sentences of each sentence's mean.",
    why="A word of a short sentence then weighs more than a word of a long one.",
    hint="Add up over the whole batch first, and divide once.",
)
def mean_of_sentences(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    real = labels != pad_id
    mixed = _mixed(logits, labels, smoothing).masked_fill(~real, 0.0)
    return (mixed.sum(dim=1) / real.sum(dim=1).clamp(min=1)).mean()


@label_smoothed_loss.mistake(
    "Your loss is a sum over the tokens, not a mean.",
    why="It then grows with the batch, and so does every step that is taken by it.",
    hint="Nats per token: something has to be divided.",
)
def not_divided(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing)[labels != pad_id].sum()


@label_smoothed_loss.mistake(
    "A batch of pads alone has the loss NaN.",
    why="There, 0 is divided by 0. One such batch, and every weight is NaN after the next step.",
    hint="What is the smallest number of tokens that you may divide by?",
)
def nothing_by_nothing(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _mixed(logits, labels, smoothing)[labels != pad_id].mean()


@label_smoothed_loss.mistake(
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


@label_smoothed_loss.mistake(
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


@label_smoothed_loss.mistake(
    "Your share is not divided by V: every word gets all of it.",
    why="With 30,000 words and smoothing 0.1, the doubt would weigh 3,000 and the label 0.9.",
    hint="The share is handed out: what does one word of V get?",
)
def a_share_for_each(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    mixed = -(1 - smoothing) * right - smoothing * log_p.sum(dim=-1)
    return _real_mean(mixed, labels != pad_id)


@label_smoothed_loss.mistake(
    "Your two parts have changed places: the right word gets the small share.",
    why="With smoothing 0.1 the label would be nine tenths doubt.",
    hint="With smoothing 0, which part has to be left over?",
)
def parts_exchanged(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits, labels, 1 - smoothing), labels != pad_id)


@label_smoothed_loss.mistake(
    "Your loss does not depend on smoothing.",
    why="It asks for infinite logits: the label leaves no room for doubt.",
    hint="With smoothing 1, all words should be equally right.",
)
def no_doubt(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits, labels, 0.0), labels != pad_id)


@label_smoothed_loss.mistake(
    "Your code takes the softmax twice: once itself, once more in the loss.",
    why="A second softmax sees numbers between 0 and 1 as logits, and no word can be likelier "
    "than e times another. The loss cannot fall far.",
    hint="cross_entropy and log_softmax want logits, not probabilities.",
)
def softmax_twice(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return _real_mean(_mixed(logits.softmax(dim=-1), labels, smoothing), labels != pad_id)


# --- 11.masked_accuracy --------------------------------------------------------------------------


def _guesses(draw: Draw, labels: Tensor, *, pad_id: int = 0, vocab: int = 9) -> Call:
    """Logits that are right at some places; pads are often called pads, words sometimes."""
    at_random = draw.ids(*labels.shape, low=0, high=vocab - 1)
    said = torch.where(draw.mask(*labels.shape, share=0.5), labels, at_random)
    said = said.masked_fill(draw.mask(*labels.shape, share=0.15), pad_id)
    logits = draw.normal(*labels.shape, vocab) + 20.0 * F.one_hot(said, vocab)
    about = f"{labels.size(0)} × {labels.size(1)} labels, {vocab} words, pad_id {pad_id}"
    return Call((logits, labels, pad_id), about=about)


masked_accuracy = Item(
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


@masked_accuracy.mistake(
    "Your accuracy counts the pads like words.",
    why="A pad that says pad counts as right. Where half of a batch is pads, a model that "
    "says nothing else would be half right.",
    hint="Which places of the batch are tokens?",
)
def counts_pads(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels).float().mean())


@masked_accuracy.mistake(
    "Your accuracy leaves out pads that are right, but divides by all places.",
    why="More padding then makes the same model look worse.",
    hint="Divide by the number of places that could have been right.",
)
def out_of_all_places(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float((_right(logits, labels) & (labels != pad_id)).float().mean())


@masked_accuracy.mistake(
    "Your accuracy divides by the real tokens, but counts pads that are right.",
    why="It can get above 1.",
    hint="Above the line, too, only real tokens count.",
)
def more_than_all(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels).sum() / (labels != pad_id).sum().clamp(min=1))


@masked_accuracy.mistake(
    "Your code leaves out the places where the model says pad, not those where the label is pad.",
    why="A model could raise its accuracy by saying pad whenever it is not sure.",
    hint="Who decides whether a place is real: the label, or the prediction?",
)
def leaves_out_said_pads(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    said = logits.argmax(dim=-1) != pad_id
    return float((_right(logits, labels) & said).sum() / said.sum().clamp(min=1))


@masked_accuracy.mistake(
    "Your accuracy is the mean over sentences of each sentence's accuracy.",
    why="A word of a short sentence then weighs more than a word of a long one.",
    hint="Count over the whole batch, and divide once.",
)
def mean_over_sentences(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    real = labels != pad_id
    right = (_right(logits, labels) & real).sum(dim=1)
    return float((right / real.sum(dim=1).clamp(min=1)).mean())


@masked_accuracy.mistake(
    "Your accuracy counts sentences that are right as a whole.",
    why="That is a harder measure. Here each token counts by itself.",
    hint="Is there an .all() too many?",
)
def whole_sentences(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    real = labels != pad_id
    right = (_right(logits, labels) | ~real).all(dim=1) & real.any(dim=1)
    return float(right.float().mean())


@masked_accuracy.mistake(
    "A batch of pads alone has the accuracy NaN.",
    why="There, 0 is divided by 0, and one such batch makes the mean of an epoch NaN.",
    hint="What is the smallest number of tokens that you may divide by?",
)
def nothing_of_nothing(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(_right(logits, labels)[labels != pad_id].float().mean())


@masked_accuracy.mistake(
    "Your accuracy is in per cent.",
    why="The task asks for a share, from 0 to 1.",
    hint="Who multiplies by 100?",
)
def in_per_cent(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return 100 * metrics.masked_accuracy(logits, labels, pad_id)


# --- 11.bug --------------------------------------------------------------------------------------

BUG = """\
def validation_loss(batches, pad_id):
    total, tokens = 0.0, 0
    for logits, labels in batches:
        weight = labels.numel()
        loss = masked_cross_entropy(logits, labels, pad_id)
        total = total + loss * weight
        tokens = tokens + weight
    return total / tokens
"""
Batches = Sequence[tuple[Tensor, Tensor]]


def _validation_loss(batches: Batches, pad_id: int) -> float:
    weights = [(labels != pad_id).sum() for _, labels in batches]
    return _weighted(batches, pad_id, weights)


def _weighted(batches: Batches, pad_id: int, weights: Sequence[float | Tensor]) -> float:
    losses = [loss.masked_cross_entropy(*batch, pad_id) for batch in batches]
    total = torch.stack([each * weight for each, weight in zip(losses, weights, strict=True)])
    return float(total.sum() / sum(weights))


def _batches(draw: Draw, *sizes: tuple[int, int], pad_id: int = 0) -> Call:
    """Batches of unlike losses; of three, the last is neither the easiest nor the hardest."""
    batches = []
    for i, (rows, length) in enumerate(sizes):
        labels = draw.tokens(rows, length, pad_id=pad_id, high=7)
        easier = (0.0, 4.0, 2.0)[i] * F.one_hot(labels, 8)
        batches.append((draw.normal(rows, length, 8) + easier, labels))
    return Call((batches, pad_id), about=f"batches of {sizes}, pad_id {pad_id}")


def _one_without_words(draw: Draw) -> Call:
    batches, pad_id = _batches(draw, (3, 4), (2, 5)).args
    batches[0][1][:] = pad_id
    return Call((batches, pad_id), about="the first of two batches holds pads alone")


bug = Item(
    "11.bug",
    reference=_validation_loss,
    bug=Bug(BUG, line=4),
    probes=[
        Probe(
            "every real token has the same say, whichever batch it is in",
            lambda draw: [_batches(draw, (4, 7), (2, 3), (5, 9))],
        ),
        Probe(
            "a batch with many pads has no more say than its words",
            lambda draw: [_batches(draw, (1, 6), (6, 8)), _one_without_words(draw)],
        ),
        Probe(
            "any pad_id",
            lambda draw: [_batches(draw, (3, 5), (4, 6), pad_id=3)],
        ),
        Probe("one batch", lambda draw: [_batches(draw, (4, 6))]),
    ],
    tolerance=1e-4,
    hints=(
        "What should not change when the same sentences are put into other batches?",
        "The loss of a batch is a mean. To put means together, each has to be multiplied by the "
        "number of things that it is a mean of.",
        "weight = (labels ... pad_id).sum()",
    ),
)


@bug.mistake(
    "Each batch's loss still weighs as much as the batch has places, pads included.",
    why="The loss is a mean over real tokens. A batch of short sentences, full of pads, has more "
    "say than its words: put the sentences into other batches, and the number changes.",
    hint="Which line says how much a batch weighs?",
)
def weighs_places(batches: Batches, pad_id: int) -> float:
    return _weighted(batches, pad_id, [labels.numel() for _, labels in batches])


@bug.mistake(
    "Each batch's loss weighs as much as the batch has sentences.",
    why="The loss is a mean over tokens, and sentences have unlike many of them.",
    hint="What is masked_cross_entropy a mean of?",
)
def weighs_sentences(batches: Batches, pad_id: int) -> float:
    return _weighted(batches, pad_id, [len(labels) for _, labels in batches])


@bug.mistake(
    "All batches have the same say: it is a mean of means.",
    why="The last batch of an epoch is often small. A word in it would weigh more than others.",
    hint="The weight of a batch depends on what is in it.",
)
def mean_of_means(batches: Batches, pad_id: int) -> float:
    return _weighted(batches, pad_id, [1 for _ in batches])


@bug.mistake(
    "It is the last batch's loss alone.",
    why="It jumps with the order of the batches, though the model is the same.",
    hint="Mend the line, and keep the sum over all batches.",
)
def last_batch(batches: Batches, pad_id: int) -> float:
    return float(loss.masked_cross_entropy(*batches[-1], pad_id))


@bug.mistake(
    "The weights are right for a pad_id of 0 only.",
    why="The pad id is an argument. With another one, pads are counted, and word 0 is not.",
    hint="Compare the labels with the right number.",
)
def pad_is_always_zero(batches: Batches, pad_id: int) -> float:
    weights = [(labels != 0).sum() for _, labels in batches]
    return _weighted(batches, pad_id, weights)


@bug.mistake(
    "The weights count the pads, not the words.",
    why="Then a batch without a pad has no say at all.",
    hint="Is it the places with a pad that are to be counted, or the others?",
)
def weighs_pads(batches: Batches, pad_id: int) -> float:
    weights = [(labels == pad_id).sum() for _, labels in batches]
    return _weighted(batches, pad_id, weights)
