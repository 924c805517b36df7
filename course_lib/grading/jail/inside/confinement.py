"""What a process gives up before it runs a learner's code, for good: Linux only, by ``ctypes``.

Its limits are set, namespaces decide what the process can see, then it loses its capabilities, and
last seccomp leaves it the system calls of ``system_calls``. Nothing here trusts Python: the kernel
holds the limits whatever the learner's code does to this process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NEW_NAMESPACES = 0x00020000 | 0x10000000 | 0x20000000 | 0x08000000 | 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_SECCOMP_MODE_FILTER = 2
_libc: Any = None if sys.platform == "win32" else ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one process may use: bytes of memory beyond those it starts with, and of a file;
    seconds of CPU time; open files; threads, two of which are those of the process itself and of
    the one that waits for its end.
    """

    memory: int = 2 << 30
    file: int = 16 << 20
    cpu_seconds: int = 120
    open_files: int = 64
    # Python's own pools have up to 32 on any machine. All of them use the same CPU time, but more
    # would take the processor from the submissions that run beside it.
    threads: int = 64


def _check(result: int, what: str) -> int:
    """The result of a system call.

    Raises:
        OSError: it failed.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def set_dumpable(dumpable: bool) -> None:
    """Whether processes of the same user may read this one's memory."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, int(dumpable), 0, 0, 0), "prctl")


def enter_new_namespaces() -> None:
    """Users, mounts, processes, shared memory and network of its own; processes: of its children.

    Raises:
        OSError: the system does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEW_NAMESPACES), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def bind(source: str, target: str) -> None:
    """Show the folder ``source`` at ``target``, too.

    Raises:
        OSError: the system does not allow it.
    """
    flags = _MS_BIND | _MS_REC
    _check(_libc.mount(source.encode(), target.encode(), None, flags, None), f"bind {target}")


def mount_empty(target: str, *, megabytes: int, files: int) -> None:
    """Put an empty folder in memory over ``target``.

    Raises:
        OSError: the system does not allow it.
    """
    options = f"size={megabytes}m,nr_inodes={files}".encode()
    flags = _MS_NOSUID | _MS_NODEV
    _check(_libc.mount(b"tmpfs", target.encode(), b"tmpfs", flags, options), f"mount {target}")


def enter_private_mounts() -> None:
    """From now on, what this process mounts is seen by itself and its children only; as root.

    Raises:
        OSError: the system does not allow it.
    """
    _check(_libc.unshare(0x00020000), "unshare")
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount")


def become(user: int) -> None:
    """Change from root to an unprivileged user and group of this number.

    Raises:
        OSError: this process is not root.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def drop_capabilities() -> None:
    """Give up all capabilities, those that a program could gain later included.

    Raises:
        OSError: it could not be done.
    """
    for capability in range(64):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # most have been dropped before
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, none), "capset")


def set_limits(limits: Limits) -> None:
    """Limit memory, files and CPU time."""
    import resource  # not on Windows, where this module can be imported, too

    with open("/proc/self/statm", encoding="ascii") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    for kind, value in (
        (resource.RLIMIT_AS, in_use + limits.memory),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


def limit_threads(threads: int) -> None:
    """Limit the threads and processes of this user in this namespace of users.

    Linux counts them for each namespace since 5.14; before, all of the user on the machine count,
    so there fewer threads can be started, or none.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))


def die_with_parent() -> None:
    """End this process when the one that started it ends; a change of user undoes it."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def refuse_privileges() -> None:
    """No program that this process starts can have more rights than it."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_system_calls(instructions: bytes) -> None:
    """Install a seccomp filter, in this thread and all that it starts.

    Args:
        instructions: 8 bytes each, as ``system_calls.allow_list`` makes them.

    Raises:
        OSError: the kernel refuses.
    """
    program = _Program(len(instructions) // 8, instructions)
    filtered = _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
    _check(filtered, "seccomp")
