"""What was handed in for an earlier version of an exercise, with an item that is gone since."""

import copy
import json
from dataclasses import replace

import pytest

from course_lib.checks import TABLE
from course_lib.checks.progress import REMOVED_IDS
from course_lib.grading.submissions.exercise import load_exercise
from course_lib.grading.submissions.submission import read_submission
from course_lib.grading.submissions.transplant import transplant
from tests.grading.notebooks_to_hand_in import ROOT, answered, points

ASSIGNMENT, FILE = "14_reading_attention", "reading_attention.ipynb"
GONE = "14-heads-for-figure"
STUB = "def heads_for_figure(attention, figure):\n    raise NotImplementedError\n"
ANSWERS = {
    "14-align-answer": """\
def align(weights):
    return {(s, t) for t, s in enumerate(weights[:-1].argmax(dim=-1).tolist())}
""",
    f"{GONE}-answer": STUB.replace("raise NotImplementedError", "return attention[0]"),
}


def cell_of_item(kind, role, source, *, grade=False):
    name = f"{GONE}-{role}"
    about = {"grade_id": name, "locked": role != "answer", "grade": grade}
    outputs = {"outputs": [], "execution_count": None} if kind == "code" else {}
    metadata = {"nbgrader": about | ({"points": 4} if grade else {})}
    return {"cell_type": kind, "id": name, "metadata": metadata, "source": source, **outputs}


@pytest.fixture
def versions(tmp_path):
    """The notebook of lesson 14 as it is, and as it was with the item; each also as a file."""
    released = json.loads((ROOT / "exercises" / ASSIGNMENT / FILE).read_text(encoding="utf-8"))
    released["cells"] = [c for c in released["cells"] if not c["id"].startswith(GONE)]
    former = copy.deepcopy(released)
    index = [cell["id"] for cell in former["cells"]].index("14-align-check") + 1
    former["cells"][index:index] = [
        cell_of_item("markdown", "task", "## The heads in three figures\n\nWrite it."),
        cell_of_item("code", "answer", STUB),
        cell_of_item("code", "check", 'check("14.heads_for_figure", heads_for_figure)', grade=True),
    ]
    for name, notebook in (("released", released), ("former", former)):
        (tmp_path / name / ASSIGNMENT).mkdir(parents=True)
        (tmp_path / name / ASSIGNMENT / FILE).write_text(json.dumps(notebook), encoding="utf-8")
    return {"released": released, "former": former}


@pytest.mark.parametrize("version", ["released", "former"])
def test_its_cells_belong_to_no_item_and_nothing_is_noted(version, versions, tmp_path):
    exercise = load_exercise(tmp_path / version, ASSIGNMENT)
    asked_for = [task.entry.id for task in exercise.tasks]
    assert asked_for == [item for item in TABLE if item.startswith("14.") and item in asked_for]
    assert asked_for and not REMOVED_IDS & {*asked_for}
    (tmp_path / "x.ipynb").write_text(json.dumps(answered(versions["former"], ANSWERS)))
    made = transplant(read_submission(tmp_path / "x.ipynb"), exercise)
    assert (made.answered, made.notes) == ({"14.align"}, ())


def test_a_notebook_without_what_came_later_is_called_an_earlier_version(versions, tmp_path):
    former = versions["former"]
    former["cells"] = [c for c in former["cells"] if not c["id"].startswith("14-bug")]
    (tmp_path / "x.ipynb").write_text(json.dumps(answered(former, ANSWERS)))
    exercise = load_exercise(tmp_path / "released", ASSIGNMENT)
    note, *_ = transplant(read_submission(tmp_path / "x.ipynb"), exercise).notes
    assert "an earlier version of the exercise" in note
    assert "asked for 14.heads_for_figure and not for 14.bug: ask for an answer" in note


@pytest.mark.parametrize("version", ["released", "former"])
def test_the_other_items_get_their_points(version, versions, tmp_path, graded):
    exercise = load_exercise(tmp_path / version, ASSIGNMENT)
    align = next(task for task in exercise.tasks if task.entry.id == "14.align")
    handed_in = answered(versions["former"], ANSWERS)
    result = graded(handed_in, replace(exercise, tasks=(align,)))
    assert points(result) == {"14.align": TABLE["14.align"].points}
    assert result.notes == ()
