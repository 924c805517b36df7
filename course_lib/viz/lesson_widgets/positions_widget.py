"""Lesson 01: what width, length and base do to the positional encoding."""

from matplotlib.figure import Figure

from course_lib.model import sinusoidal_positions
from course_lib.viz.accessible_widgets import Slider
from course_lib.viz.curves import plot_curves
from course_lib.viz.heatmaps import plot_heatmap
from course_lib.viz.style import styled
from course_lib.viz.interactive_figure import Explorer, Picture, explore


def positions_widget() -> Explorer:
    """Move d_model, length and base; see the table, and how alike two places are by distance."""

    @styled
    def draw(d_model: int = 64, length: int = 64, base: float = 10_000.0) -> Picture:
        table = sinusoidal_positions(length, d_model, base=base)
        likeness = table @ table[0] / (d_model / 2)  # 1 for a place with itself
        figure = Figure(figsize=(8, 5.6), layout="constrained")
        upper, lower = figure.subplots(2, 1, height_ratios=[3, 2])
        plot_heatmap(
            table,
            rows="place",
            columns="column of the code",
            title=f"{length} places, d_model {d_model}, base {base:,.0f}",
            limits=(-1, 1),
            ax=upper,
        )
        plot_curves(
            {"likeness": likeness},
            x_label="distance between two places",
            y_label="likeness",
            title="Dot products of two places, divided by D / 2",
            ax=lower,
        )
        lower.set_ylim(-1.05, 1.05)
        moving = int((table.std(dim=0) > 0.1).sum())
        return figure, (
            f"{moving} of {d_model} columns move over {length} places. The likeness of neighbours "
            f"is {likeness[1]:.2f}, that of the first and the last place {likeness[-1]:.2f}."
        )

    base = Slider("base", value=10_000.0, options=[10 ** (n / 2) for n in range(13)])
    return explore(draw, d_model=(8, 256, 8), length=(8, 256, 8), base=base)
