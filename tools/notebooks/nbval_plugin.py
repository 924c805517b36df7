"""nbval, made stricter where it ignores differences and more lenient where machines differ.

    python -m pytest -p tools.notebooks.nbval_plugin --nbval notebooks

nbval alone passes a changed picture and a cell that never ran, and fails on the last digit of a
float. Here outputs are compared by `output_comparison`, in the kernel environment of the build.
Cells tagged ``published`` are left out where their model is not installed.

If the variable COURSE_DIFFERENCES names a folder, each notebook that differs gets a page there.
"""

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

from tools.notebooks.build_notebooks import (
    PUBLISHED,
    TRAINED,
    fill,
    kernel_environment,
    without_published,
)
from tools.notebooks.difference_page import Difference, difference_page
from tools.notebooks.notebook_normal_form import NotebookError, read
from tools.notebooks.notebook_rules import no_widget_state, small_file
from tools.notebooks.output_comparison import differences

LONG = ("11_training", "12_honest_numbers", "13_decoding", "10_two_sentences")  # they train
ANSI = re.compile(r"\x1b\[[\d;]*m")  # the colours of a traceback


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest notebooks, so that at the end no process waits for another.

    Only in force with xdist's ``--no-loadscope-reorder``.
    """
    items.sort(key=lambda item: item.path.stem not in LONG)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Replace each notebook that nbval collects by a `Lesson`."""
    nodes = yield
    return [
        Lesson.from_parent(parent, path=file_path) if isinstance(node, IPyNbFile) else node
        for node in nodes
    ]


class Lesson(IPyNbFile):
    """A notebook: its stored file first, then its code cells by their ids."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the checks of this notebook.

        Raises:
            CollectError: the file is not a notebook.
        """
        try:
            read(self.path)
        except NotebookError as error:
            raise self.CollectError(str(error)) from error
        self.add_marker(pytest.mark.xdist_group(self.nodeid))  # one process: one kernel
        yield StoredFile.from_parent(self, name="stored-file")
        for cell in super().collect():
            yield LessonCell.from_parent(
                self,
                name=cell.cell.id,
                cell_num=cell.cell_num,
                cell=cell.cell,
                options=cell.options,
            )

    def setup(self) -> None:
        """Start a kernel of this very Python in a folder of its own."""
        self.differing: list[Difference] = []
        self.folder = TemporaryDirectory()
        fill(Path(self.folder.name), self.path)
        with mock.patch.dict(os.environ, kernel_environment(), clear=True):
            timeout = self.config.option.nbval_kernel_startup_timeout
            self.kernel = RunningKernel(
                CURRENT_ENV_KERNEL_NAME, cwd=self.folder.name, startup_timeout=timeout
            )

    def teardown(self) -> None:
        """Stop the kernel, remove its folder, and write the page if a cell differs."""
        if self.kernel is not None and self.kernel.is_alive():
            self.kernel.stop()
        self.folder.cleanup()
        if self.differing and (pages := os.environ.get("COURSE_DIFFERENCES")):
            name = self.nodeid.removesuffix(".ipynb").replace("/", "-")
            page = Path(pages) / f"{name}.html"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(difference_page(self.path.name, self.differing), encoding="utf-8")


class StoredFile(pytest.Item):
    """The checks of the file that need no run."""

    def runtest(self) -> None:
        """Fail when the file is too large or holds the state of widgets."""
        notebook = read(self.path)
        if problems := [*small_file(self.path, notebook), *no_widget_state(self.path, notebook)]:
            raise NotebookError(f"{self.path.name}: " + "; ".join(problems))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """The message, without a traceback."""
        return str(excinfo.value)


class LessonCell(IPyNbCell):
    """A code cell, run again and compared with what is stored."""

    def runtest(self) -> None:
        """Run before complaining, so that later cells find the names they need."""
        if PUBLISHED in self.cell.metadata.get("tags", []) and (missing := without_published()):
            pytest.skip(missing)
        try:
            super().runtest()
            if self.cell.execution_count is None:
                self.raise_cell_error("The stored cell was never run")
        except NbCellError as error:
            reason = f"{error}\n{ANSI.sub('', error.inner_traceback or '')}"
            difference = Difference(
                self.cell.id, self.cell.source, reason, self.cell.outputs, self.test_outputs
            )
            self.parent.differing.append(difference)
            raise

    def compare_outputs(
        self, test: list[NotebookNode], ref: list[NotebookNode], skip_compare: Any = None
    ) -> bool:
        """Compare new with stored outputs; nbval prints what is left in `comparison_traceback`."""
        trained = TRAINED in self.cell.metadata.get("tags", [])
        self.comparison_traceback = differences(test, ref, trained=trained)
        return not self.comparison_traceback
