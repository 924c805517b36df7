"""A run's metrics, read from its folder, whether it is finished or under way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.errors import CourseError
from course_lib.training.runs.checkpoint import read_info
from course_lib.training.runs.run import Epoch
from course_lib.training.runs.run_files import METRICS, OPTIONS, refuse_mixed_runs

# What valid JSON raises that is not what a run writes.
_WRONG_CONTENTS = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
MOST_STEPS = 10_000_000  # of a log, which has a number for each


@dataclass(frozen=True, kw_only=True)
class MetricsLog:
    """The metrics of a run.

    ``losses``, ``learning_rates`` and ``minutes`` (since the start) have an entry for each step,
    ``epochs`` one for each validation. Losses and learning rates may be missing, and are then
    empty.
    """

    name: str
    summary: str
    losses: list[float]
    learning_rates: list[float]
    minutes: list[float]
    epochs: list[Epoch]


def read_metrics_logs(folders: Sequence[Path]) -> list[MetricsLog]:
    """The metrics of each run, each under a name of its own.

    A run is called like its folder; where folders have one name, by their paths below the folder
    that they share.

    Raises:
        CourseError: as ``read_metrics_log``.
    """
    distinct = list({folder.resolve(): folder for folder in folders}.values())
    paths = [folder.resolve() for folder in distinct]
    logs = []
    for folder, path in zip(distinct, paths, strict=True):
        alike = [other.parent.parts for other in paths if other.name == path.name]
        levels = zip(*alike, strict=False)
        # Of a folder whose name no other has, the whole parent is shared.
        shared = list(takewhile(lambda level: len(set(level)) == 1, levels))
        logs.append(read_metrics_log(folder, name=str(Path(*path.parts[len(shared) :]))))
    return logs


def read_metrics_log(folder: Path, *, name: str | None = None) -> MetricsLog:
    """The metrics of the run in ``folder``.

    All of it is in ``last.safetensors``, which is replaced as a whole about once a minute: a run
    under way is seen as it was then. Without that file, the losses of the single steps are missing,
    and the rest comes from ``metrics.jsonl`` and ``run.json``.

    Args:
        name: what to call it, by default like its folder.

    Raises:
        CourseError: this is not the folder of a run, it holds files of more than one, a file in it
            is damaged, or the run has saved no step yet.
    """
    refuse_mixed_runs(folder)
    info = _read_info(folder)
    try:
        log = _metrics_log(info, name or folder.resolve().name)
    except _WRONG_CONTENTS as error:
        raise CourseError(
            f"expected the numbers of a run in {folder}, got some that cannot be read "
            f"({type(error).__name__}: {error}): were its files changed, or written by another "
            "version of the course? Plot it with that version, or train it again"
        ) from error
    if not log.minutes:
        raise CourseError(
            f"the run in {folder} has saved no step yet: it saves about once a minute, "
            "try again then"
        )
    return log


def _read_info(folder: Path) -> dict[str, Any]:
    """What the run wrote about itself, as JSON.

    Raises:
        CourseError: this is not the folder of a run, or a file in it is damaged.
    """
    if (folder / "last.safetensors").is_file():
        return read_info(folder / "last.safetensors")
    rows = folder / METRICS
    if not rows.is_file():
        found = "nothing" if not folder.exists() else "a file"
        raise CourseError(
            f"expected the folder of a run at {folder}, with last.safetensors or {METRICS} in it, "
            f"found {'another folder' if folder.is_dir() else found}: is the path right? "
            "course train prints it"
        )
    path = folder / OPTIONS
    if not path.is_file():
        raise CourseError(
            f"expected {path} beside {rows.name}, found none: was only a part of the run copied?"
        )
    try:
        info = dict(json.loads(path.read_text("utf-8")))
        path = rows
        epochs = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
        epochs = [{name: n for name, n in row.items() if name != "run"} for row in epochs]
    except (OSError, RecursionError, *_WRONG_CONTENTS) as error:
        raise CourseError(
            f"expected {path} as a run writes it, got a file that cannot be read ({error}): "
            "was it cut off while being copied, or changed?"
        ) from error
    return info | {"epochs": epochs, "losses": [], "learning_rates": [], "data_changes": []}


def _metrics_log(info: dict[str, Any], name: str) -> MetricsLog:
    losses, epochs = [float(loss) for loss in info["losses"]], [_row(row) for row in info["epochs"]]
    known = {0: 0.0} | {int(row["step"]): float(row["seconds"]) for row in epochs}
    if losses:
        known[len(losses)] = float(info["seconds"])
    if max(known) > MOST_STEPS:
        raise ValueError(f"{max(known):,} steps are more than any run has")
    steps = np.arange(1, max(known) + 1)
    seconds = np.interp(steps, list(known), list(known.values()))
    return MetricsLog(
        name=name,
        summary=_summary(info, len(steps), float(seconds[-1]) if len(steps) else 0.0),
        losses=losses,
        learning_rates=[float(rate) for rate in info["learning_rates"]],
        minutes=(seconds / 60).tolist(),
        epochs=epochs,
    )


def _row(row: dict[str, Any]) -> Epoch:
    """The numbers of a validation, if that is what they are."""
    for name, value in row.items():
        if not isinstance(value, int | float):
            raise TypeError(f"expected a number as {name}, got {value!r:.60}")
    return row


def _summary(info: dict[str, Any], step: int, seconds: float) -> str:
    """Such as ``recipe small on grammar_de_en, seed 0: 60 of 60 steps in 0.1 min``."""
    recipe = info["recipe"]
    of = f" of {info['total_steps']:,}" if info["total_steps"] else ""
    limit = f" of {info['minutes']:g}" if info["minutes"] else ""
    early = ", stopped early" if info.get("stopped_early") else ""
    changed = ", ".join(f"{step:,}" for step in info["data_changes"])
    other_data = f", with other data after step {changed}" if changed else ""
    return (
        f"recipe {recipe['name']} on {recipe['corpus']}, seed {info['seed']}: "
        f"{step:,}{of} steps in {seconds / 60:.1f}{limit} min{early}{other_data}"
    )
