"""How ``course lab`` opens a lesson in JupyterLab."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course_lib.arguments import option
from course_lib.errors import CourseError
from course_lib.home import COURSE, LIBRARY
from course_lib.terminal import say
from course_lib.widget_output import WIDGET_STATE, WIDGET_VIEW
from course_lib.wording import pip_install
from course_lib.work_copy.folders import (
    find_notebook,
    path_inside,
    work_folder,
)
from course_lib.work_copy.trust import trust, unmodified_notebooks

# Its page configuration switches off JupyterLab's announcements (lessons need no network, and the
# first thing a learner sees should not be a question about news) and nbgrader's menus, which are
# for teachers. Its server configuration makes this module an extension of the server, and leaves
# out nbgrader's, which only warn.
JUPYTER_CONFIG = LIBRARY / "assets" / "jupyter"
# JupyterLab keeps its layout under these names, beside a learner's own. A phone has one of its own:
# one document, and side bars that stay folded whatever a larger window shows.
WORKSPACE, PHONE_WORKSPACE = "course", "course-phone"
QUIET = ("--ServerApp.log_level=ERROR", "--LabApp.log_level=ERROR")  # the rest hides the address
ENTRANCE = "course"  # where the address begins that `course lab` prints


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
    print_path: bool = option(
        "start nothing: print where it is in your own copy, for another editor", default=False
    )


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
    folder, page = _served(notebook)
    arguments = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/{ENTRANCE}/{page}"]
    if port is not None:
        arguments.append(f"--ServerApp.port={port}")
    if not browser:
        arguments.append("--no-browser")
    if root:
        arguments.append("--allow-root")
    return arguments


def _served(notebook: Path) -> tuple[Path, str]:
    """The folder that JupyterLab opens, and the notebook's address below it."""
    inside = ((root, path_inside(notebook, root)) for root in (work_folder(), COURSE))
    known = ((root, path) for root, path in inside if path is not None)
    folder, path = next(known, (notebook.parent, Path(notebook.name)))
    return folder, quote(path.as_posix())


def running_address(notebook: Path) -> str | None:
    """Where a JupyterLab that is already running shows the notebook, its token included.

    A second one would have kernels and a layout of its own, and either could save over the other.
    """
    from jupyter_server.serverapp import list_running_servers

    folder, page = _served(notebook)
    for server in list_running_servers():
        if Path(server["root_dir"]) == folder:
            return f"{server['url']}lab/tree/{page}?token={server['token']}"
    return None


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
    """Leave views of widgets out of a notebook that is saved: those with HTML beside them, and
    those whose widget is not saved with it.

    A widget ends with its kernel. When the notebook is opened again, JupyterLab would only say
    "model not found" in place of an explorer, which is live as HTML, or of a question.

    Args:
        model: what the server is about to save.
    """
    if model.get("type") != "notebook" or not model.get("content"):
        return
    stored = model["content"].get("metadata", {}).get("widgets", {}).get(WIDGET_STATE, {})
    for cell in model["content"].get("cells", []):
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown = data.get(WIDGET_VIEW, {}).get("model_id")
            if "text/html" in data or shown not in stored.get("state", {}):
                data.pop(WIDGET_VIEW, None)
                output.get("metadata", {}).pop(WIDGET_VIEW, None)


def name_language(content: dict[str, Any]) -> None:
    """Say in a Python notebook that is being opened what its kernel will say of its language.

    JupyterLab writes the kernel's answer into the notebook. If that is new to it, the notebook
    counts as changed, and asks to be saved, although nobody touched it.
    """
    from ipykernel.ipkernel import IPythonKernel

    metadata = content.get("metadata", {})
    kernel = metadata.get("kernelspec")
    if isinstance(kernel, dict) and kernel.get("name") == "python3":
        metadata["language_info"] = dict(IPythonKernel.language_info)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "course_lib.lab"}]


