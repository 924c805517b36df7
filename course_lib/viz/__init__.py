"""Pictures of tensors and tokens: plots, and widgets that stay a picture without a kernel."""

from course_lib.viz.curves import (
    plot_bars,
    plot_curves,
    plot_entropy_by_d_head,
    plot_loss,
)
from course_lib.viz.display import show_figure
from course_lib.viz.heatmaps import plot_attention, plot_heads, plot_heatmap
from course_lib.viz.live import LiveCurves, live_curves
from course_lib.viz.page import runs_page
from course_lib.viz.reading import describe_attention, entropy, top_keys
from course_lib.viz.runs import plot_runs
from course_lib.viz.style import new_axes
from course_lib.viz.widgets import Explorer, attention_widget, explore

__all__ = [
    "Explorer",
    "LiveCurves",
    "attention_widget",
    "describe_attention",
    "entropy",
    "explore",
    "live_curves",
    "new_axes",
    "plot_attention",
    "plot_bars",
    "plot_curves",
    "plot_entropy_by_d_head",
    "plot_heads",
    "plot_heatmap",
    "plot_loss",
    "plot_runs",
    "runs_page",
    "show_figure",
    "top_keys",
]
