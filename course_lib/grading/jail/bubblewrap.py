"""The command that starts the jail's server, in bubblewrap or without, and its environment."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from glob import glob
from pathlib import Path
from typing import Any

from course_lib.errors import CourseError
from course_lib.grading.jail.library_view import LIBRARY
from course_lib.wording import pip_install

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin")
_OWN = ("/tmp", "/proc", "/dev", "/view", "/views", "/engine", "/packages")
_LINKER_CACHE = "/etc/ld.so.cache"
_NAMESPACES = ("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session")


def server_command(folder: Path, socket: int, *, trusted: bool) -> tuple[list[str], dict[str, str]]:
    """The command and its environment.

    Args:
        folder: the jail's, with ``engine`` and ``views``.
        socket: the number of the server's end of the control socket.
        trusted: isolate nothing.

    Raises:
        CourseError: code can't be isolated here; it says why.
    """
    sites = _site_packages()
    if trusted:
        return _worker(socket, {}), _environment(str(folder / "engine"), sites)
    if sys.platform != "linux":
        raise CourseError("bubblewrap needs Linux")
    settings = {"hide": ["/views", "/proc"], "filter": base64.b64encode(_filter()).decode()}
    outside = _environment(str(Path(__file__).parents[3]), sites)
    return _in_bubblewrap(_worker(socket, settings), folder, _unprivileged_user()), outside


def _worker(socket: int, settings: dict[str, Any]) -> list[str]:
    module = "course_lib.grading.jail.inside.worker"
    return [_python(), "-m", module, str(socket), json.dumps(settings)]


def _filter() -> bytes:
    """The filter of system calls.

    Raises:
        CourseError: what builds it is not installed.
    """
    try:
        from course_lib.grading.jail.system_calls import allow_list  # an extra, for Linux only
    except ImportError as error:
        raise CourseError(
            f"the package {error.name} is not installed: {pip_install(extra='grading')}"
        ) from None
    except RuntimeError as error:
        raise CourseError(f"{error}: apt install libseccomp2") from None
    return allow_list()


def _environment(library: str, sites: Iterable[str]) -> dict[str, str]:
    return {
        "PYTHONPATH": os.pathsep.join([library, *sites]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # What code asks for later, by torch.set_num_threads(8) say, is not to end the process, as
        # libgomp does where it can't start a thread.
        "OMP_THREAD_LIMIT": "1",
        # The tokenizers' threads would take the processor from the submissions that run beside it.
        "RAYON_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        # Otherwise each thread reserves 64 MB of the memory that a process may have.
        "MALLOC_ARENA_MAX": "1",
        "MPLBACKEND": "agg",
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "COURSE_PROGRESS": os.devnull,  # what a learner passed is no progress of the instructor's
    }


def _python() -> str:
    """The interpreter itself, not a virtual environment's link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _site_packages() -> list[str]:
    paths = [os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    return list(dict.fromkeys(paths))


def _sites_inside() -> dict[str, str]:
    """Where the jail shows each folder of packages: a virtual environment may lie anywhere, in a
    folder such as /tmp, too, of which the jail has its own, or in one that is hidden.
    """
    paths, hidden = enumerate(_site_packages()), _hidden()
    return {
        path: path if _is_in(("/usr",), path) and not _is_in(hidden, path) else f"/packages/{i}"
        for i, path in paths
    }


def _is_in(folders: Iterable[str], path: str) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


def _unprivileged_user() -> int:
    """The user that runs learners' code: this one, and "nobody" in place of root.

    Raises:
        CourseError: this is root, and there is no such user.
    """
    import pwd  # not on Windows

    if os.getuid() != 0:
        return os.getuid()
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        raise CourseError("root would run learners' code, and there is no user nobody") from None


def _installed_courses() -> list[str]:
    """Where the course is installed: it has the references, so it is hidden."""
    folders = [*_site_packages(), *glob(f"{sys.base_prefix}/lib/python*/site-packages")]
    for pattern in ("/usr/lib/python*/*-packages", "/usr/local/lib/python*/*-packages"):
        folders += glob(pattern)
    found = (os.path.realpath(f"{folder}/course_lib") for folder in folders)
    return list(dict.fromkeys(path for path in found if os.path.isdir(path)))


def _shown() -> list[str]:
    """The folders that the jail shows but for what is hidden in them."""
    folders = (*_SYSTEM, sys.base_prefix, *_site_packages())
    return list(dict.fromkeys(map(os.path.realpath, folders)))


def _hidden() -> list[str]:
    """Installed courses, and the folder of the course that grades, which has solutions and maybe
    students' work, if it lies below one that is shown (Docker's /usr/src/app).
    """
    clone = os.path.realpath(LIBRARY.parent)
    is_shown = clone not in _shown() and _is_in(_shown(), clone)
    is_clone = not clone.endswith("-packages")  # otherwise the folder has all packages
    return [*_installed_courses(), *([clone] if is_shown and is_clone else [])]


def refuse_shown(folders: Mapping[str, Path]) -> None:
    """Refuse folders of the instructor that learners' code could read.

    Args:
        folders: by what they are.

    Raises:
        CourseError: one of them lies where the jail shows it.
    """
    for name, folder in folders.items():
        path = os.path.realpath(folder)
        if _is_in(_shown(), path) and not _is_in(_hidden(), path):
            below = next(shown for shown in _shown() if _is_in((shown,), path))
            raise CourseError(
                f"expected the {name} where learners' code can't read them, got {folder}, which "
                f"is in {below}: the jail shows that folder for Python and its packages. Move the "
                f"{name} somewhere else, such as below /home or /srv"
            )


def _in_bubblewrap(worker: list[str], folder: Path, user: int) -> list[str]:
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise CourseError("the program bwrap is not installed")
    base, sites = os.path.realpath(sys.base_prefix), _sites_inside()
    if _is_in((*_OWN, *_hidden()), base):
        raise CourseError(f"Python is in {base}, where the jail has a folder of its own")
    shown = {str(folder / "engine"): "/engine", str(folder / "views"): "/views"}
    shown |= {path: path for path in (base,) if not _is_in(("/usr",), path)}
    shown |= {path: inside for path, inside in sites.items() if path != inside}
    staged = {path: str(folder / "stage" / str(i)) for i, path in enumerate(shown)}
    as_root = os.getuid() == 0
    options = [*_NAMESPACES, "--uid", str(user), "--gid", str(user), "--cap-drop", "ALL"]
    options += ["--clearenv"]
    for path in _SYSTEM:
        if os.path.islink(path):
            options += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            options += ["--ro-bind", path, path]
    options += ["--ro-bind-try", _LINKER_CACHE, _LINKER_CACHE]
    for path, target in shown.items():
        options += ["--ro-bind", staged[path] if as_root else path, target]
    targets = {path: path for path in (base, *_SYSTEM)} | sites
    hidden = {
        str(Path(target, Path(path).relative_to(source)))
        for path in _hidden()
        for source, target in targets.items()
        if _is_in((source,), path)
    }
    for option in ("--tmpfs", "--remount-ro"):  # a hidden folder may be in another one
        options += [each for path in sorted(hidden) for each in (option, path)]
    options += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/view"]
    for name, value in _environment("/engine", sites.values()).items():
        options += ["--setenv", name, value]
    options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]
    command = [bubblewrap, *options, *worker]
    if not as_root:
        return command
    for path in staged.values():
        Path(path).mkdir(parents=True, exist_ok=True)
    (folder / "stage").chmod(0o755)
    settings = {"user": user, "stage": str(folder / "stage")}
    settings |= {"folders": list(shown), "command": command}
    return [_python(), "-m", "course_lib.grading.jail.drop_root", json.dumps(settings)]
