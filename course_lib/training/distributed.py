"""Distributed data parallel (DDP): several processes, on one machine or more, train one model.

Started by ``torchrun``, each process (a *rank*) takes its share of the rows of every batch; their
gradients are averaged after the backward pass, so that all keep the same weights. A batch is the
recipe's batch however many share it: two processes take the same steps as one.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course_lib.data import Batch
from course_lib.errors import CourseError

TIMEOUT = timedelta(hours=2)  # the others wait while the first one validates


def world_size() -> int:
    """How many processes train together; 1 if this one is alone."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """The number of this process. The first, 0, prints and writes."""
    return dist.get_rank() if world_size() > 1 else 0


@contextmanager
def process_group(device: str) -> Iterator[str]:
    """Join the processes that ``torchrun`` started, if it did; gives the device of this one.

    The others would print what the first one prints, so their output is discarded.

    Raises:
        CourseError: an environment variable of ``torchrun`` is no number.
    """
    if _number_from_torchrun("WORLD_SIZE", default="1") == 1:
        yield device
        return
    if device.startswith("cuda"):
        device = f"cuda:{_number_from_torchrun('LOCAL_RANK')}"
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo", timeout=TIMEOUT)
    try:
        with nullcontext() if rank() == 0 else redirect_stdout(io.StringIO()):
            yield device
    finally:
        dist.destroy_process_group()


def _number_from_torchrun(name: str, default: str = "") -> int:
    value = os.environ.get(name, default)
    if not (value.isdecimal() and len(value) < 10):
        raise CourseError(
            f"expected a whole number in the environment variable {name}, got {value!r}: torchrun "
            "sets it; unset it to train with one process"
        )
    return int(value)


def all_reduce_sum(value: Tensor) -> Tensor:
    """The sum of the processes' values, on each of them."""
    if world_size() > 1:
        value = value.clone()
        dist.all_reduce(value)
    return value


def all_reduce_clock_and_stop(seconds: float, stop: bool) -> tuple[float, bool]:
    """The furthest clock of all processes, and whether any of them wants to stop."""
    if world_size() == 1:
        return seconds, stop
    both = torch.tensor([seconds, float(stop)], dtype=torch.float64, device=_exchange_device())
    dist.all_reduce(both, op=dist.ReduceOp.MAX)
    return float(both[0]), bool(both[1])


def broadcast_from_first_rank(value: Any) -> Any:
    """The first process's value, on all of them."""
    if world_size() == 1:
        return value
    box = [value]
    dist.broadcast_object_list(box, device=_exchange_device())
    return box[0]


def _exchange_device() -> torch.device:
    """Where tensors must lie to be exchanged: nccl knows only GPUs."""
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")


def wrap_ddp(module: nn.Module) -> nn.Module:
    """The module as all processes share it (DistributedDataParallel): the same weights on each, and
    gradients averaged in the backward pass. As it is if there is only one process.
    """
    return DistributedDataParallel(module) if world_size() > 1 else module


def gradient_sync(module: nn.Module, *, now: bool) -> AbstractContextManager[object]:
    """Inside, a backward pass averages gradients over the processes only if ``now`` is True."""
    if now or not isinstance(module, DistributedDataParallel):
        return nullcontext()
    return module.no_sync()


def rows_of_this_rank(batch: Batch, pad_id: int) -> Batch:
    """This process's rows of the batch: with three processes, every third one.

    A process left without a row gets one of padding, which adds no gradient: all must take part in
    the exchange of gradients.
    """
    if world_size() == 1:
        return batch
    rows = slice(rank(), None, world_size())
    source, target = batch.source[rows], batch.target[rows]
    if len(source) == 0:
        source, target = batch.source[:1], torch.full_like(batch.target[:1], pad_id)
    return Batch(source, target)
