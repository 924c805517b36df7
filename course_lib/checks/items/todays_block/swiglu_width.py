"""17.swiglu_width: As many weights with three matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult
from course_lib.modern import feed_forward as modern


def _use_whole(width: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    found = width(*args, **kwargs)
    if isinstance(found, float):
        raise WrongResult(
            "expected a whole number, got a float: nn.Linear takes no other. "
            "math.ceil and // give whole numbers"
        )
    if isinstance(found, Tensor):
        raise WrongResult(
            "expected a whole number, an int, got a tensor: d_ff and multiple_of are numbers, so "
            "Python's own arithmetic is enough"
        )
    return found


def _just_above(draw: Draw) -> Call:
    """2/3 of the width lies above a multiple of 256 by two thirds."""
    return Call(
        (384 * draw.integer(2, 9) + 1,), {"multiple_of": 256}, about="just above a multiple of 256"
    )


item = Item(
    "17.swiglu_width",
    reference=modern.gated_width,
    use=_use_whole,
    tolerance=0.0,
    probes=[
        Probe(
            "it is two thirds of d_ff where that is a whole number",
            lambda draw: [
                Call((2304,), about="SmolLM2-135M: four times 576"),
                Call((3 * draw.integer(40, 90),), about="a multiple of 3"),
            ],
        ),
        Probe(
            "where it isn't, it is rounded up",
            lambda draw: [
                Call((2048,), about="the paper's base model"),
                Call((3 * draw.integer(40, 90) + 1,), about="a third above a whole number"),
                Call((1,), about="a single hidden unit"),
                Call((16384,), about="Llama 2 7B, not yet a multiple of 256"),
            ],
        ),
        Probe(
            "it is rounded up to a multiple of multiple_of",
            lambda draw: [
                Call((16384,), {"multiple_of": 256}, about="Llama 2 7B: four times 4096"),
                Call((96 * draw.integer(5, 20),), {"multiple_of": 64}, about="a multiple already"),
                _just_above(draw),
                Call((5,), {"multiple_of": 64}, about="multiple_of is larger than d_ff"),
            ],
        ),
    ],
    hints=(
        "Count the weights of both networks, biases left out: two matrices between D and d_ff, "
        "and three between D and the width that you look for. For which width are they equal?",
        "D cancels out, and a fraction of d_ff is left. Rounding up to a multiple of m means: "
        "divide by m, round up, multiply by m.",
        "math.ceil(10 / 4) is 3, and so is -(-10 // 4), without floats. To round 10 up to a "
        "multiple of 4: 3 * 4 is 12. Which number takes the place of the 10 here?",
    ),
)


@item.switchable
def _width_with(on: frozenset[str]) -> Callable[..., Any]:
    def answer(d_ff: int, multiple_of: int = 1) -> Any:
        m = 1 if "multiple_ignored" in on else multiple_of
        above, below = fraction(d_ff)
        if "multiple_first" in on:
            return -(-2 * (-(-d_ff // m) * m) // 3)
        if "cut_off_first" in on:
            above, below = above // below, 1
        if "rounded_down" in on:
            return above // (below * m) * m
        if "to_the_nearest" in on:
            return (2 * above + below * m) // (2 * below * m) * m
        if "one_more_after_rounding" in on:
            width = -(-above // below)
            return width + m - width % m
        if "one_more_than_needed" in on:
            return (above // (below * m) + 1) * m
        width = -(-above // (below * m)) * m
        return float(width) if "a_float" in on else width

    def fraction(d_ff: int) -> tuple[int, int]:
        for name, pair in FRACTIONS.items():
            if name in on:
                return pair[0] * d_ff, pair[1]
        return 2 * d_ff, 3

    return answer


FRACTIONS = {
    "not_reduced": (1, 1),
    "halved": (1, 2),
    "a_third": (1, 3),
    "three_quarters": (3, 4),
    "made_wider": (3, 2),
    "eight_thirds": (8, 3),
}
item.switch(
    "not_reduced",
    "Your width is that of the ungated network.",
    why="A gated network has three matrices in place of two. With the same d_ff it has half as "
    "many weights again, so it isn't compared at equal size.",
    hint="How many matrices has each network, and how many weights has each matrix?",
)
item.switch(
    "halved",
    "You halve the width.",
    why="Then three matrices have three quarters of the weights of two. The gate makes three of "
    "two matrices, not four.",
    hint="How many matrices has each network?",
)
item.switch(
    "a_third",
    "You take a third of the width.",
    why="Then the gated network has half the weights of the other one.",
    hint="Three matrices of your width should have as many weights as how many of width d_ff?",
)
item.switch(
    "three_quarters",
    "You take three quarters of the width.",
    why="Then three matrices have more weights than two had: 9/8 as many.",
    hint="Three matrices of your width should have as many weights as two of width d_ff. Write "
    "that as an equation.",
)
item.switch(
    "made_wider",
    "Your fraction is upside down: the width grows.",
    why="With more matrices, each has to be smaller for the same number of weights.",
    hint="Should a network with three matrices be wider or narrower than one with two?",
)
item.switch(
    "eight_thirds",
    "You take 8/3 of the argument, as if it were d_model.",
    why="8/3 of d_model is 2/3 of 4 · d_model. Here the argument is d_ff, which has the factor 4 "
    "in it already.",
    hint="Which of the two is the argument: the width of the model, or that of the hidden layer?",
)
item.switch(
    "rounded_down",
    "You round down.",
    why="The task rounds up, as models of today do. With a multiple_of larger than the width, "
    "rounding down leaves no hidden unit at all.",
    hint="What does // do with what is left over, and what do int and math.floor do with it?",
)
item.switch(
    "to_the_nearest",
    "You round to the nearest, which is sometimes down.",
    why="The task rounds up, as models of today do, so that the width is never below two thirds.",
    hint="Which function of math never rounds down?",
)
item.switch(
    "one_more_than_needed",
    "You add one step too many where the width is a multiple already.",
    why="Rounding up leaves a number alone that needs no rounding.",
    hint="What should become of a width of 512 and multiple_of=64?",
    spellings=["one_more_after_rounding"],
)
item.switch(
    "cut_off_first",
    "You cut off the fraction first, and round up to the multiple afterwards.",
    why="Where two thirds of d_ff lie just above a multiple, the cut takes you back to it. Some "
    "published code does just that; the task doesn't.",
    hint="Round once, at the end. What does your code round before that?",
)
item.switch(
    "multiple_first",
    "You round d_ff up to the multiple first, and take two thirds afterwards.",
    why="It's the result that should be a multiple: that is the size of the matrices.",
    hint="Which number should multiple_of divide?",
)
item.switch(
    "multiple_ignored",
    "multiple_of has no effect.",
    why="Matrices whose sizes are multiples of 64 or 256 run faster, so published widths often "
    "are.",
    hint="Where does your code use its second argument?",
)
item.switch(
    "a_float",
    "Your width is a float.",
    why="It's a size, and nn.Linear takes only whole numbers.",
    hint="Which operations of yours give a float? / does, // doesn't.",
)
