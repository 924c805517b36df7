"""One notebook, stored with a problem in each cell, is run once by the plug-in."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest

from course_lib.modern import published_model_path
from course_lib.widget_output import WIDGET_VIEW
from tests.tools.notebooks.sample_notebooks import bundle, code, heatmap, image, notebook, stream
from tools import ROOT
from tools.notebooks.notebook_normal_form import to_bytes
from tools.notebooks.notebook_rules import MAX_BYTES

pytestmark = pytest.mark.slow

DIAGONAL = heatmap(np.eye(8))
DRIFTED = heatmap(np.eye(8), smooth_text=False)
WRONG = heatmap(np.eye(8)[::-1])
SHOW = "display({{'text/html': {}, 'text/plain': 'a map'}}, raw=True)"
NEVER_RUN = nbformat.v4.new_code_cell("later = 1", id="never-run")
LIVE = f"display({{{WIDGET_VIEW!r}: {{'model_id': '1'}}, 'text/plain': 'a map'}}, raw=True)"

CELLS = [
    code("same", "print('loss', 0.123)", [stream("loss 0.123\n")]),
    code("last-digit", "print('loss', 0.123)", [stream("loss 0.124\n")]),
    code("larger-drift", "print('loss', 0.123)", [stream("loss 0.125\n")]),
    code(
        "same-picture",
        SHOW.format(repr(image(DIAGONAL, "a map"))),
        [bundle(png=DIAGONAL, plain="a map")],
    ),
    code(
        "drifted-picture",
        SHOW.format(repr(image(DRIFTED, "a map"))),
        [bundle(png=DIAGONAL, plain="a map")],
    ),
    code(
        "wrong-picture",
        SHOW.format(repr(image(WRONG, "a map"))),
        [bundle(png=DIAGONAL, plain="a map")],
    ),
    code("missing-picture", "None", [bundle(png=DIAGONAL, plain="a map")]),
    code("new-picture", SHOW.format(repr(image(DIAGONAL, "a map")))),
    code("live-widget", LIVE, [bundle(plain="a map")]),
    NEVER_RUN,
    code("leans-on-never-run", "print(later)", [stream("1\n")]),
    code("writes-to-stderr", "import sys\nprint('!', file=sys.stderr)"),
    code("stored-stderr", "None", [stream("!\n", "stderr")]),
    code("raises", "1 / 0"),
    code("surroundings", "import os\nprint(os.listdir(), os.environ['COURSE_QUIET'])")
    | {"outputs": [stream("[] 1\n")]},
    code("published", "pass", tags=["published"]),
]
PASSING = {
    "same",
    "last-digit",
    "same-picture",
    "drifted-picture",
    "live-widget",
    "leans-on-never-run",
    "surroundings",
    "published",
}
REASONS = {
    "larger-drift": "- loss 0.125",
    "wrong-picture": "> 0.08",
    "missing-picture": "stored picture and text/plain, now nothing",
    "new-picture": "stored nothing, now picture and text/plain",
    "never-run": "The stored cell was never run",
    "writes-to-stderr": "writes to stderr",
    "stored-stderr": "the stored output holds stderr",
    "raises": "ZeroDivisionError",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the notebooks are run, and their pages written."""
    return tmp_path_factory.mktemp("lessons")


@pytest.fixture(scope="module")
def verdicts(folder: Path) -> dict[tuple[str, str], str]:
    """(notebook, cell id) to the message of its failure, or "" where it passed."""
    heavy = notebook(code("large", "pass"))
    heavy.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    heavy.cells[0].source += "\n" + "x" * MAX_BYTES
    (folder / "cells.ipynb").write_bytes(to_bytes(notebook(*map(nbformat.from_dict, CELLS))))
    (folder / "heavy.ipynb").write_bytes(to_bytes(heavy))
    (folder / "broken.ipynb").write_text("{")
    (folder / "pytest.ini").write_text("[pytest]")
    command = [sys.executable, "-m", "pytest", "-p", "tools.notebooks.nbval_plugin", "--nbval"]
    command += ["--continue-on-collection-errors", "--color=no", "-p", "no:cacheprovider"]
    command += ["-c", "pytest.ini", "--junit-xml=report.xml", "."]
    pages = {"COURSE_DIFFERENCES": str(folder / "pages")}
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | pages
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode == 1, run.stdout + run.stderr
    verdicts = {}
    for case in ElementTree.parse(folder / "report.xml").iter("testcase"):
        trouble = [*case.iter("failure"), *case.iter("error")]
        message = "".join(f"{found.get('message')}\n{found.text}" for found in trouble)
        if (skipped := case.find("skipped")) is not None:
            message = f"left out: {skipped.get('message')}"
        verdicts[case.get("classname", ""), case.get("name", "")] = message
    return verdicts


def test_a_cell_with_a_published_model_is_left_out_where_that_is_missing(
    verdicts: dict[tuple[str, str], str],
) -> None:
    message = verdicts["cells.ipynb", "published"]
    if published_model_path() is None:
        assert message.startswith("left out: cells tagged 'published' need pip install")
    else:
        assert message == ""


@pytest.mark.parametrize("cell", sorted(PASSING - {"published"}))
def test_the_cell_passes(verdicts: dict[tuple[str, str], str], cell: str) -> None:
    assert verdicts["cells.ipynb", cell] == ""


@pytest.mark.parametrize("cell", sorted(REASONS))
def test_the_cell_fails_and_says_why(verdicts: dict[tuple[str, str], str], cell: str) -> None:
    assert REASONS[cell] in verdicts["cells.ipynb", cell]


def test_every_cell_is_tried() -> None:
    assert {cell["id"] for cell in CELLS} == PASSING | REASONS.keys()


def test_a_page_shows_the_cells_that_failed_and_no_others(
    folder: Path, verdicts: dict[tuple[str, str], str]
) -> None:
    assert [page.name for page in (folder / "pages").iterdir()] == ["cells.html"]
    page = (folder / "pages" / "cells.html").read_text("utf-8")
    assert set(re.findall("<h2>(.*)</h2>", page)) == set(REASONS)
    assert "\x1b" not in page and "ZeroDivisionError" in page
    assert "loss 0.125" in page and page.count("<img ") >= 3


def test_size_and_widget_state_fail_and_the_cell_beside_them_passes(
    verdicts: dict[tuple[str, str], str],
) -> None:
    message = verdicts["heavy.ipynb", "stored-file"]
    assert "expected at most 500000" in message and "state of widgets" in message
    assert verdicts["heavy.ipynb", "large"] == ""
    assert verdicts["cells.ipynb", "stored-file"] == ""


def test_broken_json_is_named(verdicts: dict[tuple[str, str], str]) -> None:
    [message] = [text for (_, name), text in verdicts.items() if "broken" in name]
    assert "expected a notebook in JSON" in message
