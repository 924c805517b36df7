"""11.inverse_sqrt_lr: Up, then down."""

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
            "the rate rises in proportion to the step while it warms up",
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
            "after the peak, four times the steps have half the rate",
            lambda draw: [
                _schedule(draw, 9, 36, 144, draw.integer(200, 300), d_model=8, warmup=9),
                _schedule(draw, 4000, 16_000, 100_000, d_model=512, warmup=4000),
            ],
        ),
        Probe(
            "four times the width has half the rate",
            lambda draw: [
                _schedule(draw, 3, 50, d_model=width, warmup=10) for width in (1, 4, 16, 64)
            ],
        ),
        Probe(
            "a warm-up of one step begins at the peak",
            lambda draw: [_schedule(draw, 1, 2, 100, d_model=draw.integer(3, 9), warmup=1)],
        ),
    ],
    hints=(
        "Two curves, one that rises with the step and one that falls. Which of them counts at a "
        "step?",
        "Equation (3) of the paper: d_model^−0.5 times the smaller of step^−0.5 and "
        "step · warmup^−1.5. They are equal at step warmup.",
        "d_model ** ... * min(step ** ..., step * warmup ** ...)",
    ),
)


@item.misconception(
    "Your rate takes the larger of the two curves where the smaller is due.",
    why="It starts far too high and falls to the peak's height, then it grows without end.",
    hint="Put in step 1: which of the two numbers is the careful one?",
)
def the_larger_one(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


@item.misconception(
    "Your rate has no warm-up: it is highest at step 1.",
    why="Adam's first steps are as long as the rate, for every weight, however little its "
    "gradient means: a random model is thrown about.",
    hint="The task names two curves. Yours is the one that falls.",
)
def no_warm_up(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * step**-0.5)


@item.misconception(
    "Your rate stays at the peak after the warm-up.",
    why="Without a fall, the last steps are as long as the longest, and the model never settles.",
    hint="What becomes of the rate at step 4 · warmup?",
)
def never_falls(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * min(warmup**-0.5, step * warmup**-1.5))


@item.misconception(
    "Your rate is one step ahead: you count the steps from 0.",
    why="The step that you are given counts from 1, as the paper's does. Whoever counts from 0 "
    "adds the 1 outside.",
    hint="What is `step` in the first call of a training?",
)
def counts_from_zero(step: int, d_model: int, warmup: int) -> float:
    return schedules.inverse_sqrt_lr(step + 1, d_model, warmup)


@item.misconception(
    "Your rate does not depend on d_model.",
    why="A wider model adds up more products in each sum, and the paper gives it shorter steps.",
    hint="One factor of equation (3) is missing.",
)
def any_width(step: int, d_model: int, warmup: int) -> float:
    return float(min(step**-0.5, step * warmup**-1.5))


@item.misconception(
    "Your rate grows with the width: it is multiplied by √d_model.",
    why="It is divided by it: the exponent is −0.5. At width 512 yours is 512 times too large.",
    hint="Mind the sign of an exponent.",
)
def grows_with_the_width(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**0.5 * min(step**-0.5, step * warmup**-1.5))


@item.misconception(
    "Your rising curve is step / warmup: it reaches 1 at the end of the warm-up, and meets the "
    "falling curve long before.",
    why="The two have to meet at step warmup, so the rising one must be warmup^−0.5 there.",
    hint="Which exponent of warmup makes both equal at step = warmup?",
)
def rises_to_one(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * min(step**-0.5, step / warmup))


@item.misconception(
    "Your rate falls exponentially after the warm-up.",
    why="An exponential halves after equal numbers of steps and is soon gone. The inverse square "
    "root halves when the steps are four times as many.",
    hint="'Inverse square root' says it: of what is the root taken?",
)
def falls_exponentially(step: int, d_model: int, warmup: int) -> float:
    peak = (d_model * warmup) ** -0.5
    return float(peak * step / warmup if step <= warmup else peak * 0.5 ** (step / warmup - 1))
