"""The normal form in which notebooks are stored: same notebook, same bytes, whoever ran it."""

import copy
import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course_lib.widget_output import WIDGET_VIEW
from tools import ROOT

COLLAPSED = "jp-MarkdownHeadingCollapsed"  # JupyterLab opens the section folded
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
COLAB_LINK = re.compile(r"https://colab\.research\.google\.com/github/[^\s)\"']*")
# How the first cell of code of every notebook begins, folded. In Colab it installs the course, and
# shows what pip says only if that fails; elsewhere the course is installed already. Below it stand
# the lesson's own imports and its first picture.
SET_UP_ID = "set-up"
SET_UP = """\
import importlib.util
import subprocess
import sys

if "google.colab" in sys.modules and importlib.util.find_spec("course_lib") is None:
    print("Installing the course takes about half a minute.")
    source = "git+{home}"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", source]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        print("pip says:", done.stdout[-1000:], done.stderr.partition("\\nerror:")[0][-1000:])
        raise RuntimeError(
            "The course is not installed; above is what pip says about it. Run this cell again. "
            "If that doesn't help, choose 'Disconnect and delete runtime' in the menu 'Runtime' "
            "of Colab, and begin again."
        )
    importlib.invalidate_caches()

from course_lib.lesson import set_up

set_up()  # one seed, and full float32 precision on every machine"""
SET_UP_END = SET_UP.splitlines()[-1]
# A file of the project that a learner's copy of the course does not have.
SOURCE_LINK = re.compile(r"https://github\.com/[^/\s]+/[^/\s]+/blob/main/(course_lib/[^\s)\"']*)")


class NotebookError(Exception):
    """A notebook that cannot be read, run or stored; the message names it."""


def read(path: Path) -> NotebookNode:
    """Read a version 4.5 notebook whose cells have ids of their own.

    Raises:
        NotebookError: not JSON, not a valid notebook, or two cells with one id.
    """
    text = path.read_text("utf-8")
    try:
        ids = Counter(cell["id"] for cell in json.loads(text)["cells"])
    except (ValueError, KeyError, TypeError) as error:
        raise NotebookError(
            f"{path}: expected a notebook in JSON whose cells have ids, "
            f"found {type(error).__name__}: {error}; was it merged or edited by hand?"
        ) from error
    # nbformat renames one of two cells with the same id without a word, so look for them first.
    if doubles := [name for name, uses in ids.items() if uses > 1]:
        raise NotebookError(
            f"{path}: expected one cell per id, found two called {doubles[0]!r}; was one copied?"
        )
    try:
        notebook: NotebookNode = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # nbformat raises several kinds that share no base class
        reason = str(error).splitlines()[0]
        raise NotebookError(f"{path}: expected a valid notebook, found: {reason}") from error
    return notebook


def repository() -> str:
    """The repository's address: `[project.urls] Repository` of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["urls"]["Repository"]).rstrip("/")


def linked_path(path: Path) -> str:
    """The path in the repository to which a notebook's Colab link leads.

    A solution's leads to its exercise: whatever is handed out is made from it, links and all. A
    notebook outside the repository is treated as a lesson.
    """
    whole = path.resolve()
    if ROOT not in whole.parents:
        return f"notebooks/{path.name}"
    return re.sub("^solutions/", "exercises/", whole.relative_to(ROOT).as_posix())


def colab_link(path: str, *, home: str) -> str:
    """The address at which Colab opens the notebook at `path` in the GitHub repository `home`.

    Raises:
        NotebookError: `home` is not on GitHub, the only host Colab opens links from.
    """
    host = "https://github.com/"
    if not home.startswith(host):
        raise NotebookError(
            f"expected [project.urls] Repository to begin with {host}, found {home!r}; "
            "Colab's badge opens notebooks from GitHub only"
        )
    whole = f"{home.removeprefix(host)}/blob/main/{path}"
    return f"https://colab.research.google.com/github/{whole}"


def normal_form(notebook: NotebookNode, *, path: str, home: str) -> NotebookNode:
    """A copy of `notebook` without traces of the machine that ran it.

    Code cells are numbered 1…n as in one run from the top, widget state and views are gone, and
    links and the set-up cell lead to the repository `home`.
    """
    notebook = copy.deepcopy(notebook)
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for cell in notebook.cells:
        if cell.id == SET_UP_ID:
            cell.source = SET_UP.format(home=home) + own_set_up(cell.source)
            cell.metadata["jupyter"] = {"source_hidden": True}
        cell.metadata = _cell_metadata(cell.metadata)
        if cell.cell_type == "markdown":
            cell.source = COLAB_LINK.sub(lambda _: colab_link(path, home=home), cell.source)
            cell.source = SOURCE_LINK.sub(lambda found: f"{home}/blob/main/{found[1]}", cell.source)
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = _outputs(cell.outputs, count)
    return notebook


def own_set_up(source: str) -> str:
    """What a notebook's set-up cell has below the part that all notebooks share."""
    return source.partition(SET_UP_END)[2].rstrip()


def to_bytes(notebook: NotebookNode) -> bytes:
    """The file's content."""
    text: str = nbformat.writes(notebook)
    return (text.rstrip("\n") + "\n").encode("utf-8")


def _cell_metadata(metadata: NotebookNode) -> NotebookNode:
    kept: dict[str, Any] = {"tags": list(metadata["tags"])} if metadata.get("tags") else {}
    if metadata.get("jupyter", {}).get("source_hidden"):
        kept["jupyter"] = {"source_hidden": True}
        kept["cellView"] = "form"  # Colab's own name for it
    if metadata.get(COLLAPSED):
        kept[COLLAPSED] = True
    kept |= {key: metadata[key] for key in ("deletable", "editable", "nbgrader") if key in metadata}
    return NotebookNode(kept)


def _outputs(outputs: list[NotebookNode], count: int) -> list[NotebookNode]:
    kept: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream":
            # How a stream is cut into messages differs from run to run.
            if kept and kept[-1].output_type == "stream" and kept[-1].name == output.name:
                kept[-1].text += output.text
                continue
        elif output.output_type == "error":
            # The full traceback holds paths and line numbers of this machine.
            output.traceback = [f"{output.ename}: {output.evalue}"]
        else:
            # A view without its state shows "model not found", and state belongs to one run.
            output.data.pop(WIDGET_VIEW, None)
            if not output.data:
                continue
            output.metadata = NotebookNode()
            if output.output_type == "execute_result":
                output.execution_count = count
        kept.append(output)
    return kept
