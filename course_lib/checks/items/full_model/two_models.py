"""Two models of one config, one of them connected wrongly, and how far changes reach in both."""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import torch
from torch import Tensor

from course_lib.checks.items.full_model.connections import (
    CHANGES,
    Error,
    Sentence,
    Side,
    changes,
)
from course_lib.model import Transformer, TransformerConfig

SHOWS: dict[str, dict[Side, int]] = {  # of an error, by side: the one change that shows it, from 1
    "tables": {"source": 2, "target": 6},
    "tying": {"target": 7},
    "early": {"source": 4},
    "paired": {"source": 4},
    "same_input": {"source": 3, "target": 8},
    "positions": {"source": 1, "target": 5},
}


@dataclass(frozen=True)
class TwoModels:
    """Two models of one config.

    Attributes:
        right: "A" or "B".
        error: of the other.
        tried: what is changed in each, by its number in CHANGES, from 1. No change is tried in
            both: their logs can't be compared line by line.
        seed: of their weights and of the sentence that they read.
    """

    config: TransformerConfig
    right: str
    _: KW_ONLY
    error: Error
    tried: dict[str, list[int]]
    seed: int

    @property
    def wrong(self) -> str:
        return "B" if self.right == "A" else "A"

    @property
    def line(self) -> int:
        """Of the wrong model's log, the one that shows the error, from 1."""
        return self.tried[self.wrong].index(SHOWS[self.error.name][self.error.side]) + 1

    @cached_property
    def moved(self) -> dict[str, Tensor]:
        """How far the changes of each model reach, by model: (line, output)."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            sentence = Sentence.draw(min(self.config.source_vocab, self.config.target_vocab))
            errors = {name: Error() if name == self.right else self.error for name in "AB"}
            return {
                name: changes(error.build(self.config), sentence, error)[
                    torch.tensor(self.tried[name]) - 1
                ]
                for name, error in errors.items()
            }


def draw_models(drawn: random.Random) -> TwoModels:
    """The models of a number."""
    name = drawn.choice([*SHOWS])
    side = drawn.choice([*SHOWS[name]])
    d_model = drawn.choice([16, 24, 32])
    config = TransformerConfig(
        source_vocab=drawn.randint(30, 60),
        target_vocab=drawn.randint(30, 60),
        d_model=d_model,
        d_ff=4 * d_model,
        n_heads=4,
        n_layers=drawn.choice([2, 3, 4]),
        tying=drawn.choice(["none", "output"]),
    )
    right, other = drawn.sample("AB", 2)
    tried = _shared_out(drawn, right, other, shows=SHOWS[name][side])
    return TwoModels(
        config, right, error=Error(name, side), tried=tried, seed=drawn.getrandbits(32)
    )


def _shared_out(
    drawn: random.Random, right: str, other: str, *, shows: int
) -> dict[str, list[int]]:
    """What is changed in each model; in the other, also what shows its error."""
    rest = [number for number in range(1, len(CHANGES) + 1) if number != shows]
    drawn.shuffle(rest)
    size = drawn.choice([3, 4])
    return {other: sorted([shows, *rest[:size]]), right: sorted(rest[size:])}


def parameters_of_parts(config: TransformerConfig) -> dict[str, int]:
    """How many parameters each part has; a shared table counts in each part that uses it."""
    with torch.random.fork_rng(devices=[]):
        model = Transformer(config)
    return {
        name: sum(parameter.numel() for parameter in part.parameters())
        for name, part in model.named_children()
    }
