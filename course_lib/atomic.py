"""Write a file whole or not at all: nobody ever reads half of one, also after a power cut."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.wording import shown

DRAFT_PREFIX = ".saving-"  # of a draft's folder, which a killed process may leave behind
_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # on some network file systems


def write_atomically(path: Path, text: str, *, through_link: bool = False) -> None:
    """Write a UTF-8 text file whole or not at all; half a surrogate pair becomes "?".

    Raises:
        CourseError: as ``replace_atomically``.
    """

    def write(draft: Path) -> None:
        draft.write_text(text, encoding="utf-8", errors="replace")

    replace_atomically(path, write, through_link=through_link)


def replace_atomically(
    path: Path, write: Callable[[Path], object], *, through_link: bool = False
) -> None:
    """Let ``write`` fill a draft beside ``path``, then put the draft in its place in one step.

    A pipe or a device, such as /dev/null, is written directly.

    Args:
        write: is given the path of the draft; what it cannot write, it reports as an OSError.
        through_link: where ``path`` is a link, replace what it leads to. Only for a file that the
            user named: in a folder, somebody else may have put the link.

    Raises:
        CourseError: the file cannot be written, or is behind a link; an older one at ``path`` is
            untouched.
    """
    if not through_link:
        below(path.parent, path.name)
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
            f"could not write {shown(str(path))} ({error}): {_likely_cause(error)} "
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
                f"could not write {shown(str(path))} ({error}): {_likely_cause(error)}",
                see="a-file-cannot-be-written",
            ) from error

    def write(text: str) -> None:
        with explained():
            file.write(text)
            file.flush()

    busy = f"expected {shown(str(part))} for this process alone, but another one is writing it: "
    lock = part.with_name(f".{part.name}.lock")
    with ExitStack() as stack:
        with explained():
            part.parent.mkdir(parents=True, exist_ok=True)
            if not directly:
                stack.enter_context(locked(lock, f"{busy}wait for it, or choose another file"))
                below(part.parent, part.name)
            file = part.open("w", encoding="utf-8", errors="replace")
        try:
            yield write
        finally:
            with explained():
                file.close()
        if not directly:
            replace_atomically(path, lambda draft: os.replace(part, draft), through_link=True)


@contextmanager
def locked(file: Path, busy: str, *, wait: Callable[[str], object] | None = None) -> Iterator[None]:
    """Hold a lock for this process alone, by a file that is there as long as it is held.

    The system ends it with the process, whatever ends that. Some network file systems have no
    locks; there nothing is locked.

    Args:
        busy: what to say if another process, or another thread, holds it; without a full stop.
        wait: is told that; then the lock is waited for.

    Raises:
        CourseError: it is held already and nobody wants to wait, or its file is a link.
        OSError: its file cannot be made.
    """
    from filelock import FileLock, Timeout  # takes a tenth of a second

    # With another mode no other user of the folder could lock it; a soft lock outlives its process.
    below(file.parent, file.name)
    try:
        lock = FileLock(file, mode=0o666, fallback_to_soft=False)
    except TypeError:  # filelock before 3.30
        lock = FileLock(file, mode=0o666)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if wait is None:
                raise CourseError(f"{busy}, or delete {shown(str(file))} if none does") from None
            wait(busy)
            lock.acquire()
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    except NotImplementedError:  # filelock before 3.24, for ENOSYS
        pass
    try:
        yield
    finally:
        with suppress(OSError):  # Windows keeps it until it is unlocked, and then deletes it
            file.unlink()
        lock.release()


def below(folder: Path, *names: str | Path) -> Path:
    """The path of a file or folder below one that somebody else may have filled, to write it there.

    Raises:
        CourseError: a link is in the way: what is behind it is not the course's to overwrite.
    """
    path = folder
    for name in Path(*names).parts:
        path /= name
        if _is_link(path):
            raise CourseError(
                f"expected no link at {shown(str(path))}, found one to "
                f"{shown(os.readlink(path))}: nothing behind a link is overwritten or deleted. "
                "Put there what it leads to, or choose another folder",
                see="a-file-cannot-be-written",
            )
    return path


def _is_link(path: Path) -> bool:
    """Whether a path is a link or what Windows calls a junction."""
    with suppress(OSError, ValueError):
        return path.is_symlink() or getattr(path.lstat(), "st_reparse_tag", 0) == _JUNCTION
    return False


def part_of(path: Path) -> Path:
    """Where ``grow_atomically`` writes first: beside the file itself, also behind a link."""
    target = Path(os.path.realpath(path))
    return target.with_name(f"{target.name}.part")


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
