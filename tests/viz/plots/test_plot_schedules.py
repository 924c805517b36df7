import numpy as np
import pytest

from course_lib.training.schedules import inverse_sqrt_lr
from course_lib.viz.alt_text import describe
from course_lib.viz.plots.plot_schedules import plot_schedules


def paper(step):
    return inverse_sqrt_lr(step, 512, 4000)


def curve(ax, i=0):
    return ax.lines[i].get_xdata(), ax.lines[i].get_ydata()


@pytest.mark.parametrize("log_x", [False, True])
def test_rates_stand_at_their_steps_from_the_first_to_the_last(log_x):
    steps, rates = curve(plot_schedules({"paper": paper}, steps=100_000, log_x=log_x))
    assert (steps[0], steps[-1]) == (1, 100_000)
    assert all(rate == paper(int(step)) for step, rate in zip(steps, rates, strict=True))


def test_the_peak_is_dotted_where_it_is():
    ax = plot_schedules({"paper": paper}, steps=100_000)
    assert ax.lines[1].get_xdata().tolist() == [4000]
    assert ax.lines[1].get_ydata().tolist() == [paper(4000)]
    assert "paper peaks at 6.99e-04 near step 4,000" in describe(ax)


def test_a_run_ends_with_its_own_last_step():
    ax = plot_schedules({"short": paper, "long": paper}, steps={"short": 77, "long": 5000})
    steps, rates = curve(ax)
    assert steps[np.isfinite(rates)].max() == 77
    assert np.isfinite(curve(ax, 1)[1]).all()


def test_a_constant_rate_has_no_peak():
    ax = plot_schedules({"flat": lambda step: 2e-4}, steps=30)
    assert len(ax.lines) == 1 and "flat stays at 2.00e-04" in describe(ax)


def test_every_step_of_a_short_run_is_drawn():
    assert curve(plot_schedules({"paper": paper}, steps=30))[0].tolist() == list(range(1, 31))


def test_logarithmic_axes_are_kept():
    ax = plot_schedules({"paper": paper}, steps=30, log_x=True, log_y=True)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_no_schedule_is_refused():
    with pytest.raises(ValueError, match="at least one named curve, got none"):
        plot_schedules({}, steps=10)


@pytest.mark.parametrize("steps", [0, {"other": 10}])
def test_a_run_without_a_step_is_refused_by_name(steps):
    with pytest.raises(ValueError, match="steps of 'paper' must be at least 1, got 0: give one nu"):
        plot_schedules({"paper": paper}, steps=steps)
