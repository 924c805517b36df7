"""Lesson 11: learning-rate schedules, for any warm-up and d_model."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial

from course_lib.errors import CourseError
from course_lib.viz.plots.plot_schedules import plot_schedules
from course_lib.viz.style import new_axes
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

KNOWN = ("d_model", "warmup", "total", "peak")


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
        ax = plot_schedules(
            rates,
            steps=total,
            title=f"The paper's peak: {peak:.2g} at step {warmup:,}",
            log_x=log_axes,
            log_y=log_axes,
            ax=new_axes(height=3.6),
        )
        if log_axes:
            ax.set_ylim(bottom=peak / 1e4)  # a schedule that ends at 0 would extend the axis
        ends = ", ".join(f"{name} {rate(total):.2g}" for name, rate in rates.items())
        return ax, f"Warm-up {warmup:,}, d_model {d_model}. At step {total:,}: {ends}."

    return interact(
        draw,
        warmup=(100, 10_000, 100),
        d_model=[64, 128, 256, 512, 1024],
        total=(10_000, 100_000, 10_000),
        log_axes=False,
    )


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
