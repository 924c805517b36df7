"""What the items that ask for a cross-entropy share: steps with their switches, and three texts.

A step looks into the switches that are on, and is right without any. B batch, T target length,
V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Item

EPSILONS = {"logarithm_with_epsilon": 1e-9} | {
    f"epsilon_{epsilon}": epsilon for epsilon in (1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
}


def log_probabilities(logits: Tensor, on: AbstractSet[str]) -> Tensor:
    """The logarithm of each token's probability, (B, T, V)."""
    axis = 1 if "softmax_over_positions" in on else -1
    axis = 0 if "softmax_over_sentences" in on else axis
    for name, epsilon in EPSILONS.items():
        if name in on:
            return (logits.softmax(dim=axis) + epsilon).log()
    if on & {"logarithm_of_softmax", "logarithm_of_softmax_by_product"}:
        return logits.softmax(dim=axis).log()
    if "no_logarithm" in on:
        return logits.softmax(dim=axis)
    return logits if "no_softmax" in on else logits.log_softmax(dim=axis)


def mean_over_tokens(costs: Tensor, real: Tensor, on: AbstractSet[str]) -> Tensor:
    """The mean of the costs (B, T) at the real positions."""
    kept = costs.masked_fill(~real, 0.0)
    if "logarithm_of_softmax_by_product" in on:
        kept = costs * real  # infinity times 0 is NaN
    if on & {"pads_counted", "pads_added"}:
        kept = costs
    least = 0 if "nothing_by_nothing" in on else 1
    if "not_divided" in on:
        return kept.sum()
    if "divided_by_sentences" in on:
        return kept.sum() / len(costs)
    if "mean_of_sentences" in on:
        return (kept.sum(dim=1) / real.sum(dim=1).clamp(min=least)).mean()
    if on & {"pads_counted", "divides_by_all_positions"}:
        return kept.mean()
    return kept.sum() / real.sum().clamp(min=least)


def as_returned(loss: Tensor, on: AbstractSet[str]) -> Any:
    """The loss in nats, with its graph."""
    if "wrong_sign" in on:
        loss = -loss
    if "in_bits" in on:
        loss = loss / math.log(2)
    if "detached" in on:
        return loss.detach()
    return loss.item() if "cut_off_from_the_logits" in on else loss


def add_wrong_sign(item: Item) -> None:
    """The switch ``wrong_sign`` of ``as_returned``."""
    item.switch(
        "wrong_sign",
        "Your loss has the wrong sign: it falls as the model gets worse.",
        why="ln p is negative. Training minimises the loss, so the model would unlearn.",
        hint="What is ln 0.5? And what should the loss be for p = 0.5?",
    )


def add_wrong_axes(item: Item) -> None:
    """The switch ``softmax_over_positions`` of ``log_probabilities``, and that of a
    ``cross_entropy`` which is given logits (B, T, V) as they are.
    """
    item.switch(
        "softmax_over_positions",
        "Your softmax runs over another axis, not over the vocabulary.",
        why="At each position the probabilities of all tokens have to sum to one.",
        hint="Which axis of (B, T, V) is the vocabulary?",
        spellings=["softmax_over_sentences"],
    )
    item.switch(
        "words_on_the_wrong_axis",
        "PyTorch's cross-entropy takes your positions for classes: it expects the vocabulary on "
        "axis 1.",
        why="With (B, T, V) it fails, or, if T equals V, it computes a different loss without any "
        "error.",
        hint="Flatten three axes into two, or move the vocabulary to axis 1.",
    )
