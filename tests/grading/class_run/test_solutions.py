"""Each solution earns all its marks in the jail, and each untouched exercise none."""

import json
import shutil

import pytest

from course_lib.grading.class_run.grade import grade_submission
from course_lib.grading.submissions.exercise import load_exercise
from tests.grading.notebooks_to_hand_in import ROOT, SECRET
from tests.item_points import all_points, checked_points

ASSIGNMENTS = sorted(path.name for path in (ROOT / "solutions").iterdir() if path.is_dir())


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_the_points_of_the_tasks_are_those_of_the_cells_and_of_the_table(assignment):
    exercise = load_exercise(ROOT / "exercises", assignment)
    [path] = (ROOT / "exercises" / assignment).glob("*.ipynb")
    cells = json.loads(path.read_text("utf-8"))["cells"]
    graded = [cell["metadata"]["nbgrader"] for cell in cells]
    in_cells = sum(each["points"] for each in graded if each["grade"])
    in_tasks = sum(task.entry.points for task in exercise.tasks)
    assert in_tasks == in_cells == all_points(assignment[:2])


@pytest.mark.slow
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_a_solution_earns_all_its_marks(assignment, jail):
    exercise = load_exercise(ROOT / "exercises", assignment)
    result = grade_submission(ROOT / "solutions" / assignment, exercise, jail=jail, secret=SECRET)
    wrong = [item for item in result.items if item.status not in ("passed", "to be marked")]
    assert wrong == []
    assert result.points == result.most == checked_points(assignment[:2])
    assert result.notes == ()
    assert result.isolation == jail.isolation


@pytest.mark.slow
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_an_untouched_exercise_earns_nothing_and_is_not_started(assignment, jail, tmp_path):
    exercise = load_exercise(ROOT / "exercises", assignment)
    [path] = (ROOT / "exercises" / assignment).glob("*.ipynb")
    notebook = json.loads(path.read_text("utf-8"))
    shutil.copy(path, tmp_path)
    untouched = grade_submission(tmp_path, exercise, jail=jail, secret=SECRET)
    assert untouched.points == 0
    comment = {"cell_type": "code", "id": "own", "metadata": {}, "source": "# later"}
    notebook["cells"].append(comment)  # so that it really runs
    (tmp_path / path.name).write_text(json.dumps(notebook), encoding="utf-8")
    run = grade_submission(tmp_path, exercise, jail=jail, secret=SECRET)
    assert run.points == 0
    assert {item.status for item in run.items} == {"not started", "no answer"}
    assert run.notes == ()
