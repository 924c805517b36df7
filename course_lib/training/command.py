"""What ``course train`` does, in the order in which it says so."""

from __future__ import annotations

import time
from pathlib import Path

from course_lib.data import Corpus
from course_lib.model import count_parameters
from course_lib.training.device import choose_device, choose_precision
from course_lib.training.distributed import process_group, rank, world_size
from course_lib.training.final_report import report
from course_lib.training.loop import train
from course_lib.training.recipes import Recipe
from course_lib.training.run_folder import locked_run_folder
from course_lib.training.tensorboard import tensorboard_logger
from course_lib.training.training_data import load_training_data


def train_and_report(
    recipe: Recipe,
    *,
    folder: Path,
    corpus: Corpus | None = None,
    seed: int = 0,
    device: str = "auto",
    precision: str = "auto",
    max_steps: int | None = None,
    minutes: float | None = None,
    resume: bool = False,
) -> bool:
    """Train, print a line for each validation, test, and say where the run is.

    Under ``torchrun`` all processes train, and the first one speaks and writes.

    Returns:
        Whether the run is finished; False after Ctrl-C.

    Raises:
        CourseError: as ``train`` and ``locked_run_folder``, or no such device or precision.
    """
    with process_group(choose_device(device)) as place, locked_run_folder(folder, resume=resume):
        arithmetic = choose_precision(precision, place)
        started = time.monotonic()
        task = load_training_data(recipe, corpus)
        config = task.new_translator(recipe, seed=seed).model.config
        processes = f", {world_size()} processes" if world_size() > 1 else ""
        print(
            f"{recipe.name}: {len(task.train):,} sentence pairs of {task.corpus.name} "
            f"({time.monotonic() - started:.0f} s), {count_parameters(config):,} parameters, "
            f"on {place} in {arithmetic}, seed {seed}{processes}"
        )
        with tensorboard_logger(folder) as log:
            run = train(
                recipe,
                folder=folder,
                seed=seed,
                device=place,
                precision=arithmetic,
                max_steps=max_steps,
                minutes=minutes,
                resume=resume,
                task=task,
                on_step=log.step,
                on_epoch=log.epoch,
            )
        if not run.finished:
            of = "" if run.total_steps is None else f" of {run.total_steps:,}"
            print(
                f"\nStopped after step {run.step}{of}; nothing is lost. "
                f"Go on with the same command and --resume (the run is in {folder})."
            )
            return False
        early = ", stopped early" if run.stopped_early else ""
        print(f"Trained {run.step:,} steps in {run.seconds:.0f} s{early}.")
        if rank() == 0:
            for line in report(run, task):
                print(line)
        print(f'Saved in {folder}. Try: course translate --run {folder} "…"')
        return True
