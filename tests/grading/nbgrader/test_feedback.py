"""nbgrader's feedback pages: marks and comments are there; nothing runs, nothing is fetched."""

import re
import shutil

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException

from course_lib.checks import TABLE
from course_lib.grading.class_run.class_run import ClassRun
from course_lib.grading.nbgrader.class_gradebook import store_class
from course_lib.grading.nbgrader.course_folder import open_course_folder
from course_lib.grading.nbgrader.feedback_look import STYLE
from course_lib.grading.nbgrader.nbgrader_hooks import CONTENT_POLICY, inactive
from course_lib.viz.drawings.colours import forced_variables, variables
from tests.grading.hostile_text import EVERYTHING, HOSTILE
from tests.grading.nbgrader.nbgrader_course import WRITTEN, activity, hand_in, result_of
from tests.grading.notebooks_to_hand_in import ROOT, SECRET
from tests.item_points import all_points, checked_items, in_full, items_of, points_of

EXERCISE = ROOT / "exercises" / "06_masks" / "masks.ipynb"
GIVEN = points_of("06.why_not_rows") - 0.5  # by a person


@pytest.fixture(scope="module")
def graded_course(tmp_path_factory, masks, new_course):
    """A course folder with one hostile submission, marked by a person."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copytree(new_course, folder / "course")
    notebook = nbformat.read(EXERCISE, as_version=4)
    code = {"06-padding-mask-answer": EVERYTHING}
    hand_in(folder / "incoming" / "ana", notebook, masks, written=EVERYTHING, answers=code)
    run = ClassRun(
        incoming=folder / "incoming", exercise=masks, results=folder / "results", secret=SECRET
    )
    right = in_full("06.bug")
    result = result_of(masks, points=right, written=EVERYTHING, note=f"SEEN {EVERYTHING}")
    store_class(folder / "course", run, results=[result])
    with Gradebook(f"sqlite:///{folder}/course/gradebook.db") as gradebook:
        grade = gradebook.find_grade(WRITTEN, "masks", "06_masks", "ana")
        grade.manual_score, grade.needs_manual_grade = GIVEN, False
        comment = gradebook.find_comment(WRITTEN, "masks", "06_masks", "ana")
        comment.manual_comment = f"You wrote this: {EVERYTHING}"
        gradebook.db.commit()
    return folder / "course"


def generate(step, course):
    """Run a step of nbgrader as its command does, with the course folder's configuration."""
    folder = open_course_folder(course)
    folder.directory.assignment_id = "06_masks"
    step(coursedir=folder.directory, config=folder.config).start()


@pytest.fixture(scope="module")
def feedback(graded_course):
    """The page's file."""
    generate(GenerateFeedback, graded_course)
    return graded_course / "feedback" / "ana" / "06_masks" / "masks.html"


def test_the_page_shows_marks_comments_and_what_the_checks_found(feedback):
    page = BeautifulSoup(feedback.read_text("utf-8"), "html.parser")
    words = page.get_text()
    score = points_of("06.bug") + GIVEN
    assert f"masks (Score: {score} / {all_points('06')}.0)" in words
    assert f"Score: {GIVEN} / {points_of('06.why_not_rows')}" in words
    assert "You wrote this:" in words
    assert "✗ 06.padding_mask · Mask the padding: not yet" in words
    assert "✓ 06.bug" in words and HOSTILE[0] in words
    assert len(page.find_all("details")) >= 15  # the hints are still there


@pytest.mark.slow
def test_the_scores_on_top_name_the_items_and_say_with_a_mark_what_is_right(feedback):
    page = BeautifulSoup(feedback.read_text("utf-8"), "html.parser")
    entries = [(entry.a.text, " ".join(entry["class"])) for entry in page.select("#toc li[class]")]
    verdicts = {item.title: "wrong" for item in items_of("06")}
    verdicts |= {TABLE["06.bug"].title: "right", TABLE["06.why_not_rows"].title: "part"}
    assert entries == list(verdicts.items())
    outputs = [pre["class"] for pre in page.select(".output_stdout > pre")]
    assert outputs == [[verdicts[item.title]] for item in checked_items("06")]


def test_the_page_has_the_colours_of_the_course_after_nbgrader_s(feedback):
    page = BeautifulSoup(feedback.read_text("utf-8"), "html.parser")
    assert page.body["class"] == ["dw"]
    styles = [style.text for style in page.find_all("style")]
    assert styles[-1].startswith(variables() + forced_variables())
    assert not re.search(r"#[0-9a-f]{3,6}\b", STYLE.read_text("utf-8").split("*/", 1)[1])


def test_rubrics_notes_and_flags_are_not_for_learners(feedback, graded_course):
    shown = graded_course / "autograded" / "ana" / "06_masks" / "masks.ipynb"
    assert "Rubric" in shown.read_text("utf-8")
    assert "Rubric" not in feedback.read_text("utf-8")
    assert "not in the feedback" not in feedback.read_text("utf-8")


def test_nothing_in_the_page_runs_or_is_fetched(feedback):
    page = feedback.read_text("utf-8")
    active = [each for each in activity(page) if not each.startswith("a href=https://")]
    assert active == []
    first = BeautifulSoup(page, "html.parser").head.find_all("meta")[1]
    assert first["content"] == CONTENT_POLICY and "default-src 'none'" in CONTENT_POLICY


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_would_be_active_is_taken_out_of_a_page(text):
    page = inactive(f"<html><head></head><body>{text}</body></html>")
    assert [each for each in activity(page) if not each.startswith("a href=https://")] == []


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_a_browser_neither_runs_nor_fetches_anything(feedback, browser):
    asked, blocked, dialogs = [], [], []
    page = browser.new_page()
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: blocked.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(feedback.as_uri())
    for link in page.locator("a[href]").all()[:5]:
        assert not (link.get_attribute("href") or "").startswith("javascript:")
    assert page.locator(".nbgrader_cell").count() > 10
    assert page.evaluate("document.scripts.length") == 0
    page.close()
    assert asked == [feedback.as_uri()] and dialogs == []
    # The fonts of nbgrader's own style sheet; its styles are in the page, and they are not.
    assert all(address.startswith("file:") for address in blocked)


def test_autograding_by_nbgrader_is_refused_before_anything_is_touched(graded_course, tmp_path):
    course = shutil.copytree(graded_course, tmp_path / "course")
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    with pytest.raises(NbGraderException, match="use course grade"):
        generate(Autograde, course)
    assert {path: path.read_bytes() for path in course.rglob("*") if path.is_file()} == before
