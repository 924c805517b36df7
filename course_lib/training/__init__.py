"""From a recipe to a trained translator, and honest numbers about it."""

from course_lib.training.checkpoint import load_translator, read_checkpoint, save_checkpoint
from course_lib.training.evaluation import evaluate, teacher_forced, wrong_source_scores
from course_lib.training.loop import Run, train, train_step
from course_lib.training.loss import (
    label_smoothed_loss,
    masked_cross_entropy,
    source_blind_floor,
)
from course_lib.training.metrics import TranslationScores, masked_accuracy, translation_scores
from course_lib.training.recipes import RECIPES, Recipe, load_recipe
from course_lib.training.report import epoch_line, report
from course_lib.training.schedules import inverse_sqrt_lr, warmup_cosine_lr
from course_lib.training.task import Task, load_task

__all__ = [
    "RECIPES",
    "Recipe",
    "Run",
    "Task",
    "TranslationScores",
    "epoch_line",
    "evaluate",
    "inverse_sqrt_lr",
    "label_smoothed_loss",
    "load_recipe",
    "load_task",
    "load_translator",
    "masked_accuracy",
    "masked_cross_entropy",
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