def _load_jupyter_server_extension(server: Any) -> None:
    entrance = f"{re.escape(server.base_url)}{ENTRANCE}/.*"  # first: all else is not vital
    server.web_app.add_handlers(".*$", [(entrance, _entrance())])
    contents, read = server.contents_manager, server.contents_manager.get
    contents.register_pre_save_hook(save_without_widgets)

    async def get(*arguments: Any, **keywords: Any) -> Any:
        model = await read(*arguments, **keywords)
        if model["type"] == "notebook" and model["content"]:
            name_language(model["content"])
        return model

    if inspect.iscoroutinefunction(read):  # a manager from elsewhere may not be
        name_language({})  # if ipykernel cannot be imported, notebooks are opened as they are
        contents.get = get  # Jupyter has hooks for what is saved, and none for what is opened


def _entrance() -> type[Any]:
    """The page at the printed address, which goes on to the layout for the width of the window."""
    from jupyter_server.base.handlers import JupyterHandler
    from tornado.web import authenticated

    class Entrance(JupyterHandler):
        @authenticated
        def get(self) -> None:
            self.finish(
                f"""<!doctype html><meta name="viewport" content="width=device-width"><script>
                const narrow = matchMedia("(max-width: 700px)").matches;
                const layout = narrow ? "doc/workspaces/{PHONE_WORKSPACE}"
                  : "lab/workspaces/{WORKSPACE}";
                const path = location.pathname.slice("{self.base_url}{ENTRANCE}/".length);
                location.replace(`{self.base_url}${{layout}}/tree/${{path}}${{location.search}}`);
                </script>"""
            )

    return Entrance


def _notebook_in_copy(name: str, *, exercise: bool) -> Path:
    """The notebook to open, in the learner's copy of the course, which is made if need be; of a
    path, the copy's if it is one of the course's, else itself.
    """
    from course_lib.work_copy.update import create, outdated

    released = None
    if Path(name).suffix == ".ipynb" and Path(name).is_file():
        released = path_inside(Path(name).absolute(), COURSE)
        if released is None or released.parts[0] not in ("notebooks", "exercises"):
            return find_notebook(name)
    find_notebook(name, exercise=exercise)  # nothing is copied for a name that is wrong
    work = work_folder()
    if create(work, COURSE):
        text = f"Your own copy of the course is in {work}. Updates of the course leave it alone."
        say(text, error=True)
    elif changed := outdated(work, COURSE):
        say(
            f"The course has changed ({len(changed)} notebook{'s' * (len(changed) != 1)}): "
            "`course update` merges the changes into yours. "
            "Save open notebooks first.",
            error=True,
        )
    if released is None:
        return find_notebook(name, work, exercise=exercise)
    # Changes of the released one would be lost with an update.
    return work / released if (work / released).is_file() else find_notebook(name)


def run_lab(options: LabOptions) -> int:
    """Start JupyterLab in this process and return when it stops.

    A lesson or exercise is opened in the learner's copy of the course, a path as it is. With
    ``--print-path`` nothing is started, and the only line on stdout is the notebook's path.

    Raises:
        CourseError: there is no such notebook, or JupyterLab is not installed.
    """
    notebook = _notebook_in_copy(options.notebook, exercise=options.exercise)
    if options.print_path:
        path = str(notebook)
        if sys.stdout.isatty():
            say(path)
        else:  # an editor needs it byte by byte
            sys.stdout.buffer.write(os.fsencode(path) + b"\n")
            sys.stdout.flush()
        return 0
    say("Starting JupyterLab …")
    try:
        from jupyterlab.labapp import LabApp
    except ImportError as error:
        raise CourseError(
            f"expected JupyterLab beside the course, but it cannot be imported ({error}): "
            f"install it with {pip_install(extra='lab')}",
            see="jupyterlab-is-missing",
        ) from error
    trust(unmodified_notebooks(COURSE))
    browser = options.browser and has_browser()
    if options.port is None and (address := running_address(notebook)):
        say("JupyterLab is already running for this folder (--port N starts another):", address)
        if browser:
            webbrowser.open(address)
        return 0
    fold_file_browser()
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    inherited = os.environ.get("JUPYTER_CONFIG_PATH")
    paths = [str(JUPYTER_CONFIG), *([inherited] if inherited else [])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    say(f"Opening {notebook.name} in JupyterLab. Ctrl-C twice here stops it.")
    if not browser:
        say("Open the address printed below, which ends in a token, in your browser.")
    arguments = lab_arguments(notebook, port=options.port, browser=browser, root=root)
    LabApp.launch_instance([*arguments, *QUIET])
    return 0
