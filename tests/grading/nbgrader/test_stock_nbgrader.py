"""Plain `nbgrader autograde`, without the course's grading, for those who trust the authors."""

import json

import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory

from course_lib.grading.class_run.class_run import ClassRun
from course_lib.grading.nbgrader.class_gradebook import store_class
from tests.grading.notebooks_to_hand_in import RIGHT, RIGHT_ITEMS, ROOT, SECRET, answered
from tests.item_points import points_of

WRONG = {"06-masked-softmax-answer": "def masked_softmax(scores, mask):\n    return scores\n"}


@pytest.mark.slow
def test_an_untouched_notebook_and_wrong_answers_earn_0_and_right_ones_their_points(
    tmp_path, masks, notebook, monkeypatch
):
    course, progress = tmp_path / "course", tmp_path / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(progress))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    run = ClassRun(
        incoming=course / "submitted", exercise=masks, results=tmp_path / "results", secret=SECRET
    )
    store_class(course, run, results=[])
    for student, answers in (("untouched", {}), ("partly", {**RIGHT, **WRONG})):
        folder = course / "submitted" / student / "06_masks"
        folder.mkdir(parents=True)
        (folder / "masks.ipynb").write_text(json.dumps(answered(notebook, answers)))
    directory = CourseDirectory(root=str(course))
    directory.assignment_id = "06_masks"
    Autograde(coursedir=directory).start()
    with Gradebook(directory.db_url) as gradebook:
        untouched = gradebook.find_submission("06_masks", "untouched")
        assert untouched.score == 0 and not untouched.needs_manual_grade
        grades = gradebook.find_submission("06_masks", "partly").notebooks[0].grades
        earned = {grade.name: grade.auto_score for grade in grades if grade.auto_score}
        cells = (f"06-{name}-mask-check" for name in ("padding", "causal", "decoder"))
        assert earned == dict(zip(cells, map(points_of, RIGHT_ITEMS), strict=True))
    assert not progress.exists()
