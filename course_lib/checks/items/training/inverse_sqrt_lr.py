"""11.inverse_sqrt_lr: linear warm-up, then inverse square root decay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from course_lib.checks.engine import Call, Draw, Item, Probe
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
    tolerance=3e-7,  # of float32; the rates of large models are small themselves
    probes=[
        Probe(
            "the rate rises in proportion to the step during warm-up",
            lambda draw: [
                _schedule(draw, 1, 2, 5, 10, d_model=draw.integer(9, 30), warmup=20),
                _schedule(draw, 1, 7, d_model=8, warmup=draw.integer(30, 90)),
            ],
        ),
        Probe(
            "the peak is at step warmup, and is 1 / √(d_model · warmup)",
            lambda draw: [
                _schedule(draw, 24, 25, 26, d_model=draw.integer(3, 20), warmup=25),
                _schedule(draw, 3999, 4000, 4001, d_model=draw.integer(60, 300), warmup=4000),
            ],
        ),
        Probe(
            "after the peak, four times as many steps halve the rate",
            lambda draw: [
                _schedule(draw, 9, 36, 144, draw.integer(200, 300), d_model=8, warmup=9),
                _schedule(
                    draw, 4000, 16_000, draw.integer(90_000, 200_000), d_model=512, warmup=4000
                ),
            ],
        ),
        Probe(
            "four times the width halves the rate",
            lambda draw: [
                _schedule(draw, 3, draw.integer(30, 200), d_model=width, warmup=10)
                for width in (1, 4, 16, 64)
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
        "In Python, 2^−3 is 2 ** -3, and min(a, b) is the smaller of two numbers. To test your "
        "function: with d_model 4 and warmup 100, step 1 gives 0.0005, step 100 gives 0.05, and "
        "step 400 gives 0.025.",
    ),
)


FROM_THE_PEAK = {"falls_from_the_peak_on", "jumps_after_the_peak"}


@item.switchable
def rate_with(on: frozenset[str]) -> Callable[..., float]:
    """inverse_sqrt_lr with these misconceptions."""

    def answer(step: int, d_model: int, warmup: int) -> float:
        if "counts_from_zero" in on:
            step += 1
        rising, falling = curves(step, warmup)
        if "no_warm_up" in on:
            return width(d_model) * falling
        if "jumps_after_the_peak" in on and step > warmup:
            return width(d_model) * falling
        lower = max if "the_larger_one" in on else min
        return width(d_model) * lower(rising, falling)

    def curves(step: int, warmup: int) -> tuple[float, float]:
        rising, falling = step * warmup**-1.5, step**-0.5
        if "rises_to_one" in on:
            rising = step / warmup
        if "rises_too_far" in on:
            rising = step * warmup**-0.5
        if "never_falls" in on:
            falling = warmup**-0.5
        if "falls_with_the_step" in on:
            falling = warmup**0.5 / step
        if "falls_with_the_step_from_one" in on:
            falling = 1 / step
        if "falls_exponentially" in on:
            falling = warmup**-0.5 * 0.5 ** (step / warmup - 1)
        if on & FROM_THE_PEAK and step > warmup:
            falling = (step - warmup) ** -0.5
        if "same_peak_for_any_warm_up" in on:
            return rising * warmup**0.5, falling * warmup**0.5
        return rising, falling

    def width(d_model: int) -> float:
        exponents = {
            "any_width": 0.0,
            "grows_with_the_width": 0.5,
            "divided_by_the_width": -1.0,
        }
        chosen = [exponent for name, exponent in exponents.items() if name in on]
        return float(d_model ** (chosen[0] if chosen else -0.5))

    return answer


item.switch(
    "the_larger_one",
    "Your rate takes the larger of the two curves instead of the smaller.",
    why="It starts far too high, falls to the peak value, and then grows without limit.",
    hint="Put in step 1: which of the two values is the cautious one, and which do you return?",
)
item.switch(
    "no_warm_up",
    "Your rate has no warm-up: it starts at its highest value.",
    why="Adam's first steps are as long as any, although they rest on a handful of batches. With a "
    "warm-up, a model can bear a higher rate than it could at its first step.",
    hint="The task names two curves. At the first step yours gives the falling one: what should "
    "the rising one be there?",
)
item.switch(
    "never_falls",
    "Your rate never falls: it stays at its highest value.",
    why="Near the end each batch pulls the weights to another side, and only short steps can "
    "average that out.",
    hint="What should the rate be at step 4 · warmup?",
)
item.switch(
    "counts_from_zero",
    "Your rate is one step ahead: at each step it's that of the step after it.",
    why="The step you're given counts from 1, as in the paper. A caller who counts from 0 adds the "
    "1 there.",
    hint="What is `step` in the first call of a training run?",
)
item.switch(
    "any_width",
    "Your rate does not depend on d_model.",
    why="A wider model adds up more products in each sum, and the paper gives it a smaller "
    "learning rate.",
    hint="Which factor of equation (3) depends on d_model, and what is it in your code?",
)
item.switch(
    "grows_with_the_width",
    "Your rate grows with the width: √d_model is a factor of it.",
    why="It should fall: in equation (3) the exponent of d_model is −0.5. At width 512 your rate "
    "is 512 times too large.",
    hint="Is √d_model in the numerator of your rate, or in the denominator? Check the sign of any "
    "exponent.",
)
item.switch(
    "rises_to_one",
    "Your rising curve is step / warmup: it reaches 1 at the end of the warm-up, and meets the "
    "falling curve long before that.",
    why="The two have to meet at step warmup, so the rising one must be warmup^−0.5 there.",
    hint="Which exponent of warmup makes the two equal at step = warmup?",
)
item.switch(
    "falls_exponentially",
    "Your rate falls exponentially after the warm-up.",
    why="An exponential halves after equal numbers of steps and is soon close to 0. The inverse "
    "square root halves when the number of steps is four times as large.",
    hint="Inverse square root: the root of what?",
)
item.switch(
    "same_peak_for_any_warm_up",
    "Your peak does not depend on warmup.",
    why="In equation (3) the two curves meet at warmup^−0.5, so a longer warm-up has a lower "
    "peak. Apart from the factor of the width, yours always peaks at 1.",
    hint="How high is each of the two curves at step warmup?",
)
item.switch(
    "rises_too_far",
    "Your rising curve is step / √warmup, and meets the falling curve long before step warmup.",
    why="The two have to meet at step warmup, so the rising one must be warmup^−0.5 there.",
    hint="Which exponent of warmup makes the two equal at step = warmup?",
)
item.switch(
    "falls_with_the_step",
    "Your rate falls with 1 / step after the peak, not with 1 / √step.",
    why="It's soon close to 0: four times as many steps should halve the rate, and yours is a "
    "quarter of what it was.",
    hint="Which exponent has a square root?",
    spellings=["falls_with_the_step_from_one"],
)
item.switch(
    "falls_from_the_peak_on",
    "Your falling curve counts its steps from the end of the warm-up.",
    why="It starts at 1 there, far above the rising curve. In equation (3) both curves count from "
    "the start, so they meet.",
    hint="What is your falling curve one step after the warm-up, and what should it be?",
    spellings=["jumps_after_the_peak"],
)
item.switch(
    "divided_by_the_width",
    "You divide by d_model, not by its square root.",
    why="At width 512 your rate is 23 times too small.",
    hint="Which power of d_model does equation (3) have?",
)
