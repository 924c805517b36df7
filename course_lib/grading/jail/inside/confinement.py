"""What a process gives up before it runs a learner's code, for good: Linux only, by ``ctypes``.

It is done in this order: namespaces or Landlock decide what the process can see, then it loses its
capabilities, its limits are set, and seccomp refuses most ways out. Nothing here trusts Python: the
kernel holds the limits whatever the learner's code does to this process.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.grading.jail.inside.syscalls import FCNTL_REFUSED, IOCTL_REFUSED, NUMBERS, Numbers

_NEW_NAMESPACES = 0x00020000 | 0x10000000 | 0x20000000 | 0x08000000 | 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = (
    1,
    4,
    22,
    24,
    38,
)
_CLONE_THREAD = 0x10000
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # on every architecture
_READ = 1 | 4 | 8  # execute (for shared libraries), read a file, list a folder
_FILE_RIGHTS = 1 | 2 | 4 | 1 << 14  # those that make sense for a file
_libc: Any = None if sys.platform == "win32" else ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one process may use: bytes of memory beyond those it starts with, and of a file;
    seconds of CPU time; open files.
    """

    memory: int = 2 << 30
    file: int = 16 << 20
    cpu_seconds: int = 120
    open_files: int = 64


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


def die_with_parent() -> None:
    """End this process when the one that started it ends; a change of user undoes it."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def refuse_privileges() -> None:
    """No program that this process starts can have more rights than it."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def landlock_version() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    return max(0, int(_libc.syscall(_LANDLOCK_CREATE, None, 0, 1)))


def allow_reading_only(paths: Sequence[str]) -> None:
    """Landlock: read files below these paths, and touch no other file. It does not keep a user from
    changing the permissions, owner, times and attributes of a file, so a filter does.

    Raises:
        OSError: the kernel has no Landlock, or refuses the filter.
    """
    version = landlock_version()
    files = (1 << (13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16)) - 1
    network = 3 if version >= 4 else 0
    scope = 3 if version >= 6 else 0  # signals, and sockets without a file
    attributes = struct.pack("QQQ", files, network, scope)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _check(_libc.syscall(_LANDLOCK_CREATE, attributes, size, 0), "landlock")
    for path in paths:
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        rights = _READ if os.path.isdir(path) else _READ & _FILE_RIGHTS
        rule = struct.pack("=Qi", rights, opened)
        _check(_libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0), f"landlock {path}")
        os.close(opened)
    _check(_libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock")
    os.close(ruleset)
    _install(_filter_of_changes)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("operand", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction)))


_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NOT_PERMITTED, _NOT_IMPLEMENTED = 0x00050001, 0x00050026
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in what the filter is given
_FIRST_ARGUMENT, _SECOND_ARGUMENT = 16, 24


def _filter() -> list[_Instruction]:
    """The seccomp program: which system calls are refused, and how."""
    numbers, own = NUMBERS[platform.machine()], os.getpid()
    refuse = _Instruction(_RETURN, 0, 0, _NOT_PERMITTED)
    allow = _Instruction(_RETURN, 0, 0, _ALLOW)
    first_argument = _Instruction(_LOAD, 0, 0, _FIRST_ARGUMENT)
    second_argument = _Instruction(_LOAD, 0, 0, _SECOND_ARGUMENT)
    # A thread may be started, a process may not: then nothing can outlive this one.
    program = [_Instruction(_EQUAL, 0, 4, numbers.clone), first_argument]
    program += [_Instruction(_ANY_BIT, 0, 1, _CLONE_THREAD), allow, refuse]
    # clone3 hides its flags from a filter; the C library goes back to clone if it is missing.
    program += [_Instruction(_EQUAL, 0, 1, numbers.clone3)]
    program += [_Instruction(_RETURN, 0, 0, _NOT_IMPLEMENTED)]
    # A process may send signals to itself (that is how abort works) and read its own limits.
    for number, allowed in ((numbers.tgkill, (own,)), (numbers.prlimit, (0, own))):
        program += [_Instruction(_EQUAL, 0, len(allowed) + 3, number), first_argument]
        for i, value in enumerate(allowed):
            program += [_Instruction(_EQUAL, len(allowed) - i, 0, value)]
        program += [refuse, allow]
    for number, refused in ((numbers.fcntl, FCNTL_REFUSED), (numbers.ioctl, IOCTL_REFUSED)):
        program += [_Instruction(_EQUAL, 0, len(refused) + 3, number), second_argument]
        for i, value in enumerate(refused):
            program += [_Instruction(_EQUAL, len(refused) - i, 0, value)]
        program += [allow, refuse]
    return _refusing(numbers.refused, numbers, first=program)


def _filter_of_changes() -> list[_Instruction]:
    """The seccomp program that refuses changes to files of which Landlock knows nothing."""
    numbers = NUMBERS[platform.machine()]
    return _refusing(numbers.changes, numbers)


def _refusing(
    calls: Sequence[int], numbers: Numbers, *, first: Sequence[_Instruction] = ()
) -> list[_Instruction]:
    """A whole program: what ``first`` does not decide is allowed unless it is one of the calls."""
    refuse = _Instruction(_RETURN, 0, 0, _NOT_PERMITTED)
    program = [
        _Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        _Instruction(_EQUAL, 1, 0, numbers.audit),
        _Instruction(_RETURN, 0, 0, _KILL),
        _Instruction(_LOAD, 0, 0, _NUMBER),
    ]
    if numbers.x32:
        program += [_Instruction(_AT_LEAST, 0, 1, 1 << 30), refuse]
    program += first
    for number in calls:
        program += [_Instruction(_EQUAL, 0, 1, number), refuse]
    return [*program, _Instruction(_RETURN, 0, 0, _ALLOW)]


def refuse_system_calls() -> None:
    """Install the seccomp filter, in this thread and all that it starts.

    Raises:
        OSError: the kernel refuses, or the processor's system calls are not known here.
    """
    _install(_filter)


def _install(instructions_of: Callable[[], list[_Instruction]]) -> None:
    if platform.machine() not in NUMBERS:
        raise OSError(f"the system calls of {platform.machine()} are not known")
    instructions = instructions_of()
    program = _Program(len(instructions), (_Instruction * len(instructions))(*instructions))
    _check(_libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "seccomp")
