"""The learning rate at each step. Steps count from 1."""

import math
from collections.abc import Callable

Schedule = Callable[[int], float]


def _check(step: int, warmup: int) -> None:
    if step < 1 or warmup < 1:
        raise ValueError(
            f"step and warmup count from 1, got step={step} and warmup={warmup}: "
            "is the schedule called before the first step?"
        )


def inverse_sqrt_lr(step: int, d_model: int, warmup: int) -> float:
    """Linear warm-up, then decay with 1/√step, scaled by 1/√d_model (equation 3).

    Raises:
        ValueError: step or warmup is below 1.
    """
    _check(step, warmup)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def warmup_cosine_lr(step: int, *, peak: float, warmup: int, total: int) -> float:
    """Linear warm-up to ``peak``, then half a cosine down to zero at step ``total``.

    Raises:
        ValueError: step or warmup is below 1.
    """
    _check(step, warmup)
    if step <= warmup:
        return peak * step / warmup
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return peak * (1 + math.cos(math.pi * progress)) / 2
