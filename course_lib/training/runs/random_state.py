"""Random numbers of a run: kept with it for ``--resume``, and different in each process."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.training.distributed import rank


def random_state() -> dict[str, Tensor]:
    """Where PyTorch's global random numbers are: ``rng``, and ``cuda_rng`` where there is a GPU."""
    state = {"rng": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda_rng"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state: dict[str, Any]) -> None:
    """Go on with the random numbers from where ``random_state`` was called."""
    torch.set_rng_state(state["rng"])
    if torch.cuda.is_available() and "cuda_rng" in state:
        torch.cuda.set_rng_state(state["cuda_rng"])


def seed_dropout_per_rank(seed: int, step: int) -> None:
    """Of several processes that train one model, each draws its own dropout."""
    if rank() > 0:
        rng = np.random.default_rng((seed, step, rank()))
        torch.manual_seed(int(rng.integers(2**63)))
