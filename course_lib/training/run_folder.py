"""A run's folder belongs to one run: no other may write to it, and none may be lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.atomic import DRAFT_PREFIX
from course_lib.errors import CourseError
from course_lib.training.checkpoint import read_info
from course_lib.training.distributed import rank

_WAY_OUT = "Delete it to begin anew, or choose another folder with --out"


@contextmanager
def locked_run_folder(folder: Path, *, resume: bool) -> Iterator[None]:
    """Make the folder and keep other processes out of it; half a file that a killed one left goes.

    Of several processes that train together, the first one does so.

    Raises:
        CourseError: the folder cannot be made, another process trains there, it holds a run that
            was stopped, and ``resume`` was not asked for, or a damaged one.
    """
    if rank() > 0:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(
            f"could not write to {folder} ({error}): is a file in the way, or a folder read-only?"
        ) from error
    with _locked(folder):
        _check(folder, resume=resume)
        for draft in folder.glob(f"{DRAFT_PREFIX}*"):
            shutil.rmtree(draft, ignore_errors=True)
        yield


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
            "or choose another folder with --out"
        ) from error
    except OSError:
        pass  # some file systems of a network have none either
    try:
        yield
    finally:
        os.close(handle)


def _check(folder: Path, *, resume: bool) -> None:
    last = folder / "last.safetensors"
    if not last.exists():
        return  # if there should be one, who wants to read it will say so
    try:
        info = read_info(last)
    except CourseError as error:
        raise CourseError(f"{error} {_WAY_OUT}") from error
    if "finished" not in info:
        raise CourseError(
            f"expected in {last} all that a run needs to go on, got a checkpoint that can only "
            f"translate: was best.safetensors copied there? {_WAY_OUT}"
        )
    if not resume and not info["finished"]:
        of = "" if info["total_steps"] is None else f" of {info['total_steps']:,}"
        raise CourseError(
            f"{folder} holds a run that was stopped at step {info['step']}{of}: go on with "
            "--resume, or choose another folder with --out"
        )
