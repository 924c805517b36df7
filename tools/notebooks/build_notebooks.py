"""Run the lessons and store them with their outputs: ``make notebooks``.

    python -m tools.notebooks.build_notebooks            # all of notebooks/
    python -m tools.notebooks.build_notebooks notebooks/06_masks.ipynb
    python -m tools.notebooks.build_notebooks --check    # runs nothing, names what is stale

A lesson that fails is left as it was. A second run changes no byte, on another processor neither:
a cell keeps what it stores where the new output differs by rounding alone, or within a printed
uncertainty, and always if it is tagged ``measures-time``. Clear a cell's output to store it anew.
A lesson with cells tagged ``published`` is built only where their model is installed.
"""

import argparse
import os
import re
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course_lib.run_options import HANDED_IN
from course_lib.threads import SPINS
from course_lib.widget_output import WIDGET_VIEW
from tools import ROOT
from tools.notebooks import released
from tools.notebooks.notebook_normal_form import (
    NotebookError,
    linked_path,
    normal_form,
    read,
    repository,
    to_bytes,
)
from tools.notebooks.output_comparison import only_rounded

MEASURES_TIME = "measures-time"  # the tag of a cell whose times no second run repeats
TRAINED = "result-of-training"  # the tag of a cell whose picture may differ between machines
PUBLISHED = "published"  # the tag of a cell that runs a published model, from a package of its own
CELL_SECONDS = 600
STORING = "COURSE_STORING"  # tells figures to store what pages without a kernel need
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def kernel_environment() -> dict[str, str]:
    """The environment in which every lesson runs: no progress bars, a fixed hash seed, threads that
    wait as they do where `course lab` has started them, and figures as they are stored.

    Python's own warning filter stays in force, because it decides what a learner sees.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    return inherited | SPINS | {"COURSE_QUIET": "1", "PYTHONHASHSEED": "0", STORING: "1"}


def build(path: Path) -> bool:
    """Run the lesson at `path`, store it in normal form, and say whether a byte changed.

    Raises:
        NotebookError: it cannot be read, a cell fails, it shows what a lesson must not, or it runs
            a published model that is not installed.
    """
    stored = read(path)
    if needs_published(stored) and (missing := without_published()):
        raise NotebookError(f"{path}: {missing}; without it, cells would store nothing of value")
    notebook = execute(read(path), path)
    if problems := [problem for cell in notebook.cells for problem in cell_problems(cell)]:
        raise NotebookError(f"{path}, " + f"\n{path}, ".join(problems))
    new, old = (
        normal_form(each, path=linked_path(path), home=repository()) for each in (notebook, stored)
    )
    for cell, before in zip(new.cells, old.cells, strict=True):
        if cell.cell_type == "code" and before.outputs and may_stay(cell, before):
            cell.outputs = before.outputs
    content = to_bytes(new)
    if content == path.read_bytes():
        return False
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content)
    beside.replace(path)
    released.note(path)
    return True


def needs_published(notebook: NotebookNode) -> bool:
    """Whether a cell runs a published model."""
    return any(PUBLISHED in cell.metadata.get("tags", []) for cell in notebook.cells)


def without_published() -> str:
    """How to install the published model; "" if it is installed."""
    from course_lib.modern.published_models.gguf_model import INSTALL, published_model_path

    return "" if published_model_path() else f"cells tagged {PUBLISHED!r} need {INSTALL}"


def may_stay(cell: NotebookNode, before: NotebookNode) -> bool:
    """Whether a cell that has been run may keep the outputs that it stored before."""
    tags = cell.metadata.get("tags", [])
    return MEASURES_TIME in tags or only_rounded(
        cell.outputs, before.outputs, trained=TRAINED in tags
    )


def execute(notebook: NotebookNode, path: Path) -> NotebookNode:
    """Run every cell in a fresh kernel, in a folder of its own: see ``fill``."""
    current = "(none)"

    def remember(cell: NotebookNode, cell_index: int) -> None:
        nonlocal current
        current = cell.id
        if sys.stdout.isatty():
            count = f"{cell_index + 1}/{len(notebook.cells)}"
            print(f"\r{path.name}: cell {count} {cell.id}\x1b[K", end="", flush=True)

    with TemporaryDirectory() as folder:
        fill(Path(folder), path)
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            record_timing=False,
            extra_arguments=[
                "--IPKernelApp.log_level=ERROR"
            ],  # kernels warn about how they were started
            resources={"metadata": {"path": folder}},
            on_cell_start=remember,
        )
        try:
            return client.execute(env=kernel_environment())
        except CellExecutionError as error:
            reason = f"{error.ename}: {error.evalue}"
            raise NotebookError(f"{path}, cell {current!r}: {reason}") from error
        except CellTimeoutError as error:
            reason = f"still running after {CELL_SECONDS} seconds"
            raise NotebookError(f"{path}, cell {current!r}: {reason}") from error
        except DeadKernelError as error:
            reason = "the kernel died; did it run out of memory?"
            raise NotebookError(f"{path}, cell {current!r}: {reason}") from error


def fill(folder: Path, notebook: Path) -> None:
    """Put into a folder what a notebook may find beside it: the run that a solution hands in, and
    nothing else, so that no lesson needs other files.
    """
    if (notebook.parent / HANDED_IN).is_dir():
        shutil.copytree(notebook.parent / HANDED_IN, folder / HANDED_IN)


def cell_problems(cell: NotebookNode) -> list[str]:
    """What an executed cell shows that a lesson must not show."""
    problems = []
    outputs = cell.get("outputs", [])
    for output in outputs:
        if output.output_type == "stream" and output.name == "stderr":
            problems.append(f"writes to stderr: {output.text.strip()}")
        data = output.get("data", {})
        if WIDGET_VIEW in data and not {"image/png", "text/html"} & data.keys():
            problems.append(
                "shows a widget without a picture or a page for readers without a kernel"
            )
    raises = any(output.output_type == "error" for output in outputs)
    if "raises-exception" in cell.metadata.get("tags", []) and not raises:
        problems.append("is tagged raises-exception but raises nothing")
    return [f"cell {cell.id!r} {problem}" for problem in problems]


def check(path: Path) -> None:
    """Compare the stored lesson with its normal form, without running it.

    Raises:
        NotebookError: the two differ; the first difference is named.
    """
    notebook = read(path)
    wanted = normal_form(notebook, path=linked_path(path), home=repository())
    if to_bytes(wanted) == path.read_bytes():
        return
    differ = (new.id for old, new in zip(notebook.cells, wanted.cells, strict=True) if old != new)
    cell = next(differ, None)
    where = f"cell {cell!r}" if cell else "metadata or layout"
    raise NotebookError(f"{path}: not in normal form, first at {where}; run `make notebooks`")


def main(arguments: list[str] | None = None) -> int:
    """Build or check the named lessons; 1 if any fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.notebooks.build_notebooks", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("paths", nargs="*", type=Path, help="default: notebooks/*.ipynb")
    parser.add_argument("--check", action="store_true", help="run nothing, only compare")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    options = parser.parse_args(arguments)
    failed = 0
    for path in options.paths or sorted((ROOT / "notebooks").glob("*.ipynb")):
        start = time.perf_counter()
        try:
            if options.check:
                check(path)
                verdict = "in normal form"
            else:
                verdict = "stored" if build(path) else "unchanged"
        except (NotebookError, OSError) as error:
            failed += 1
            print(_clear_line() + f"FAILED {error}", file=sys.stderr)
            if options.debug and error.__cause__:
                print(ANSI.sub("", str(error.__cause__)), file=sys.stderr)
            continue
        seconds, size = time.perf_counter() - start, path.stat().st_size / 1000
        print(_clear_line() + f"{path.name}: {verdict}, {seconds:.1f} s, {size:.0f} kB", flush=True)
    return 1 if failed else 0


def _clear_line() -> str:
    return "\r\x1b[K" if sys.stdout.isatty() else ""


if __name__ == "__main__":
    sys.exit(main())
