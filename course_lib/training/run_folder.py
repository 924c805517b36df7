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
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from course_lib.atomic import DRAFT_PREFIX, write_atomically
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import TransformerConfig
from course_lib.training.checkpoint import read_checkpoint, read_info, save_checkpoint
from course_lib.training.distributed import rank
from course_lib.training.run import Run
from course_lib.training.run_options import RunOptions
from course_lib.training.trainer import Trainer

SAVE_EVERY = 60.0  # seconds of training that a crash may cost
METRICS, OLD_METRICS = "metrics.jsonl", "history.jsonl"
_ELSEWHERE = "or choose another folder with --out"


class RunFolder:
    """Saves a trainer, and gives it back. Made by ``open_run_folder``.

    Without a path nothing is kept, and of several processes only the first one writes.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._saved_at = 0.0  # in seconds of the run

    def save_last(self, trainer: Trainer) -> None:
        """Write all that training needs to go on."""
        self._saved_at = trainer.run.seconds
        if self.path is None or rank() > 0:
            return
        info, tensors = _to_checkpoint(trainer.state_dict())
        info["finished"] = trainer.run.finished
        self._save_weights("last", trainer.run, info=info, extra=tensors)
        rows = "".join(json.dumps(row) + "\n" for row in trainer.run.epochs)
        write_atomically(self.path / METRICS, rows)
        described = json.dumps(trainer.run.describe(), indent=2) + "\n"
        write_atomically(self.path / "run.json", described)

    def save_last_if_due(self, trainer: Trainer) -> None:
        """``save_last`` after ``SAVE_EVERY`` seconds of training."""
        if trainer.run.seconds - self._saved_at > SAVE_EVERY:
            self.save_last(trainer)

    def save_best(self, run: Run) -> None:
        """Write the weights of the lowest validation loss, which the model has now."""
        self._save_weights("best", run)

    def save_final(self, run: Run) -> None:
        """Write the last weights, which the model has now."""
        self._save_weights("final", run)

    def _save_weights(self, name: str, run: Run, **more: Any) -> None:
        if self.path is not None and rank() == 0:
            info = run.describe() | {"step": run.step, "epochs": run.epochs} | more.pop("info", {})
            path = self.path / f"{name}.safetensors"
            save_checkpoint(path, run.translator, info=info, **more)

    def restore(self, trainer: Trainer) -> None:
        """Put the trainer back to where the run in this folder was saved.

        Raises:
            CourseError: there is none, or it is of another run.
        """
        if self.path is None:
            raise CourseError("to resume a run, say which: the folder is missing")
        saved, info, tensors = read_checkpoint(self.path / "last.safetensors")
        self._refuse_another_run(trainer.run, saved, info)
        trainer.load_state_dict(_from_checkpoint(saved, info, tensors))
        best = self.path / "best.safetensors"
        if best.exists():
            trainer.best_weights = read_checkpoint(best)[0].model.state_dict()
        self._saved_at = trainer.run.seconds

    def _refuse_another_run(self, run: Run, saved: Translator, info: dict[str, Any]) -> None:
        wanted, found = _options(json.loads(json.dumps(run.describe()))), _options(info)
        differing = [name for name in wanted if wanted[name] != found.get(name)]
        if differing or _built(saved) != _built(run.translator):
            mine, its = "the model and the vocabularies of this corpus", "others"
            if differing:
                name = differing[0]
                mine, its = f"{name} = {wanted[name]}", str(found.get(name))
            raise CourseError(
                f"expected to go on with {mine}, but the run in {self.path} has {its}: "
                "resume with the options that it was started with"
            )


def _options(description: dict[str, Any]) -> dict[str, Any]:
    recipe = description["recipe"]
    return recipe | {k: v for k, v in description.items() if k not in ("recipe", *recipe)}


def _built(translator: Translator) -> tuple[TransformerConfig, list[str], list[str]]:
    source, target = translator.source_vocabulary, translator.target_vocabulary
    return translator.model.config, source.tokens, target.tokens


def _to_checkpoint(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """A trainer's state as JSON and tensors by name; the model has a part of its own in a file."""
    info = {"best_loss": state["best_loss"], "position": list(state["position"]), **state["run"]}
    tensors: dict[str, torch.Tensor] = {
        name: state[name] for name in ("rng", "cuda_rng") if name in state
    }
    for number, moments in state["optimizer"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in moments.items()}
    return info, tensors


def _from_checkpoint(
    saved: Translator, info: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> dict[str, Any]:
    """The inverse of ``_to_checkpoint``."""
    optimizer: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, number, moment = name.split(".", 2)
            optimizer.setdefault(int(number), {})[moment] = value
    return {
        "model": saved.model.state_dict(),
        "optimizer": optimizer,
        "position": info["position"],
        "best_loss": info["best_loss"],
        "run": info,
        **{name: tensors[name] for name in ("rng", "cuda_rng") if name in tensors},
    }


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
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(
            f"could not write to {path} ({error}): is a file in the way, or a folder read-only?"
        ) from error
    with _locked(path):
        if options.overwrite:
            _clear(path)
        else:
            _refuse_used(path, resume=options.resume)
        for draft in path.glob(f"{DRAFT_PREFIX}*"):
            shutil.rmtree(draft, ignore_errors=True)
        yield RunFolder(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows has no such lock
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system ends it with the process
    except BlockingIOError as error:
        os.close(handle)
        raise CourseError(
            f"expected {folder} for this run alone, but another process trains there: wait for it, "
            + _ELSEWHERE
        ) from error
    except OSError:
        pass  # some network file systems have none either
    try:
        yield
    finally:
        os.close(handle)


def _refuse_used(folder: Path, *, resume: bool) -> None:
    """Refuse a folder with a run in it that would be lost."""
    last = folder / "last.safetensors"
    if not last.exists():
        return  # if there should be one, reading it will say so
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
    if info["finished"]:
        raise CourseError(
            f"{folder} holds a finished run of {info['step']:,} steps: replace it with "
            f"--overwrite, {_ELSEWHERE}"
        )
    of = "" if info["total_steps"] is None else f" of {info['total_steps']:,}"
    raise CourseError(
        f"{folder} holds a run that was stopped at step {info['step']}{of}: go on with --resume, "
        f"replace it with --overwrite, {_ELSEWHERE}"
    )


def _clear(folder: Path) -> None:
    """Delete the files of an earlier run, and nothing else."""
    for name in ("last", "best", "final"):
        (folder / f"{name}.safetensors").unlink(missing_ok=True)
    for name in (METRICS, OLD_METRICS, "run.json"):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "events", ignore_errors=True)
