"""The training loop: step, report, validate, save, stop.

Without validation, saving and interruption, it is

    model = Transformer(config)
    optimizer = make_optimizer(recipe, model)
    for step, batch in enumerate(batches, start=1):
        train_step(model, batch, optimizer, pad_id, lr=schedule(step, total_steps))

where ``train_step`` in ``step.py`` has learning rate, forward, backward, clip, step.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from course_lib.run_options import RunOptions
from course_lib.terminal import say
from course_lib.training.data.training_data import TrainingData, load_training_data
from course_lib.training.distributed import rank
from course_lib.training.evaluation import validate
from course_lib.training.recipes import Recipe
from course_lib.training.runs.monitor import monitored
from course_lib.training.runs.resolve_options import resolve_options
from course_lib.training.runs.resume import with_tokenizers_of_run
from course_lib.training.runs.run import Epoch, Run
from course_lib.training.runs.run_folder import RunFolder, open_run_folder
from course_lib.training.trainer import MakeTraining, Trainer


def train(
    recipe: Recipe,
    options: RunOptions | None = None,
    *,
    folder: Path | str | None = None,
    data: TrainingData | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_step: Callable[[Run], None] | None = None,
    make_training: MakeTraining | None = None,
) -> Run:
    """Train a translator by a recipe.

    Seeds PyTorch's global random numbers. Ctrl-C ends the step under way, saves, and returns a run
    that is not ``finished``; a second Ctrl-C stops at once. What else ends training, such as an
    error in a callback, is raised when the run has been saved. Pairs that are too long for the
    model are left out, and their number is printed.

    Args:
        options: seed, device, precision, length; whether to resume or overwrite an earlier run.
        folder: where the run is kept (see ``run_folder``); None keeps it in memory.
        data: the recipe's data, if you have loaded it already.
        on_epoch: called with the numbers of each validation.
        on_step: called with the run after each step.
        make_training: see ``Trainer``; for a step of your own, in one process.

    Raises:
        CourseError: the folder cannot be written or holds another run, there is nothing to resume,
            its data have changed, or the loss or the gradient is not finite.
    """
    folder = None if folder is None else Path(folder)
    # "auto" becomes a device, a precision
    options = resolve_options(options or RunOptions(), folder)
    data = data or load_training_data(recipe)
    if options.accept_changed_data and folder is not None:
        data = with_tokenizers_of_run(folder, data)
    torch.manual_seed(options.seed)  # decides the initial weights, and dropout
    trainer = Trainer(recipe, data, options, make_training=make_training)
    run = trainer.run
    run.folder = folder
    if trainer.sampler.left_out:
        say(trainer.sampler.left_out)
    with open_run_folder(run.folder, options) as files:
        files.resume_or_begin(trainer)
        with monitored(run, on_step) as monitor, files.save_on_exit(trainer):
            if trainer.validation_is_due():  # the run was stopped between a step and its validation
                validate_and_keep_best(trainer, data, files, on_epoch)
            for batch, next_position in trainer.remaining_batches():  # until run.finished
                trainer.step(batch, next_position)
                monitor.report_step()
                if trainer.validation_is_due():
                    validate_and_keep_best(trainer, data, files, on_epoch)
                    monitor.tick()
                if not run.finished:  # a finished run is saved after its last weights
                    files.save_last_if_due(trainer)
                if monitor.interrupted:  # by Ctrl-C
                    break
            if run.finished:
                files.save_final(trainer)
        if run.finished:
            trainer.keep_weights()
    trainer.model.eval()
    return run


def validate_and_keep_best(
    trainer: Trainer,
    data: TrainingData,
    files: RunFolder,
    on_epoch: Callable[[Epoch], None] | None,
) -> None:
    """Validate; keep the weights if they are the best so far.

    They are saved before the validation is noted: if saving fails, it is due again.
    """
    metrics = validate(trainer.run, data)
    if trainer.is_best(metrics):
        files.save_best(trainer, metrics)
    trainer.record_validation(metrics)
    if on_epoch and rank() == 0:  # of several processes, the first one reports
        on_epoch(metrics)
