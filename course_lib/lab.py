"""How ``course lab`` opens a lesson in JupyterLab."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from urllib.parse import quote

from course_lib.errors import CourseError

LIBRARY = Path(__file__).resolve().parent
NOTEBOOKS = LIBRARY.parent / "notebooks"
# Holds the page configuration that switches off JupyterLab's announcements (a lesson asks nothing
# of the network, and the first thing a learner sees is not a question about news) and nbgrader's
# menus, which are for teachers.
JUPYTER_CONFIG = LIBRARY / "assets" / "jupyter"


def find_notebook(name: str) -> Path:
    """The notebook that is meant by a path or by the beginning of a lesson's name.

    Raises:
        CourseError: there are no lessons here, or none of that name.
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
        f"expected a notebook or the beginning of a lesson's name, got {name!r}: "
        f"the lessons are {', '.join(lesson.stem for lesson in found)}"
    )


def lab_arguments(
    notebook: Path, *, port: int | None = None, browser: bool = True, root: bool = False
) -> list[str]:
    """What JupyterLab is started with.

    Args:
        notebook: the file to open; a lesson is opened with the whole repository in the file list.
        port: tried first; JupyterLab itself takes the next free one.
        browser: whether to open one.
        root: whether the user is root, whom Jupyter turns away unless told.
    """
    folder = notebook.parent.parent if notebook.parent == NOTEBOOKS else notebook.parent
    page = quote(notebook.relative_to(folder).as_posix())
    arguments = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{page}"]
    if port is not None:
        arguments.append(f"--ServerApp.port={port}")
    if not browser:
        arguments.append("--no-browser")
    if root:
        arguments.append("--allow-root")
    return arguments


def has_browser() -> bool:
    """Whether a browser with windows can open; on Linux without a display none can."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform == "linux" and not any(os.environ.get(name) for name in displays):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def open_lab(name: str, *, port: int | None = None, browser: bool = True) -> None:
    """Start JupyterLab in this process and stay until it is stopped.

    Raises:
        CourseError: no such lesson, or JupyterLab is not installed.
    """
    notebook = find_notebook(name)
    try:
        from jupyterlab.labapp import LabApp
    except ImportError as error:
        raise CourseError(
            f"expected JupyterLab beside the course, found none ({error}): "
            "install it with pip install -e '.[lab]'"
        ) from error
    browser = browser and has_browser()
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    inherited = os.environ.get("JUPYTER_CONFIG_PATH")
    paths = [str(JUPYTER_CONFIG), *([inherited] if inherited else [])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    print(f"Opening {notebook.name} in JupyterLab. Ctrl-C here stops it.")
    if not browser:
        print("Open the address that ends in a token, printed below, in your browser.", flush=True)
    LabApp.launch_instance(lab_arguments(notebook, port=port, browser=browser, root=root))
