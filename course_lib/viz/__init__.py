"""Plots of tensors and tokens, and widgets that remain an image where no kernel runs."""

from course_lib.viz.alt_text import describe
from course_lib.viz.diagram.model_diagram import ModelDiagram, model_diagram
from course_lib.viz.display import show_figure
from course_lib.viz.drawings.attention.attention_columns import attention_columns
from course_lib.viz.drawings.attention.attention_diagram import attention_diagram
from course_lib.viz.drawings.attention.attention_frames import draw_attention
from course_lib.viz.drawings.attention.cache_pages import draw_cache_pages
from course_lib.viz.drawings.attention.cache_steps import draw_cache_steps
from course_lib.viz.drawings.attention.einsum_axes import draw_einsum
from course_lib.viz.drawings.attention.head_sum import draw_head_sum
from course_lib.viz.drawings.attention.kept_heads import draw_kept_heads
from course_lib.viz.drawings.attention.mask_arcs import (
    cross_attention_lines,
    masked_row,
    self_attention_arcs,
)
from course_lib.viz.drawings.attention.mask_quadrants import draw_mask_quadrants
from course_lib.viz.drawings.attention.pair_layouts import draw_pair_layouts
from course_lib.viz.drawings.attention.rotary_dials import draw_rotary_dials
from course_lib.viz.drawings.attention.score_blocks import draw_score_blocks
from course_lib.viz.drawings.drawing import Drawing, Film
from course_lib.viz.drawings.learning.bootstrap_film import draw_bootstrap
from course_lib.viz.drawings.learning.learning_film import Snapshot, draw_learning, load_learning
from course_lib.viz.drawings.learning.sharpening import draw_sharpening
from course_lib.viz.drawings.learning.valley import draw_valley
from course_lib.viz.drawings.model.block_stacks import draw_block_stacks
from course_lib.viz.drawings.model.bug_tests import draw_test_matrix, draw_test_order
from course_lib.viz.drawings.model.cache_sizes import draw_cache_sizes
from course_lib.viz.drawings.model.model_strip import draw_model_strip
from course_lib.viz.drawings.model.norm_blocks import draw_norm_blocks
from course_lib.viz.drawings.model.parameter_towers import draw_parameter_towers
from course_lib.viz.drawings.model.residual_streams import draw_residual_streams
from course_lib.viz.drawings.model.system_table import draw_systems
from course_lib.viz.drawings.words.beam_trees import draw_beam_trees
from course_lib.viz.drawings.words.lookup import draw_lookup
from course_lib.viz.drawings.words.merges import draw_merges
from course_lib.viz.drawings.words.next_word import draw_next_word
from course_lib.viz.drawings.words.padding_batches import draw_padding
from course_lib.viz.drawings.words.position_clocks import draw_position_clocks
from course_lib.viz.drawings.words.word_map import draw_word_map
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
from course_lib.viz.plots.plot_beam import Branch, plot_beam
from course_lib.viz.plots.plot_padding import padding_share, plot_padding
from course_lib.viz.plots.plot_runs import plot_runs
from course_lib.viz.plots.plot_teacher_forcing import plot_teacher_forcing
from course_lib.viz.plots.plot_treemap import plot_treemap
from course_lib.viz.style import new_axes
from course_lib.viz.web.runs_page import runs_page
from course_lib.viz.widgets.attention_steps_widget import attention_steps_widget
from course_lib.viz.widgets.batch_widget import batch_widget
from course_lib.viz.widgets.beam_widget import beam_widget
from course_lib.viz.widgets.block_widget import block_widget
from course_lib.viz.widgets.config_widget import config_widget
from course_lib.viz.widgets.depth_widget import depth_widget
from course_lib.viz.widgets.einsum_widget import einsum_widget
from course_lib.viz.widgets.interactive_figure import InteractiveFigure, interact
from course_lib.viz.widgets.live import LiveCurves, live_curves
from course_lib.viz.widgets.live_training_widget import live_training_widget
from course_lib.viz.widgets.mask_widget import mask_widget
from course_lib.viz.widgets.positions_widget import positions_widget
from course_lib.viz.widgets.quiz import Quiz, ShapeQuestion, predict_shape, quiz
from course_lib.viz.widgets.schedule_widget import schedule_widget

__all__ = [
    "AttentionExplorer",
    "Branch",
    "Drawing",
    "Film",
    "InteractiveFigure",
    "LiveCurves",
    "ModelDiagram",
    "Quiz",
    "ShapeQuestion",
    "Snapshot",
    "alignment_error",
    "attention_columns",
    "attention_diagram",
    "attention_steps_widget",
    "batch_widget",
    "beam_widget",
    "block_widget",
    "config_widget",
    "cross_attention_lines",
    "depth_widget",
    "describe",
    "draw_attention",
    "draw_beam_trees",
    "draw_block_stacks",
    "draw_bootstrap",
    "draw_cache_pages",
    "draw_cache_sizes",
    "draw_cache_steps",
    "draw_einsum",
    "draw_head_sum",
    "draw_kept_heads",
    "draw_learning",
    "draw_lookup",
    "draw_mask_quadrants",
    "draw_merges",
    "draw_model_strip",
    "draw_next_word",
    "draw_norm_blocks",
    "draw_padding",
    "draw_pair_layouts",
    "draw_parameter_towers",
    "draw_position_clocks",
    "draw_residual_streams",
    "draw_rotary_dials",
    "draw_score_blocks",
    "draw_sharpening",
    "draw_systems",
    "draw_test_matrix",
    "draw_test_order",
    "draw_valley",
    "draw_word_map",
    "einsum_widget",
    "entropy",
    "explore_attention",
    "explore_model",
    "gradient_norms",
    "interact",
    "live_curves",
    "live_training_widget",
    "load_learning",
    "mask_widget",
    "masked_row",
    "model_diagram",
    "new_axes",
    "padding_share",
    "plot_alignment",
    "plot_attention",
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
    "plot_treemap",
    "positions_widget",
    "predict_shape",
    "quiz",
    "residual_norms",
    "runs_page",
    "schedule_widget",
    "self_attention_arcs",
    "show_figure",
    "strongest_links",
    "top_keys",
]
