"""Every kind of widget wherever a notebook is read: no control that does not answer."""

import re

import nbformat
import pytest
from nbclient import NotebookClient

from course_lib.pages import page_of
from course_lib.widget_output import WIDGET_VIEW
from course_lib.work_copy.folders import NOTEBOOKS
from tests.browser.controls import UNANSWERED, dead_controls, operate_first
from tests.browser.lab import run, without_kernel
from tests.browser.test_lesson_widgets import HEAD, QUIZ, SHAPE, WIDGETS
from tests.notebooks.test_without_scripts import as_github_shows
from tools.notebooks.build_notebooks import execute
from tools.notebooks.notebook_normal_form import normal_form

MORE = """
from course_lib.checks import check
from course_lib.training import load_translator
from course_lib.viz import interact, plot_curves
translator = load_translator()
def line(depth=3, norm="post", bold=False, text=""):
    ax = plot_curves({norm: [0.0, depth]}, x_label="x", y_label="y", title=f"{bold} {text}")
    return ax, f"A line up to {depth} with {norm}-norm, bold {bold}, {text}."
def attend(text):
    found, attention = translator.attend(text)
    return attention, [*found.target, "<eos>"], found.source
"""
LESSON_WIDGETS = {
    call.removeprefix("viz.").partition("(")[0]: (call, move) for call, move in WIDGETS.values()
}
# kind → (the call, what is typed into its boxes of text)
KINDS = {
    "attention explorer": (
        "viz.explore_attention(torch.eye(3).repeat(2, 4, 1, 1), list('abc'))",
        "",
    ),
    "explorer of a model": ("viz.explore_model(*attend('Der Hund schläft.'))", ""),
    "model diagram": ("viz.model_diagram(translator, 'Der Hund schläft.')", ""),
    "interact: slider": ("interact(line, depth=(1, 9))", ""),
    "interact: dropdown": ("interact(line, norm=['pre', 'post'])", ""),
    "interact: tick": ("interact(line, bold=True)", ""),
    "interact: typed text": ("interact(line, text='a')", "hund ."),
    **LESSON_WIDGETS,
    "quiz": (QUIZ, ""),
    "predict_shape": (SHAPE, "2 5 9"),
    "heatmap and other plots": (
        "viz.show_figure(viz.plot_attention(torch.eye(2), list('ab'), list('ab')), 'Eye of 2.')",
        "",
    ),
    "Figure 2 of the paper": ("viz.attention_diagram()", ""),
    "training curves": ("live = viz.live_curves(); live.epoch({'step': 3, 'valid_loss': 1.0})", ""),
    "check of an exercise": ("check('06.padding_mask', lambda tokens, pad_id: tokens)", ""),
}
NEVER = ["heatmap and other plots", "Figure 2 of the paper", "training curves"]
NEVER.append("check of an exercise")
BY_SCRIPT = ["attention explorer", "explorer of a model", "model diagram"]
BY_SCRIPT += ["quiz", "predict_shape"]
COLAB = """import sys, types
for name in ("google", "google.colab", "google.colab.output"):
    sys.modules[name] = types.ModuleType(name)
output = sys.modules["google.colab.output"]
output.enable_custom_widget_manager = lambda: None
output._widgets = types.SimpleNamespace(_installed_url="https://example.org/manager.js")
"""
CELL = ".jp-Notebook .jp-Cell >> nth={}"
STILL = re.compile(r"still|[Rr]un (the|this) cell|<summary>Answer")


def lesson_cells():
    """The cell of a lesson that stores each of `LESSON_WIDGETS`."""
    lessons = [nbformat.read(path, as_version=4) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
    cells = [cell for lesson in lessons for cell in lesson.cells if cell.get("outputs")]
    found = {
        kind: next(cell for cell in cells if f"{kind}(" in cell.source) for kind in LESSON_WIDGETS
    }
    return {  # with an id of its own
        kind: nbformat.v4.new_code_cell(cell.source, outputs=cell.outputs)
        for kind, cell in found.items()
    }


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A notebook with a cell for each kind: a lesson's, or run and stored as lessons are."""
    path = tmp_path_factory.mktemp("kinds") / "kinds.ipynb"
    found = lesson_cells()
    others = {kind: call for kind, (call, _) in KINDS.items() if kind not in found}
    calls = [HEAD + MORE, *others.values()]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in calls])
    ran = normal_form(
        execute(notebook, path), path="notebooks/00.ipynb", home="https://github.com/a/b"
    )
    found.update(zip(others, ran.cells[1:], strict=True))
    ran.cells[1:] = [found[kind] for kind in KINDS]
    nbformat.write(ran, path)
    return path


@pytest.fixture
def look():
    """Operate the figure of each kind, and say what each turned out to be."""

    def look_(page, root_of):
        noted, dead = {}, {}
        for number, (kind, (_, typed)) in enumerate(KINDS.items(), 1):
            root = root_of(number)
            root.wait_for(state="attached")
            unanswered, count = dead_controls(page, root, typed=typed)
            if unanswered:
                dead[kind] = unanswered
            else:
                noted[kind] = _state(root, count, kind)
        assert dead == {}
        return noted

    return look_


