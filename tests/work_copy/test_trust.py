"""Which notebooks `course lab` and `course update` sign for JupyterLab."""

import shutil
import subprocess

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from course_lib.work_copy.trust import trust, unmodified_notebooks

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
    assert set(unmodified_notebooks(repository)) == expected


@needs_git
@pytest.mark.parametrize("staged", [False, True])
def test_a_notebook_that_somebody_changed_is_not_among_them(repository, staged):
    write_notebook(repository / EXERCISE, "alert(1)")
    write_notebook(repository / "notebooks" / "99_new.ipynb", "alert(2)")
    if staged:
        git(repository, "add", ".")
    found = unmodified_notebooks(repository)
    assert repository / EXERCISE not in found
    assert repository / "notebooks" / "99_new.ipynb" not in found
    assert repository / LESSON in found


@needs_git
def test_a_deleted_notebook_is_not_among_them(repository):
    (repository / LESSON).unlink()
    assert repository / LESSON not in unmodified_notebooks(repository)


def test_without_git_nothing_is_known_to_be_unmodified(repository_without_git, monkeypatch):
    assert unmodified_notebooks(repository_without_git) == []
    (repository_without_git / ".git").mkdir()
    assert unmodified_notebooks(repository_without_git) == []  # git finds no commit in it
    monkeypatch.setenv("PATH", "")
    assert unmodified_notebooks(repository_without_git) == []


@pytest.fixture
def repository_without_git(tmp_path):
    folder = tmp_path / "unpacked"
    write_notebook(folder / LESSON)
    return folder


def test_trust_signs_what_it_is_given_and_nothing_else(tmp_path, notary):
    ours, theirs = (write_notebook(tmp_path / f"{name}.ipynb", name) for name in ("ours", "theirs"))
    assert not notary(ours)
    trust([ours])
    trust([ours])
    assert notary(ours)
    assert not notary(theirs)
    write_notebook(ours, "changed afterwards")
    assert not notary(ours)


def test_without_a_home_to_keep_signatures_in_nothing_is_signed_and_nothing_fails(
    tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "file" / "data"))
    trust([])
