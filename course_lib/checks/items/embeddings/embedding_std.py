"""02.embedding_std: Start at a loss of ln V."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult
from course_lib.model import embedding


def _use_std(std_of: Callable[[int], Any], d_model: int, *, measure: bool = False) -> Any:
    """The standard deviation, or the loss at initialisation of a tied table minus ln V, in nats."""
    std = std_of(d_model)
    if not measure:
        return std
    if not isinstance(std, Real) and not (isinstance(std, Tensor) and std.numel() == 1):
        raise WrongResult(f"expected a number, got a value of type {type(std).__name__}")
    source = torch.Generator().manual_seed(7)
    h = F.normalize(torch.randn(60, d_model, generator=source), dim=1) * math.sqrt(d_model)
    logits = h @ (torch.randn(3000, d_model, generator=source) * float(std)).T  # (60, V)
    loss = (logits.logsumexp(dim=1) - logits.mean(dim=1)).mean()  # any token may be the right one
    return {"loss at initialisation minus ln V": float(loss) - math.log(3000)}


def _four_times_as_wide(draw: Draw) -> list[Call]:
    width = draw.integer(2, 60)
    return [Call((w,), about=f"d_model {w}") for w in (width, 4 * width, 64 * width)]


item = Item(
    "02.embedding_std",
    reference=embedding.embedding_std,
    use=_use_std,
    probes=[
        Probe(
            "half the variance of the logits is 0.02",
            lambda draw: [
                Call((draw.integer(30, 90),), about="a small model"),
                Call((draw.integer(200, 700),), about="a larger one"),
            ],
        ),
        Probe(
            "the loss of a tied model starts 0.02 nats above ln V",
            lambda draw: [
                Call((width,), {"measure": True}, about=f"d_model {width}")
                for width in (draw.integer(12, 30), draw.integer(200, 300))
            ],
        ),
        Probe(
            "four times the width gives half the standard deviation",
            _four_times_as_wide,
        ),
    ],
    hints=(
        "Take a vector h of norm √d_model, and a row of random numbers with standard "
        "deviation s. What is the standard deviation of their dot product?",
        "The logits have the standard deviation σ = s·√d_model, and the loss starts σ² / 2 "
        "above ln V. Set σ² / 2 to 0.02, and solve for s.",
        "From σ² / 2 = 0.02 follows σ = ..., and then s = σ / ... .",
    ),
)


@item.misconception(
    "Your standard deviation is 1, the default of nn.Embedding.",
    why="Then the logits have standard deviation √d_model, and the model is confident and wrong "
    "from the first step: one published system starts at a loss of 176.7, where ln V is 9.",
    hint="How large are the logits for d_model = 256?",
)
def as_pytorch_starts(d_model: int) -> float:
    return 1.0


@item.misconception(
    "Your standard deviation is 1/√d_model: the logits have standard deviation 1, and the loss "
    "starts half a nat above ln V.",
    why="1/√d_model is right for a table that is only used at the input and multiplied by "
    "√d_model. For an output layer it isn't small enough.",
    hint="Which σ makes σ² / 2 equal to 0.02?",
)
def one_over_the_root(d_model: int) -> float:
    return 1 / math.sqrt(d_model)


@item.misconception(
    "You divide by d_model instead of √d_model.",
    why="The standard deviation of the logits is √d_model times yours. Like this, the logits get "
    "smaller and smaller as d_model grows.",
    hint="What is the norm of h?",
)
def by_the_width(d_model: int) -> float:
    return 0.2 / d_model


@item.misconception(
    "You return the standard deviation of the logits, 0.2, for every d_model.",
    why="A logit is the dot product with h, whose norm is √d_model. So the standard deviation of "
    "the logits is √d_model times that of the table.",
    hint="Which s makes s·√d_model equal to 0.2?",
)
def of_the_logits(d_model: int) -> float:
    return 0.2


@item.misconception(
    "You return the variance instead of the standard deviation.",
    why="The standard deviation is the square root of the variance, and it's what nn.init.normal_ "
    "expects.",
    hint="One square root is missing.",
)
def the_variance(d_model: int) -> float:
    return 0.04 / d_model


@item.misconception(
    "You lost the factor 1/2: your logits have variance 0.02, so the loss starts only 0.01 nats "
    "above ln V.",
    why="Random logits add half of their variance to the loss, and that half should be 0.02.",
    hint="Read the formula once more. What is divided by 2?",
)
def half_forgotten(d_model: int) -> float:
    return math.sqrt(0.02 / d_model)


@item.misconception(
    "You use 0.02 as the standard deviation of the logits.",
    why="0.02 is the loss above ln V in nats: half of the squared standard deviation.",
    hint="What is σ if σ² / 2 is 0.02?",
)
def nats_for_the_standard_deviation(d_model: int) -> float:
    return 0.02 / math.sqrt(d_model)


@item.misconception(
    "Your standard deviation is 0.02 for every d_model.",
    why="Many models start like this. But the standard deviation of the logits grows with "
    "√d_model, so a fixed number gives 0.02 nats at one width only: less in narrower "
    "models, and more in wider ones.",
    hint="Does your code use its argument?",
)
def one_for_all(d_model: int) -> float:
    return 0.02


@item.misconception(
    "Your standard deviation grows with d_model.",
    why="A wider h gives larger logits, so the rows have to get smaller.",
    hint="Should you multiply or divide?",
)
def grows_with_the_width(d_model: int) -> float:
    return 0.2 * math.sqrt(d_model)
