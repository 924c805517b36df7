"""Losses: unit, sum or mean, and the axes of logits and labels; lessons 10 and 11 share them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course_lib.checks.conventions.changes import moved, on, phrases, shapes
from course_lib.checks.conventions.convention import (
    Arguments,
    Convention,
    Edits,
    Rewrite,
    Translation,
)

MORE = Mapping[str, Translation]
NAMES = Mapping[str, tuple[str, ...]]  # of misconceptions, by item


def _bits(result: Any, arguments: Arguments) -> Any:
    return result / math.log(2)


def _total(result: Any, arguments: Arguments) -> Any:
    """The mean over real tokens as their sum."""
    return result * (arguments["labels"] != arguments["pad_id"]).sum()


def _with_result(
    result: Callable[[Any, Arguments], Any], items: Mapping[str, Edits], left_out: NAMES
) -> dict[str, Translation]:
    return {
        item: Translation(result=result, edits=edits, left_out=left_out.get(item, ()))
        for item, edits in items.items()
    }


def in_bits(items: Mapping[str, Edits], more: MORE, left_out: NAMES) -> Convention:
    """Logarithms to the base 2; of these items, and of others with a translation of their own."""
    own = _with_result(_bits, items, left_out)
    return Convention(
        "bits",
        "unit",
        "Losses and entropies are **in bits**: logarithms have the base 2.",
        {**own, **more},
        phrases(
            {
                "in nats": "in bits",
                "−ln p": "−log₂ p",
                "gives ln p of every": "gives ln p (not log₂ p) of every",
                "Take log_softmax over V.": "Take log_softmax over V, which is in nats.",
                "is the cost of each position.": "is the cost of each position in nats.",
                "costs -log(its count": "costs -log2(its count",
                "nats *per token*": "bits *per token*",
                "You sum the nats": "You sum the bits",
                "that costs ln V": "that costs log₂ V",
                "you take p, not ln p": "you take p, not log₂ p",
                "What is ln 0.5?": "What is log₂ 0.5?",
                "2 · ln 2 / 12 = 0.1155": "2 / 12 = 0.1667",
                "costs 2 · ln 2 / 12": "costs 2 / 12",
                "2 · ln 2 = 1.3863": "2",
            }
        ),
    )


def summed(items: Mapping[str, Edits], more: MORE, left_out: NAMES) -> Convention:
    """Sums over real tokens, where the course takes their mean."""
    own = _with_result(_total, items, left_out)
    return Convention(
        "sum",
        "reduction",
        "Losses are **sums over the real tokens**, not means.",
        {**own, **more},
        phrases(
            {
                "2 · ln 2 / 12 = 0.1155": "2 · ln 2 = 1.3863",
                "2 / 12 = 0.1667": "2",
                "costs 2 · ln 2 / 12": "costs 2 · ln 2",
                "costs 2 / 12": "costs 2",
                "; divide by the number of entries.": "; add them all up.",
            }
        ),
    )


_OTHER_AXES = phrases(
    {
        "log_softmax(dim=-1).gather(-1, labels[..., None])[..., 0]": (
            "log_softmax(dim=...) at the label of each position (gather takes labels with an axis "
            "more)"
        )
    }
)


def logits_conventions(items: NAMES) -> tuple[Convention, ...]:
    """Where the vocabulary is in ``logits``; items, and the misconceptions that are none there."""

    def rewrite(order: str) -> Rewrite:
        def reordered(axes: Sequence[str]) -> list[str] | None:
            if tuple(axes) not in {("B", "T"), ("B", "T", "V")}:
                return None
            return [axis for axis in order if axis in axes]

        return lambda text: _OTHER_AXES(shapes(reordered)(text))

    def convention(name: str, sentence: str, order: str, axis: int) -> Convention:
        given, understood = on(logits=moved(-1, axis)), on(logits=moved(axis, -1))
        translations = {
            item: Translation(given, understood, left_out=left_out)
            for item, left_out in items.items()
        }
        return Convention(name, "logits", sentence, translations, rewrite(order))

    # Not the length first: what is summed over all positions would be right there, too.
    return (
        convention(
            "vocabulary_second",
            "Logits are **(batch, vocabulary, length)**, as `F.cross_entropy` takes them.",
            "BVT",
            1,
        ),
        convention("vocabulary_first", "Logits are **(vocabulary, batch, length)**.", "VBT", 0),
    )
