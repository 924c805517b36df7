"""A widget for each lesson: one idea to move, and a picture of it where nothing moves.

Each is one function that returns an `Explorer`. What a lesson has built is handed in, from tensors
to functions, so that a learner may hand in their own.
"""

from course_lib.viz.lesson_widgets.batches import batch_widget
from course_lib.viz.lesson_widgets.beams import beam_widget
from course_lib.viz.lesson_widgets.blocks import block_widget
from course_lib.viz.lesson_widgets.config import config_widget
from course_lib.viz.lesson_widgets.depth import depth_widget
from course_lib.viz.lesson_widgets.einsum import einsum_widget
from course_lib.viz.lesson_widgets.embedding import embedding_widget
from course_lib.viz.lesson_widgets.live_training import live_training_widget
from course_lib.viz.lesson_widgets.masks import mask_widget
from course_lib.viz.lesson_widgets.positions import positions_widget
from course_lib.viz.lesson_widgets.schedules import schedule_widget
from course_lib.viz.lesson_widgets.steps import attention_steps_widget

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
