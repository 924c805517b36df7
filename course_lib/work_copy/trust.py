"""Which notebooks are as the course released them, and their signatures for JupyterLab."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from course_lib.home import LIBRARY

# A line for each released notebook, as sha256sum writes it: the package says what is the course's
# own, and not git, which takes whatever anybody committed. `tools.notebooks.released` writes it.
RELEASED = LIBRARY / "assets" / "jupyter" / "released.sha256"


def unmodified_notebooks(course: Path) -> list[Path]:
    """The course's notebooks that are just as it released them.

    Whoever can change the list of them can change the library as well, which runs anyway.
    """
    lines = RELEASED.read_text("utf-8").splitlines() if RELEASED.is_file() else []
    names = {course / name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    return [path for path, digest in names.items() if path.is_file() and sha256(path) == digest]


def sha256(notebook: Path) -> str:
    """The checksum of a notebook, whichever line ends git gave it."""
    return hashlib.sha256(notebook.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


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
