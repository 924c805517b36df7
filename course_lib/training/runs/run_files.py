"""The files of a run's folder: their names, and whether all of them are of one run."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.training.runs.checkpoint import read_info

METRICS = "metrics.jsonl"
OPTIONS = "run.json"
EVENTS = "events"  # a folder, for TensorBoard
CHECKPOINTS = ("final.safetensors", "best.safetensors", "last.safetensors")


def weights_of_run(folder: Path) -> Path:
    """The checkpoint to translate with: the weights that the recipe keeps, if training is finished,
    else the best so far, else the last.
    """
    files = [folder / name for name in CHECKPOINTS]
    return next((file for file in files if file.exists()), folder / "best.safetensors")


def refuse_mixed_runs(folder: Path) -> None:
    """Refuse files that are left of another run, or were copied from one.

    Raises:
        CourseError: two files in the folder are of different runs.
    """
    ids = _run_ids(folder)
    first = next(iter(ids), "")
    for name, found in ids.items():
        if found != ids[first]:
            raise CourseError(
                f"expected the files in {folder} to be of one run, but {first} is of "
                f"{_name(ids[first])} and {name} of {_name(found)}: is one of them left of an "
                "earlier run, or was it copied there? Move the files that you do not want out of "
                "the folder, or train anew with --overwrite"
            )


def _run_ids(folder: Path) -> dict[str, str]:
    """The id of the run that each file is of, by the file's name.

    A file that cannot be read is not there: whoever needs it will say what is wrong with it, and a
    damaged one should not keep others from being used.
    """
    ids: dict[str, str] = {}
    for name in CHECKPOINTS:
        if (folder / name).is_file():
            with suppress(CourseError):
                ids[name] = str(read_info(folder / name).get("id", ""))
    for name, key in ((OPTIONS, "id"), (METRICS, "run")):
        if not (folder / name).is_file():  # a pipe would wait for somebody to write to it
            continue
        with suppress(OSError, ValueError, AttributeError, RecursionError):
            text = (folder / name).read_text("utf-8")
            for line in [text] if name == OPTIONS else text.splitlines():
                ids[name] = str(json.loads(line).get(key, ""))
    return ids


def _name(run_id: str) -> str:
    return f"run {run_id}" if run_id else "a run that it does not name"
