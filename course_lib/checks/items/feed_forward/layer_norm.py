"""03.layer_norm: Normalise each vector on its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.model import feed_forward as model


def _norm(draw: Draw, x: Tensor, about: str, *, gradients: bool = False, **kwargs: Any) -> Call:
    """A call with random weight and bias."""
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
                    about="four numbers per vector, weight 1 and bias 0",
                ),
                Call(
                    (torch.tensor([1.0, 2.0, 3.0, 6.0]), torch.ones(4), torch.zeros(4)),
                    about="one vector",
                ),
            ],
        ),
        Probe(
            "then it is multiplied by weight, and bias is added",
            lambda draw: [_norm(draw, draw.normal(2, 3, 5, std=2), "random weight and bias")],
        ),
        Probe(
            "each vector is normalised on its own, whatever the others are",
            lambda draw: [
                _norm(
                    draw,
                    draw.normal(3, 4, 6) * torch.tensor([1.0, 9.0, 1.0, 0.1])[:, None],
                    "one position with a large norm",
                ),
                _norm(draw, draw.normal(2, 3, 4, 6), "four axes"),
                _norm(
                    draw, draw.strided(5, 5, 5), "a tensor that is not contiguous, all sizes equal"
                ),
                _norm(
                    draw, draw.normal(1, 1, 8, dtype=torch.float64), "a single position, float64"
                ),
            ],
        ),
        Probe(
            "eps is added to the variance, inside the square root",
            lambda draw: [
                _norm(draw, draw.normal(2, 3, 6), "eps 0.5", eps=0.5),
                _norm(
                    draw, draw.normal(2, 3, 6, std=0.01), "small vectors, eps left at its default"
                ),
                _norm(draw, torch.full((1, 2, 6), 7.0), "constant vectors"),
            ],
        ),
        Probe(
            "vectors far from zero lose no precision",
            lambda draw: [_norm(draw, 1000 + draw.normal(3, 4, 8), "numbers around 1000")],
        ),
        Probe(
            "the gradient flows through mean and variance, too",
            lambda draw: [
                _norm(draw, draw.normal(2, 3, 5), "gradients of x, weight and bias", gradients=True)
            ],
        ),
    ],
    hints=(
        "Do it for (1, 2, 3, 6) on paper: mean, differences from the mean, variance, its square "
        "root, quotients.",
        "Take mean and variance over the last axis only, and keep it as an axis of size 1 so that "
        "they broadcast. For the variance, divide by d_model, not by d_model - 1.",
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
    "You divide by torch's std and add eps outside the square root.",
    why="x.std() divides by d_model − 1, and eps belongs inside the root. With large d_model you "
    "hardly see the difference, with small d_model you do.",
    hint="Two questions: what does std divide by, and where is eps in the formula?",
)
def std_plus_eps(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / (x.std(dim=-1, keepdim=True) + eps) * weight + bias


@item.misconception(
    "Your variance divides by d_model − 1.",
    why="That's the unbiased estimate, the default of var() and std(). LayerNorm uses the biased "
    "one, which divides by d_model.",
    hint="var has an argument for this.",
)
def by_one_less(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps, correction=1) * weight + bias


@item.misconception(
    "You add eps to the square root of the variance, not to the variance.",
    why="For most vectors you won't see the difference. For small ones the result is wrong.",
    hint="What's inside the square root in the formula?",
)
def eps_outside(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    std = x.std(dim=-1, keepdim=True, correction=0)
    return (x - x.mean(dim=-1, keepdim=True)) / (std + eps) * weight + bias


@item.misconception(
    "You take mean and variance over the positions, too: one norm for the whole sentence.",
    why="Then one token with a large norm makes all the others small, and in a decoder each token "
    "depends on later ones.",
    hint="Over how many numbers do you take each mean: d_model, or seq · d_model?",
)
def whole_sentence(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps, dim=(-2, -1) if x.ndim > 1 else -1) * weight + bias


@item.misconception(
    "You take mean and variance over everything: one norm for the whole batch.",
    why="Without dim, mean() averages over all axes. Then a sentence depends on the other "
    "sentences in its batch.",
    hint="Which argument of mean selects the axis?",
)
def everything(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps, dim=tuple(range(x.ndim))) * weight + bias


@item.misconception(
    "You take mean and variance over the batch.",
    why="That's close to BatchNorm: each element depends on the same position of the other "
    "sentences.",
    hint="Which axis holds the numbers of one position?",
)
def over_the_batch(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps, dim=0) * weight + bias


@item.misconception(
    "You don't subtract the mean.",
    why="Dividing by the root mean square alone is RMSNorm, which many newer models use. LayerNorm "
    "subtracts the mean, too.",
    hint="With weight 1 and bias 0, what should the mean of the output be?",
)
def mean_kept(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps) * weight + bias


@item.misconception(
    "You divide by the variance, not by its square root.",
    why="A vector that's twice as large would come out half as large. If you divide by the square "
    "root, its scale doesn't matter.",
    hint="Which one scales like x: the variance, or its square root?",
)
def no_root(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return (x - x.mean(dim=-1, keepdim=True)) / (variance + eps) * weight + bias


@item.misconception(
    "You add the bias before you multiply by the weight.",
    why="Then the weight scales the bias as well, and parameters from other implementations give "
    "different results.",
    hint="In the formula, which operation comes last?",
)
def bias_first(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return (_normed(x, eps) + bias) * weight


@item.misconception(
    "Weight and bias have no effect.",
    why="They are the trainable parameters of the norm: with them, the model can give a column "
    "another scale and mean where that helps.",
    hint="Does your code use all its arguments?",
)
def weight_and_bias_left_out(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, eps)


@item.misconception(
    "You always use the same eps, whatever the argument is.",
    why="One of the five published systems needs 1e-6.",
    hint="Does your code use its argument eps?",
)
def eps_fixed(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _normed(x, 1e-5) * weight + bias


@item.misconception(
    "Your variance loses precision if the numbers are far from zero.",
    why="The mean of the squares minus the square of the mean is right on paper. In float32 it "
    "subtracts two numbers near a million that are almost equal, and hardly a digit of the "
    "difference is right (catastrophic cancellation).",
    hint="Subtract first, then square.",
)
def squares_first(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.square().mean(dim=-1, keepdim=True) - mean.square()
    return (x - mean) / torch.sqrt(variance.clamp(min=0) + eps) * weight + bias
