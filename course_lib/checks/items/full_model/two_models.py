"""Two models of one config, one of them connected wrongly, and how far changes reach in both."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from course_lib.checks.items.full_model.connections import Error, Sentence, Side, changes
from course_lib.model import Transformer, TransformerConfig

LINES: dict[str, dict[Side, int]] = {  # of an error, by the side that has it: where alone it shows
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
        seed: of their weights and of the sentence that they read.
    """

    config: TransformerConfig
    right: str
    error: Error
    seed: int

    @property
    def wrong(self) -> str:
        return "B" if self.right == "A" else "A"

    @property
    def line(self) -> int:
        return LINES[self.error.name][self.error.side]

    @cached_property
    def moved(self) -> dict[str, Tensor]:
        """How far changes reach, by model: (change, output)."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            sentence = Sentence.draw(min(self.config.source_vocab, self.config.target_vocab))
            errors = {name: Error() if name == self.right else self.error for name in "AB"}
            return {
                name: changes(error.build(self.config), sentence, error)
                for name, error in errors.items()
            }


def draw_models(drawn: random.Random) -> TwoModels:
    """The models of a number."""
    name = drawn.choice([*LINES])
    side = drawn.choice([*LINES[name]])
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
    return TwoModels(config, drawn.choice("AB"), Error(name, side), drawn.getrandbits(32))


def parameters_of_parts(config: TransformerConfig) -> dict[str, int]:
    """How many parameters each part has; a shared table counts in each part that uses it."""
    with torch.random.fork_rng(devices=[]):
        model = Transformer(config)
    return {
        name: sum(parameter.numel() for parameter in part.parameters())
        for name, part in model.named_children()
    }
