"""03.experiment: Which LayerNorm is this?"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from course_lib.checks.items.experiment import BlackBox, experiment_item
from course_lib.checks.items.feed_forward.layer_norm import item as layer_norm
from course_lib.model import layer_norm as course_layer_norm


def _problem(x: Any, weight: Any, bias: Any, eps: Any = 1e-5) -> str:
    """What keeps arguments from being those that the task of layer_norm names."""
    tensors = (x, weight, bias)
    if not all(isinstance(each, Tensor) and each.is_floating_point() for each in tensors):
        return "x, weight and bias as tensors of floats"
    if x.ndim != 3 or not x.numel():
        return "x with the axes (B, S, D)"
    if not weight.shape == bias.shape == x.shape[-1:]:
        return "weight and bias with the shape (D,)"
    return "" if isinstance(eps, float) and eps > 0 else "eps as a float above 0"


def _right(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return course_layer_norm(x, weight, bias, eps=eps)


box = BlackBox(
    of=layer_norm,
    right=_right,
    wrong={
        "by_one_less": "the variance divides by D − 1",
        "std_plus_eps": "it divides by the standard deviation with D − 1, plus eps",
        "eps_outside": "eps is added after the root",
        "whole_sentence": "mean and variance are those of the whole sentence",
        "over_the_batch": "mean and variance are taken over the batch",
        "mean_kept": "the mean is not subtracted",
        "no_root": "it divides by the variance, without a root",
        "bias_first": "the bias is added before the weight is multiplied",
        "weight_left_out": "the weight has no effect",
    },
    problem=_problem,
    most_numbers=80,
    most_calls=1,
)
item = experiment_item(
    "03.experiment",
    box,
    hints=(
        "Take a vector that you can normalise by hand, such as 1, 2, 3, 6 of the lesson, with a "
        "weight of 1 and a bias of 0. Which of the nine errors would not show?",
        "Some errors show only if there are several vectors in a sentence, or several sentences; "
        "some only with a weight that is not 1 and a bias that is not 0; and eps shows where it "
        "is large. One call can have all of this, but then you must be able to work it out.",
        "Two sentences of two vectors each, all of them different, are enough, with a weight "
        "other than 1 and a bias other than 0. As for eps: if it is small, a and b can't be told "
        "apart. What would each of the nine give for your first vector?",
    ),
)
