"""Lesson 01: how d_model, length and base change the positional encoding."""

from matplotlib.figure import Figure

from course_lib.model import sinusoidal_positions
from course_lib.viz.plots.curves import plot_curves
from course_lib.viz.plots.heatmaps import plot_heatmap
from course_lib.viz.style import styled
from course_lib.viz.widgets.accessible_widgets import Slider
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact


def positions_widget() -> InteractiveFigure:
    """Move d_model, length and base; see the table, and the cosine similarity by distance."""

    @styled
    def draw(d_model: int = 64, length: int = 64, base: float = 10_000.0) -> DrawnFigure:
        table = sinusoidal_positions(length, d_model, base=base)
        similarity = table @ table[0] / (d_model / 2)  # d_model / 2 is the squared norm of a row
        figure = Figure(figsize=(8, 5.6), layout="constrained")
        upper, lower = figure.subplots(2, 1, height_ratios=[3, 2])
        plot_heatmap(
            table,
            rows="position",
            columns="column (of d_model)",
            title=f"{length} positions, d_model {d_model}, base {base:,.0f}",
            limits=(-1, 1),
            ax=upper,
        )
        plot_curves(
            {"cosine similarity": similarity},
            x_label="distance between two positions",
            y_label="cosine similarity",
            title="Cosine similarity of two positional encodings",
            ax=lower,
        )
        lower.set_ylim(-1.05 if similarity.min() < 0 else 0, 1.05)
        varying = int((table.std(dim=0) > 0.1).sum())
        return figure, (
            f"{varying} of {d_model} columns vary over {length} positions. The cosine similarity "
            f"of neighbours is {similarity[1]:.2f}, that of the first and the last position "
            f"{similarity[-1]:.2f}."
        )

    base = Slider("base", value=10_000.0, options=[10 ** (n / 2) for n in range(13)])
    return interact(draw, d_model=(8, 256, 8), length=(8, 256, 8), base=base)
