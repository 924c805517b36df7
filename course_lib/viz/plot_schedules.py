"""Learning rates over the steps of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes

from course_lib.viz.curves import plot_curves
from course_lib.viz.style import styled
from course_lib.viz.alt_text import number, sentence, tell

POINTS = 1000  # places at which a schedule is asked, about; a picture shows no more


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
    """Several schedules over one axis of steps, each to the end of its run, its peak dotted.

    Args:
        schedules: name → rate at a step; steps count from 1.
        steps: length of the runs, one for all or one for each name.
        title: what is seen.
        log_x: logarithmic axis of the steps.
        log_y: logarithmic axis of the rates.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, or a run without a length or shorter than one step.
    """
    ends = {name: steps if isinstance(steps, int) else steps.get(name, 0) for name in schedules}
    for name, end in ends.items():
        if end < 1:
            raise ValueError(
                f"steps of {name!r} must be at least 1, got {end}: "
                "give one length for all, or {name: steps} with every name"
            )
    longest = max(ends.values(), default=1)
    # Equal strides of whole steps meet a peak at a round number; no run misses its own last step.
    places = np.arange(0, longest + 1, math.ceil(longest / POINTS))
    near = np.geomspace(1, longest, POINTS if log_x else 1).astype(int)
    x = np.unique([*near, *places[1:], *ends.values()])
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
    told = {}
    for (name, rates), line in zip(curves.items(), list(ax.lines), strict=False):
        top = int(np.nanargmax(rates))
        if rates[top] == np.nanmin(rates):
            told[name] = f"always {rates[top]:.2e}"
            continue
        ax.plot(x[top], rates[top], "o", color=line.get_color(), markersize=6)
        told[name] = f"{rates[top]:.2e} at about step {number(int(x[top]))}"
    if not log_y:
        ax.set_ylim(bottom=0)
    return tell(ax, sentence(title, "Highest rate", told))
