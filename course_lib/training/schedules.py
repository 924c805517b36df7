"""The learning rate at each step. Steps count from 1."""

import math
from collections.abc import Callable

# The rate at a step, of a run that is expected to have so many in total.
Schedule = Callable[[int, int], float]


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


def one_cycle_lr(step: int, *, peak: float, total: int, rise: float = 0.25) -> float:
    """Half a cosine up from ``peak`` / 25 during the share ``rise`` of the run, then one down to
    almost zero, ``peak`` / 250,000 (Smith and Topin 2017; the defaults of fastai, 2019).

    Raises:
        ValueError: step is below 1.
    """
    _check(step, 1)
    progress = min(1.0, step / max(1, total))
    if progress < rise:
        start, share = peak / 25, progress / rise
    else:
        start, share = peak / 250_000, (1 - progress) / (1 - rise)
    return start + (peak - start) * (1 - math.cos(math.pi * share)) / 2
