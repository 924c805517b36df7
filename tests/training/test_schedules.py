import pytest

from course_lib.errors import CourseError
from course_lib.training import (
    Recipe,
    inverse_sqrt_lr,
    make_schedule,
    one_cycle_lr,
    warmup_cosine_lr,
)


def test_the_papers_schedule_peaks_at_the_end_of_warmup():
    rates = [inverse_sqrt_lr(step, 128, 4000) for step in range(1, 12_000)]
    assert rates.index(max(rates)) + 1 == 4000
    assert max(rates) == pytest.approx(1.398e-3, rel=1e-3)


def test_after_warmup_four_times_the_steps_halve_the_rate():
    assert inverse_sqrt_lr(400, 64, 100) == pytest.approx(inverse_sqrt_lr(100, 64, 100) / 2)


def test_the_cosine_rises_in_a_line_and_ends_at_zero():
    rates = [warmup_cosine_lr(step, peak=2.0, warmup=4, total=10) for step in range(1, 12)]
    assert rates[:4] == [0.5, 1.0, 1.5, 2.0]
    assert rates[6] == pytest.approx(1.0)
    assert rates[9] == rates[10] == pytest.approx(0.0)


@pytest.mark.parametrize("step, warmup", [(0, 10), (-1, 10), (1, 0)])
def test_steps_count_from_one(step, warmup):
    with pytest.raises(ValueError, match=f"got step={step} and warmup={warmup}: is the schedule"):
        inverse_sqrt_lr(step, 8, warmup)
    with pytest.raises(ValueError, match="count from 1"):
        warmup_cosine_lr(step, peak=1.0, warmup=warmup, total=100)


def test_one_cycle_starts_low_peaks_after_a_quarter_and_ends_near_zero():
    rates = [one_cycle_lr(step, peak=1.0, total=100) for step in range(1, 102)]
    assert rates[0] < 0.05 and rates[24] == max(rates) == pytest.approx(1.0)
    assert rates[99] == rates[100] < 1e-5
    assert rates[:25] == sorted(rates[:25]) and rates[24:] == sorted(rates[24:], reverse=True)


def named(schedule, lr):
    return Recipe(name="r", summary="", corpus="", preset="", schedule=schedule, lr=lr, warmup=100)


@pytest.mark.parametrize(
    "schedule, lr, expected",
    [
        ("constant", 0.25, 0.25),
        ("inverse_sqrt", None, 16**-0.5 * 30 * 100**-1.5),
        ("inverse_sqrt", 0.25, 0.25 * 30 / 100),
        ("cosine", 0.25, 0.25 * 30 / 100),
        ("one_cycle", 0.25, one_cycle_lr(30, peak=0.25, total=1000)),
    ],
)
def test_a_recipe_names_its_schedule(schedule, lr, expected):
    assert make_schedule(named(schedule, lr), d_model=16)(30, 1000) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["constant", "cosine", "one_cycle"])
def test_only_the_papers_schedule_has_a_rate_of_its_own(schedule):
    with pytest.raises(CourseError, match=f"a {schedule} schedule needs lr"):
        named(schedule, None)
