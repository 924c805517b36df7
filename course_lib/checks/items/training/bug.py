"""11.bug: a validation loss with the wrong weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.training import loss

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
    """Batches of different losses; of three, the last is neither the easiest nor the hardest."""
    batches = []
    for i, (rows, length) in enumerate(sizes):
        labels = draw.tokens(rows, length, pad_id=pad_id, high=7)
        easier = (0.0, 4.0, 2.0)[i] * F.one_hot(labels, 8)
        batches.append((draw.normal(rows, length, 8) + easier, labels))
    return Call((batches, pad_id), about=f"batches of {sizes}, pad_id {pad_id}")


def _one_without_tokens(draw: Draw) -> Call:
    batches, pad_id = _batches(draw, (3, 4), (2, 5)).args
    batches[0][1][:] = pad_id
    return Call((batches, pad_id), about="the first of two batches is padding only")


item = Item(
    "11.bug",
    reference=_validation_loss,
    bug=Bug(BUG, line=4),
    probes=[
        Probe(
            "every real token counts the same, whichever batch it is in",
            lambda draw: [_batches(draw, (4, 7), (2, 3), (5, 9))],
        ),
        Probe(
            "a batch with much padding counts no more than its real tokens",
            lambda draw: [_batches(draw, (1, 6), (6, 8)), _one_without_tokens(draw)],
        ),
        Probe(
            "any pad_id",
            lambda draw: [_batches(draw, (3, 5), (4, 6), (2, 9), pad_id=3)],
        ),
        Probe("one batch", lambda draw: [_batches(draw, (4, 6))]),
    ],
    tolerance=1e-4,
    hints=(
        "What should stay the same when you put the same sentences into different batches?",
        "The loss of a batch is a mean. To combine means, multiply each by the number of values it "
        "averages over.",
        "Take one batch of two sentences with 5 and 3 real tokens: its labels are 10 numbers, but "
        "its loss is a mean over 8. Which weight does the function give it? How can you count the "
        "labels that are not padding?",
    ),
)


@item.misconception(
    "Each batch's loss is still weighted by all its positions, padding included.",
    why="The loss is a mean over real tokens. A batch of short sentences, full of padding, counts "
    "more than its tokens should: batch the sentences differently, and the number changes.",
    hint="Which line decides how much a batch counts?",
)
def weighs_positions(batches: Batches, pad_id: int) -> float:
    return _weighted(batches, pad_id, [labels.numel() for _, labels in batches])


@item.misconception(
    "Each batch's loss is weighted by its number of sentences.",
    why="The loss is a mean over tokens, and sentences differ in length.",
    hint="What is masked_cross_entropy a mean of?",
)
def weighs_sentences(batches: Batches, pad_id: int) -> float:
    return _weighted(batches, pad_id, [len(labels) for _, labels in batches])


@item.misconception(
    "All batches count the same: it's a mean of means.",
    why="The last batch of an epoch is often small. A token in it would count more than others.",
    hint="How much a batch counts should depend on what's in it.",
)
def mean_of_means(batches: Batches, pad_id: int) -> float:
    return _weighted(batches, pad_id, [1 for _ in batches])


@item.misconception(
    "You return the loss of the last batch only.",
    why="It changes with the order of the batches, although the model is the same.",
    hint="Fix the line, and keep the sum over all batches.",
)
def last_batch(batches: Batches, pad_id: int) -> float:
    return float(loss.masked_cross_entropy(*batches[-1], pad_id))


@item.misconception(
    "The weights are right only if pad_id is 0.",
    why="pad_id is an argument. With another value, padding is counted and token 0 isn't.",
    hint="Which labels are padding: the zeros, or those that equal pad_id?",
)
def pad_is_always_zero(batches: Batches, pad_id: int) -> float:
    weights = [(labels != 0).sum() for _, labels in batches]
    return _weighted(batches, pad_id, weights)


@item.misconception(
    "The weights count padding, not real tokens.",
    why="Then a batch without padding doesn't count at all.",
    hint="Do you want the positions with padding, or the others?",
)
def weighs_pads(batches: Batches, pad_id: int) -> float:
    weights = [(labels == pad_id).sum() for _, labels in batches]
    return _weighted(batches, pad_id, weights)
