"""An answer in words: kept, and then shown beside a model answer."""

import json

import pytest

from course_lib.checks import TABLE, Progress, compare_answer
from course_lib.checks.written_answer import STUB
from course_lib.errors import CourseError
from tools import ROOT

ITEM = "04.why_the_root"
CELL = "04-why-the-root-written"
ANSWER = "A score is a sum of d_head products, so its standard deviation is the root of d_head."
WRITTEN = [entry.id for entry in TABLE.values() if entry.kind == "written"]


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.chdir(tmp_path)


def save(folder, text, *, name="mine.ipynb", cell=CELL):
    cells = [{"id": "other", "source": "no"}, {"id": cell, "source": text.splitlines(True)}]
    (folder / name).write_text(json.dumps({"cells": cells}), encoding="utf-8")


def attempts(folder):
    return sorted(path.name for path in (folder / "answers").glob("*")) if folder else []


@pytest.mark.parametrize(
    "text",
    [
        "",
        STUB,
        f"### BEGIN SOLUTION\n{ANSWER}\n### END SOLUTION",
        f"{STUB}\n",
        "  \n",
    ],
)
def test_before_there_is_an_answer_no_model_answer_is_shown(tmp_path, text):
    save(tmp_path, text)
    shown = str(compare_answer(ITEM))
    assert "not started" in shown and "Rubric" not in shown
    assert not (tmp_path / "answers").exists()


def test_of_a_short_answer_its_words_are_counted(tmp_path):
    save(tmp_path, f"{STUB}\n\nBecause of the variance.")
    shown = str(compare_answer(ITEM))
    assert "Your answer has 4 words. A model answer is shown from 12 words on." in shown
    assert "Rubric" not in shown


def test_an_answer_is_kept_and_shown_beside_the_model(tmp_path):
    save(tmp_path, ANSWER)
    shown = str(compare_answer(ITEM))
    for part in (ANSWER, "A model answer", "variances add up", "Rubric", "Worth half"):
        assert part in shown
    assert (tmp_path / "answers" / f"{ITEM}-1.md").read_text() == f"{ANSWER}\n"


def test_each_attempt_is_kept_and_the_same_one_only_once(tmp_path):
    for text in (ANSWER, ANSWER, f"{ANSWER} And more."):
        save(tmp_path, text)
        compare_answer(ITEM)
    assert attempts(tmp_path) == [f"{ITEM}-1.md", f"{ITEM}-2.md"]
    assert (tmp_path / "answers" / f"{ITEM}-1.md").read_text() == f"{ANSWER}\n"


def test_the_newest_notebook_of_the_folder_counts_and_what_is_no_notebook_is_passed_over(tmp_path):
    save(tmp_path, "An old answer of more than twelve words " * 3, name="old.ipynb")
    (tmp_path / "broken.ipynb").write_text("{", encoding="utf-8")
    (tmp_path / "list.ipynb").write_text("[]", encoding="utf-8")
    save(tmp_path, ANSWER, name="new.ipynb")
    import os

    os.utime(tmp_path / "old.ipynb", (1, 1))
    assert ANSWER in str(compare_answer(ITEM))


def test_without_the_notebook_an_answer_can_be_passed(tmp_path):
    shown = str(compare_answer(ITEM))
    assert "not started" in shown and "as on Colab, pass your answer" in shown
    assert "Rubric" in str(compare_answer(ITEM, ANSWER))


def test_one_s_own_mark_is_counted_as_such(tmp_path):
    compare_answer(ITEM, ANSWER)
    assert "1.5 of 2" not in str(Progress())
    assert "By your own mark: 1.5 of 2 points" in str(compare_answer(ITEM, ANSWER, points=1.5))
    assert "1.5 of 2, by your own mark, in words" in str(Progress())
    assert "by your own mark" in Progress().to_html()
    compare_answer(ITEM, ANSWER, points=1)
    assert "1 of 2, by your own mark, in words" in str(Progress())


def test_a_mark_stays_when_a_check_passes(tmp_path):
    from course_lib.checks.progress import load_own_marks, load_passed, note_checked, note_reset

    compare_answer(ITEM, ANSWER, points=2)
    note_checked("04.split_heads", passed=True)
    note_reset(["04.merge_heads"])
    assert load_own_marks() == {ITEM: 2.0}
    assert load_passed() == {"04.split_heads"}


@pytest.mark.parametrize("points", [-1, 2.5, 0.3, True, "2", float("nan")])
def test_other_points_are_refused(points):
    with pytest.raises(CourseError, match="points in halves from 0 to 2"):
        compare_answer(ITEM, ANSWER, points=points)


@pytest.mark.parametrize("marks", [None, [], {"04.why_the_root": "2"}, {"04.why_the_root": 99}])
def test_damaged_marks_count_as_none(tmp_path, marks):
    stored = {"version": 1, "passed": [], "tried": [], "own_marks": marks}
    (tmp_path / "progress.json").write_text(json.dumps(stored), encoding="utf-8")
    assert "own mark" not in str(Progress())


@pytest.mark.parametrize(("item", "why"), [("04.bug", "check"), ("04.why", "misspelt")])
def test_other_items_have_no_model_answer(item, why):
    with pytest.raises(CourseError, match=why):
        compare_answer(item, ANSWER)


def test_an_answer_has_a_limit_and_a_folder_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    with pytest.raises(CourseError, match="at most 20,000 characters"):
        compare_answer(ITEM, "word " * 5_000)
    (tmp_path / "answers").write_text("a file", encoding="utf-8")
    with pytest.raises(CourseError, match="COURSE_PROGRESS"):
        compare_answer(ITEM, ANSWER)


def test_nothing_is_read_or_kept_while_somebody_else_s_notebook_is_graded(tmp_path, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    save(tmp_path, ANSWER)
    assert "Rubric" not in str(compare_answer(ITEM, points=2))
    assert not (tmp_path / "answers").exists() and not (tmp_path / "progress.json").exists()


@pytest.mark.parametrize("item", WRITTEN)
def test_each_has_a_model_answer_a_rubric_and_one_worth_half(item):
    shown = compare_answer(item, ANSWER)
    assert [*shown.sections][1:] == ["A model answer", "Rubric", "Worth half"]
    assert all(len(text) > 60 for text in shown.sections.values())
    assert "###" not in str(shown)


@pytest.mark.parametrize("item", WRITTEN)
def test_each_exercise_has_the_cell(item):
    [path] = ROOT.glob(f"exercises/{item[:2]}_*/*.ipynb")
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]}
    base = item.replace(".", "-").replace("_", "-")
    assert f'compare_answer("{item}")' in cells[f"{base}-compare"]
    assert cells[f"{base}-written"] == STUB
