"""What a learner finds who opens a lesson with `course lab`, before a cell is run."""

import shutil
from pathlib import Path

import pytest

from course_lib.lab import fold_file_browser
from course_lib.work_copy.trust import trust, unmodified_notebooks
from tests.browser.lab import wait_until_open

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LINKED = "07_blocks.ipynb"  # from the diagram of lesson 00
FOLDED = "window.jupyterapp.shell.leftCollapsed"


@pytest.fixture
def clone(lab):
    """A folder that is removed once the pages are closed: JupyterLab looks into it until then."""
    folder = lab.folder / "clone"
    yield folder
    shutil.rmtree(folder)
    shutil.rmtree(lab.workspaces)


@pytest.fixture
def learner(lab, clone, stop_kernels, open_page, monkeypatch):  # in this order, see `open_lab`
    """Open a lesson of a clone as `course lab` does, after `change` has edited the clone."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(lab.data))
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", str(lab.workspaces))

    def open_(lesson, change=lambda path: None, *, width=1300):
        (clone / "notebooks").mkdir(parents=True)
        for name in (lesson, LINKED):
            shutil.copy(NOTEBOOKS / name, clone / "notebooks")
        change(clone / "notebooks" / lesson)
        trust(unmodified_notebooks(clone))
        fold_file_browser()
        address = lab.address_of_a_learner(f"clone/notebooks/{lesson}?token=one")
        page = open_page(address, network=True, width=width)
        page.wait_for_url("**/tree/**")
        wait_until_open(page, kernel=False)
        return page

    return open_


@pytest.mark.smoke
def test_explorer_and_diagram_of_the_first_lesson_are_live_and_the_files_are_folded(learner):
    page = learner("00_start_here.ipynb")
    opened = page.evaluate("performance.getEntriesByType('navigation')[0].name")
    assert opened.endswith("00_start_here.ipynb?token=one")  # a browser may keep no cookie
    assert page.evaluate(FOLDED)
    page.locator(".ae[data-state]").first.wait_for(state="attached")
    page.locator(".md[data-step]").wait_for(state="attached")
    page.locator(".ae-layer:visible").first.press("ArrowRight")
    assert '"layer":1' in page.locator(".ae").first.get_attribute("data-state")
    page.locator(".md-controls button").last.click()
    assert page.get_attribute(".md", "data-step") == "9"
    page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    assert not page.evaluate(FOLDED)


def test_a_lesson_that_somebody_changed_opens_with_pictures(learner):
    def change(path):
        text = path.read_text("utf-8")
        path.write_text(text.replace("Start here", "Start there", 1), "utf-8")

    page = learner("00_start_here.ipynb", change)
    page.locator(".jp-OutputArea-output img").first.wait_for(state="attached")
    assert page.locator(".ae, .md").count() == 0
    controls = "input, button, select, textarea"
    assert page.locator(f".jp-OutputArea-output :is({controls}):visible").count() == 0
    assert page.locator(".jp-OutputArea-output p", has_text="run this cell").count() >= 1


def test_a_part_of_the_diagram_opens_its_lesson(learner):
    page = learner("00_start_here.ipynb")
    page.locator(".md [data-part=cross_attention] a").click()
    page.wait_for_function(
        "(name) => window.jupyterapp.shell.currentWidget?.context?.path.endsWith(name)", arg=LINKED
    )
    wait_until_open(page, kernel=False)


def test_a_lesson_that_is_only_opened_has_nothing_to_save(learner):
    page = learner("04_attention_matmul.ipynb")
    wait_until_open(page, kernel=True)
    page.evaluate(  # until the kernel has answered
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.info"
    )
    page.wait_for_timeout(2000)
    assert page.evaluate("window.jupyterapp.shell.currentWidget.context.model.dirty") is False


def test_a_phone_shows_the_lesson_alone_and_leaves_the_layout_of_a_larger_window(
    lab, learner, open_page
):
    page = learner("07_blocks.ipynb")
    page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    page.wait_for_timeout(3000)  # until JupyterLab has kept the layout
    address = page.url.replace("/lab/workspaces/course/tree/", "/course/")
    for width, folded in ((390, True), (1300, False)):
        page.close()
        lab.end_sessions()
        page = open_page(address, network=True, width=width)
        page.wait_for_url("**/tree/**")
        wait_until_open(page, kernel=False)
        assert page.evaluate(FOLDED) is folded
        lesson = page.evaluate("window.jupyterapp.shell.currentWidget.node.offsetWidth")
        assert lesson > 0.7 * width
