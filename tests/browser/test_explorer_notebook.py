"""The explorer in a live notebook, and in a stored one wherever it may be opened."""

import json
import sys
import types

import nbformat
import torch
from nbconvert import HTMLExporter

from course_lib.viz.explorer.explorer import explore_attention
from course_lib.widget_output import WIDGET_VIEW
from tests.browser.lab import output_text, run, without_kernel

READY = ".ae[data-state]"
SOURCE = """import torch
from course_lib.viz.explorer.explorer import explore_attention
weights = torch.eye(3).repeat(2, 4, 1, 1)
shown = explore_attention(weights, ["a", "b", "c"])
shown"""


def explorer():
    weights = torch.eye(3).repeat(2, 4, 1, 1)
    weights[1, 2, 0] = torch.tensor([0.0, 0.0, 1.0])
    return explore_attention(weights, ["a", "b", "c"], title="Stored")


def stored_output():
    """What a lesson stores: everything but the view of a widget that is gone."""
    data = explorer()._repr_mimebundle_()
    data.pop(WIDGET_VIEW)
    return nbformat.v4.new_output("execute_result", data, execution_count=1)


def state(page):
    return json.loads(page.get_attribute(READY, "data-state"))


def drive(page):
    """Walk to another head with real keys, lock a row with the pointer; what is shown then."""
    page.wait_for_selector(READY)
    page.focus(".ae-layer")
    page.keyboard.press("ArrowRight")
    page.focus(".ae-head")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    at = json.loads(page.get_attribute(READY, "data-geometry"))
    page.locator(".ae-stage").click(
        position={"x": at["left"] + 2.5 * at["w"], "y": at["top"] + 0.5 * at["h"]}
    )
    assert "“a” attends to “c”: 1.0000" in page.inner_text(".ae-panel")
    now = state(page)
    assert (now["layer"], now["head"], now["query"]) == (1, 2, 0)


def test_a_trusted_notebook_without_a_kernel_is_interactive(lab, open_lab):
    lab.write("trusted.ipynb", [("shown", [stored_output()])], trusted=True)
    page = open_lab("trusted.ipynb")
    assert without_kernel(page)
    drive(page)
    assert page.locator(".jp-OutputArea-output img").count() == 0


def test_an_untrusted_notebook_shows_the_picture(lab, open_lab):
    lab.write("untrusted.ipynb", [("shown", [stored_output()])])
    page = open_lab("untrusted.ipynb")
    image = page.locator(".jp-OutputArea-output img")
    image.wait_for()
    assert image.evaluate("(img) => img.complete && img.naturalWidth") > 200
    assert image.get_attribute("alt").startswith("Stored, layer 0, head 0. Heatmap of 3 queries")
    assert page.locator(".ae").count() == 0


def test_a_page_made_by_nbconvert_is_interactive_without_a_network(open_page, tmp_path):
    cell = nbformat.v4.new_code_cell("shown", outputs=[stored_output()], execution_count=1)
    text, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    path = tmp_path / "lesson.html"
    path.write_text(text, "utf-8")
    page = open_page(path.as_uri(), wait="commit")
    drive(page)
    assert page.get_attribute(".ae", "data-theme") == "light"


def test_under_colab_the_markup_alone_is_interactive(open_page, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    data = explorer()._repr_mimebundle_()
    assert WIDGET_VIEW not in data
    path = tmp_path / "output.html"  # Colab shows each output in a frame of its own
    path.write_text(f"<!doctype html><meta charset=utf-8>{data['text/html']}", "utf-8")
    drive(open_page(path.as_uri()))


def test_two_outputs_of_one_explorer_are_two_explorers(open_page, tmp_path):
    path = tmp_path / "twice.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{explorer().to_html() * 2}", "utf-8")
    page = open_page(path.as_uri())
    page.wait_for_function("document.querySelectorAll('.ae[data-state]').length === 2")
    page.locator(".ae-layer").nth(1).press("ArrowRight")
    states = page.eval_on_selector_all(READY, "(all) => all.map((el) => el.dataset.state)")
    assert [json.loads(text)["layer"] for text in states] == [0, 1]
    assert page.locator(".ae-segments input[value=heatmap]:checked").count() == 2
    page.locator("input[value=lines]").first.press("Space")
    assert page.locator("input[value=heatmap]:checked").count() == 1


def test_a_live_explorer_and_python_know_the_same_state(lab, open_lab):
    cells = [
        (SOURCE, []),
        ("print(shown.state['layer'], shown.state['head'])", []),
        ("_ = shown.select(head=3, query=1)", []),
    ]
    lab.write("live.ipynb", cells)
    page = open_lab("live.ipynb", kernel=True)
    run(page, [0])
    page.wait_for_selector(READY)
    page.focus(".ae-layer")
    page.keyboard.press("ArrowRight")
    page.focus(".ae-head")
    page.keyboard.press("ArrowRight")
    assert (state(page)["layer"], state(page)["head"]) == (1, 1)
    for _ in range(20):  # a widget sends a change only when the one before it has been received
        run(page, [1])
        if output_text(page, 1) != "1 0\n":
            break
    assert output_text(page, 1) == "1 1\n"
    run(page, [2])
    page.wait_for_selector(".ae[data-state*='\"head\":3,']")
    assert (state(page)["layer"], state(page)["query"]) == (1, 1)
    with page.expect_download() as download:
        page.click("text=Save HTML")
    assert download.value.suggested_filename == "attention.html"
    assert page.locator("text=Error displaying widget").count() == 0


def test_a_notebook_that_was_run_and_saved_is_interactive_when_it_is_opened_again(lab, open_lab):
    quiz = 'from course_lib.viz import quiz\nquiz("Which?", ["a", "b"], "b", "Because.")'
    lab.write("again.ipynb", [(SOURCE, []), (quiz, [])])
    page = open_lab("again.ipynb", kernel=True)
    run(page)
    page.wait_for_selector(READY)
    page.get_by_role("button", name="b b").wait_for()
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    page = open_lab("again.ipynb")
    page.wait_for_selector(READY)
    page.focus(".ae-layer")
    page.keyboard.press("ArrowRight")
    assert state(page)["layer"] == 1
    page.get_by_role("button", name="b b").click()
    page.wait_for_selector("text=b) is right")
    assert page.locator("text=Error displaying widget").count() == 0
