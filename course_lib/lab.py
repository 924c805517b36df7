"""How ``course lab`` opens a lesson in JupyterLab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from course_lib.errors import CourseError

LIBRARY = Path(__file__).resolve().parent
NOTEBOOKS = LIBRARY.parent / "notebooks"
# Its page configuration switches off JupyterLab's announcements (lessons need no network, and the
# first thing a learner sees should not be a question about news) and nbgrader's menus, which are
# for teachers.
JUPYTER_CONFIG = LIBRARY / "assets" / "jupyter"
OURS = ("notebooks", "exercises")  # folders of the repository whose outputs the course has checked
WORKSPACE = "course"  # JupyterLab keeps its layout under this name, beside a learner's own


def find_notebook(name: str) -> Path:
    """The notebook with this path, or the lesson whose name starts like this.

    Raises:
        CourseError: there are no lessons here, or none with that name.
    """
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path.resolve()
    found = sorted(NOTEBOOKS.glob("*.ipynb"))
    if not found:
        raise CourseError(
            f"expected lessons in {NOTEBOOKS}, found none: the library was installed without them, "
            "so clone the repository and run `make lab` there"
        )
    for lesson in found:
        if lesson.name.startswith(path.name):
            return lesson
    raise CourseError(
        f"expected a notebook or the start of a lesson's name, got {name!r}: "
        f"the lessons are {', '.join(lesson.stem for lesson in found)}"
    )


def lab_arguments(
    notebook: Path, *, port: int | None = None, browser: bool = True, root: bool = False
) -> list[str]:
    """The command-line arguments for JupyterLab.

    Args:
        notebook: the file to open; with a lesson, the file list shows the whole repository.
        port: the port to try first; if it is taken, JupyterLab uses the next free one.
        browser: whether to open a browser.
        root: whether the user is root; Jupyter does not start as root unless it is told to.
    """
    folder = notebook.parent.parent if notebook.parent == NOTEBOOKS else notebook.parent
    page = quote(notebook.relative_to(folder).as_posix())
    address = f"/lab/workspaces/{WORKSPACE}/tree/{page}"
    arguments = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url={address}"]
    if port is not None:
        arguments.append(f"--ServerApp.port={port}")
    if not browser:
        arguments.append("--no-browser")
    if root:
        arguments.append("--allow-root")
    return arguments


def has_browser() -> bool:
    """Whether a graphical browser can be opened; on Linux, only with a display."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform == "linux" and not any(os.environ.get(name) for name in displays):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def unmodified_notebooks(repository: Path) -> list[Path]:
    """The course's notebooks that are just as git has them; none where git cannot say.

    Whoever can change what git has can change the library as well, which runs anyway. A notebook
    that anybody has changed since, or added, is not among them.
    """
    known = _git(repository, "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", *OURS)
    changed = _git(repository, "diff", "-z", "--name-only", "HEAD", "--", *OURS)
    if known is None or changed is None:
        return []
    names = sorted({*known} - {*changed})
    return [repository / name for name in names if name.endswith(".ipynb")]


def _git(repository: Path, *arguments: str) -> list[str] | None:
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
    """Sign notebooks, so that JupyterLab runs the scripts in their stored outputs."""
    from jupyter_core.paths import jupyter_data_dir
    from nbformat import read
    from nbformat.sign import NotebookNotary

    Path(jupyter_data_dir()).mkdir(parents=True, exist_ok=True)
    notary = NotebookNotary()
    for path in notebooks:
        notebook = read(path, as_version=4)
        if not notary.check_signature(notebook):
            notary.sign(notebook)


def fold_file_browser() -> None:
    """Let JupyterLab begin with the lesson alone; what the learner unfolds later stays so."""
    from jupyterlab.commands import get_workspaces_dir
    from jupyterlab_server.workspaces_handler import WorkspacesManager

    workspaces = WorkspacesManager(get_workspaces_dir())
    if workspaces.load(WORKSPACE)["data"]:
        return
    folded: dict[str, object] = {"collapsed": True, "visible": True, "current": None, "widgets": []}
    layout = {"main": {}, "left": folded, "right": folded, "relativeSizes": [0, 1, 0]}
    content = {"data": {"layout-restorer:data": layout}, "metadata": {"id": WORKSPACE}}
    workspaces.save(WORKSPACE, json.dumps(content))


def open_lab(name: str, *, port: int | None = None, browser: bool = True) -> None:
    """Start JupyterLab in this process and return when it stops.

    Raises:
        CourseError: there is no such lesson, or JupyterLab is not installed.
    """
    notebook = find_notebook(name)
    try:
        from jupyterlab.labapp import LabApp
    except ImportError as error:
        raise CourseError(
            f"expected JupyterLab beside the course, but it cannot be imported ({error}): "
            "install it with pip install -e '.[lab]'"
        ) from error
    trust(unmodified_notebooks(NOTEBOOKS.parent))
    fold_file_browser()
    browser = browser and has_browser()
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    inherited = os.environ.get("JUPYTER_CONFIG_PATH")
    paths = [str(JUPYTER_CONFIG), *([inherited] if inherited else [])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    print(f"Opening {notebook.name} in JupyterLab. Ctrl-C here stops it.")
    if not browser:
        print("Open the address printed below, which ends in a token, in your browser.", flush=True)
    LabApp.launch_instance(lab_arguments(notebook, port=port, browser=browser, root=root))
