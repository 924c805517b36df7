"""A run's folder: its checkpoints, its metrics, and the rule that no other run may touch them.

| file | what it holds |
|---|---|
| ``last.safetensors`` | all that ``--resume`` needs |
| ``best.safetensors`` | the weights of the lowest validation loss |
| ``final.safetensors`` | the last weights, where the recipe keeps those or nothing was validated |
| ``metrics.jsonl``, ``run.json`` | the numbers of each validation and the options, for people |
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from course_lib.atomic import DRAFT_PREFIX, below, locked, write_atomically
from course_lib.errors import CourseError
from course_lib.run_options import RunOptions
from course_lib.terminal import say
from course_lib.training.distributed import rank, world_size
from course_lib.training.runs.checkpoint import read_checkpoint, read_info, save_checkpoint
from course_lib.training.runs.interrupts import held_interrupts
from course_lib.training.runs.resume import resume, save_resumable
from course_lib.training.runs.run import Epoch
from course_lib.training.runs.run_files import (
    CHECKPOINTS,
    EVENTS,
    METRICS,
    OPTIONS,
    refuse_mixed_runs,
)
from course_lib.training.trainer import Trainer

SAVE_EVERY = 60.0  # seconds of training that a crash may cost
_ELSEWHERE = "or choose another folder with --out"
_FILES = (METRICS, OPTIONS, *CHECKPOINTS)


class RunFolder:
    """Saves a trainer, and gives it back. Made by ``open_run_folder``.

    Without a path nothing is kept, and of several processes only the first one writes.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._saved_at = 0.0  # in seconds of the run

    def resume_or_begin(self, trainer: Trainer) -> None:
        """Go on with the run in the folder where the options say so, else save the new one.

        A folder that cannot be written should not cost an hour of training.
        """
        if trainer.options.resume:
            self.restore(trainer)
        else:
            self.save_last(trainer)

    @contextmanager
    def save_on_exit(self, trainer: Trainer) -> Iterator[None]:
        """Save at the end, and whatever else ends training: a step, a validation or a callback that
        fails, Ctrl-C pressed twice. A step that is under way then does not count.

        Raises:
            CourseError: the run could not be saved, or another process ended, so this one could not
                exchange gradients with it.
        """
        try:
            yield
        except BaseException as error:
            self._save_after(error, trainer)
            lost = isinstance(error, RuntimeError) and not isinstance(error, torch.OutOfMemoryError)
            if world_size() == 1 or not lost:
                raise
            raise CourseError(
                f"expected {world_size()} processes to take step {trainer.run.step + 1}, but "
                f"process {rank()} could not ({str(error).partition(chr(10))[0]}): did another one "
                "die? Go on with --resume"
            ) from error
        self.save_last(trainer)

    def save_last(self, trainer: Trainer) -> None:
        """Write all that training needs to go on. What asks the process to end waits for it."""
        self._saved_at = trainer.run.seconds
        if self.path is None or rank() > 0:
            return
        with held_interrupts():
            save_resumable(self.path / "last.safetensors", trainer)
            named = ({"run": trainer.run.id} | row for row in trainer.run.epochs)
            write_atomically(self.path / METRICS, "".join(f"{json.dumps(row)}\n" for row in named))
            described = json.dumps(trainer.describe(), indent=2) + "\n"
            write_atomically(self.path / OPTIONS, described)

    def save_last_if_due(self, trainer: Trainer) -> None:
        """``save_last`` after ``SAVE_EVERY`` seconds of training."""
        if trainer.run.seconds - self._saved_at > SAVE_EVERY:
            self.save_last(trainer)

    def save_best(self, trainer: Trainer, row: Epoch) -> None:
        """Write the weights of the lowest validation loss, which the model has now."""
        self._save_weights("best", trainer, [*trainer.run.epochs, row])

    def save_final(self, trainer: Trainer) -> None:
        """Write the last weights where the recipe keeps those, or where nothing was validated.

        Called before the run is saved as finished: a finished run lacks nothing.
        """
        if trainer.recipe.keep_weights == "last" or not trainer.best_weights:
            self._save_weights("final", trainer, trainer.run.epochs)

    def _save_weights(self, name: str, trainer: Trainer, epochs: list[Epoch]) -> None:
        if self.path is None or rank() > 0:
            return
        run = trainer.run
        info = trainer.describe() | {
            "step": run.step,
            "epochs": epochs,
            "data_changes": run.data_changes,
        }
        with held_interrupts():
            save_checkpoint(self.path / f"{name}.safetensors", run.translator, info=info)

    def _save_after(self, error: BaseException, trainer: Trainer) -> None:
        """Save a run that an error ends; an update that was begun can only be forgotten."""
        try:
            if trainer.is_whole:
                self.save_last(trainer)
        except CourseError as unsaved:
            if str(unsaved) == str(error):  # it was saving that failed
                raise error from None
            raise CourseError(
                f"training ended ({type(error).__name__}: {error}), and what it had reached could "
                f"not be saved: {unsaved}"
            ) from error

    def restore(self, trainer: Trainer) -> None:
        """Put the trainer back to where the run in this folder was saved.

        Raises:
            CourseError: there is none, or it is of another run or of other data.
        """
        if self.path is None:
            raise CourseError(
                "expected the folder of the run to go on with, got none: name it, as in "
                'folder="runs/small"'
            )
        refuse_mixed_runs(self.path)
        resume(self.path / "last.safetensors", trainer)
        self._saved_at = trainer.run.seconds
        best = self.path / "best.safetensors"
        if trainer.best_loss == math.inf:
            return  # none yet, or the validation data have changed
        if best.exists():
            trainer.best_weights = read_checkpoint(best)[0].model.state_dict()
        else:
            trainer.best_loss = math.inf
            say(
                f"{best} is missing, which had the weights of the lowest validation loss so far: "
                "the next validation begins anew with looking for the lowest"
            )


