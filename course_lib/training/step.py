"""One step of training: predict, compare, and move the weights a little."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD, Adam, AdamW, Optimizer

from course_lib.data import Batch, teacher_forcing
from course_lib.errors import CourseError
from course_lib.model import Transformer
from course_lib.training.device import Precision, mixed_precision
from course_lib.training.distributed import add_over_ranks, world_size
from course_lib.training.fast_loss import projected_loss
from course_lib.training.loss import label_smoothed_loss
from course_lib.training.recipes import Recipe
from course_lib.training.schedules import (
    Schedule,
    inverse_sqrt_lr,
    one_cycle_lr,
    warmup_cosine_lr,
)

# Words of a vocabulary from which the logits of a batch are too large to be worth having at once.
BLOCKWISE_FROM = 2000


def make_optimizer(recipe: Recipe, model: Transformer) -> Optimizer:
    """The recipe's optimiser over all parameters; the schedule sets its rate before each step."""
    if recipe.optimizer == "sgd":
        return SGD(model.parameters(), lr=0.0, momentum=recipe.momentum)
    kind = Adam if recipe.optimizer == "adam" else AdamW
    return kind(
        model.parameters(),
        lr=0.0,
        betas=recipe.betas,
        weight_decay=recipe.weight_decay,
        fused=True,  # all parameters in one loop
    )


def make_schedule(recipe: Recipe, *, d_model: int) -> Schedule:
    """The recipe's learning rate as a function of the step and of the number of steps expected."""
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


class LossOf(nn.Module):
    """A model with its loss: what several processes can share as one module."""

    def __init__(self, model: Transformer, pad_id: int, label_smoothing: float) -> None:
        super().__init__()
        self.model, self.pad_id, self.label_smoothing = model, pad_id, label_smoothing

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        decoder_input: Int[Tensor, "batch target"],
        labels: Int[Tensor, "batch target"],
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy per real label, in nats."""
        model = self.model
        if model.config.target_vocab < BLOCKWISE_FROM:
            logits = model(source, decoder_input).float()
            return label_smoothed_loss(logits, labels, self.pad_id, self.label_smoothing)
        hidden = model.hidden(decoder_input, model.encode(source), source)
        weight, bias = model.output.weight, model.output.bias
        return projected_loss(hidden, weight, bias, labels, self.pad_id, self.label_smoothing)


def train_step(
    model: Transformer,
    batch: Batch,
    optimizer: Optimizer,
    pad_id: int,
    *,
    label_smoothing: float = 0.0,
    max_grad_norm: float | None = None,
    precision: Precision = "fp32",
    micro_batches: int = 1,
    shared: DistributedDataParallel | None = None,
) -> float:
    """Predict each target word from the right words before it, and move the weights a little.

    The batch may be computed in ``pieces``, and each process of several has its own rows of it: in
    any case every real token of the whole batch counts alike, and the step is the same.

    Args:
        shared: ``LossOf(model, …)`` as several processes share it.

    Returns:
        The loss per real token of the whole batch, in nats, before the step.

    Raises:
        CourseError: the loss is not a number.
    """
    loss_of = shared or LossOf(model, pad_id, label_smoothing)
    source = batch.source.to(model.device)
    decoder_input, labels = teacher_forcing(batch.target.to(model.device), pad_id)
    tokens = add_over_ranks((labels != pad_id).sum()).clamp(min=1)
    loss = torch.zeros((), device=model.device)
    optimizer.zero_grad()
    parts = [slice(i, None, micro_batches) for i in range(min(micro_batches, len(source)))]
    for rows in parts:
        with _alone(shared, until_last=rows is not parts[-1]):
            with mixed_precision(model.device, precision):
                mean = loss_of(source[rows], decoder_input[rows], labels[rows])
            share = mean * (labels[rows] != pad_id).sum() / tokens
            (share * world_size()).backward()  # the processes' gradients will be averaged
        loss += share.detach()
    value = float(add_over_ranks(loss))
    if not math.isfinite(value):
        raise CourseError(f"expected a finite loss, got {value}: is the learning rate too high?")
    if max_grad_norm is not None:
        clip_grad_norm_(model.parameters(), max_grad_norm)
    optimizer.step()
    return value


def _alone(
    shared: DistributedDataParallel | None, *, until_last: bool
) -> AbstractContextManager[object]:
    """Processes exchange their gradients once a step, with its last piece."""
    return shared.no_sync() if shared and until_last else nullcontext()
