"""A widget for each lesson: one idea to interact with, and a static image where no kernel runs.

Each is a function that returns an `InteractiveFigure`. It takes what the lesson has built, from
tensors to functions, so that learners can pass in their own.
"""

from course_lib.viz.widgets.attention_steps_widget import attention_steps_widget
from course_lib.viz.widgets.batch_widget import batch_widget
from course_lib.viz.widgets.beam_widget import beam_widget
from course_lib.viz.widgets.block_widget import block_widget
from course_lib.viz.widgets.config_widget import config_widget
from course_lib.viz.widgets.depth_widget import depth_widget
from course_lib.viz.widgets.einsum_widget import einsum_widget
from course_lib.viz.widgets.embedding_widget import embedding_widget
from course_lib.viz.widgets.live_training_widget import live_training_widget
from course_lib.viz.widgets.mask_widget import mask_widget
from course_lib.viz.widgets.positions_widget import positions_widget
from course_lib.viz.widgets.schedule_widget import schedule_widget

__all__ = [
    "attention_steps_widget",
    "batch_widget",
    "beam_widget",
    "block_widget",
    "config_widget",
    "depth_widget",
    "einsum_widget",
    "embedding_widget",
    "live_training_widget",
    "mask_widget",
    "positions_widget",
    "schedule_widget",
]
