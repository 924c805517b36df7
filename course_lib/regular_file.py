"""Read a file that anybody may have written: no link, pipe or device, and no more than so much."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Literal

from course_lib.errors import CourseError

Irregularity = Literal["unreadable", "a link", "a folder, a pipe or a device", "too large"]


class IrregularFile(CourseError):
    """A file that isn't read: ``why``, and for "unreadable" the system's own ``reason``."""

    def __init__(self, why: Irregularity, reason: str = "") -> None:
        self.why, self.reason = why, reason
        super().__init__(f"expected a regular file, got one that is {why} {reason}".rstrip())


def read_regular(path: Path, *, most: int) -> bytes:
    """The content of a file, of at most so many bytes.

    Raises:
        IrregularFile: it can't be read, isn't a regular file, or is larger.
    """
    no_link = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, os.O_RDONLY | no_link | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise IrregularFile("a link") from None
        raise IrregularFile("unreadable", error.strerror or "") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IrregularFile("a folder, a pipe or a device")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise IrregularFile("too large")
    return data
