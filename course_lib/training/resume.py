"""Resume a run: a trainer's state as one checkpoint file, and back.

What the state is, ``Trainer.state_dict`` says; where the files are, ``run_folder``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import TransformerConfig
from course_lib.training.checkpoint import read_checkpoint, save_checkpoint
from course_lib.training.run import Run
from course_lib.training.trainer import Trainer


def save_resumable(path: Path, trainer: Trainer) -> None:
    """Write all that training needs to go on.

    Raises:
        CourseError: the file cannot be written; an older one is untouched.
    """
    run = trainer.run
    info, tensors = _to_checkpoint(trainer.state_dict())
    info = run.describe() | {"step": run.step, "finished": run.finished} | info
    save_checkpoint(path, run.translator, info=info, extra=tensors)


def resume(path: Path, trainer: Trainer) -> None:
    """Put the trainer into the state that ``save_resumable`` wrote.

    Raises:
        CourseError: there is no such file, or it is of a run with other options or other data.
    """
    saved, info, tensors = read_checkpoint(path)
    _refuse_another_run(trainer.run, saved, info)
    trainer.load_state_dict(_from_checkpoint(saved, info, tensors))


def _refuse_another_run(run: Run, saved: Translator, info: dict[str, Any]) -> None:
    wanted, found = _options(json.loads(json.dumps(run.describe()))), _options(info)
    differing = [name for name in wanted if wanted[name] != found.get(name)]
    if differing or _built(saved) != _built(run.translator):
        mine, its = "the model and the vocabularies of this corpus", "others"
        if differing:
            name = differing[0]
            mine, its = f"{name} = {wanted[name]}", str(found.get(name))
        raise CourseError(
            f"expected to go on with {mine}, but the run in {run.folder} has {its}: "
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
