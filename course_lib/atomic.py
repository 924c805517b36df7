"""Write a file whole or not at all: nobody ever reads half of one, also after a power cut."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.folder_lock import locked_folder

DRAFT_PREFIX = ".saving-"  # of a draft's folder, which a killed process may leave behind


def write_atomically(path: Path, text: str) -> None:
    """Write a UTF-8 text file whole or not at all; half a surrogate pair becomes "?".

    Raises:
        CourseError: the file cannot be written; an older one at ``path`` is untouched.
    """
    replace_atomically(
        path, lambda draft: draft.write_text(text, encoding="utf-8", errors="replace")
    )


def replace_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a draft beside ``path``, then put the draft in its place in one step.

    A link keeps pointing to its file; a pipe or a device, such as /dev/null, is written directly.

    Args:
        write: is given the path of the draft; what it cannot write, it reports as an OSError.

    Raises:
        CourseError: the file cannot be written; an older one at ``path`` is untouched.
    """
    try:
        if path.exists() and not path.is_file():
            write(path)
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=DRAFT_PREFIX) as folder:
            draft = Path(folder) / target.name
            draft.touch()
            # As it was, or as the umask wants it; a library that writes may be stricter.
            mode = (target if target.exists() else draft).stat().st_mode
            write(draft)
            draft.chmod(stat.S_IMODE(mode))
            _to_disk(draft)
            os.replace(draft, target)
            _to_disk(target.parent)
    except OSError as error:
        raise CourseError(
            f"could not write {_shown(path)} ({error}): {_likely_cause(error)} "
            "an earlier file there is untouched",
            see="a-file-cannot-be-written",
        ) from error


@contextmanager
def grow_atomically(path: Path) -> Iterator[Callable[[str], None]]:
    """Write a UTF-8 text file bit by bit to ``part_of(path)``, which replaces ``path`` at the end.

    Gives the function that appends text. If something fails in between, an older file at ``path``
    is untouched, and the text so far stays in the part. A pipe or a device is written directly.

    Raises:
        CourseError: the file cannot be written, or another process is writing it.
    """
    directly = path.exists() and not path.is_file()
    part = path if directly else part_of(path)

    @contextmanager
    def explained() -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CourseError(
                f"could not write {_shown(path)} ({error}): {_likely_cause(error)}",
                see="a-file-cannot-be-written",
            ) from error

    with explained():
        part.parent.mkdir(parents=True, exist_ok=True)
        file = part.open(
            "w" if directly else "a", encoding="utf-8", errors="replace"
        )  # not emptied before it is ours

    def write(text: str) -> None:
        with explained():
            file.write(text)
            file.flush()

    with nullcontext() if directly else _locked(part):
        try:
            if not directly:
                file.truncate(0)
            yield write
        finally:
            with explained():
                file.close()
        if not directly:
            replace_atomically(path, lambda draft: os.replace(part, draft))


def _locked(part: Path) -> AbstractContextManager[None]:
    try:
        return locked_folder(part)
    except BlockingIOError as error:
        raise CourseError(
            f"expected {_shown(part)} for this process alone, but another one is writing it: "
            "wait for it, or choose another file"
        ) from error


def part_of(path: Path) -> Path:
    """Where ``grow_atomically`` writes first: beside the file itself, also behind a link."""
    target = Path(os.path.realpath(path))
    return target.with_name(f"{target.name}.part")


def _shown(path: Path) -> str:
    """A path for a message: somebody else may have named the file, and a terminal obeys escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(path))


def _likely_cause(error: OSError) -> str:
    """Why a file could not be written, as a question."""
    if isinstance(error, IsADirectoryError):
        return "is it the name of a folder?"
    if isinstance(error, NotADirectoryError | FileExistsError):
        return "is a file in the way of a folder?"
    if error.errno == errno.ENAMETOOLONG:
        return "is a name in it too long?"
    return "is the folder read-only or the disk full?"


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk itself."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
