"""From a recipe to a trained translator, and honest numbers about it."""

from course_lib.training.checkpoint import load_translator, read_checkpoint, save_checkpoint
from course_lib.training.evaluation import (
    evaluate,
    head_alignment_errors,
    teacher_forced,
    wrong_source_scores,
)
from course_lib.training.loop import train
from course_lib.training.loss import (
    label_smoothed_loss,
    masked_cross_entropy,
    source_blind_floor,
)
from course_lib.training.metrics import (
    TranslationScores,
    alignment_error_rate,
    masked_accuracy,
    translation_scores,
)
from course_lib.training.recipes import AS_PUBLISHED, RECIPES, Recipe, load_recipe, on_corpus
from course_lib.training.report import epoch_line, report
from course_lib.training.run import Run
from course_lib.training.schedules import inverse_sqrt_lr, one_cycle_lr, warmup_cosine_lr
from course_lib.training.step import make_optimizer, make_schedule, train_step
from course_lib.training.task import Task, load_task

__all__ = [
    "AS_PUBLISHED",
    "RECIPES",
    "Recipe",
    "Run",
    "Task",
    "TranslationScores",
    "alignment_error_rate",
    "epoch_line",
    "evaluate",
    "head_alignment_errors",
    "inverse_sqrt_lr",
    "label_smoothed_loss",
    "load_recipe",
    "load_task",
    "load_translator",
    "make_optimizer",
    "make_schedule",
    "masked_accuracy",
    "masked_cross_entropy",
    "on_corpus",
    "one_cycle_lr",
    "read_checkpoint",
    "report",
    "save_checkpoint",
    "source_blind_floor",
    "teacher_forced",
    "train",
    "train_step",
    "translation_scores",
    "warmup_cosine_lr",
    "wrong_source_scores",
]
