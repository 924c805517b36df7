"""03.layer_norm: Normalise each vector on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.model import add_norm as model


def _norm(draw: Draw, x: Tensor, about: str, *, gradients: bool = False, **kwargs: Any) -> Call:
    """A call with random weight and bias."""
    weight = 1 + draw.normal(x.size(-1), std=0.5, dtype=x.dtype)
    bias = draw.normal(x.size(-1), dtype=x.dtype)
    return Call((x, weight, bias), kwargs, about=about, gradients=gradients)


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
            "each vector is normalised on its own, whatever the others are",
            lambda draw: [
                _norm(
                    draw,
                    draw.normal(3, 4, 6) * torch.tensor([1.0, 9.0, 1.0, 0.1])[:, None],
                    "one position with a large norm",
                ),
                _norm(draw, draw.normal(2, 3, 4, 6), "four axes"),
                _norm(draw, draw.normal(2, 3, 1), "vectors of a single number"),
                _norm(
                    draw, draw.strided(5, 5, 5), "a tensor that is not contiguous, all sizes equal"
                ),
                _norm(
                    draw, draw.normal(1, 1, 8, dtype=torch.float64), "a single position, float64"
                ),
            ],
        ),
        Probe(
            "vectors far from zero lose no precision",
            lambda draw: [
                _norm(draw, 1000 + draw.normal(3, 4, 8), "numbers around 1000"),
                _norm(
                    draw,
                    1e8 + draw.normal(2, 3, 8, dtype=torch.float64),
                    "float64, numbers around 100 million",
                ),
            ],
        ),
        Probe(
            "the gradient flows through mean and variance, too",
            lambda draw: [
                _norm(draw, draw.normal(2, 3, 5), "gradients of x, weight and bias", gradients=True)
            ],
        ),
    ],
    hints=(
        "Q3c normalises (1, 2, 3, 6) by hand, in three steps. Which line of code does each "
        "step become?",
        "Take mean and variance over the last axis only, and keep this axis with size 1, so "
        "that they broadcast against x. For the variance, divide by d_model, not by d_model - "
        "1.",
        "For an x of shape (2, 4), x.mean(dim=1) has the shape (2,), and x.mean(dim=1, "
        "keepdim=True) has the shape (2, 1), which broadcasts against x. How do you name the last "
        "axis, however many there are in front of it? In (1, 2, 3, 6), the squared distances from "
        "the mean are 4, 1, 0 and 9, and their mean is the variance, 3.5. What is added to it "
        "under the root?",
    ),
)


@item.switchable
def layer_norm_with(on: frozenset[str]) -> Callable[..., Tensor]:
    """layer_norm with these misconceptions."""

    def answer(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
        if "always_in_float32" in on:
            return scaled(normed(x.float(), eps), weight, bias).to(x.dtype)
        return scaled(normed(x, eps), weight, bias)

    def normed(x: Tensor, eps: float) -> Tensor:
        axes = averaged_axes(x)
        mean = x.mean(dim=axes, keepdim=not on & {"keepdim_forgotten", "mean_without_keepdim"})
        variance = variance_of(x, mean, axes)
        if "statistics_detached" in on:
            mean = mean.detach()
        if on & {"statistics_detached", "variance_detached"}:
            variance = variance.detach()
        if "edits_its_input" in on:
            x -= mean
        elif "mean_kept" not in on:
            x = x - mean
        return x / divisor(variance, eps)

    def averaged_axes(x: Tensor) -> int | tuple[int, ...]:
        if "everything" in on:
            return tuple(range(x.ndim))
        if "whole_sentence" in on and x.ndim > 1:
            return (-2, -1)
        return 0 if "over_the_batch" in on else -1

    def variance_of(x: Tensor, mean: Tensor, axes: int | tuple[int, ...]) -> Tensor:
        keepdim = not on & {"keepdim_forgotten", "variance_without_keepdim"}
        if "mean_kept" in on:
            return x.square().mean(dim=axes, keepdim=keepdim)
        if "squares_not_divided" in on:
            return (x - mean).square().sum(dim=axes, keepdim=keepdim)
        if on & {"squares_first", "squares_first_and_negative"}:
            variance = x.square().mean(dim=axes, keepdim=keepdim) - mean.square()
            return variance.clamp(min=0) if "squares_first" in on else variance
        correction = int(bool(on & {"by_one_less", "std_plus_eps"}))
        return x.var(dim=axes, keepdim=keepdim, correction=correction)

    def divisor(variance: Tensor, eps: float) -> Tensor:
        if "no_eps" in on:
            eps = 0.0
        elif on & {"eps_fixed", "eps_fixed_lower"}:
            eps = 1e-5 if "eps_fixed" in on else 1e-6
        elif eps == 1e-5 and on & {"another_default", "a_much_lower_default"}:
            eps = 1e-6 if "another_default" in on else 1e-12
        if "root_of_the_deviation" in on:
            return (variance.sqrt() + eps).sqrt()
        if on & {"eps_outside", "std_plus_eps"}:
            return variance.sqrt() + eps
        return variance + eps if "no_root" in on else torch.sqrt(variance + eps)

    def scaled(normed: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        if "weight_and_bias_left_out" in on:
            return normed
        if "weight_and_bias_swapped" in on:
            return normed * bias + weight
        if "bias_first" in on:
            return (normed + bias) * weight
        if "weight_left_out" not in on:
            normed = normed * weight
        return normed if "bias_left_out" in on else normed + bias

    return answer


item.switch(
    "by_one_less",
    "Your variance divides by d_model − 1.",
    why="That's the unbiased estimate, the default of var() and std(). LayerNorm uses the biased "
    "one, which divides by d_model.",
    hint="By what is your sum of squares divided? If you use var or std, look for the argument "
    "that decides this.",
)
item.switch(
    "eps_outside",
    "You add eps to the square root of the variance, not to the variance.",
    why="For most vectors you won't see the difference. For small ones the result is wrong.",
    hint="What's inside the square root in the formula?",
)
item.switch(
    "no_eps",
    "You don't add eps to the variance.",
    why="The variance of a constant vector is 0, so you divide 0 by 0 and get NaN. Small vectors "
    "also come out larger than they should.",
    hint="Where does your code use its argument eps?",
)
item.switch(
    "eps_fixed",
    "You always use the same eps, whatever the argument is.",
    why="Models differ in eps: one of the five published systems uses 1e-6, while PyTorch's "
    "default is 1e-5.",
    hint="Does your code use its argument eps?",
    spellings=["eps_fixed_lower"],
)
item.switch(
    "another_default",
    "Your default for eps is too low.",
    why="A vector whose variance isn't far above eps then comes out larger than it should. "
    "Models differ in their eps: PyTorch's default is 1e-5, and BERT uses 1e-12.",
    hint="Which eps does your function use if none is given?",
    spellings=["a_much_lower_default"],
)
item.switch(
    "whole_sentence",
    "You take mean and variance over the positions, too: one norm for the whole sentence.",
    why="Then one token with a large norm makes all the others small, and in a decoder each token "
    "depends on later ones.",
    hint="Over how many numbers do you take each mean: d_model, or seq · d_model?",
)
item.switch(
    "everything",
    "You take mean and variance over everything: one norm for the whole batch.",
    why="Without dim, mean() averages over all axes. Then a sentence depends on the other "
    "sentences in its batch.",
    hint="Over how many numbers do you take each mean: d_model, or all of x?",
)
item.switch(
    "over_the_batch",
    "You take mean and variance over the batch.",
    why="That's close to BatchNorm: each number then depends on the numbers at the same "
    "position in the other sentences.",
    hint="Which axis holds the numbers of one position?",
)
item.switch(
    "keepdim_forgotten",
    "Your mean or your variance has lost the last axis, so it doesn't line up with the vectors of "
    "x.",
    why="Broadcasting aligns shapes from the right: with x of shape (2, 3, 4), a mean of shape "
    "(2, 3) raises an error. If all sizes are equal there's no error, but each number of a vector "
    "gets the mean or variance of a different vector.",
    hint="Which argument keeps the axis that you average over, with size 1?",
    spellings=["mean_without_keepdim", "variance_without_keepdim"],
)
item.switch(
    "mean_kept",
    "You don't subtract the mean.",
    why="Dividing by the root mean square alone is RMSNorm, which many newer models use. LayerNorm "
    "subtracts the mean, too.",
    hint="With weight 1 and bias 0, what should the mean of the output be?",
)
item.switch(
    "no_root",
    "You divide by the variance, not by its square root.",
    why="A vector that's twice as large would come out half as large. If you divide by the square "
    "root, its scale doesn't matter.",
    hint="Which one scales like x: the variance, or its square root?",
)
item.switch(
    "root_of_the_deviation",
    "You take the square root twice: you divide by the root of the standard deviation.",
    why="std() is already the square root of the variance. If x were four times as large, your "
    "result would be twice as large, but it shouldn't change.",
    hint="How many square roots are there between the variance and your divisor? std already "
    "takes one.",
)
item.switch(
    "squares_not_divided",
    "Your variance is the sum of the squares: it isn't divided by d_model.",
    why="Then every vector gets norm 1 instead of variance 1, and the wider the model is, the "
    "smaller are its numbers.",
    hint="The variance is an average. Over how many numbers?",
)
item.switch(
    "bias_first",
    "You add the bias before you multiply by the weight.",
    why="Then the weight scales the bias as well, and parameters from other implementations give "
    "different results.",
    hint="In the formula, which operation comes last?",
)
item.switch(
    "weight_and_bias_left_out",
    "Weight and bias have no effect.",
    why="They are the trainable parameters of the norm: with them, the model can give a column "
    "another scale and mean where that helps.",
    hint="Do weight and bias both reach what you return?",
)
item.switch(
    "weight_left_out",
    "The weight has no effect.",
    why="It's one of the norm's two trainable parameters. Without it, the model can't give a "
    "column another scale.",
    hint="Do weight and bias both reach what you return?",
)
item.switch(
    "bias_left_out",
    "The bias has no effect.",
    why="It's one of the norm's two trainable parameters. Without it, no column can be shifted "
    "to where it helps.",
    hint="Do weight and bias both reach what you return?",
)
item.switch(
    "squares_first",
    "Your variance loses precision if the numbers are far from zero.",
    why="The mean of the squares minus the square of the mean is right on paper. With numbers "
    "around 1000 it subtracts two numbers near a million that are almost equal, and in float32 "
    "hardly a digit of the difference is right (catastrophic cancellation).",
    hint="Subtract first, then square.",
    spellings=["squares_first_and_negative"],
)
item.switch(
    "always_in_float32",
    "You compute in float32, so float64 vectors lose precision.",
    why="float32 has about seven digits: near 100 million it only holds multiples of 8. Numbers "
    "less than 4 away from 100 million all become equal, and then nothing is left after the mean "
    "is subtracted.",
    hint="Compute in the dtype that x has. Where does your code change it?",
)
item.switch(
    "statistics_detached",
    "No gradient flows through your mean or your variance.",
    why="Both depend on x, and autograd has to know it. `.detach()`, `.data`, `.item()` and "
    "`torch.no_grad()` make them constants: the output doesn't show it, but its gradient is wrong.",
    hint="Compute mean and variance like everything else, within autograd.",
    spellings=["variance_detached"],
)
item.switch(
    "edits_its_input",
    "Your code modifies its input in place.",
    why="Operations in place, such as x -= … or sub_, change the caller's tensor. The residual "
    "path around the norm still needs the original.",
    hint="Create a new tensor for x minus its mean.",
)
item.switch(
    "std_plus_eps",
    "You divide by the unbiased standard deviation plus eps.",
    why="x.std() divides by d_model − 1, and eps belongs inside the root. With large d_model you "
    "hardly see the difference, with small d_model you do.",
    hint="Two questions: by what is the sum of squares divided, and where is eps in the formula?",
)
item.switch(
    "weight_and_bias_swapped",
    "You swap weight and bias.",
    why="The weight scales the normalised vector, and the bias shifts it.",
    hint="Which of the two is a factor?",
)
