"""Which of the course's notebooks are as it released them, and their signatures for JupyterLab."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from course_lib.work_copy.folders import LIBRARY

OURS = ("notebooks", "exercises")  # folders of the repository whose outputs the course has checked


def unmodified_notebooks(repository: Path) -> list[Path]:
    """The course's notebooks that are just as git has them; none where git cannot say.

    Those that a wheel has put inside the library are all as it was installed.

    Whoever can change what git has can change the library as well, which runs anyway. A notebook
    that anybody has changed since, or added, is not among them.
    """
    if repository.parent == LIBRARY:
        return sorted(repository.rglob("*.ipynb"))
    known = names_in_git(repository, "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", *OURS)
    changed = names_in_git(repository, "diff", "-z", "--name-only", "HEAD", "--", *OURS)
    if known is None or changed is None:
        return []
    names = sorted({*known} - {*changed})
    return [repository / name for name in names if name.endswith(".ipynb")]


def names_in_git(repository: Path, *arguments: str) -> list[str] | None:
    """The names that git prints, or None if there is no git or no repository of its own here."""
    if not (repository / ".git").exists():
        return None
    command = ["git", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return [name for name in done.stdout.decode("utf-8", "surrogateescape").split("\0") if name]


def trust(notebooks: Sequence[Path]) -> None:
    """Sign notebooks, so that JupyterLab runs the scripts in their stored outputs.

    Where the signatures cannot be kept, there are none.
    """
    from jupyter_core.paths import jupyter_data_dir
    from nbformat import read
    from nbformat.sign import NotebookNotary

    with suppress(OSError):
        Path(jupyter_data_dir()).mkdir(parents=True, exist_ok=True)
        notary = NotebookNotary()
        for path in notebooks:
            notebook = read(path, as_version=4)
            if not notary.check_signature(notebook):
                notary.sign(notebook)
