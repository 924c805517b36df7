"""The step of ``step.py`` for a batch that is computed in micro-batches (gradient accumulation), or
that several processes share (distributed data parallel).

Every real token of the whole batch counts alike however it is divided, so the step is the same.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from course_lib.data import Batch, teacher_forcing
from course_lib.model import Transformer
from course_lib.training.device import Precision, mixed_precision
from course_lib.training.distributed import all_reduce_sum, rows_of_this_rank, world_size
from course_lib.training.step import clip_gradients, set_learning_rate, translation_loss


class ModelWithLoss(nn.Module):
    """A model and its loss as one module, because DDP wraps a module's ``forward``."""

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
        return translation_loss(
            self.model, source, decoder_input, labels, self.pad_id, self.label_smoothing
        )


def parallel_train_step(
    model_with_loss: ModelWithLoss | DistributedDataParallel,
    batch: Batch,
    optimizer: Optimizer,
    *,
    lr: float | None = None,
    max_grad_norm: float | None = None,
    precision: Precision = "fp32",
    micro_batches: int = 1,
) -> float:
    """``train_step`` on this process's rows of the batch, ``micro_batches`` parts one by one.

    Args:
        model_with_loss: wrapped in DistributedDataParallel where there are several processes.
        batch: the whole batch, the same on all processes.

    Returns:
        The loss per real token of the whole batch, in nats, before the update.

    Raises:
        CourseError: the loss or the gradient is not finite; the weights are untouched.
    """
    ddp = model_with_loss if isinstance(model_with_loss, DistributedDataParallel) else None
    module = cast(ModelWithLoss, ddp.module if ddp else model_with_loss)
    model, pad_id = module.model, module.pad_id
    batch = rows_of_this_rank(batch, pad_id)
    decoder_input, labels = teacher_forcing(batch.target.to(model.device), pad_id)
    source = batch.source.to(model.device)
    n_tokens = all_reduce_sum((labels != pad_id).sum()).clamp(min=1)  # of the whole batch
    loss = torch.zeros((), device=model.device)
    set_learning_rate(optimizer, lr)
    optimizer.zero_grad()
    parts = [slice(i, None, micro_batches) for i in range(min(micro_batches, len(source)))]
    for rows in parts:
        with _no_sync(ddp, unless=rows is parts[-1]):
            with mixed_precision(model.device, precision):
                mean = model_with_loss(source[rows], decoder_input[rows], labels[rows])
            share = mean * (labels[rows] != pad_id).sum() / n_tokens
            (share * world_size()).backward()  # DDP averages the gradients of the processes
        loss += share.detach()
    loss = all_reduce_sum(loss)
    clip_gradients(model, max_grad_norm, loss)
    optimizer.step()
    return loss.item()


def _no_sync(
    ddp: DistributedDataParallel | None, *, unless: bool
) -> AbstractContextManager[object]:
    """Processes exchange their gradients once a step: with the last micro-batch."""
    return nullcontext() if ddp is None or unless else ddp.no_sync()
