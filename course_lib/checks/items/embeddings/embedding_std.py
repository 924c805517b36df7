"""02.embedding_std: Start at ln V."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import embedding


def _use_std(std_of: Callable[[int], float], d_model: int, *, measure: bool = False) -> Any:
    """The spread itself, or how far above ln V a tied table of that spread starts, in nats."""
    std = std_of(d_model)
    if not measure:
        return std
    source = torch.Generator().manual_seed(7)
    h = F.normalize(torch.randn(60, d_model, generator=source), dim=1) * math.sqrt(d_model)
    logits = h @ (torch.randn(3000, d_model, generator=source) * float(std)).T  # (60, V)
    loss = (logits.logsumexp(dim=1) - logits.mean(dim=1)).mean()  # any word may be the right one
    return {"first loss, above ln V": float(loss) - math.log(3000)}


item = Item(
    "02.embedding_std",
    reference=embedding.embedding_std,
    use=_use_std,
    probes=[
        Probe(
            "half the variance of the logits is 0.02 nats",
            lambda draw: [
                Call((64,), about="d_model 64"),
                Call((draw.integer(200, 700),), about="another width"),
            ],
        ),
        Probe(
            "a tied model starts 0.02 nats above ln V",
            lambda draw: [
                Call((width,), {"measure": True}, about=f"d_model {width}") for width in (16, 256)
            ],
        ),
        Probe(
            "four times the width, half the spread",
            lambda draw: [Call((w,), about=f"d_model {w}") for w in (4, 16, 1024)],
        ),
    ],
    hints=(
        "A vector h of length √D meets a row of D numbers of spread s. What is the spread of their "
        "dot product?",
        "The logits have spread σ = s √D, and the loss starts σ² / 2 above ln V. Set that to 0.02 "
        "and solve for s.",
        "σ² / 2 = 0.02, so σ = ...; and s = σ / ... .",
    ),
)


@item.misconception(
    "Your spread is 1, as nn.Embedding starts.",
    why="Then logits have spread √D, and the model is sure of nonsense from the first step: 176.7 "
    "nats in one published system, where ln V is 9.",
    hint="How large are the logits at d_model 256?",
)
def as_pytorch_starts(d_model: int) -> float:
    return 1.0


@item.misconception(
    "Your spread is 1/√D: the logits have spread 1, and the loss starts half a nat too high.",
    why="1/√D fits a table that is only an input and is multiplied by √D. As an output layer it is "
    "not small enough for 0.02.",
    hint="Which σ makes σ² / 2 equal to 0.02?",
)
def one_over_the_root(d_model: int) -> float:
    return 1 / math.sqrt(d_model)


@item.misconception(
    "You divide by D where √D is due.",
    why="The logits then become ever smaller with the width: the words vanish in wide models.",
    hint="How long is h?",
)
def by_the_width(d_model: int) -> float:
    return 0.2 / d_model


@item.misconception(
    "You give the variance where the spread is asked for.",
    why="The spread, or standard deviation, is the root of the variance; nn.init.normal_ takes the "
    "spread.",
    hint="One root is missing.",
)
def the_variance(d_model: int) -> float:
    return 0.04 / d_model


@item.misconception(
    "You lost the one half: your logits have a variance of 0.02, so they cost only 0.01 nats.",
    why="Random logits cost half of their variance, and 0.02 nats above ln V are asked for.",
    hint="Read the formula once more. What is divided by 2 there?",
)
def half_forgotten(d_model: int) -> float:
    return math.sqrt(0.02 / d_model)


@item.misconception(
    "You took 0.02 for the spread of the logits.",
    why="0.02 is the cost in nats, half of the squared spread.",
    hint="What is σ if σ² / 2 is 0.02?",
)
def nats_for_the_spread(d_model: int) -> float:
    return 0.02 / math.sqrt(d_model)


@item.misconception(
    "Your spread is 0.02 at every width.",
    why="Many models start so. But the spread of the logits grows with √D: one fixed number costs "
    "0.02 nats at a single width, less in narrower models and more in wider ones.",
    hint="Does your code use its argument?",
)
def one_for_all(d_model: int) -> float:
    return 0.02


@item.misconception(
    "Your spread grows with the width.",
    why="A wider h makes larger logits, so the rows have to become smaller.",
    hint="Multiply or divide?",
)
def grows_with_the_width(d_model: int) -> float:
    return 0.2 * math.sqrt(d_model)
