"""Runs that are handed in beside a notebook: whose they are, and when a result is made again."""

import shutil
from dataclasses import replace

import pytest
from safetensors.torch import load_file, save_file

from course_lib.grading.class_run.grade import NO_RUN, grade_submission
from course_lib.grading.options import SimilarOptions
from course_lib.grading.reports.similar_command import find_similar
from course_lib.grading.submissions.exercise import load_exercise
from course_lib.grading.submissions.own_numbers import PUBLIC_RUN, flags_of_public_run
from course_lib.run_options import HANDED_IN
from course_lib.training.runs.handed_in_run import WEIGHTS
from tests.grading.notebooks_to_hand_in import ROOT, SECRET
from tests.item_points import points_of

SOLUTION = ROOT / "solutions" / "11_training"


@pytest.fixture(scope="module")
def exercise():
    """Lesson 11's, with the task of one's own run alone."""
    whole = load_exercise(ROOT / "exercises", "11_training")
    return replace(whole, tasks=tuple(t for t in whole.tasks if t.entry.kind == "run"))


@pytest.fixture
def ana(tmp_path):
    """The folder of a student who handed in the solution with its run."""
    return shutil.copytree(SOLUTION, tmp_path / "ana")


def graded(path, exercise, jail, **about):
    return grade_submission(path, exercise, jail=jail, secret=SECRET, **about)


@pytest.mark.slow
def test_a_run_beside_the_notebook_or_in_the_students_folder_counts(ana, exercise, jail):
    result = graded(ana, exercise, jail)
    assert result.points == points_of("11.own_run") and result.items[0].flags == (PUBLIC_RUN,)
    (ana / "deeper").mkdir()
    shutil.move(ana / "training.ipynb", ana / "deeper")
    assert graded(ana, exercise, jail).points == points_of("11.own_run")


def test_without_a_run_there_is_a_flag_and_no_point(ana, exercise, jail):
    shutil.rmtree(ana / HANDED_IN)
    [item] = graded(ana, exercise, jail).items
    assert (item.status, item.points) == ("not yet", 0) and NO_RUN in item.flags
    assert "hand_in_run" in item.tests[0].difference


def test_where_nothing_was_answered_no_run_is_asked_for(ana, exercise, jail):
    shutil.rmtree(ana / HANDED_IN)
    shutil.copy(exercise.file, ana / "training.ipynb")
    notebook = (ana / "training.ipynb").read_text("utf-8")
    changed = notebook.replace('"own = hand_in_run()"', '"own = hand_in_run()  # later"')
    assert changed != notebook
    (ana / "training.ipynb").write_text(changed, encoding="utf-8")
    [item] = graded(ana, exercise, jail).items
    assert (item.status, item.flags) == ("not started", ())


def test_the_public_run_is_flagged_and_no_other(ana, exercise):
    assert flags_of_public_run(ana, exercise.file) == [PUBLIC_RUN]
    weights = load_file(ana / HANDED_IN / WEIGHTS)
    save_file({name: weight * 2 for name, weight in weights.items()}, ana / HANDED_IN / WEIGHTS)
    assert flags_of_public_run(ana, exercise.file) == []
    shutil.rmtree(ana / HANDED_IN)
    assert flags_of_public_run(ana, exercise.file) == []


def test_a_notebook_alone_gets_no_run_that_lies_beside_it(ana, exercise, jail):
    assert graded(ana / "training.ipynb", exercise, jail).points == 0


def test_a_link_to_another_students_run_is_not_followed(ana, exercise, jail, tmp_path):
    ben = shutil.copytree(ana, tmp_path / "ben")
    shutil.rmtree(ben / HANDED_IN)
    (ben / HANDED_IN).symlink_to(ana / HANDED_IN)
    assert graded(ben, exercise, jail).points == 0


def test_the_notebooks_code_does_not_reach_the_files_of_the_run(ana, exercise, jail):
    path = ana / "training.ipynb"
    numbers = "return {"
    reading = f"open('{ana / HANDED_IN / WEIGHTS}').read()\\n    return {{"
    path.write_text(path.read_text("utf-8").replace(numbers, reading), encoding="utf-8")
    [item] = graded(ana, exercise, jail).items
    assert item.status == "not yet" and "FileNotFoundError" in item.tests[0].difference


@pytest.mark.slow
def test_a_result_is_made_again_when_the_run_changes(ana, exercise, jail):
    first = graded(ana, exercise, jail)
    assert graded(ana, exercise, jail, known=first) is first
    weights = load_file(ana / HANDED_IN / WEIGHTS)
    save_file({name: weight * 0 for name, weight in weights.items()}, ana / HANDED_IN / WEIGHTS)
    again = graded(ana, exercise, jail, known=first)
    assert (first.points, again.points) == (points_of("11.own_run"), 0)


def test_two_students_with_the_same_weights_are_named(ana, tmp_path):
    for name in ("ben", "cem"):
        other = shutil.copytree(ana, tmp_path / name)
        notebook = (other / "training.ipynb").read_text("utf-8")
        text = notebook.replace("real = labels", f"{name} = real = labels")
        (other / "training.ipynb").write_text(text, encoding="utf-8")
    (tmp_path / "cem" / HANDED_IN / WEIGHTS).unlink()
    options = SimilarOptions(
        assignment="11_training",
        incoming=tmp_path,
        exercises=ROOT / "exercises",
        results=tmp_path / "results",
    )
    assert find_similar(options)[0].identical == (("ana", "ben"),)
