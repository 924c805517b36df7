"""A training run: what it has come to, and how it is kept in a folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.optim import Optimizer

from course_lib.atomic import write_atomically
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import TransformerConfig
from course_lib.training.batch_sampler import Place
from course_lib.training.checkpoint import read_checkpoint, save_checkpoint
from course_lib.training.device import Precision
from course_lib.training.recipes import Recipe

Epoch = dict[str, int | float]  # the numbers of one validation, by name


@dataclass
class Run:
    """A training run, finished or interrupted.

    ``losses`` has the loss of each step, ``epochs`` the numbers of each validation, ``seconds`` the
    time spent in the loop, validation included. ``translator`` has the kept weights once finished.
    """

    recipe: Recipe
    translator: Translator
    seed: int
    total_steps: int | None  # None if a time was given instead
    minutes: float | None = None
    precision: Precision = "fp32"
    losses: list[float] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    seconds: float = 0.0
    tokens: int = 0  # real target tokens that were learnt from
    stopped_early: bool = False
    folder: Path | None = None

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return len(self.losses)

    @property
    def progress(self) -> float:
        """The share of the run that is done, of its steps or of its time."""
        if self.total_steps is not None:
            return self.step / self.total_steps
        assert self.minutes is not None
        return self.seconds / (60 * self.minutes)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; False after an interruption."""
        return self.progress >= 1 or self.stopped_early

    def describe(self) -> dict[str, Any]:
        """What the run is, as JSON."""
        return {
            "recipe": asdict(self.recipe),
            "seed": self.seed,
            "total_steps": self.total_steps,
            "minutes": self.minutes,
            "precision": self.precision,
        }

    def save(self, name: str, **more: Any) -> None:
        """Write the weights and the numbers so far as ``name``.safetensors.

        Args:
            more: ``info`` (JSON) and ``extra`` tensors for the checkpoint.
        """
        assert self.folder is not None
        info = self.describe() | {"step": self.step, "epochs": self.epochs} | more.get("info", {})
        path = self.folder / f"{name}.safetensors"
        save_checkpoint(path, self.translator, info=info, extra=more.get("extra"))

    def write_history(self) -> None:
        """Write the numbers of each validation, and the run's own description, for people."""
        assert self.folder is not None
        history = "".join(json.dumps(row) + "\n" for row in self.epochs)
        write_atomically(self.folder / "history.jsonl", history)
        write_atomically(self.folder / "run.json", json.dumps(self.describe(), indent=2) + "\n")


def pack(run: Run, optimizer: Optimizer, place: Place, best_loss: float) -> dict[str, Any]:
    """All that a run needs to go on as if it had never stopped, for ``Run.save``."""
    info = {"seconds": run.seconds, "tokens": run.tokens, "losses": run.losses}
    info |= {"best_loss": best_loss, "place": list(place), "stopped_early": run.stopped_early}
    info["finished"] = run.finished
    extra = {"rng": torch.get_rng_state()}
    if torch.cuda.is_available():
        extra["cuda_rng"] = torch.cuda.get_rng_state()
    for i, state in optimizer.state_dict()["state"].items():
        extra |= {f"optimizer.{i}.{key}": value for key, value in state.items()}
    return {"info": info, "extra": extra}


def _options(description: dict[str, Any]) -> dict[str, Any]:
    recipe = description["recipe"]
    return recipe | {k: v for k, v in description.items() if k not in ("recipe", *recipe)}


def _built(translator: Translator) -> tuple[TransformerConfig, list[str], list[str]]:
    source, target = translator.source_vocabulary, translator.target_vocabulary
    return translator.model.config, source.tokens, target.tokens


def unpack(run: Run, optimizer: Optimizer) -> tuple[Place, float]:
    """Put ``last.safetensors`` of the run's folder back into run, model and optimiser.

    Returns:
        The place in the stream of batches, and the lowest validation loss.

    Raises:
        CourseError: there is none, or it is of another run.
    """
    if run.folder is None:
        raise CourseError("to resume a run, say which: the folder is missing")
    saved, info, extra = read_checkpoint(run.folder / "last.safetensors")
    mine, theirs = _options(json.loads(json.dumps(run.describe()))), _options(info)
    name = next((name for name in mine if mine[name] != theirs.get(name)), None)
    if name or _built(saved) != _built(run.translator):
        wanted = f"{name} = {mine[name]}" if name else "the model and the words of this corpus"
        raise CourseError(
            f"expected to go on with {wanted}, but the run in {run.folder} has "
            f"{theirs.get(name) if name else 'others'}: resume with the options that it was "
            "started with"
        )
    run.translator.model.load_state_dict(saved.model.state_dict())
    run.losses, run.epochs, run.seconds = info["losses"], info["epochs"], info["seconds"]
    run.tokens, run.stopped_early = info["tokens"], info["stopped_early"]
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in extra.items():
        if name.startswith("optimizer."):
            _, i, key = name.split(".", 2)
            state.setdefault(int(i), {})[key] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    torch.set_rng_state(extra["rng"])
    if torch.cuda.is_available() and "cuda_rng" in extra:
        torch.cuda.set_rng_state(extra["cuda_rng"])
    return Place(*info["place"]), info["best_loss"]
