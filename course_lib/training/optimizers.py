"""From a recipe to its optimiser and its learning-rate schedule."""

from __future__ import annotations

from torch import nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from course_lib.training.recipes import Recipe
from course_lib.training.schedules import (
    Schedule,
    inverse_sqrt_lr,
    one_cycle_lr,
    warmup_cosine_lr,
)


def make_optimizer(recipe: Recipe, model: nn.Module) -> Optimizer:
    """The recipe's optimiser over all parameters; each step sets its learning rate."""
    if recipe.optimizer == "sgd":
        return SGD(
            model.parameters(),
            lr=0.0,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
        )
    kind = Adam if recipe.optimizer == "adam" else AdamW
    return kind(
        model.parameters(),
        lr=0.0,
        betas=recipe.betas,
        weight_decay=recipe.weight_decay,
        fused=True,  # all parameters in one loop
    )


def make_schedule(recipe: Recipe, *, d_model: int) -> Schedule:
    """The learning rate as a function of the step and of the number of steps expected in total."""
    peak, warmup = recipe.lr, recipe.warmup
    if recipe.schedule == "inverse_sqrt":
        top = inverse_sqrt_lr(warmup, d_model, warmup)
        scale = 1.0 if peak is None else peak / top
        return lambda step, total: scale * inverse_sqrt_lr(step, d_model, warmup)
    assert peak is not None  # a recipe has seen to it
    if recipe.schedule == "cosine":
        return lambda step, total: warmup_cosine_lr(step, peak=peak, warmup=warmup, total=total)
    if recipe.schedule == "one_cycle":
        return lambda step, total: one_cycle_lr(step, peak=peak, total=total)
    return lambda step, total: peak
