"""One step of training: learning rate, forward, backward, clip, step.

Written for one process and a batch that fits in memory. ``gradient_accumulation`` has the same step
for batches that are computed in micro-batches, and for several processes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, get_total_norm
from torch.optim import Optimizer

from course_lib.data import Batch, teacher_forcing
from course_lib.errors import CourseError
from course_lib.model import Transformer
from course_lib.training.device import Precision, mixed_precision
from course_lib.training.loss import translation_loss


def train_step(
    model: Transformer,
    batch: Batch,
    optimizer: Optimizer,
    pad_id: int,
    *,
    lr: float | None = None,
    label_smoothing: float = 0.0,
    max_grad_norm: float | None = None,
    precision: Precision = "fp32",
) -> float:
    """Predict each target token from the right tokens before it, and update the weights once.

    Args:
        model: in training mode.
        batch: source (batch, source) and target (batch, target), padded with ``pad_id``.
        lr: the learning rate of this step; None leaves the optimiser's.
        label_smoothing: share of each label given to all tokens alike (section 5.4).
        max_grad_norm: longer gradients are scaled down to this norm; None never clips.

    Returns:
        The loss per real token, in nats, before the update.

    Raises:
        CourseError: the loss or the gradient is not finite, or the optimiser is for the parameters
            of another model; the weights are untouched.
        ValueError: ``pad_id`` is not the model's, which its masks hide.
    """
    check_optimizer(model, optimizer)
    if pad_id != model.config.pad_id:
        raise ValueError(
            f"pad_id must be the model's, {model.config.pad_id}, got {pad_id}: was the model built "
            "for another vocabulary?"
        )
    decoder_input, labels = teacher_forcing(batch.target.to(model.device), pad_id)
    source = batch.source.to(model.device)
    set_learning_rate(optimizer, lr)
    optimizer.zero_grad()
    with mixed_precision(model.device, precision):
        loss = translation_loss(model, source, decoder_input, labels, label_smoothing)
    loss.backward()
    check_and_clip_gradients(model, max_grad_norm, loss)
    optimizer.step()
    return loss.item()


def check_optimizer(model: Transformer, optimizer: Optimizer) -> None:
    """Refuse an optimiser that would leave the model as it is, with a CourseError."""
    mine = set(model.parameters())
    if not all(p in mine for group in optimizer.param_groups for p in group["params"]):
        raise CourseError(
            "expected an optimiser of this model's parameters, got one of others: was it made "
            "before the model was copied or built anew?"
        )


def set_learning_rate(optimizer: Optimizer, lr: float | None) -> None:
    """Give all parameters this learning rate; None changes nothing."""
    if lr is not None:
        for group in optimizer.param_groups:
            group["lr"] = lr


def check_and_clip_gradients(model: nn.Module, max_grad_norm: float | None, loss: Tensor) -> None:
    """Scale the gradient of all parameters down to ``max_grad_norm`` if it is longer.

    Raises:
        CourseError: the loss or the gradient is not finite, so an update would ruin the weights.
    """
    if max_grad_norm is None:  # only measured: clipping to infinity would touch every gradient
        norm = get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    else:
        norm = clip_grad_norm_(model.parameters(), max_grad_norm)
    if torch.isfinite(loss + norm):  # one question: each would wait for the GPU
        return
    name, value = ("gradient norm", norm) if torch.isfinite(loss) else ("loss", loss)
    raise CourseError(
        f"expected a finite {name}, got {value.item()}: is the learning rate too high? "
        "the weights are as they were before this step",
        see="the-loss-is-not-finite",
    )
