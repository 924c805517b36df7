"""Pictures of tensors and tokens: plots, and widgets that stay a picture without a kernel."""

from course_lib.viz.curves import (
    plot_bars,
    plot_curves,
    plot_entropy_by_d_head,
    plot_loss,
)
from course_lib.viz.display import show_figure
from course_lib.viz.heatmaps import plot_attention, plot_heads, plot_heatmap
from course_lib.viz.reading import describe_attention, entropy, top_keys
from course_lib.viz.style import new_axes
from course_lib.viz.widgets import Explorer, attention_widget, explore

__all__ = [
    "Explorer",
    "attention_widget",
    "describe_attention",
    "entropy",
    "explore",
    "new_axes",
    "plot_attention",
    "plot_bars",
    "plot_curves",
    "plot_entropy_by_d_head",
    "plot_heads",
    "plot_heatmap",
    "plot_loss",
    "show_figure",
    "top_keys",
]
