"""Contrast of what lessons show in JupyterLab, in both themes: axe-core really judges it."""

import shutil
import subprocess
import sys

import pytest

from course_lib.work_copy.folders import NOTEBOOKS
from tests.browser.lab import lay_out, serious_violations, set_theme

# With an explorer, the diagram, quizzes and formulas; with stored slider figures and plots.
LESSONS = ["00_start_here", "06_masks"]
OUTPUTS = ".jp-OutputArea-output"
PLANT = """() => [...document.querySelectorAll(".jp-OutputArea-output")].at(-1)
  .insertAdjacentHTML("beforeend", "<p style='color: #bbb; background: #fff'>hardly seen</p>")"""


@pytest.fixture
def open_lesson(lab, open_lab, monkeypatch):
    """A lesson as it is stored, trusted."""

    def open_(name):
        path = lab.folder / f"{name}.ipynb"
        shutil.copy(NOTEBOOKS / path.name, path)
        monkeypatch.setenv("JUPYTER_DATA_DIR", str(lab.data))
        command = [sys.executable, "-m", "jupyter", "trust", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        return open_lab(path.name)

    return open_


@pytest.mark.parametrize("name", LESSONS)
def test_all_that_a_lesson_shows_can_be_read_in_both_themes(open_lesson, axe, name):
    page = open_lesson(name)
    lay_out(page)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    for theme in ("light", "dark"):
        set_theme(page, theme)
        lay_out(page)
        assert serious_violations(page, axe, OUTPUTS) == {}, theme
    page.evaluate(PLANT)  # in the lowest output
    assert [*serious_violations(page, axe, OUTPUTS)] == ["color-contrast"]


def test_without_a_height_of_the_body_no_contrast_is_judged(lab, open_lab, axe):
    """Why `lay_out` is needed; and its absence does not go unnoticed."""
    lab.write("plain.ipynb", [("print(1)", [])])
    page = open_lab("plain.ipynb")
    with pytest.raises(AssertionError, match="could not judge any contrast"):
        serious_violations(page, axe, ".jp-Notebook")
