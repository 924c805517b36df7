"""What ``course train`` does, in the order in which it says so."""

from __future__ import annotations

import time
from pathlib import Path

from tqdm.auto import tqdm

from course_lib.errors import CourseError
from course_lib.model import count_parameters
from course_lib.training.checkpoint import read_checkpoint
from course_lib.training.device import choose_device, choose_precision
from course_lib.training.loop import train
from course_lib.training.recipes import Recipe
from course_lib.training.report import epoch_line, report
from course_lib.training.task import load_task


def check_folder(folder: Path, *, resume: bool) -> None:
    """See to it that no unfinished run is lost.

    Raises:
        CourseError: the folder holds a run that was stopped, and ``resume`` was not asked for.
    """
    last = folder / "last.safetensors"
    if resume or not last.exists():
        return
    _, info, _ = read_checkpoint(last)
    if info["step"] < info["total_steps"]:
        raise CourseError(
            f"{folder} holds a run that was stopped at step {info['step']} of "
            f"{info['total_steps']}: go on with --resume, or choose another folder with --out"
        )


def train_and_report(
    recipe: Recipe,
    *,
    folder: Path,
    seed: int = 0,
    device: str = "auto",
    precision: str = "auto",
    max_steps: int | None = None,
    resume: bool = False,
) -> bool:
    """Train, print a line for each epoch, test, and say where the run is.

    Returns:
        Whether the run is finished; False after Ctrl-C.

    Raises:
        CourseError: as ``train``, or the folder holds a run that was stopped, or there is no such
            device or precision.
    """
    device = choose_device(device)
    arithmetic = choose_precision(precision, device)
    check_folder(folder, resume=resume)
    started = time.monotonic()
    task = load_task(recipe)
    config = task.new_translator(recipe, seed=seed).model.config
    print(
        f"{recipe.name}: {len(task.train):,} sentence pairs of {task.corpus.name} "
        f"({time.monotonic() - started:.0f} s), {count_parameters(config):,} parameters, "
        f"on {device} in {arithmetic}, seed {seed}"
    )
    run = train(
        recipe,
        folder=folder,
        seed=seed,
        device=device,
        precision=arithmetic,
        max_steps=max_steps,
        resume=resume,
        task=task,
        on_epoch=lambda row: tqdm.write(epoch_line(row)),
    )
    if not run.finished:
        print(
            f"\nStopped after step {run.step} of {run.total_steps}; nothing is lost. "
            f"Go on with the same command and --resume (the run is in {folder})."
        )
        return False
    print(f"Trained {run.step:,} steps in {run.seconds:.0f} s.")
    for line in report(run, task):
        print(line)
    print(f'Saved in {folder}. Try: course translate --run {folder} "…"')
    return True
