"""Gradient accumulation: the step of ``step.py`` for a batch that is computed in micro-batches, and
for one that several processes share (distributed data parallel).

Every real token of the whole batch counts alike however it is divided, so the step is the same.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.optim import Optimizer

from course_lib.data import Batch, teacher_forcing
from course_lib.model import Transformer
from course_lib.training.device import Precision, mixed_precision
from course_lib.training.distributed import (
    all_reduce_sum,
    gradient_sync,
    rows_of_this_rank,
    world_size,
    wrap_ddp,
)
from course_lib.training.loss import translation_loss
from course_lib.training.step import check_and_clip_gradients, check_optimizer, set_learning_rate


class ModelWithLoss(nn.Module):
    """A model and its loss as one module, because DDP wraps a module's ``forward``."""

    def __init__(self, model: Transformer, label_smoothing: float) -> None:
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        decoder_input: Int[Tensor, "batch target"],
        labels: Int[Tensor, "batch target"],
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy per real label, in nats."""
        return translation_loss(self.model, source, decoder_input, labels, self.label_smoothing)


class AccumulatedStep:
    """``train_step`` on this process's rows of a batch, in micro-batches one by one.

    Args:
        micro_batches: parts in which a batch is computed, to need less memory.
    """

    def __init__(self, model: Transformer, *, label_smoothing: float, micro_batches: int) -> None:
        self.model, self.micro_batches = model, micro_batches
        self.loss_of = wrap_ddp(ModelWithLoss(model, label_smoothing))

    def __call__(
        self,
        batch: Batch,
        optimizer: Optimizer,
        *,
        lr: float | None = None,
        max_grad_norm: float | None = None,
        precision: Precision = "fp32",
    ) -> float:
        """Take one step; ``batch`` is the whole batch, the same on all processes.

        Returns:
            The loss per real token of the whole batch, in nats, before the update.

        Raises:
            CourseError: as ``train_step``; the weights are untouched.
        """
        model, pad_id = self.model, self.model.config.pad_id
        check_optimizer(model, optimizer)
        batch = rows_of_this_rank(batch, pad_id)
        decoder_input, labels = teacher_forcing(batch.target.to(model.device), pad_id)
        source = batch.source.to(model.device)
        n_tokens = all_reduce_sum((labels != pad_id).sum()).clamp(min=1)  # of the whole batch
        loss = torch.zeros((), device=model.device)
        set_learning_rate(optimizer, lr)
        optimizer.zero_grad()
        parts = [slice(i, None, self.micro_batches) for i in range(self.micro_batches)]
        parts = parts[: len(source)]  # none is empty
        for rows in parts:
            with gradient_sync(self.loss_of, now=rows is parts[-1]):  # once a step
                with mixed_precision(model.device, precision):
                    mean = self.loss_of(source[rows], decoder_input[rows], labels[rows])
                share = mean * (labels[rows] != pad_id).sum() / n_tokens
                (share * world_size()).backward()  # DDP averages the gradients of the processes
            loss += share.detach()
        loss = all_reduce_sum(loss)
        check_and_clip_gradients(model, max_grad_norm, loss)
        optimizer.step()
        return loss.item()
