"""Learning-rate schedules over the steps of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes

from course_lib.viz.alt_text import alt_sentence, set_alt_text, short_number
from course_lib.viz.plots.curves import plot_curves
from course_lib.viz.style import styled

POINTS = 1000  # about as many steps are evaluated: a plot shows no more


@styled
def plot_schedules(
    schedules: Mapping[str, Callable[[int], float]],
    *,
    steps: int | Mapping[str, int],
    title: str = "Learning rate, step by step",
    log_x: bool = False,
    log_y: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Several schedules over one axis of steps, each to the end of its run, its peak marked.

    Args:
        schedules: name → learning rate at a step; steps count from 1.
        steps: number of steps, one for all schedules or one for each name.
        title: what the picture shows.
        log_x: logarithmic x axis.
        log_y: logarithmic y axis.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, or fewer than one step for one of the schedules.
    """
    ends = {name: steps if isinstance(steps, int) else steps.get(name, 0) for name in schedules}
    for name, end in ends.items():
        if end < 1:
            raise ValueError(
                f"steps of {name!r} must be at least 1, got {end}: "
                "give one number for all schedules, or {name: steps} with every name"
            )
    longest = max(ends.values(), default=1)
    # Whole steps at equal distances hit a peak at a round number; every last step is included.
    even = np.arange(0, longest + 1, math.ceil(longest / POINTS))
    near = np.geomspace(1, longest, POINTS if log_x else 1).astype(int)
    x = np.unique([*near, *even[1:], *ends.values()])
    curves = {
        name: np.array([rate(int(s)) if s <= ends[name] else math.nan for s in x])
        for name, rate in schedules.items()
    }
    ax = plot_curves(
        curves,
        x=x,
        x_label="step",
        y_label="learning rate",
        title=title,
        log_x=log_x,
        log_y=log_y,
        ax=ax,
    )
    parts = {}
    for (name, rates), line in zip(curves.items(), list(ax.lines), strict=False):
        top = int(np.nanargmax(rates))
        if rates[top] == np.nanmin(rates):
            parts[name] = f"stays at {rates[top]:.2e}"
            continue
        ax.plot(x[top], rates[top], "o", color=line.get_color(), markersize=6)
        parts[name] = f"peaks at {rates[top]:.2e} near step {short_number(int(x[top]))}"
    if not log_y:
        ax.set_ylim(bottom=0)
    return set_alt_text(ax, alt_sentence(title, "Learning rate against step", parts))
