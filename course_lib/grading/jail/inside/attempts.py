"""Attempts to escape from a jail: they run in a new one as a learner's code would, and must fail.

The text of this file is a cell, so it imports nothing of the course.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)


def escapes(secret: str, folder: str) -> list[str]:
    """The names of the attempts that succeeded.

    Args:
        secret: a file outside the jail that everybody may read and write to.
        folder: a folder outside the jail that everybody may write to.
    """
    attempts: dict[str, Callable[[], bool]] = {
        "read a file outside": lambda: bool(Path(secret).read_text()),
        "list a folder outside": lambda: bool(os.listdir(folder)),
        "write a file outside": lambda: bool(Path(folder, "escaped").write_text("escaped")),
        "change a file's permissions": lambda: _is_done(os.chmod, secret, 0o666),
        "change a file's times": lambda: _is_done(os.utime, secret),
        "shorten a file": lambda: _is_done(os.truncate, secret, 0),
        "write below /usr": lambda: bool(Path("/usr/escaped").write_text("escaped")),
        "read the system's users": lambda: bool(Path("/etc/passwd").read_text()),
        "open a connection": lambda: bool(socket.socket()),
        "start a process": lambda: os.fork() >= 0,
        "start a program": lambda: subprocess.run(["true"], check=False).returncode == 0,
        "send a signal to another process": _sends_signals,
        "have signals sent to another process": _has_signals_sent,
        "keep a capability": _holds_capabilities,
        "enter new namespaces": lambda: _libc.unshare(0x10000000) == 0,
        "mount a folder": lambda: _libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0,
        "trace another process": lambda: _libc.ptrace(16, os.getppid(), 0, 0) == 0,
        "gain privileges later": lambda: _libc.prctl(39, 0, 0, 0, 0) != 1,
        "watch a folder": lambda: _libc.inotify_init1(0) >= 0,
        "share memory": _shares_memory,
        "make a file without a name": lambda: os.memfd_create("escaped") >= 0,
        "be root": lambda: os.getuid() == 0 or os.geteuid() == 0,
        "use any amount of memory": lambda: resource.getrlimit(resource.RLIMIT_AS)[0] < 0,
    }
    return [name for name, attempt in attempts.items() if _succeeds(attempt)]


def _succeeds(attempt: Callable[[], bool]) -> bool:
    try:
        return attempt()
    except OSError:
        return False


def _is_done(change: Callable[..., object], *args: object) -> bool:
    change(*args)
    return True


def _sends_signals() -> bool:
    return _is_done(os.kill, os.getppid() or 1, 0)


def _has_signals_sent() -> bool:
    return fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid()) == 0


def _shares_memory() -> bool:
    made = _libc.shmget(0, 4096, 0)
    return made >= 0 and _is_done(_libc.shmctl, made, 0, None)  # removed at once


def _holds_capabilities() -> bool:
    header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    return _libc.capget(header, held) != 0 or any(held)
