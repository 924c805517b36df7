"""An assignment as a learner does it: typed into JupyterLab, wrong first, then right."""

import json
import shutil
from pathlib import Path

from tests.browser.lab import output_text, run

EXERCISE = Path(__file__).parents[2] / "exercises" / "06_masks" / "masks.ipynb"
WRONG = "return (tokens == pad_id)[:, None, None, :]"
RIGHT = "return (tokens != pad_id)[:, None, None, :]"
HEAD = "def padding_mask(tokens, pad_id):"


def number_of(cell_id):
    cells = json.loads(EXERCISE.read_text("utf-8"))["cells"]
    return next(i for i, cell in enumerate(cells) if cell["id"] == cell_id)


def type_into(page, cell, text):
    """Replace a cell's source, key by key."""
    page.evaluate(
        """(cell) => {
          const { content } = window.jupyterapp.shell.currentWidget;
          content.activeCellIndex = cell;
          content.mode = "edit";
        }""",
        cell,
    )
    editor = page.locator(".jp-Cell.jp-mod-active .cm-content")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def run_unseen(page, code):
    """Run code in the notebook's kernel that no cell shows."""
    page.evaluate(
        "(code) => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        ".requestExecute({code}).done",
        code,
    )


def test_a_wrong_answer_is_diagnosed_and_a_right_one_is_progress(
    lab, open_lab, take_screenshot, tmp_path
):
    shutil.copy(EXERCISE, lab.folder / "masks.ipynb")
    page = open_lab("masks.ipynb", kernel=True)
    set_up, imports = number_of("set-up"), number_of("imports")
    answer, check = number_of("06-padding-mask-answer"), number_of("06-padding-mask-check")

    kept = f'import os; os.environ["COURSE_PROGRESS"] = {str(tmp_path / "progress.json")!r}'
    run_unseen(page, kept)
    run(page, [set_up, imports, answer, check])
    assert "not started" in output_text(page, check)
    take_screenshot(page, "assignment-1-not-started")

    type_into(page, answer, f"{HEAD}\n{WRONG}")
    run(page, [answer, check])
    assert "Your mask is inverted: True at the padding" in output_text(page, check)
    page.locator("text=Your mask is inverted: True at the padding").scroll_into_view_if_needed()
    take_screenshot(page, "assignment-2-diagnosed")

    type_into(page, answer, f"{HEAD}\nwhile True:\npass")
    run(page, [answer])
    run_unseen(page, "from course_lib.checks.engine import call; call.SECONDS = 1")
    run(page, [check])
    assert "still running after" in output_text(page, check)
    run_unseen(page, "call.SECONDS = 10")

    type_into(page, answer, f"{HEAD}\n{RIGHT}")
    run(page, [answer, check])
    assert "passed" in output_text(page, check)
    take_screenshot(page, "assignment-3-passed")
    assert json.loads((tmp_path / "progress.json").read_text())["passed"] == ["06.padding_mask"]
