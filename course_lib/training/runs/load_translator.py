"""Trained translators, by where they are: the course's own, a checkpoint's, a run's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from course_lib.decoding import Translator
from course_lib.training.runs.checkpoint import EARLY, PRETRAINED, read_checkpoint
from course_lib.training.runs.run_files import refuse_mixed_runs, weights_of_run


def load_translator(
    path: Path | str | None = None, *, tell: Callable[[str], None] | None = None
) -> Translator:
    """A trained translator: of a run's folder or checkpoint file, by default the pretrained one.

    Args:
        path: of the folder or the file.
        tell: called with a sentence about the run and its step, if ``path`` is a run's folder.

    Raises:
        CourseError: there is no such checkpoint, it is damaged, or the folder holds files of more
            than one run.
    """
    file = PRETRAINED if path is None else Path(path)
    folder = file if file.is_dir() else None
    if folder:
        refuse_mixed_runs(folder)
        file = weights_of_run(folder)
    translator, info, _ = read_checkpoint(file)
    if folder and tell:
        tell(_sentence(file, info))
    return translator


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
