"""From a recipe to a trained translator, and honest numbers about it."""

from course_lib.alignment_error_rate import alignment_error_rate
from course_lib.run_options import RunOptions
from course_lib.training.data.training_data import TrainingData, load_training_data
from course_lib.training.evaluation import (
    evaluate,
    head_alignment_errors,
    shuffled_source_scores,
    teacher_forced,
)
from course_lib.training.loop import train
from course_lib.training.loss import (
    label_smoothed_loss,
    masked_cross_entropy,
    target_only_entropy,
)
from course_lib.training.metrics import TranslationScores, masked_accuracy, translation_scores
from course_lib.training.optimizers import make_optimizer, make_schedule
from course_lib.training.recipes import AS_RELEASED, RECIPES, Recipe, load_recipe, with_corpus
from course_lib.training.runs.checkpoint import (
    read_checkpoint,
    save_checkpoint,
)
from course_lib.training.runs.final_report import epoch_line, report
from course_lib.training.runs.load_translator import load_early_translators, load_translator
from course_lib.training.runs.run import Run
from course_lib.training.schedules import inverse_sqrt_lr, one_cycle_lr, warmup_cosine_lr
from course_lib.training.step import train_step

__all__ = [
    "AS_RELEASED",
    "RECIPES",
    "Recipe",
    "Run",
    "RunOptions",
    "TrainingData",
    "TranslationScores",
    "alignment_error_rate",
    "epoch_line",
    "evaluate",
    "head_alignment_errors",
    "inverse_sqrt_lr",
    "label_smoothed_loss",
    "load_early_translators",
    "load_recipe",
    "load_training_data",
    "load_translator",
    "make_optimizer",
    "make_schedule",
    "masked_accuracy",
    "masked_cross_entropy",
    "one_cycle_lr",
    "read_checkpoint",
    "report",
    "save_checkpoint",
    "shuffled_source_scores",
    "target_only_entropy",
    "teacher_forced",
    "train",
    "train_step",
    "translation_scores",
    "warmup_cosine_lr",
    "with_corpus",
]
