"""Lesson 11: learning-rate schedules, for any warm-up and d_model."""

import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from course_lib.errors import CourseError
from course_lib.viz.plots.curves import plot_curves
from course_lib.viz.style import new_axes, styled
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

KNOWN = ("d_model", "warmup", "total", "peak")
POINTS = 1000  # about as many steps are evaluated: a plot shows no more


def schedule_widget(schedules: Mapping[str, Callable[..., float]]) -> InteractiveFigure:
    """Move warm-up, d_model and the number of steps; see the learning rates, on either scale.

    Args:
        schedules: name → function of the step, which counts from 1. Of ``d_model``, ``warmup``,
            ``total`` (steps) and ``peak`` (1 / √(d_model · warmup), as in the paper), it is passed
            those that it has as parameters without a default.

    Raises:
        CourseError: there is no schedule, or one that needs other arguments.
    """
    if not schedules:
        raise CourseError("expected at least one schedule, got none: pass {name: function}")
    needs = {name: _needs(name, schedule) for name, schedule in schedules.items()}

    def draw(
        warmup: int = 4000, d_model: int = 512, total: int = 20_000, log_axes: bool = False
    ) -> DrawnFigure:
        peak = (d_model * warmup) ** -0.5
        given = dict(zip(KNOWN, (d_model, warmup, total, peak), strict=True))
        rates = {
            name: partial(schedule, **{key: given[key] for key in needs[name]})
            for name, schedule in schedules.items()
        }
        title = f"The paper's peak: {peak:.2g} at step {warmup:,}"
        ax = _plot(rates, total, title=title, log_axes=log_axes)
        # On a logarithmic axis, a schedule that ends at 0 would extend it.
        ax.set_ylim(bottom=peak / 1e4 if log_axes else 0)
        ends = ", ".join(f"{name} {rate(total):.2g}" for name, rate in rates.items())
        return ax, f"Warm-up {warmup:,}, d_model {d_model}. At step {total:,}: {ends}."

    return interact(
        draw,
        warmup=(100, 10_000, 100),
        d_model=[64, 128, 256, 512, 1024],
        total=(10_000, 100_000, 10_000),
        log_axes=False,
    )


@styled
def _plot(
    rates: Mapping[str, Callable[[int], float]], total: int, *, title: str, log_axes: bool
) -> Axes:
    """The schedules over the steps of a run, each with its peak marked."""
    # Whole steps at equal distances hit a peak at a round number; the last step is included.
    even = np.arange(0, total + 1, math.ceil(total / POINTS))
    near = np.geomspace(1, total, POINTS if log_axes else 1).astype(int)
    x = np.unique([*near, *even[1:], total])
    curves = {name: np.array([rate(int(step)) for step in x]) for name, rate in rates.items()}
    ax = plot_curves(
        curves,
        x=x,
        x_label="step",
        y_label="learning rate",
        title=title,
        log_x=log_axes,
        log_y=log_axes,
        ax=new_axes(height=3.6),
    )
    for values, line in zip(curves.values(), list(ax.lines), strict=True):
        top = int(np.nanargmax(values))
        if values[top] > np.nanmin(values):  # a constant rate has no peak
            ax.plot(x[top], values[top], "o", color=line.get_color(), markersize=6)
    return ax


def _needs(name: str, schedule: Callable[..., float]) -> list[str]:
    parameters = list(inspect.signature(schedule).parameters.values())[1:]  # the first: the step
    needed = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    unknown = [key for key in needed if key not in KNOWN]
    if unknown:
        raise CourseError(
            f"schedule {name!r} may require {', '.join(KNOWN)}, but requires {unknown[0]!r}: "
            "give that parameter a default"
        )
    return needed
