"""17.rms_norm: A norm without the mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.modern import norm as modern


def _norm(draw: Draw, x: Tensor, about: str, *, gradients: bool = False, **kwargs: Any) -> Call:
    """A call with a random weight."""
    weight = 1 + draw.normal(x.size(-1), std=0.5, dtype=x.dtype)
    return Call((x, weight), kwargs, about=about, gradients=gradients)


def _half(draw: Draw) -> Call:
    """Numbers whose squares overflow in float16; products with this weight are exact there."""
    x = (400 * (1 + draw.normal(2, 3, 8).abs())).half()
    weight = torch.tensor([0.5, 1.0, 2.0, 1.0, 4.0, 1.0, 0.5, 2.0]).half()
    return Call((x, weight), about="float16, numbers of 400 and more")


item = Item(
    "17.rms_norm",
    reference=modern.rms_norm,
    tolerance=1e-3,
    probes=[
        Probe(
            "the mean of the squares of each vector becomes 1, and its mean is left alone",
            lambda draw: [
                Call(
                    (torch.tensor([1.0, -7.0, 5.0, 5.0]), torch.ones(4)),
                    about="one vector, weight 1: its mean square is 25",
                ),
                Call(
                    (3 * draw.normal(2, 3, 4) + 2, torch.ones(4)),
                    about="four numbers per vector, with a mean other than 0, weight 1",
                ),
            ],
        ),
        Probe(
            "then it is multiplied by weight",
            lambda draw: [_norm(draw, draw.normal(2, 3, 5, std=2), "random weight")],
        ),
        Probe(
            "eps is added to the mean square, inside the root",
            lambda draw: [
                _norm(draw, draw.normal(2, 3, 6, std=0.3), "eps 0.5", eps=0.5),
                _norm(
                    draw, draw.normal(2, 3, 6, std=1e-3), "small vectors, eps left at its default"
                ),
                _norm(draw, torch.zeros(1, 2, 6), "vectors of zeros"),
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
                _norm(draw, draw.normal(2, 3, 4, 6), "four axes: the heads of queries or keys"),
                _norm(draw, draw.normal(2, 3, 1), "vectors of a single number"),
                _norm(
                    draw, draw.strided(5, 5, 5), "a tensor that is not contiguous, all sizes equal"
                ),
                _norm(
                    draw, draw.normal(1, 1, 8, dtype=torch.float64), "a single position, float64"
                ),
            ],
        ),
        Probe("squares that float16 can't hold do no harm", lambda draw: [_half(draw)]),
        Probe(
            "the gradient flows through the mean square, too",
            lambda draw: [
                _norm(draw, draw.normal(2, 3, 5), "gradients of x and weight", gradients=True)
            ],
        ),
    ],
    hints=(
        "Start from your LayerNorm of lesson 03. Which of its steps are about the mean, and what "
        "is left of the variance without them?",
        "Square, take the mean over the last axis and keep that axis, add eps, take the root. For "
        "float16, ask at each of these steps how large its result may become: the largest number "
        "there is 65,504.",
        "For x = (1, -7, 5, 5) the squares are 1, 49, 25 and 25. Their mean is 25, so each number "
        "is divided by 5. torch.rsqrt(torch.tensor(25.)) is 0.2: with it, does one divide or "
        "multiply? And torch.tensor([300.]).half() squared is inf; after .float() it is 90,000.",
    ),
)


@item.switchable
def rms_norm_with(on: frozenset[str]) -> Callable[..., Tensor]:
    """rms_norm with these misconceptions."""

    def answer(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
        half = x.dtype == torch.float16
        wide = x.float() if half and "squares_in_float16" not in on else x
        if "weight_before_the_norm" in on:
            wide = wide * weight.to(wide.dtype)
        divisor = divisor_of(wide, eps)
        if "edits_its_input" in on:
            normed = x.copy_(wide / divisor)
        elif "mean_subtracted" in on:
            normed = (wide - wide.mean(dim=-1, keepdim=True)) / divisor
        else:
            normed = wide * divisor if "multiplies_by_the_root" in on else wide / divisor
        return scaled(normed if "float32_comes_out" in on else normed.to(x.dtype), weight)

    def divisor_of(x: Tensor, eps: float) -> Tensor:
        keepdim, axes = "keepdim_forgotten" not in on, averaged_axes(x)
        square = squares(x, axes, keepdim=keepdim)
        if "mean_square_detached" in on:
            square = square.detach()
        eps = eps_of(eps)
        if "eps_outside" in on:
            return square.sqrt() + eps
        if "root_of_the_root" in on:
            return (square.sqrt() + eps).sqrt()
        return square + eps if "no_root" in on else torch.sqrt(square + eps)

    def squares(x: Tensor, axes: int | tuple[int, ...], *, keepdim: bool) -> Tensor:
        if "std_for_the_root" in on or "mean_subtracted" in on:
            return x.var(dim=axes, correction=0, keepdim=keepdim)
        if "unbiased_std_for_the_root" in on:
            return x.var(dim=axes, keepdim=keepdim)
        if "squares_not_divided" in on:
            return x.square().sum(dim=axes, keepdim=keepdim)
        if "mean_squared" in on:
            return x.mean(dim=axes, keepdim=keepdim).square()
        if "mean_of_sizes" in on:
            return x.abs().mean(dim=axes, keepdim=keepdim).square()
        return x.square().mean(dim=axes, keepdim=keepdim)

    def averaged_axes(x: Tensor) -> int | tuple[int, ...]:
        if "everything" in on:
            return tuple(range(x.ndim))
        if "whole_sentence" in on and x.ndim > 1:
            return (-2, -1)
        if "over_the_positions" in on and x.ndim > 1:
            return -2
        if "along_axis_1" in on:
            return 1
        return 0 if "over_the_batch" in on else -1

    def eps_of(eps: float) -> float:
        if "no_eps" in on:
            return 0.0
        if "eps_fixed" in on:
            return 1e-6
        return 1e-5 if "another_default" in on and eps == 1e-6 else eps

    def scaled(normed: Tensor, weight: Tensor) -> Tensor:
        if on & {"weight_left_out", "weight_before_the_norm"}:
            return normed
        if "one_plus_weight" in on:
            return normed * (1 + weight)
        return normed + weight if "weight_added" in on else normed * weight

    return answer


item.switch(
    "mean_subtracted",
    "You subtract the mean: that is LayerNorm without its bias.",
    why="RMSNorm leaves the mean of a vector alone. For vectors whose mean is 0 the two agree, so "
    "you see it only for others.",
    hint="With weight 1, should the mean of a vector of ones become 0, or stay 1?",
)
item.switch(
    "std_for_the_root",
    "You divide by the standard deviation, not by the root of the mean square.",
    why="The standard deviation measures distances from the mean, even if you don't subtract the "
    "mean from x itself. A vector of equal numbers has a standard deviation of 0.",
    hint="What are var and std of the vector (3, 3, 3, 3), and what is its root mean square?",
    spellings=["unbiased_std_for_the_root"],
)
item.switch(
    "eps_outside",
    "You add eps to the root, not to the mean square.",
    why="For most vectors you won't see the difference. For small ones the result is wrong, and "
    "weights that were trained with the other one don't fit.",
    hint="What stands under the root in the formula?",
)
item.switch(
    "no_eps",
    "You don't add eps to the mean square.",
    why="A vector of zeros then gives 0 / 0, which is NaN, and small vectors come out larger than "
    "they should.",
    hint="Where does your code use its argument eps?",
)
item.switch(
    "eps_fixed",
    "You always use the same eps, whatever the argument is.",
    why="Models differ in it: in a configuration it is called rms_norm_eps, and is often 1e-5 or "
    "1e-6.",
    hint="Does your code use its argument eps?",
)
item.switch(
    "another_default",
    "Your default for eps is too high.",
    why="A vector whose mean square isn't far above eps then comes out smaller than it should.",
    hint="Which eps does your function use if none is given, and which one does the task ask for?",
)
item.switch(
    "whole_sentence",
    "You take the mean of the squares over the positions, too: one norm for the whole sentence.",
    why="Then one token with a large norm makes all the others small, and a token depends on later "
    "ones.",
    hint="Over how many numbers do you take each mean: those of one token, or of a sentence?",
)
item.switch(
    "over_the_positions",
    "You take the mean of the squares along the positions, one for each column.",
    why="Each number is then divided by something that depends on the other tokens, later ones "
    "among them.",
    hint="Which axis holds the numbers of one token?",
    spellings=["along_axis_1"],
)
item.switch(
    "everything",
    "You take the mean of the squares over everything: one norm for the whole batch.",
    why="Without dim, mean() averages over all axes. Then a sentence depends on the others in its "
    "batch.",
    hint="Over how many numbers do you take each mean: those of one token, or all of x?",
)
item.switch(
    "over_the_batch",
    "You take the mean of the squares along the first axis, the batch.",
    why="Each number then depends on those at the same position in the other sentences.",
    hint="Which axis holds the numbers of one token, however many axes there are in front of it?",
)
item.switch(
    "keepdim_forgotten",
    "Your mean of the squares has lost the last axis, so it doesn't line up with the vectors of x.",
    why="Broadcasting aligns shapes from the right. Often this raises an error; if all sizes are "
    "equal there is none, and each number gets the mean of another vector.",
    hint="Which argument keeps the axis that you average over, with size 1?",
)
item.switch(
    "squares_in_float16",
    "In float16 your squares overflow: the result is 0 where numbers are large.",
    why="The largest number of float16 is 65,504, and 256 squared is already more. The mean is "
    "then infinite, and dividing by it leaves 0. No error is raised.",
    hint="In which dtype do you square? Published code goes to float32 for this, and back at the "
    "end.",
)
item.switch(
    "float32_comes_out",
    "Your result is float32 where x was float16.",
    why="The mean needs float32, but the next layer has float16 weights, and PyTorch refuses to "
    "multiply the two.",
    hint="Which dtype should the result have? Compare it with that of x.",
)
item.switch(
    "multiplies_by_the_root",
    "You multiply by the root of the mean square: large vectors become even larger.",
    why="The root is what is divided by. Its reciprocal, rsqrt, is what is multiplied by; it's "
    "easy to exchange the two.",
    hint="With weight 1, is the mean square of your result 1? Try a vector of tens.",
)
item.switch(
    "no_root",
    "You divide by the mean square, not by its root.",
    why="A vector that's twice as large would come out half as large. Divided by the root, its "
    "scale doesn't matter.",
    hint="Which one scales like x: the mean square, or its root?",
)
item.switch(
    "root_of_the_root",
    "You take the root twice.",
    why="If x were four times as large, your result would be twice as large, and it shouldn't "
    "change.",
    hint="How many roots are there between the mean square and what you divide by?",
)
item.switch(
    "squares_not_divided",
    "You divide by the length of the vector: the sum of the squares isn't divided by D.",
    why="Then each vector gets length 1 in place of a mean square of 1, and the wider the model "
    "is, the smaller are its numbers. F.normalize and torch.norm do that.",
    hint="The M in RMS is a mean. Over how many numbers?",
)
item.switch(
    "mean_squared",
    "You square the mean, where you should take the mean of the squares.",
    why="The mean of (1, -1) is 0, and so is its square; the mean of its squares is 1. Vectors "
    "whose mean is near 0 would become huge.",
    hint="In which order do root, mean and square stand in RMS, read from right to left?",
)
item.switch(
    "mean_of_sizes",
    "You take the mean of the absolute values, not the root of the mean of the squares.",
    why="Both measure how large the numbers are, but large ones count more in squares, so the two "
    "differ for every vector whose numbers differ in size.",
    hint="In which order do root, mean and square stand in RMS, read from right to left?",
)
item.switch(
    "weight_left_out",
    "The weight has no effect.",
    why="It's the norm's only trainable parameter. Without it, the model can't give a column "
    "another scale.",
    hint="Does weight reach what you return?",
)
item.switch(
    "one_plus_weight",
    "You multiply by 1 + weight.",
    why="That is Gemma's convention, whose files hold weights around 0. Here, and in most models, "
    "weights are around 1. Read with the wrong one of the two, a model writes nonsense.",
    hint="By what is the normalised vector multiplied in the task's formula?",
)
item.switch(
    "weight_before_the_norm",
    "You multiply by weight before you normalise, not after.",
    why="The norm then undoes what all weights have in common, and divides by something that "
    "depends on them.",
    hint="In the formula, which operation comes last?",
)
item.switch(
    "weight_added",
    "You add the weight where you should multiply by it.",
    why="RMSNorm has no bias. Its weight is a factor for each column, and starts at 1.",
    hint="What should a weight of 1 do to the normalised vector?",
)
item.switch(
    "mean_square_detached",
    "No gradient flows through your mean of the squares.",
    why="It depends on x, and autograd has to know it. `.detach()`, `.data`, `.item()` and "
    "`torch.no_grad()` make it a constant: the output doesn't show it, but its gradient is wrong.",
    hint="Compute the mean of the squares like everything else, within autograd.",
)
item.switch(
    "edits_its_input",
    "Your code modifies its input in place.",
    why="Operations in place, such as x /= … or div_, change the caller's tensor. The residual "
    "path around the norm still needs the original.",
    hint="Create a new tensor for the normalised vectors.",
)
