"""Which notebooks `course lab` and `course update` sign for JupyterLab."""

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from course_lib.work_copy import trust as module
from course_lib.work_copy.trust import RELEASED, sha256, trust, unmodified_notebooks
from tools.notebooks.released import checksums, notebooks

LESSON, EXERCISE = "notebooks/00_start_here.ipynb", "exercises/06_masks/masks.ipynb"


def write_notebook(path, text="shown"):
    output = nbformat.v4.new_output("display_data", {"text/html": f"<script>{text}</script>"})
    cell = nbformat.v4.new_code_cell("1", outputs=[output])
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    return path


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course that has released a lesson and an exercise."""
    folder = tmp_path / "a course"
    for name in (LESSON, EXERCISE):
        write_notebook(folder / name)
    lines = [f"{sha256(folder / name)}  {name}\n" for name in (LESSON, EXERCISE)]
    (tmp_path / "released").write_text("".join(lines))
    monkeypatch.setattr(module, "RELEASED", tmp_path / "released")
    return folder


@pytest.fixture
def notary(tmp_path, monkeypatch):
    """What JupyterLab asks whether a notebook is trusted."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))

    def is_trusted(path):
        return NotebookNotary().check_signature(nbformat.read(path, as_version=4))

    return is_trusted


def test_the_list_in_the_package_has_each_lesson_and_exercise_as_it_is():
    stale = "the list is stale: python -m tools.notebooks.released"
    assert RELEASED.read_text("utf-8") == checksums(), stale
    assert {path.parts[-2] for path in notebooks()} > {"notebooks", "06_masks"}


def test_what_the_course_released_is_unmodified_also_with_the_line_ends_of_windows(course):
    (course / LESSON).write_bytes((course / LESSON).read_bytes().replace(b"\n", b"\r\n"))
    assert unmodified_notebooks(course) == [course / LESSON, course / EXERCISE]


def test_a_notebook_that_the_course_did_not_release_is_not(course):
    write_notebook(course / EXERCISE, "alert(1)")
    write_notebook(course / "notebooks" / "99_classmate.ipynb", "alert(2)")
    assert unmodified_notebooks(course) == [course / LESSON]


def test_a_missing_notebook_or_list_vouches_for_nothing(course, monkeypatch):
    (course / LESSON).unlink()
    assert unmodified_notebooks(course) == [course / EXERCISE]
    monkeypatch.setattr(module, "RELEASED", course / "none")
    assert unmodified_notebooks(course) == []


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
