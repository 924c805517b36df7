"""11.inverse_sqrt_lr: linear warm-up, then inverse square root decay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.training import schedules


def _rates(
    rate: Callable[..., Any], steps: Sequence[int], d_model: int, warmup: int
) -> dict[str, Any]:
    return {f"step {step}": rate(step, d_model, warmup) for step in steps}


def _schedule(draw: Draw, *steps: int, d_model: int, warmup: int) -> Call:
    about = f"d_model {d_model}, {warmup} steps of warm-up"
    return Call((list(steps), d_model, warmup), about=about)


item = Item(
    "11.inverse_sqrt_lr",
    reference=schedules.inverse_sqrt_lr,
    use=_rates,
    tolerance=1e-6,
    probes=[
        Probe(
            "the rate rises in proportion to the step during warm-up",
            lambda draw: [
                _schedule(draw, 1, 2, 5, 10, d_model=16, warmup=20),
                _schedule(draw, 1, 7, d_model=8, warmup=draw.integer(30, 40)),
            ],
        ),
        Probe(
            "the peak is at step warmup, and is 1 / √(d_model · warmup)",
            lambda draw: [
                _schedule(draw, 24, 25, 26, d_model=4, warmup=25),
                _schedule(draw, 3999, 4000, 4001, d_model=128, warmup=4000),
            ],
        ),
        Probe(
            "after the peak, four times as many steps halve the rate",
            lambda draw: [
                _schedule(draw, 9, 36, 144, draw.integer(200, 300), d_model=8, warmup=9),
                _schedule(draw, 4000, 16_000, 100_000, d_model=512, warmup=4000),
            ],
        ),
        Probe(
            "four times the width halves the rate",
            lambda draw: [
                _schedule(draw, 3, 50, d_model=width, warmup=10) for width in (1, 4, 16, 64)
            ],
        ),
        Probe(
            "with a warm-up of one step, the rate starts at its peak",
            lambda draw: [_schedule(draw, 1, 2, 100, d_model=draw.integer(3, 9), warmup=1)],
        ),
    ],
    hints=(
        "There are two curves: one rises with the step, the other falls. Which of them applies at "
        "a given step?",
        "Equation (3) of the paper: d_model^−0.5 times the smaller of step^−0.5 and step · "
        "warmup^−1.5. The two are equal at step warmup.",
        "d_model ** ... * min(step ** ..., step * warmup ** ...)",
    ),
)


@item.misconception(
    "Your rate takes the larger of the two curves instead of the smaller.",
    why="It starts far too high, falls to the peak value, and then grows without limit.",
    hint="Put in step 1: which of the two values is the cautious one?",
)
def the_larger_one(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


@item.misconception(
    "Your rate has no warm-up: it is highest at step 1.",
    why="Adam's first steps are as large as the learning rate, for every weight, however noisy its "
    "gradient is: a random model is thrown far off.",
    hint="The task names two curves. Yours is the falling one.",
)
def no_warm_up(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * step**-0.5)


@item.misconception(
    "Your rate stays at the peak after the warm-up.",
    why="Without decay, the last steps are as large as the largest, and the model never settles.",
    hint="What should the rate be at step 4 · warmup?",
)
def never_falls(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * min(warmup**-0.5, step * warmup**-1.5))


@item.misconception(
    "Your rate is one step ahead: you count steps from 0.",
    why="The step you're given counts from 1, as in the paper. A caller who counts from 0 adds the "
    "1 there.",
    hint="What is `step` in the first call of a training run?",
)
def counts_from_zero(step: int, d_model: int, warmup: int) -> float:
    return schedules.inverse_sqrt_lr(step + 1, d_model, warmup)


@item.misconception(
    "Your rate does not depend on d_model.",
    why="A wider model adds up more products in each sum, and the paper gives it a smaller "
    "learning rate.",
    hint="One factor of equation (3) is missing.",
)
def any_width(step: int, d_model: int, warmup: int) -> float:
    return float(min(step**-0.5, step * warmup**-1.5))


@item.misconception(
    "Your rate grows with the width: you multiply by √d_model.",
    why="It should be divided: the exponent is −0.5. At width 512 your rate is 512 times too "
    "large.",
    hint="Check the sign of the exponent.",
)
def grows_with_the_width(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**0.5 * min(step**-0.5, step * warmup**-1.5))


@item.misconception(
    "Your rising curve is step / warmup: it reaches 1 at the end of the warm-up, and meets the "
    "falling curve long before that.",
    why="The two have to meet at step warmup, so the rising one must be warmup^−0.5 there.",
    hint="Which exponent of warmup makes the two equal at step = warmup?",
)
def rises_to_one(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * min(step**-0.5, step / warmup))


@item.misconception(
    "Your rate falls exponentially after the warm-up.",
    why="An exponential halves after equal numbers of steps and is soon close to 0. The inverse "
    "square root halves when the number of steps is four times as large.",
    hint="Inverse square root: the root of what?",
)
def falls_exponentially(step: int, d_model: int, warmup: int) -> float:
    peak = (d_model * warmup) ** -0.5
    return float(peak * step / warmup if step <= warmup else peak * 0.5 ** (step / warmup - 1))
