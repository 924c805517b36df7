"""Runs of lesson 09: formulas that are nearly right give numbers that don't pass."""

from statistics import mean, median

import pytest

from course_lib.checks import _module, make_run

RUN = _module("09.predict").run
NUMBERS = range(500, 560)


def tokens(batches):
    return [len(batch) * max(batch) for batch in batches]


def real(batches):
    return [sum(batch) for batch in batches]


RIGHT = {
    "share": lambda b: 100 * (1 - sum(real(b)) / sum(tokens(b))),
    "peak": lambda b: max(tokens(b)) / mean(tokens(b)),
}
WRONG = [
    ("share", lambda b: 1 - sum(real(b)) / sum(tokens(b))),
    ("share", lambda b: 100 * sum(real(b)) / sum(tokens(b))),
    ("share", lambda b: 100 * mean(1 - r / t for r, t in zip(real(b), tokens(b), strict=True))),
    ("peak", lambda b: max(tokens(b)) / median(tokens(b))),
    ("peak", lambda b: max(real(b)) / mean(real(b))),
    ("peak", lambda _: 1.0),
]


@pytest.mark.parametrize(("key", "formula"), [*RIGHT.items(), *WRONG])
def test_only_the_right_formula_passes_to_two_decimals(key, formula):
    right = formula is RIGHT[key]
    for number in NUMBERS:
        answer = round(formula(make_run("09.predict", number=number)["batches"]), 2)
        problem = RUN.questions[key].wrong(RUN.run(number), answer)
        assert bool(problem) is not right, (number, answer)


def test_the_report_has_what_was_to_be_predicted():
    made = RUN.run(5)
    assert f"{made.unsorted:.1f} % would be pads" in RUN.says(made)
    assert 45 < made.unsorted < 75