def _state(root, count, kind):
    if root.locator("[data-frames]").count() and count:
        return "stored pictures"
    if count:
        return "live"
    if kind in NEVER:
        return "picture" if root.locator("img, svg.dw").count() else "text"
    assert STILL.search(root.inner_html()), kind
    return "answer folded" if root.locator("details").count() else "still picture, says so"


def in_lab(page):
    return lambda number: page.locator(CELL.format(number)).locator(".jp-OutputArea")


def open_stored(lab, open_lab, stored, name, *, trusted):
    cells = nbformat.read(stored, as_version=4).cells
    lab.write(name, [(cell.source, cell.outputs) for cell in cells], trusted=trusted)
    page = open_lab(name)
    page.set_viewport_size({"width": 1300, "height": 12000})
    return page


def test_jupyterlab_untrusted(lab, open_lab, stored, look):
    page = open_stored(lab, open_lab, stored, "untrusted.ipynb", trusted=False)
    noted = look(page, in_lab(page))
    assert {noted[kind] for kind in KINDS} & {"live", "stored pictures"} == set()


def test_jupyterlab_trusted_without_a_kernel(lab, open_lab, stored, look):
    page = open_stored(lab, open_lab, stored, "trusted.ipynb", trusted=True)
    assert without_kernel(page)
    page.wait_for_selector(".ae[data-state]")
    page.wait_for_selector(".md[data-step]")
    noted = look(page, in_lab(page))
    assert noted["interact: slider"] == "stored pictures"
    assert noted["model diagram"] == noted["attention explorer"] == "live"


def test_jupyterlab_after_a_run_when_the_kernel_is_gone(lab, open_lab):
    calls = [HEAD + MORE, *(call for call, _ in KINDS.values())]
    lab.write("stopped.ipynb", [(call, []) for call in calls])
    page = open_lab("stopped.ipynb", kernel=True)
    page.set_viewport_size({"width": 1300, "height": 12000})
    run(page)
    root_of = in_lab(page)
    root_of(len(KINDS)).locator("> *").first.wait_for(state="attached")
    assert without_kernel(page)
    figures = [(root_of(n), kind, typed) for n, (kind, (_, typed)) in enumerate(KINDS.items(), 1)]
    for root, _, typed in figures:  # all wait for an answer at the same time
        operate_first(page, root, typed=typed)
    for root, kind, typed in figures:
        dead, count = dead_controls(page, root, patience=6, typed=typed, told=True)
        assert dead == [], kind
        assert (count > 0) == (kind not in NEVER), kind
        moves = kind in BY_SCRIPT
        assert (UNANSWERED in root.inner_text()) == (count > 0 and not moves), kind


def test_exported_page(open_page, stored, tmp_path, look):
    (tmp_path / "kinds.html").write_text(page_of(stored), "utf-8")
    page = open_page((tmp_path / "kinds.html").as_uri(), width=1280)
    page.wait_for_selector(".ae[data-state]")
    page.wait_for_selector(".md[data-step]")
    cells = page.locator(".jp-CodeCell")
    noted = look(page, lambda n: cells.nth(n).locator(".jp-OutputArea"))
    assert noted["interact: slider"] == "stored pictures"


@pytest.mark.parametrize("where", ["GitHub's sanitiser", "Colab (imitated), opened, not run"])
def test_the_markup_alone(open_page, stored, tmp_path, look, where):
    cells = nbformat.read(stored, as_version=4).cells
    bodies = [
        "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
        for cell in cells
    ]
    if where.startswith("GitHub"):
        bodies = [as_github_shows(body) for body in bodies]
    divs = "".join(f"<div class=one>{body}</div>" for body in bodies)
    (tmp_path / "all.html").write_text(f"<!doctype html><meta charset=utf-8>{divs}", "utf-8")
    page = open_page((tmp_path / "all.html").as_uri())
    page.wait_for_timeout(1500)
    noted = look(page, page.locator(".one").nth)
    assert ("live" in noted.values()) == where.startswith("Colab")


def test_colab_after_a_run(open_page, tmp_path, look):
    """What Colab is given (imitated): a live figure, or a widget and the address of its scripts."""
    calls = [COLAB + HEAD + MORE, *(call for call, _ in KINDS.values())]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in calls])
    ran = NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": tmp_path}}
    ).execute()
    bodies = []
    for kind, cell in zip(["set-up", *KINDS], ran.cells, strict=True):
        shown = [output for output in cell.outputs if "data" in output]
        bodies.append("".join(output.data.get("text/html", "") for output in shown))
        managed = [
            output.metadata.get(WIDGET_VIEW) for output in shown if WIDGET_VIEW in output.data
        ]
        assert len(managed) == (kind not in [*NEVER, *BY_SCRIPT, "set-up"]), kind
        assert all(view["colab"]["custom_widget_manager"]["url"] for view in managed), kind
    divs = "".join(f"<div class=one>{body}</div>" for body in bodies)
    (tmp_path / "all.html").write_text(f"<!doctype html><meta charset=utf-8>{divs}", "utf-8")
    page = open_page((tmp_path / "all.html").as_uri())
    page.wait_for_timeout(1500)
    noted = look(page, page.locator(".one").nth)
    assert [kind for kind in KINDS if noted[kind] == "live"] == BY_SCRIPT
