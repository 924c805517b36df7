"""A folder or a file for one process alone: the others wait for it, or turn away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path


def locked_folder(folder: Path, *, wait: bool = False) -> AbstractContextManager[None]:
    """Lock the folder, or a file, from this call until the ``with`` that it is given to ends.

    The system ends the lock with the process, whatever ends that. Windows and some network file
    systems have no such lock; there nothing is locked.

    Args:
        wait: for another process that has the lock.

    Raises:
        BlockingIOError: another process has the lock, and this one does not want to wait.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return _closing(None)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        pass  # some network file systems
    return _closing(handle)


@contextmanager
def _closing(handle: int | None) -> Iterator[None]:
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)
