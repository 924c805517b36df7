"""Trained translators, by where they are: the course's own, a checkpoint's, a run's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.training.runs.checkpoint import EARLY, PRETRAINED, read_checkpoint
from course_lib.training.runs.run_files import refuse_mixed_runs, weights_of_run
from course_lib.wording import did_you_mean


def load_translator(
    path: Path | str | None = None,
    *,
    model: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> Translator:
    """A trained translator: of a run's folder or checkpoint file, or one that the course ships.

    Args:
        path: of the folder or the file.
        model: instead of a path, "small", which the lessons load and which is the default,
            "prefix" or "modern", which are one stack of blocks of 2017 or of today (all three for
            sentences of the course's grammar), or "everyday" (for short German sentences).
        tell: called with a sentence about the run and its step, if ``path`` is a run's folder.

    Raises:
        CourseError: there is no such checkpoint, it is damaged, the folder holds files of more than
            one run, or both a path and a model are given.
    """
    if path is not None and model is not None:
        raise CourseError(
            f"expected a path or a model, got both ({path} and {model!r}): a path is of a run of "
            "yours, a model is one of the course's own"
        )
    file = _pretrained("small" if model is None else model) if path is None else Path(path)
    folder = file if file.is_dir() else None
    if folder:
        refuse_mixed_runs(folder)
        file = weights_of_run(folder)
    translator, info, _ = read_checkpoint(file)
    if folder and tell:
        tell(_sentence(file, info))
    return translator


def _pretrained(name: str) -> Path:
    """The file of a model that the course ships; a CourseError if there is none."""
    if name not in PRETRAINED:
        raise CourseError(
            f"expected a model of the course ({', '.join(PRETRAINED)}), got {name!r}"
            f"{did_you_mean(name, PRETRAINED)}; the run of a recipe is loaded by its folder"
        )
    if not PRETRAINED[name].is_file():
        raise CourseError(
            f"expected the course's model {name!r} at {PRETRAINED[name]}, found nothing: does this "
            "version of the course come without it? Use the model 'small', or train one with "
            "`course train` and give the folder of its run"
        )
    return PRETRAINED[name]


def load_early_translators() -> list[Translator]:
    """Three translators like the pretrained one, of three seeds, whose training stopped after 300
    steps: models that are not sure of their next word.
    """
    return [load_translator(path) for path in EARLY]


def _sentence(file: Path, info: dict[str, Any]) -> str:
    """Such as ``runs/small-seed0/best.safetensors: step 60 of 90 of run 3f8a…, small on …``."""
    recipe, total = info.get("recipe", {}), info.get("total_steps")
    of = f" of {total:,}" if isinstance(total, int) else ""
    changed = ", ".join(str(step) for step in info.get("data_changes", []))
    return (
        f"{file}: step {info.get('step', '?')}{of} of run {info.get('id', '?')}, "
        f"recipe {recipe.get('name', '?')} on {recipe.get('corpus', '?')}"
        + (f", with other data after step {changed}" if changed else "")
    )
