"""Losses: unit, sum or mean, and the axes of logits and labels; lessons 10 and 11 share them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from course_lib.checks.conventions.changes import on, phrases, shapes
from course_lib.checks.conventions.convention import (
    Arguments,
    Convention,
    Edits,
    Rewrite,
    Translation,
)

MORE = Mapping[str, Translation]


def _bits(result: Any, arguments: Arguments) -> Any:
    return result / math.log(2)


def _total(result: Any, arguments: Arguments) -> Any:
    """The mean over real tokens as their sum."""
    return result * (arguments["labels"] != arguments["pad_id"]).sum()


def in_bits(items: Mapping[str, Edits], more: MORE) -> Convention:
    """Logarithms to the base 2; of these items, and of others with a translation of their own."""
    own = {item: Translation(result=_bits, edits=edits) for item, edits in items.items()}
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
                "2 · ln 2 / 12 = 0.1155": "2 / 12 = 0.1667",
                "2 · ln 2 = 1.3863": "2",
            }
        ),
    )


def summed(items: Mapping[str, Edits], more: MORE) -> Convention:
    """Sums over real tokens, where the course takes their mean."""
    own = {item: Translation(result=_total, edits=edits) for item, edits in items.items()}
    return Convention(
        "sum",
        "reduction",
        "Losses are **sums over the real tokens**, not means.",
        {**own, **more},
        phrases(
            {
                "2 · ln 2 / 12 = 0.1155": "2 · ln 2 = 1.3863",
                "2 / 12 = 0.1667": "2",
            }
        ),
    )


def logits_conventions(items: Sequence[str]) -> tuple[Convention, ...]:
    """The order of the axes of ``logits`` (batch, length, vocabulary) and ``labels``."""

    def rewrite(order: str) -> Rewrite:
        def reordered(axes: Sequence[str]) -> list[str] | None:
            if tuple(axes) not in {("B", "T"), ("B", "T", "V")}:
                return None
            return [axis for axis in order if axis in axes]

        return shapes(reordered)

    def convention(
        name: str, sentence: str, order: str, names: Sequence[str], a: int
    ) -> Convention:
        def there(x: Tensor) -> Tensor:
            return x.transpose(a, 1) if a < x.ndim else x

        change = on(**dict.fromkeys(names, there))
        translation = Translation(change, change)
        return Convention(
            name, "logits", sentence, dict.fromkeys(items, translation), rewrite(order)
        )

    return (
        convention(
            "vocabulary_second",
            "Logits are **(batch, vocabulary, length)**, as `F.cross_entropy` takes them.",
            "BVT",
            ("logits",),
            2,
        ),
        convention(
            "time_first",
            "Logits are **(length, batch, vocabulary)**, and labels (length, batch).",
            "TBV",
            ("logits", "labels"),
            0,
        ),
    )
