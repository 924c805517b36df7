"""What "auto" means for the device and the precision of a run on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.run_options import RunOptions
from course_lib.training.device import choose_device, choose_precision
from course_lib.training.runs.checkpoint import read_info


def resolve_options(options: RunOptions, folder: Path | None = None) -> RunOptions:
    """The same options with "auto" replaced by what suits this machine.

    To resume, "auto" is the precision of the run in ``folder``.

    Raises:
        CourseError: there is no such device or precision here.
    """
    device, precision = choose_device(options.device), options.precision
    if precision == "auto" and options.resume and folder is not None:
        precision = _precision_of_run(folder) or precision
    return replace(options, device=device, precision=choose_precision(precision, device))


def _precision_of_run(folder: Path) -> str | None:
    try:
        return read_info(folder / "last.safetensors").get("precision")
    except CourseError:
        return None  # opening the folder will say what is wrong with it
