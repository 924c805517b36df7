"""What ``course train`` does, in the order in which it prints it."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from pathlib import Path

from course_lib.data import Corpus
from course_lib.run_options import RunOptions
from course_lib.terminal import lasting_output, say
from course_lib.training.data.training_data import load_training_data
from course_lib.training.device import choose_device
from course_lib.training.distributed import process_group, rank, world_size
from course_lib.training.loop import train
from course_lib.training.models import count_parameters
from course_lib.training.recipes import Recipe
from course_lib.training.runs.final_report import report
from course_lib.training.runs.first_report import describe
from course_lib.training.runs.resolve_options import resolve_options
from course_lib.training.runs.run_folder import refuse_used
from course_lib.training.runs.tensorboard import tensorboard_logger
from course_lib.training.trainer import MakeTraining


def train_and_report(
    recipe: Recipe,
    options: RunOptions,
    *,
    folder: Path,
    corpus: Corpus | None = None,
    make_training: MakeTraining | None = None,
) -> bool:
    """Train, print a line for each validation, test unless told not to, say where the run is.

    Under ``torchrun`` all processes train, and the first one prints and writes. If nobody reads any
    more what it prints, it goes on without printing.

    Returns:
        Whether the run is finished; False after Ctrl-C.

    Raises:
        CourseError: as ``train``.
    """
    with lasting_output(), process_group(choose_device(options.device)) as device:
        options = resolve_options(replace(options, device=device), folder)
        if rank() == 0:
            refuse_used(folder, options)  # now, and not when the pairs are prepared
        started = time.monotonic()
        say(f"{recipe.name}: preparing the sentence pairs …")
        data = load_training_data(recipe, corpus)
        processes = f", {world_size()} processes" if world_size() > 1 else ""
        say(
            f"{recipe.name}: {len(data.train):,} sentence pairs of {data.corpus.name} "
            f"(prepared in {time.monotonic() - started:.0f} s), "
            f"{count_parameters(data.config(recipe)):,} parameters, "
            f"on {device} in {options.precision}, seed {options.seed}{processes}"
        )
        for line in describe(recipe, data, own=corpus is not None):
            say(line)
        with tensorboard_logger(folder) as logger:
            run = train(
                recipe,
                options,
                folder=folder,
                data=data,
                on_step=logger.log_step,
                on_epoch=logger.log_epoch,
                make_training=make_training,
            )
        if not run.finished:
            of = "" if run.total_steps is None else f" of {run.total_steps:,}"
            say(
                "",
                f"Stopped after step {run.step}{of}; nothing is lost. "
                f"Go on with the same command and --resume (the run is in {folder}).",
            )
            return False
        early = ", stopped early" if run.stopped_early else ""
        in_all = " in all" if options.resume else ""
        say(f"Trained {run.step:,} steps in {run.seconds:.0f} s{in_all}{early}.")
        if rank() == 0 and options.scores:
            for line in report(run, data):
                say(line)
        say(f'Saved in {folder}. Try: course translate --run {shlex.quote(str(folder))} "…"')
        return True