@contextmanager
def open_run_folder(path: Path | None, options: RunOptions) -> Iterator[RunFolder]:
    """The folder for this run alone, made if need be; drafts that a killed process left go.

    Of several processes that train together, the first one does so.

    Raises:
        CourseError: the folder cannot be made, another process trains there, it holds a damaged
            run, or a run that the options neither resume nor overwrite.
    """
    if path is None or rank() > 0:
        yield RunFolder(path)
        return
    busy = f"expected {path} for this run alone, but another process trains there: wait for it, "
    with ExitStack() as stack:
        try:
            str(path).encode()  # safetensors takes no other names
            path.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(path / ".lock", busy + _ELSEWHERE))
        except UnicodeEncodeError:
            raise CourseError(
                f"expected a folder with a name in UTF-8, got {str(path)!r}: choose another with "
                "--out"
            ) from None
        except OSError as error:
            raise CourseError(
                f"could not write to {path} ({error}): is a file in the way, or a folder read-only?"
            ) from error
        refuse_used(path, options)
        if options.overwrite:
            _clear(path)
        for name in (*_FILES, EVENTS):  # refused now and not after an hour
            below(path, name)
        for draft in path.glob(f"{DRAFT_PREFIX}*"):
            shutil.rmtree(draft, ignore_errors=True)
        yield RunFolder(path)


def refuse_used(folder: Path, options: RunOptions) -> None:
    """Refuse a folder with a run in it that would be lost.

    Raises:
        CourseError: it holds a run that the options neither resume nor overwrite, or a damaged one.
    """
    if options.overwrite:
        return
    last, resume = folder / "last.safetensors", options.resume
    if not last.exists():
        found = next((name for name in CHECKPOINTS if (folder / name).exists()), None)
        if found and not resume:  # a run to go on with is missing: reading it will say so
            raise CourseError(
                f"{folder} holds {found}, weights of an earlier run: replace them with "
                f"--overwrite, {_ELSEWHERE}"
            )
        if resume and not found:
            raise CourseError(
                f"expected a run to go on with in {folder}, found none: a run is saved for the "
                "first time after its first steps, so if it was stopped before, start it without "
                "--resume"
            )
        return
    try:
        info = read_info(last)
    except CourseError as error:
        raise CourseError(f"{error} Start anew with --overwrite, {_ELSEWHERE}") from error
    if "finished" not in info:
        raise CourseError(
            f"expected in {last} all that a run needs to go on, got a checkpoint that can only "
            f"translate: was best.safetensors copied there? Start anew with --overwrite, "
            + _ELSEWHERE
        )
    if resume:
        return
    try:
        held = _progress_in_words(info)
    except (KeyError, TypeError, ValueError) as error:
        raise CourseError(
            f"expected in {last} a run, got something else ({type(error).__name__}: {error}): was "
            f"it changed? Start anew with --overwrite, {_ELSEWHERE}"
        ) from error
    go_on = "" if info["finished"] else "go on with --resume, "
    raise CourseError(f"{folder} holds {held}: {go_on}replace it with --overwrite, {_ELSEWHERE}")


def _progress_in_words(info: dict[str, Any]) -> str:
    step = f"{info['step']:,}"
    if info["finished"]:
        return f"a finished run of {step} steps"
    of = "" if info["total_steps"] is None else f" of {info['total_steps']:,}"
    return f"a run that was stopped at step {step}{of}"


def _clear(folder: Path) -> None:
    """Delete the files of an earlier run, and nothing else; that it is there, until the end.

    Of a link, the link goes, and what is behind it stays.

    Raises:
        CourseError: one of them cannot be deleted.
    """
    events = folder / EVENTS
    # Another program's may be there, too.
    logs = [events] if events.is_symlink() else events.glob("events.out.tfevents.*")
    try:
        for path in (*(folder / name for name in _FILES), *logs):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise CourseError(
            f"could not delete {error.filename} ({error.strerror}) to start anew: is it a folder, "
            f"or are you not allowed to? Move it out of the way, {_ELSEWHERE}"
        ) from error
