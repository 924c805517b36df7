"""Resume a run: a trainer's state as one checkpoint file, and back.

What the state is, ``Trainer.state_dict`` says; where the files are, ``run_folder``.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.training.data.fingerprint import changed_parts
from course_lib.training.data.training_data import TrainingData
from course_lib.training.runs.checkpoint import read_checkpoint, read_tokenizers, save_checkpoint
from course_lib.training.runs.run import Run
from course_lib.training.trainer import Trainer


def save_resumable(path: Path, trainer: Trainer) -> None:
    """Write all that training needs to go on.

    Raises:
        CourseError: the file cannot be written; an older one is untouched.
    """
    run = trainer.run
    info, tensors = _to_checkpoint(trainer.state_dict())
    info = trainer.describe() | {"step": run.step, "finished": run.finished} | info
    save_checkpoint(path, run.translator, info=info, extra=tensors)


def resume(path: Path, trainer: Trainer) -> None:
    """Put the trainer into the state that ``save_resumable`` wrote.

    Raises:
        CourseError: there is no such file, it lacks something, or it is of a run with other options
            or other data.
    """
    saved, info, tensors = read_checkpoint(path)
    run = trainer.run
    try:
        changed = changed_parts(info["data"], trainer.data.fingerprint)
        differed = changed or info["data_changes"]  # now, or when the run was resumed before
        if differed and run.options.max_steps is None and run.total_steps is not None:
            run.total_steps = info["total_steps"]  # as many as the data gave at the start
        _refuse_other_options(run, info)
        if changed and not run.options.accept_changed_data:
            raise CourseError(
                f"expected the data of the run in {run.folder}, got others. Changed: "
                f"{', '.join(changed)}. Was a file edited or replaced? Resume with the data as "
                "they were, go on with these with --accept-changed-data, or start anew with "
                "--overwrite"
            )
        if saved.model.config != run.translator.model.config:  # a preset may change with the course
            raise _another_run(run, "the recipe's model", "another")
        state = _from_checkpoint(saved, info, tensors)
        keeps_none = run.recipe.optimizer == "sgd" and not run.recipe.momentum
        if info["losses"] and not keeps_none:
            _refuse_missing_moments(trainer, state["optimizer"])
        trainer.load_state_dict(state)
        if info["step"] != run.step:
            raise ValueError(f"{run.step} losses of {info['step']} steps")
    except CourseError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise CourseError(
            f"expected in {path} all that a run needs to go on, got something else "
            f"({type(error).__name__}: {error}): was the file changed, or written by another "
            "version of the course? Start anew with --overwrite"
        ) from error
    if changed:
        run.data_changes = [*run.data_changes, run.step]
    if any(" valid" in part for part in changed):
        trainer.best_loss = math.inf  # of other sentences: no loss of these can be compared with it


def with_tokenizers_of_run(folder: Path, data: TrainingData) -> TrainingData:
    """The data numbered as the run in ``folder`` did: its weights belong to these tokenizers.

    Raises:
        CourseError: there is no run.
    """
    source, target = read_tokenizers(folder / "last.safetensors")
    return replace(data, source_vocabulary=source, target_vocabulary=target)


def _refuse_other_options(run: Run, info: dict[str, Any]) -> None:
    wanted, found = _options(json.loads(json.dumps(run.describe()))), _options(info)
    for name in wanted:
        if wanted[name] != found.get(name):
            raise _another_run(run, f"{name} = {wanted[name]}", str(found.get(name)))


def _refuse_missing_moments(trainer: Trainer, moments: dict[int, dict[str, torch.Tensor]]) -> None:
    """PyTorch's optimisers begin anew, silently, with a parameter whose moments are missing."""
    names = {"momentum_buffer"}
    if trainer.recipe.optimizer != "sgd":
        names = {"step", "exp_avg", "exp_avg_sq"}
    for number, (name, parameter) in enumerate(trainer.model.named_parameters()):
        found = moments.get(number, {})
        shapes = {tuple(value.shape) for value in found.values()}
        if found.keys() != names or not shapes <= {(), tuple(parameter.shape)}:
            raise ValueError(f"the state of the optimiser lacks a part for {name}")


def _another_run(run: Run, mine: str, its: str) -> CourseError:
    return CourseError(
        f"expected to go on with {mine}, but the run in {run.folder} has {its}: "
        "resume with the options that it was started with"
    )


def _options(description: dict[str, Any]) -> dict[str, Any]:
    recipe = description["recipe"]
    return recipe | {k: v for k, v in description.items() if k not in ("recipe", *recipe)}


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
