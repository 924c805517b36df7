"""What the set-up cell of each lesson calls, and how lessons print numbers."""

from __future__ import annotations

import os
import warnings

import torch
from torch import Tensor


def set_up(seed: int = 0) -> None:
    """Make a notebook give the same numbers in every run.

    Seeds PyTorch and switches on full float32 precision in matrix products (no TF32) and
    deterministic algorithms. On a GPU, older releases of PyTorch (2.6 is one) multiply matrices
    deterministically only if cuBLAS was given a workspace of fixed size before its first product;
    otherwise they stop with a RuntimeError.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or ":16:8"; read when CUDA starts
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        # PyTorch 2.9, which Colab has, recommends an interface that 2.8 does not have
        warnings.filterwarnings("ignore", "Please use the new API settings", UserWarning)
        torch.set_float32_matmul_precision("highest")
    # use_deterministic_algorithms(True) does the same, and imports a compiler that takes seconds
    torch.set_deterministic_debug_mode("error")


def show(x: Tensor | float, decimals: int = 3, *, name: str = "") -> None:
    """Print a number or a tensor with a fixed number of decimals, never as ``-0.000``.

    Args:
        x: any shape with at most two axes; booleans and integers are printed as they are.
        decimals: digits after the point: 3 or 4 for the result of a forward pass, 2 after training.
        name: printed before the numbers, as in ``name = 0.123``.

    Raises:
        ValueError: x has more than two axes, or decimals is negative.
    """
    values = torch.as_tensor(x).detach().cpu()
    if values.ndim > 2 or decimals < 0:
        raise ValueError(
            f"show prints at most two axes and decimals ≥ 0, got shape {tuple(values.shape)} and "
            f"decimals={decimals}: pick a slice first, as in x[0, 0]"
        )
    label = f"{name} = " if name else ""
    if values.ndim < 2:
        print(f"{label}{_text(values, decimals)}")
    else:
        rows = (_text(row, decimals) for row in values)
        print(f"{label}[" + (",\n" + " " * (len(label) + 1)).join(rows) + "]")


def _text(values: Tensor, decimals: int) -> str:
    if values.ndim:
        return "[" + ", ".join(_text(value, decimals) for value in values) + "]"
    if not values.is_floating_point():
        return str(values.item())
    # Adding 0.0 after rounding turns -0.0 into 0.0.
    return f"{round(values.item(), decimals) + 0.0:.{decimals}f}"
