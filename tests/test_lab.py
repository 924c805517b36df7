"""Which notebooks `course lab` trusts, and how JupyterLab looks when it opens."""

import json
import shutil
import subprocess

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from course_lib import lab
from course_lib.widget_output import WIDGET_VIEW

LESSON, EXERCISE = "notebooks/00_start_here.ipynb", "exercises/06_masks/masks.ipynb"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def write_notebook(path, text="shown"):
    output = nbformat.v4.new_output("display_data", {"text/html": f"<script>{text}</script>"})
    cell = nbformat.v4.new_code_cell("1", outputs=[output])
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    return path


def git(folder, *arguments):
    name = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *name, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """A clone of a course with a lesson, an exercise, and a notebook that is neither."""
    folder = tmp_path / "a course"
    for name in (LESSON, EXERCISE, "other/mine.ipynb", "notebooks/ä b.ipynb"):
        write_notebook(folder / name)
    git(tmp_path, "init", "-q", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "the course")
    return folder


@pytest.fixture
def notary(tmp_path, monkeypatch):
    """What JupyterLab asks whether a notebook is trusted."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))

    def is_trusted(path):
        return NotebookNotary().check_signature(nbformat.read(path, as_version=4))

    return is_trusted


@needs_git
def test_lessons_and_exercises_are_unmodified_in_a_fresh_clone(repository):
    expected = {repository / name for name in (LESSON, EXERCISE, "notebooks/ä b.ipynb")}
    assert set(lab.unmodified_notebooks(repository)) == expected


@needs_git
@pytest.mark.parametrize("staged", [False, True])
def test_a_notebook_that_somebody_changed_is_not_among_them(repository, staged):
    write_notebook(repository / EXERCISE, "alert(1)")
    write_notebook(repository / "notebooks" / "99_new.ipynb", "alert(2)")
    if staged:
        git(repository, "add", ".")
    found = lab.unmodified_notebooks(repository)
    assert repository / EXERCISE not in found
    assert repository / "notebooks" / "99_new.ipynb" not in found
    assert repository / LESSON in found


@needs_git
def test_a_deleted_notebook_is_not_among_them(repository):
    (repository / LESSON).unlink()
    assert repository / LESSON not in lab.unmodified_notebooks(repository)


def test_without_git_nothing_is_known_to_be_unmodified(repository_without_git, monkeypatch):
    assert lab.unmodified_notebooks(repository_without_git) == []
    (repository_without_git / ".git").mkdir()
    assert lab.unmodified_notebooks(repository_without_git) == []  # git finds no commit in it
    monkeypatch.setenv("PATH", "")
    assert lab.unmodified_notebooks(repository_without_git) == []


@pytest.fixture
def repository_without_git(tmp_path):
    folder = tmp_path / "unpacked"
    write_notebook(folder / LESSON)
    return folder


def test_trust_signs_what_it_is_given_and_nothing_else(tmp_path, notary):
    ours, theirs = (write_notebook(tmp_path / f"{name}.ipynb", name) for name in ("ours", "theirs"))
    assert not notary(ours)
    lab.trust([ours])
    lab.trust([ours])
    assert notary(ours)
    assert not notary(theirs)
    write_notebook(ours, "changed afterwards")
    assert not notary(ours)


def test_the_first_layout_is_folded_and_a_learners_own_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", str(tmp_path))
    lab.fold_file_browser()
    [path] = tmp_path.iterdir()
    content = json.loads(path.read_text("utf-8"))
    assert content["data"]["layout-restorer:data"]["left"]["collapsed"] is True
    content["data"]["layout-restorer:data"]["left"]["collapsed"] = False
    path.write_text(json.dumps(content), "utf-8")
    lab.fold_file_browser()
    assert json.loads(path.read_text("utf-8")) == content


def test_a_widget_is_saved_as_the_html_beside_it():
    view = {"model_id": "1"}
    both = {"text/html": "<p>still</p>", WIDGET_VIEW: view}
    alone = {"text/plain": "IntSlider()", WIDGET_VIEW: view}
    outputs = [
        nbformat.v4.new_output("execute_result", data, metadata={WIDGET_VIEW: {}})
        for data in (both, alone)
    ]
    outputs.append(nbformat.v4.new_output("stream", text="printed"))
    cells = [nbformat.v4.new_code_cell("1", outputs=outputs), nbformat.v4.new_markdown_cell("text")]
    content = nbformat.v4.new_notebook(cells=cells)
    lab.save_without_widgets(model={"type": "notebook", "content": content}, path="a.ipynb")
    saved = content.cells[0].outputs
    assert (saved[0].data, saved[0].metadata) == ({"text/html": "<p>still</p>"}, {})
    assert saved[1].data == alone
    nbformat.validate(content)
    for other in ({"type": "file", "content": "text"}, {"type": "notebook", "content": None}):
        lab.save_without_widgets(model=other)  # nothing to do
