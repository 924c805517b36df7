"""03.layer_norm: Each vector by itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.model import feed_forward as model


def _norm(draw: Draw, x: Tensor, about: str, *, gradients: bool = False, **kwargs: Any) -> Call:
    """A call with a weight and a bias of its own, none of them 1 or 0."""
    weight = 1 + draw.normal(x.size(-1), std=0.5, dtype=x.dtype)
    bias = draw.normal(x.size(-1), dtype=x.dtype)
    return Call((x, weight, bias), kwargs, about, gradients)


item = Item(
    "03.layer_norm",
    reference=model.layer_norm,
    tolerance=1e-3,
    probes=[
        Probe(
            "each vector gets mean 0 and variance 1",
            lambda draw: [
                Call(
                    (3 * draw.normal(2, 3, 4) + 2, torch.ones(4), torch.zeros(4)),
                    about="narrow vectors, weight 1 and bias 0",
                ),
                Call(
                    (torch.tensor([1.0, 2.0, 3.0, 6.0]), torch.ones(4), torch.zeros(4)),
                    about="one vector",
                ),
            ],
        ),
        Probe(
            "then it is scaled by weight and shifted by bias",
            lambda draw: [_norm(draw, draw.normal(2, 3, 5, std=2), "another weight and bias")],
        ),
        Probe(
            "a vector looks at itself alone, whatever stands beside it",
            lambda draw: [
                _norm(
                    draw,
                    draw.normal(3, 4, 6) * torch.tensor([1.0, 9.0, 1.0, 0.1])[:, None],
                    "one loud position",
                ),
                _norm(draw, draw.normal(2, 3, 4, 6), "four axes"),
                _norm(draw, draw.strided(5, 5, 5), "not contiguous, all axes of one size"),
                _norm(
                    draw, draw.normal(1, 1, 8, dtype=torch.float64), "a single position, float64"
                ),
            ],
        ),
        Probe(
            "eps is added to the variance, inside the root",
            lambda draw: [
                _norm(draw, draw.normal(2, 3, 6), "eps 0.5", eps=0.5),
                _norm(draw, draw.normal(2, 3, 6, std=0.01), "small vectors, eps left as it is"),
                _norm(draw, torch.full((1, 2, 6), 7.0), "constant vectors"),
            ],
        ),
        Probe(
            "vectors far from zero keep their digits",
            lambda draw: [_norm(draw, 1000 + draw.normal(3, 4, 8), "numbers around 1000")],
        ),
        Probe(
            "the gradient also goes through mean and variance",
            lambda draw: [
                _norm(draw, draw.normal(2, 3, 5), "gradients of x, weight and bias", gradients=True)
            ],
        ),
    ],
    hints=(
        "Do it for (1, 2, 3, 6) on paper: mean, what is left, variance, its root, the quotient.",
        "Mean and variance over the last axis alone, kept as an axis of size 1 so that they "
        "broadcast. The variance is the mean of squares, divided by D and not by D - 1.",
        "centred = x - x.mean(dim=..., keepdim=True); variance = centred.square().mean(...); then "
        "centred / torch.sqrt(... + eps) * weight + bias.",
    ),
)


def _normed(
    x: Tensor, eps: float, *, dim: int | tuple[int, ...] = -1, correction: int = 0
) -> Tensor:
    variance = x.var(dim=dim, keepdim=True, correction=correction)
    return (x - x.mean(dim=dim, keepdim=True)) / torch.sqrt(variance + eps)


@item.misconception(
    "You divide by torch's std and add eps outside of the root.",
    why="x.std() divides by D − 1, and eps under the root is something else than eps beside it. "
    "With wide vectors you hardly see it, with narrow ones you do.",
    hint="Two things: what does std divide by, and where does eps stand in the formula?",
)
def std_plus_eps(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / (x.std(dim=-1, keepdim=True) + eps) * weight + bias


@item.misconception(
    "Your variance divides by D − 1.",
    why="That is the estimate of statistics, and what var() and std() give by default. LayerNorm "
    "takes the plain mean of squares.",
    hint="var has an argument for this.",
)
def by_one_less(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps, correction=1) * weight + bias


@item.misconception(
    "You add eps to the root of the variance, not to the variance.",
    why="For vectors of usual size nobody sees it. For small ones the result is another.",
    hint="What stands under the root in the formula?",
)
def eps_outside(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    spread = x.std(dim=-1, keepdim=True, correction=0)
    return (x - x.mean(dim=-1, keepdim=True)) / (spread + eps) * weight + bias


@item.misconception(
    "Your mean runs over the positions, too: one norm for the whole sentence.",
    why="One loud word then turns down all the others, and every word sees those that come later.",
    hint="How many numbers does one mean belong to: D, or S · D?",
)
def whole_sentence(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps, dim=(-2, -1) if x.ndim > 1 else -1) * weight + bias


@item.misconception(
    "Your mean runs over everything: one norm for the whole batch.",
    why="Without dim, mean() takes all numbers. A sentence then depends on its neighbours.",
    hint="Which argument says over which axis a mean is taken?",
)
def everything(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps, dim=tuple(range(x.ndim))) * weight + bias


@item.misconception(
    "Your mean runs over the batch.",
    why="This is near to BatchNorm: each number looks at the same place of the other sentences.",
    hint="The numbers of one position stand on which axis?",
)
def over_the_batch(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps, dim=0) * weight + bias


@item.misconception(
    "You do not subtract the mean.",
    why="Dividing by the root of the mean square alone is RMSNorm, which some newer models use. A "
    "LayerNorm also takes the mean away.",
    hint="What is the mean of the numbers that come out, with weight 1 and bias 0?",
)
def mean_kept(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps) * weight + bias


@item.misconception(
    "You divide by the variance itself, without its root.",
    why="A vector twice as long would come out half as long. Divided by the root, its length does "
    "not matter.",
    hint="What has the same unit as x: the variance, or its root?",
)
def no_root(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return (x - x.mean(dim=-1, keepdim=True)) / (variance + eps) * weight + bias


@item.misconception(
    "You add the bias before you multiply by the weight.",
    why="Then the weight scales the bias as well, and weights from other code do not fit.",
    hint="In the formula, what is done last?",
)
def bias_first(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return (_normed(x, eps) + bias) * weight


@item.misconception(
    "Weight and bias have no effect.",
    why="They are what the model can train: with them a column may be loud again where that helps.",
    hint="Does your code use all its arguments?",
)
def weight_and_bias_left_out(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps)


@item.misconception(
    "Your eps is always the same, whatever is asked for.",
    why="One of the five published systems needs 1e-6. A number that stands in the signature has "
    "to be used.",
    hint="Does your code use its argument eps?",
)
def eps_fixed(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, 1e-5) * weight + bias


@item.misconception(
    "Far from zero your variance loses its digits.",
    why="The mean of squares minus the square of the mean is right on paper. In float32 it takes "
    "one number near a million from another, and what is left has hardly a digit.",
    hint="Subtract first, then square.",
)
def squares_first(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.square().mean(dim=-1, keepdim=True) - mean.square()
    return (x - mean) / torch.sqrt(variance.clamp(min=0) + eps) * weight + bias
