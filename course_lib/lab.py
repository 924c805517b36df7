"""How ``course lab`` opens a lesson in JupyterLab."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course_lib.arguments import option
from course_lib.errors import CourseError
from course_lib.terminal import say
from course_lib.widget_output import WIDGET_VIEW
from course_lib.work_copy.folders import COURSE, LIBRARY, NOTEBOOKS, path_inside, work_folder
from course_lib.work_copy.trust import trust, unmodified_notebooks

# Its page configuration switches off JupyterLab's announcements (lessons need no network, and the
# first thing a learner sees should not be a question about news) and nbgrader's menus, which are
# for teachers. Its server configuration makes this module an extension of the server.
JUPYTER_CONFIG = LIBRARY / "assets" / "jupyter"
WORKSPACE = "course"  # JupyterLab keeps its layout under this name, beside a learner's own


@dataclass(frozen=True, kw_only=True)
class LabOptions:
    """Which lesson, at which port, with or without a browser."""

    notebook: str = option(
        "a lesson by its number, such as 06, or the start of its name, in your own copy of "
        "the course; or the path of any notebook (default: the first lesson)",
        default="00",
        metavar="NOTEBOOK",
        positional=True,
    )
    exercise: bool = option("open the lesson's exercise", default=False)
    port: int | None = option("the port to try first", default=None, metavar="N")
    browser: bool = option("print the address only", default=True)


def find_notebook(name: str, folder: Path | None = None, *, exercise: bool = False) -> Path:
    """The notebook with this path, or the lesson of the course whose name starts like this.

    Args:
        name: a path, or the start of a lesson's name, such as 06, or 6.
        folder: the course, or a copy of it; by default the course itself. What the learner added
            to a copy is found by its path alone.
        exercise: the lesson's exercise instead.

    Raises:
        CourseError: there is none with that name, or the copy has it no more.
    """
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path.resolve()
    if path.parent != Path():
        raise CourseError(
            f"expected a notebook at {name}, found none: is the path right? A lesson of the course "
            "opens by its number, such as 06"
        )
    course = NOTEBOOKS.parent
    if exercise:
        exercises = (course / "exercises").glob("*/*.ipynb")
        ours = (path for path in exercises if path.parent.name.partition("_")[2] == path.stem)
        by_name = {path.parent.name: path for path in ours}
    else:
        by_name = {path.stem: path for path in NOTEBOOKS.glob("*.ipynb")}
    if not by_name:
        raise CourseError(
            f"expected lessons and exercises in {course}, found none: install the course again, or "
            "clone its repository and run `make lab` there",
            see="no-lessons-beside-the-library",
        )
    start = path.stem.zfill(2) if path.stem.isdigit() else path.stem
    names = sorted(by_name)  # in this order a whole name comes before those that it begins
    full_name = next((each for each in names if start and each.startswith(start)), None)
    if full_name is None:
        raise CourseError(
            f"expected a notebook or the start of a lesson's name, got {name!r}: the "
            f"{'exercises' if exercise else 'lessons'} are {', '.join(names)}"
        )
    notebook = (folder or course) / by_name[full_name].relative_to(course)
    if not notebook.is_file():
        raise CourseError(
            f"expected {notebook}, found none: was it deleted, or is it new in the course? "
            "`course update` copies it"
        )
    return notebook


def lab_arguments(
    notebook: Path, *, port: int | None = None, browser: bool = True, root: bool = False
) -> list[str]:
    """The command-line arguments for JupyterLab.

    Args:
        notebook: the file to open; with one of the course, links to all others work.
        port: the port to try first; if it is taken, JupyterLab uses the next free one.
        browser: whether to open a browser.
        root: whether the user is root; Jupyter does not start as root unless it is told to.
    """
    inside = ((root, path_inside(notebook, root)) for root in (work_folder(), COURSE))
    known = ((root, path) for root, path in inside if path is not None)
    folder, path = next(known, (notebook.parent, Path(notebook.name)))
    page = quote(path.as_posix())
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


def save_without_widgets(model: dict[str, Any], **_: object) -> None:
    """Leave the views of widgets out of a notebook that is saved, where there is HTML beside them.

    A widget ends with its kernel. When the notebook is opened again, JupyterLab would only say
    "model not found" in place of an explorer, which is live as HTML, or a question.

    Args:
        model: what the server is about to save.
    """
    if model.get("type") != "notebook" or not model.get("content"):
        return
    for cell in model["content"].get("cells", []):
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output["data"].pop(WIDGET_VIEW, None)
                output.get("metadata", {}).pop(WIDGET_VIEW, None)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "course_lib.lab"}]


def _load_jupyter_server_extension(server: Any) -> None:
    server.contents_manager.register_pre_save_hook(save_without_widgets)


def _notebook_in_copy(name: str, *, exercise: bool) -> Path:
    """The notebook to open, in the learner's copy of the course, which is made if need be."""
    from course_lib.work_copy.update import create, outdated

    if Path(name).suffix == ".ipynb" and Path(name).is_file():
        return find_notebook(name)
    find_notebook(name, exercise=exercise)  # nothing is copied for a name that is wrong
    work = work_folder()
    if create(work, COURSE):
        say(f"Your own copy of the course is in {work}. Updates of the course leave it alone.")
    elif changed := outdated(work, COURSE):
        say(
            f"The course has changed ({len(changed)} notebooks): `course update` merges them. "
            "Save open notebooks first."
        )
    return find_notebook(name, work, exercise=exercise)


def run_lab(options: LabOptions) -> int:
    """Start JupyterLab in this process and return when it stops.

    A lesson or exercise is opened in the learner's copy of the course, a path as it is.

    Raises:
        CourseError: there is no such notebook, or JupyterLab is not installed.
    """
    say("Starting JupyterLab …")
    try:
        from jupyterlab.labapp import LabApp
    except ImportError as error:
        raise CourseError(
            f"expected JupyterLab beside the course, but it cannot be imported ({error}): "
            "install it with pip install -e '.[lab]'",
            see="jupyterlab-is-missing",
        ) from error
    notebook = _notebook_in_copy(options.notebook, exercise=options.exercise)
    trust(unmodified_notebooks(COURSE))
    fold_file_browser()
    browser = options.browser and has_browser()
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    inherited = os.environ.get("JUPYTER_CONFIG_PATH")
    paths = [str(JUPYTER_CONFIG), *([inherited] if inherited else [])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    say(f"Opening {notebook.name} in JupyterLab. Ctrl-C here stops it.")
    if not browser:
        say("Open the address printed below, which ends in a token, in your browser.")
    LabApp.launch_instance(lab_arguments(notebook, port=options.port, browser=browser, root=root))
    return 0
