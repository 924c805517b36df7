"""What a run wrote down about itself, read from its folder, whether it is finished or under way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from course_lib.decoding import Decoding
from course_lib.errors import CourseError
from course_lib.training.recipes import Recipe
from course_lib.training.run import Epoch
from course_lib.training.step import make_schedule


@dataclass(frozen=True)
class MetricsLog:
    """The numbers of a run.

    ``losses``, ``rates`` (learning rates) and ``minutes`` (since the start) have an entry for each
    step, ``epochs`` one for each validation. Losses and rates may be missing, and are then empty.
    """

    name: str
    summary: str
    losses: list[float]
    rates: list[float]
    minutes: list[float]
    epochs: list[Epoch]


def read_metrics_logs(folders: Sequence[Path]) -> list[MetricsLog]:
    """The history of each run, each under a name of its own.

    A run is called like its folder, or by the whole path where two folders have one name.

    Raises:
        CourseError: as ``read_metrics_log``.
    """
    distinct = list({folder.resolve(): folder for folder in folders}.values())
    names = Counter(folder.resolve().name for folder in distinct)
    return [
        read_metrics_log(folder, name=None if names[folder.resolve().name] == 1 else str(folder))
        for folder in distinct
    ]


def read_metrics_log(folder: Path, *, name: str | None = None) -> MetricsLog:
    """The history of the run in ``folder``.

    All of it stands in ``last.safetensors``, which is replaced as a whole about once a minute: a
    run under way is seen as it was then. Without that file, the losses of the single steps are
    missing, and the rest comes from ``history.jsonl`` and ``run.json``.

    Args:
        name: what to call it, by default like its folder.

    Raises:
        CourseError: this is not the folder of a run, a file in it is damaged, or the run has saved
            no step yet.
    """
    info = _read_info(folder)
    try:
        history = _history(info, name or folder.resolve().name)
    except (KeyError, TypeError, ValueError) as error:
        raise CourseError(
            f"expected the numbers of a run in {folder}, got some that cannot be read "
            f"({type(error).__name__}: {error}): were its files changed, or written by another "
            "version of the course?"
        ) from error
    if not history.minutes:
        raise CourseError(
            f"the run in {folder} has saved no step yet: it saves about once a minute, "
            "try again then"
        )
    return history


def _read_info(folder: Path) -> dict[str, Any]:
    """What the run says of itself, as JSON, with the ``d_model`` of its model where that is known.

    Raises:
        CourseError: this is not the folder of a run, or a file in it is damaged.
    """
    checkpoint, rows = folder / "last.safetensors", folder / "history.jsonl"
    path = checkpoint
    try:
        if checkpoint.is_file():
            with safe_open(checkpoint, framework="np") as file:  # reads the header, no tensors
                description = json.loads((file.metadata() or {})["course"])
            return description["info"] | {"d_model": description["config"]["d_model"]}
        if rows.is_file():
            path = folder / "run.json"
            info = json.loads(path.read_text("utf-8"))
            path = rows
            epochs = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
            return info | {"epochs": epochs, "losses": []}
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise CourseError(
            f"expected {path} as a run writes it, got a file that cannot be read ({error}): "
            "was it cut off while being copied, or changed?"
        ) from error
    what = "nothing" if not folder.exists() else "a file" if folder.is_file() else "another folder"
    raise CourseError(
        f"expected the folder of a run at {folder}, with last.safetensors or history.jsonl in it, "
        f"found {what}: is the path right? course train prints it"
    )


def _history(info: dict[str, Any], name: str) -> MetricsLog:
    losses, epochs = [float(loss) for loss in info["losses"]], list(info["epochs"])
    known = {0: 0.0} | {int(row["step"]): float(row["seconds"]) for row in epochs}
    if losses:
        known[len(losses)] = float(info["seconds"])
    steps = np.arange(1, max(known) + 1)
    seconds = np.interp(steps, list(known), list(known.values()))
    return MetricsLog(
        name=name,
        summary=_summary(info, len(steps), float(seconds[-1]) if len(steps) else 0.0),
        losses=losses,
        rates=list(rates_of(info, seconds)) if losses else [],
        minutes=(seconds / 60).tolist(),
        epochs=epochs,
    )


def rates_of(info: dict[str, Any], seconds: np.ndarray) -> Iterator[float]:
    """The learning rate of each step, by the schedule of the recipe in ``info``.

    Where the run was given minutes instead of steps, each rate depended on the pace until then,
    which is known at the validations only: the rates between are close, not exact.

    Args:
        info: what the run says of itself, with the ``d_model`` of its model.
        seconds: since the start, at the end of each step.
    """
    fields: dict[str, Any] = info["recipe"] | {"decoding": Decoding(**info["recipe"]["decoding"])}
    # JSON has lists where a recipe has tuples.
    fields = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    recipe = Recipe(**fields)
    schedule = make_schedule(recipe, d_model=info["d_model"])
    for done, passed in enumerate(np.concatenate([[0.0], seconds[:-1]])):
        if (expected := info["total_steps"]) is None:
            progress = max(passed / (60 * info["minutes"]), 1e-3)
            expected = max(done + 1, round(done / progress))
        yield schedule(done + 1, expected)


def _summary(info: dict[str, Any], step: int, seconds: float) -> str:
    """Such as ``recipe small on grammar_de_en, seed 0: 60 of 60 steps in 0.1 min``."""
    recipe = info["recipe"]
    of = f" of {info['total_steps']:,}" if info["total_steps"] else ""
    limit = f" of {info['minutes']:g}" if info["minutes"] else ""
    early = ", stopped early" if info.get("stopped_early") else ""
    return (
        f"recipe {recipe['name']} on {recipe['corpus']}, seed {info['seed']}: "
        f"{step:,}{of} steps in {seconds / 60:.1f}{limit} min{early}"
    )
