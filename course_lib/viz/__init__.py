"""Plots of tensors and tokens, and widgets that remain an image where no kernel runs."""

from course_lib.viz.alt_text import describe
from course_lib.viz.diagram.attention_diagram import AttentionDiagram, attention_diagram
from course_lib.viz.diagram.model_diagram import ModelDiagram, model_diagram
from course_lib.viz.display import show_figure
from course_lib.viz.explorer.explorer import AttentionExplorer, explore_attention
from course_lib.viz.explorer.explorer_model import explore_model
from course_lib.viz.plots.attention_summary import entropy, top_keys
from course_lib.viz.plots.curves import (
    plot_bars,
    plot_curves,
    plot_entropy_by_d_head,
    plot_loss,
)
from course_lib.viz.plots.heatmaps import plot_attention, plot_heads, plot_heatmap
from course_lib.viz.plots.norms_by_layer import (
    gradient_norms,
    plot_gradient_norms,
    plot_residual_norms,
    residual_norms,
)
from course_lib.viz.plots.plot_alignment import alignment_error, plot_alignment, strongest_links
from course_lib.viz.plots.plot_attention_lines import plot_attention_lines
from course_lib.viz.plots.plot_beam import Branch, plot_beam
from course_lib.viz.plots.plot_padding import padding_share, plot_padding
from course_lib.viz.plots.plot_runs import plot_runs
from course_lib.viz.plots.plot_teacher_forcing import plot_teacher_forcing
from course_lib.viz.style import new_axes
from course_lib.viz.web.runs_page import runs_page
from course_lib.viz.widgets.attention_steps_widget import attention_steps_widget
from course_lib.viz.widgets.batch_widget import batch_widget
from course_lib.viz.widgets.beam_widget import beam_widget
from course_lib.viz.widgets.block_widget import block_widget
from course_lib.viz.widgets.config_widget import config_widget
from course_lib.viz.widgets.depth_widget import depth_widget
from course_lib.viz.widgets.einsum_widget import einsum_widget
from course_lib.viz.widgets.embedding_widget import embedding_widget
from course_lib.viz.widgets.interactive_figure import InteractiveFigure, interact
from course_lib.viz.widgets.live import LiveCurves, live_curves
from course_lib.viz.widgets.live_training_widget import live_training_widget
from course_lib.viz.widgets.mask_widget import mask_widget
from course_lib.viz.widgets.positions_widget import positions_widget
from course_lib.viz.widgets.quiz import Quiz, ShapeQuestion, predict_shape, quiz
from course_lib.viz.widgets.schedule_widget import schedule_widget

__all__ = [
    "AttentionDiagram",
    "AttentionExplorer",
    "Branch",
    "InteractiveFigure",
    "LiveCurves",
    "ModelDiagram",
    "Quiz",
    "ShapeQuestion",
    "alignment_error",
    "attention_diagram",
    "attention_steps_widget",
    "batch_widget",
    "beam_widget",
    "block_widget",
    "config_widget",
    "depth_widget",
    "describe",
    "einsum_widget",
    "embedding_widget",
    "entropy",
    "explore_attention",
    "explore_model",
    "gradient_norms",
    "interact",
    "live_curves",
    "live_training_widget",
    "mask_widget",
    "model_diagram",
    "new_axes",
    "padding_share",
    "plot_alignment",
    "plot_attention",
    "plot_attention_lines",
    "plot_bars",
    "plot_beam",
    "plot_curves",
    "plot_entropy_by_d_head",
    "plot_gradient_norms",
    "plot_heads",
    "plot_heatmap",
    "plot_loss",
    "plot_padding",
    "plot_residual_norms",
    "plot_runs",
    "plot_teacher_forcing",
    "positions_widget",
    "predict_shape",
    "quiz",
    "residual_norms",
    "runs_page",
    "schedule_widget",
    "show_figure",
    "strongest_links",
    "top_keys",
]
