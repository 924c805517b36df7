"""01.experiment: Which table of positions is this?"""

from __future__ import annotations

from typing import Any

from course_lib.checks.items.experiment import BlackBox, experiment_item
from course_lib.checks.items.positional_encoding.sinusoidal_positions import (
    item as sinusoidal_positions,
)

MOST_IN_A_TABLE = 16  # numbers: wide enough to tell all errors apart, if it is well chosen


def _problem(length: Any, d_model: Any) -> str:
    """What keeps arguments from being those that the task allows."""
    if type(length) is not int or type(d_model) is not int:
        return "length and d_model as whole numbers"
    if length < 1 or d_model < 2 or d_model % 2:
        return "a length of at least 1, and an even d_model of at least 2"
    if length * d_model > MOST_IN_A_TABLE:
        return f"a table of at most {MOST_IN_A_TABLE} numbers"
    return ""


box = BlackBox(
    of=sinusoidal_positions,
    wrong={
        "width_left_out": "the exponent of 10000 is 2i, and not 2i / D",
        "half_the_exponent": "the exponent of 10000 is i / D",
        "twice_the_exponent": "the exponent of 10000 is 4i / D",
        "ends_at_the_base": "the exponent of 10000 is i / (D / 2 − 1), and so 1 for the last pair",
        "a_zero_too_few": "the base is 1000",
        "frequencies_rise": "the position is multiplied by 10000^(2i / D), and not divided by it",
        "turns_for_radians": "all angles are 2π times too large",
        "a_speed_for_each_column": "each column c has a frequency of its own, 10000^(−c / D)",
        "end_to_end": "all sines come first, and then all cosines",
    },
    problem=_problem,
    most_numbers=2,
    most_calls=1,
    tolerance=1e-6,  # a learner sees 1e-8 where another error has 1e-4
)
item = experiment_item(
    "01.experiment",
    box,
    hints=(
        "What does row 0 tell you about frequencies? And how many frequencies has a table with two "
        "columns? With four?",
        "Rows cost numbers, and so do columns. Which single row shows all frequencies? Then write "
        "down, for widths of 4, 6 and 8, the frequencies that each error gives: for which width "
        "do two errors give the same ones?",
        "With D = 4, c and d both have the frequencies 1 and 1/10000, so four columns are too "
        "few. Write down what all nine give for a wider table: how many rows are left for it? To "
        "read a frequency from the table, remember that the sine of a small angle is about the "
        "angle itself.",
    ),
)
