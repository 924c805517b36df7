"""A jail for all tests of this folder, and notebooks to hand in."""

import json
import sys
from dataclasses import replace

import pytest

from course_lib.errors import CourseError
from course_lib.grading.class_run.class_run import ClassRun
from course_lib.grading.class_run.grade import grade_submission
from course_lib.grading.jail.jail import Jail
from course_lib.grading.submissions.exercise import load_exercise
from tests.conftest import missing
from tests.grading.notebooks_to_hand_in import ROOT, SECRET, SHORT

if sys.platform == "win32":
    collect_ignore_glob = [
        "test_*.py",
        "*/test_*.py",
    ]  # course grade says that it does not run there


@pytest.fixture(scope="session")
def jail():
    """Where bubblewrap does not work, what needs it is skipped."""
    try:
        made = Jail()
    except CourseError as error:
        if sys.platform != "linux":
            pytest.skip("submissions are graded on Linux")
        missing(f"the tests of grading need a jail: {error}")
    with made:
        yield made


@pytest.fixture(scope="session")
def masks():
    """The exercise of lesson 06."""
    return load_exercise(ROOT / "exercises", "06_masks")


@pytest.fixture(scope="session")
def three_items(masks):
    """The same with the first three tasks, those that `RIGHT` answers."""
    return replace(masks, tasks=masks.tasks[:3])


@pytest.fixture(scope="session")
def one_item(masks):
    """The same with a single task, 06.padding_mask."""
    return replace(masks, tasks=masks.tasks[:1])


@pytest.fixture
def notebook():
    """The released notebook of lesson 06 as a dict."""
    path = ROOT / "exercises" / "06_masks" / "masks.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def graded(tmp_path, jail):
    """``graded(notebook, exercise)``: the result of handing in a notebook."""

    def grade(notebook, exercise, **options):
        folder = tmp_path / "student"
        folder.mkdir(exist_ok=True)
        (folder / "masks.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        options = {"jail": jail, "secret": SECRET, "limits": SHORT, **options}
        return grade_submission(folder, exercise, **options)

    return grade


@pytest.fixture(scope="session")
def new_course(tmp_path_factory, masks):
    """A course folder of nbgrader with the assignment, and without submissions."""
    from course_lib.grading.nbgrader.class_gradebook import store_class

    folder = tmp_path_factory.mktemp("course")
    store_class(
        folder / "course",
        ClassRun(incoming=folder, exercise=masks, results=folder, secret=SECRET),
        results=[],
    )
    return folder / "course"
