"""The training loop, to be read from top to bottom.

One step (learning rate, forward, backward, clip, step) is ``train_step`` in ``step.py``. Stripped
of validation, saving and interruption, the loop is:

    model = Transformer(config)
    optimizer = make_optimizer(recipe, model)
    for step, batch in enumerate(batches, start=1):
        train_step(model, batch, optimizer, pad_id, lr=schedule(step, total_steps))
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from course_lib.errors import CourseError
from course_lib.training.distributed import all_reduce_clock_and_stop, rank, world_size
from course_lib.training.evaluation import validate
from course_lib.training.interrupts import deferred_interrupts
from course_lib.training.progress_bar import ProgressBar
from course_lib.training.recipes import Recipe
from course_lib.training.run import Epoch, Run
from course_lib.training.run_folder import RunFolder, open_run_folder
from course_lib.training.run_options import RunOptions
from course_lib.training.trainer import Trainer
from course_lib.training.training_data import TrainingData, load_training_data


def train(
    recipe: Recipe,
    options: RunOptions | None = None,
    *,
    folder: Path | str | None = None,
    data: TrainingData | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_step: Callable[[Run], None] | None = None,
) -> Run:
    """Train a translator by a recipe.

    Seeds PyTorch's global random numbers. Ctrl-C ends the step under way, saves, and returns a run
    that is not ``finished``; a second Ctrl-C stops at once. Pairs that are too long for the model
    are left out, and their number is printed.

    Args:
        options: seed, device, precision, length; whether to resume or overwrite an earlier run.
        folder: where the run is kept (see ``run_folder``); None keeps it in memory.
        data: the recipe's data, if you have loaded it already.
        on_epoch: called with the numbers of each validation.
        on_step: called with the run after each step.

    Raises:
        CourseError: the folder cannot be written or holds another run, there is nothing to resume,
            or the loss or the gradient is not finite.
    """
    options = (options or RunOptions()).resolved()
    data = data or load_training_data(recipe)
    torch.manual_seed(options.seed)  # decides the initial weights, and dropout
    trainer = Trainer(recipe, data, options)
    run = trainer.run
    run.folder = None if folder is None else Path(folder)
    if trainer.sampler.left_out:
        print(trainer.sampler.left_out)
    with open_run_folder(run.folder, options) as files:
        if options.resume:
            files.restore(trainer)
        else:
            files.save_last(trainer)  # a folder that cannot be written should not cost an hour
        with (
            deferred_interrupts() as interrupted,
            ProgressBar(run) as bar,
            save_on_failure(trainer, files),
        ):
            clock = RunClock(run, interrupted)
            for batch, position in trainer.remaining_batches():
                trainer.step(batch, position)
                stop = clock.tick()
                bar.update()
                if on_step and rank() == 0:
                    on_step(run)
                if trainer.validation_is_due():
                    metrics = validate(run, data)
                    if trainer.record_validation(metrics):
                        files.save_best(run)
                    clock.tick()
                    if on_epoch and rank() == 0:
                        on_epoch(metrics)
                files.save_last_if_due(trainer)
                if stop:
                    break
        files.save_last(trainer)
        if run.finished:
            trainer.keep_weights()
            if recipe.keep_weights == "last" or not trainer.best_weights:
                files.save_final(run)
    trainer.model.eval()
    return run


class RunClock:
    """Adds the time that passes to ``run.seconds``, the same on all processes."""

    def __init__(self, run: Run, interrupted: threading.Event) -> None:
        self.run, self.interrupted, self.last = run, interrupted, time.monotonic()

    def tick(self) -> bool:
        """Add the time since the last tick; whether a process was interrupted."""
        now = time.monotonic()
        seconds = self.run.seconds + now - self.last
        self.last = now
        self.run.seconds, stop = all_reduce_clock_and_stop(seconds, self.interrupted.is_set())
        return stop


@contextmanager
def save_on_failure(trainer: Trainer, files: RunFolder) -> Iterator[None]:
    """If a step fails, save the run as it was before it: the weights are still those.

    Raises:
        CourseError: another process ended, so this one could not exchange gradients with it.
    """
    try:
        yield
    except Exception as error:
        files.save_last(trainer)
        lost = isinstance(error, RuntimeError) and not isinstance(error, torch.OutOfMemoryError)
        if world_size() == 1 or not lost:
            raise
        raise CourseError(
            f"expected {world_size()} processes to take step {trainer.run.step + 1}, but process "
            f"{rank()} could not ({str(error).partition(chr(10))[0]}): did another one die? "
            "Go on with --resume"
        ) from error
