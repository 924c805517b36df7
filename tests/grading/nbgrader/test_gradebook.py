"""nbgrader's gradebook around our results: marks, what a person has to do, and what survives."""

import hashlib
import json
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.preprocessors import ComputeChecksums

from course_lib import cli
from course_lib.checks import TABLE
from course_lib.errors import CourseError
from course_lib.grading import grade_command as command
from course_lib.grading.class_run.class_run import ClassRun
from course_lib.grading.marks.formgrader_marks import recorded
from course_lib.grading.nbgrader import assignment_gradebook as gradebook_module
from course_lib.grading.nbgrader import class_gradebook
from course_lib.grading.nbgrader.assignment_gradebook import NOT_RUN, read_timestamp
from course_lib.grading.nbgrader.class_gradebook import store_class
from course_lib.grading.nbgrader.course_folder import open_course_folder, rubrics, student_id
from course_lib.grading.nbgrader.nbgrader_hooks import ExportWhatIsMarked
from course_lib.grading.nbgrader.nbgrader_settings import CONFIG_FILE
from course_lib.grading.submissions.exercise import load_exercise
from tests.grading.nbgrader.nbgrader_course import WRITTEN, hand_in, result_of, unreadable
from tests.grading.notebooks_to_hand_in import ROOT, SECRET
from tests.item_points import all_points, in_full, points_of

EXERCISE = ROOT / "exercises" / "06_masks" / "masks.ipynb"
PADDING, CAUSAL = "06-padding-mask-check", "06-causal-mask-check"
GIVEN = points_of("06.why_not_rows") - 0.5  # by a person


@pytest.fixture
def course(tmp_path, new_course):
    return shutil.copytree(new_course, tmp_path / "course")


@pytest.fixture
def store(course, tmp_path, masks, notebook):
    """``store(result, written=…)``: hand in and put the result into the gradebook."""
    run = ClassRun(
        incoming=tmp_path / "incoming", exercise=masks, results=tmp_path / "results", secret=SECRET
    )

    def store(*results, incoming=None, **answers):
        for result in results:
            if result.readable:
                hand_in(run.incoming / result.student, notebook, masks, **answers)
        return store_class(course, run, results=results)

    return store


@pytest.fixture
def gradebook(course):
    """``gradebook()``: nbgrader's gradebook, opened anew."""
    opened = []

    def open_():
        opened.append(Gradebook(f"sqlite:///{course}/gradebook.db"))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def grade_of(gradebook, cell, student="ana"):
    return gradebook.find_grade(cell, "masks", "06_masks", student)


def mark(gradebook, cell, points, comment=None, student="ana"):
    """As formgrader stores what a person types."""
    grade = grade_of(gradebook, cell, student)
    grade.manual_score, grade.needs_manual_grade = points, False
    if comment:
        answer = cell.replace("-check", "-answer")
        gradebook.find_comment(answer, "masks", "06_masks", student).manual_comment = comment
    gradebook.db.commit()


def content(folder):
    files = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_new_course_folder_has_the_assignment_with_the_points_of_its_cells(course, gradebook):
    assignment = gradebook().find_assignment("06_masks")
    assert assignment.max_score == all_points("06")
    assert assignment.max_written_score == points_of("06.why_not_rows")
    assert (course / "release" / "06_masks" / "masks.ipynb").read_bytes() == EXERCISE.read_bytes()
    source = (course / "source" / "06_masks" / "masks.ipynb").read_text("utf-8")
    assert "BEGIN SOLUTION" in source
    assert NbGraderAPI(open_course_folder(course).directory).get_source_assignments() == {
        "06_masks"
    }


@pytest.mark.slow
def test_all_assignments_fit_into_one_course_folder(course, gradebook, tmp_path):
    files = sorted((ROOT / "exercises").glob("*/*.ipynb"))
    for file in files:
        exercise = load_exercise(ROOT / "exercises", file.parent.name)
        run = ClassRun(incoming=tmp_path, exercise=exercise, results=tmp_path, secret=SECRET)
        store_class(course, run, results=[unreadable(exercise)])
    points = {each.name: each.max_score for each in gradebook().assignments}
    assert len(points) == len(files) and sum(points.values()) == sum(
        e.points for e in TABLE.values()
    )
    shown = [path.parent.name for path in course.glob("autograded/ana/*/*.ipynb")]
    assert sorted(shown) == sorted(points)


@pytest.mark.usefixtures("own_messages")
def test_without_nbgrader_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbgrader.coursedir", None)
    with pytest.raises(CourseError, match=r"expected nbgrader.*pip install.*\[grading\]"):
        open_course_folder(tmp_path / "course")
    assert not (tmp_path / "course").exists()


@pytest.mark.slow
def test_nbgrader_s_programs_are_found_without_an_activated_environment(
    tmp_path, masks, monkeypatch
):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    run = ClassRun(incoming=tmp_path, exercise=masks, results=tmp_path, secret=SECRET)
    store_class(tmp_path / "course", run, results=[])
    assert (tmp_path / "course" / "gradebook.db").is_file()
    assert os.environ["PATH"] == "/usr/bin:/bin"


def test_points_are_stored_by_cell_and_only_words_wait_for_a_person(store, masks, gradebook):
    result = result_of(masks, points=in_full("06.padding_mask"), written="Because.")
    assert store(result, written="Because.").to_mark == 1
    book = gradebook()
    submission = book.find_submission("06_masks", "ana")
    right = points_of("06.padding_mask")
    assert (submission.score, submission.max_score) == (right, all_points("06"))
    assert submission.needs_manual_grade
    assert grade_of(book, PADDING).auto_score == right and not grade_of(book, PADDING).failed_tests
    assert grade_of(book, CAUSAL).auto_score == 0 and grade_of(book, CAUSAL).failed_tests
    waiting = [grade.name for grade in submission.notebooks[0].grades if grade.needs_manual_grade]
    assert waiting == [WRITTEN] and grade_of(book, WRITTEN).auto_score is None


def test_an_untouched_answer_in_words_is_0_and_waits_for_nobody(store, masks, gradebook):
    assert store(result_of(masks)).to_mark == 0
    book = gradebook()
    grade = grade_of(book, WRITTEN)
    assert (grade.auto_score, grade.needs_manual_grade) == (0, False)
    assert not book.find_submission("06_masks", "ana").needs_manual_grade
    assert book.find_comment(WRITTEN, "masks", "06_masks", "ana").comment == "No response."


def test_running_twice_changes_no_byte(store, masks, course):
    result = result_of(masks, points=in_full("06.bug"), written="Because.")
    store(result, unreadable(masks, "ben"), written="Because.")
    before = content(course)
    store(result, unreadable(masks, "ben"), written="Because.")
    assert content(course) == before
    assert any("autograded/ben/06_masks/masks.ipynb" in name for name in before)


def test_marks_and_comments_of_a_person_survive_a_regrade(store, masks, gradebook):
    result = result_of(masks, points=in_full("06.padding_mask"), written="Because.")
    store(result, written="Because.")
    mark(gradebook(), WRITTEN, GIVEN, "Say why.")
    mark(gradebook(), CAUSAL, 0.5, "The idea is right.")
    assert store(result, written="Because.").to_mark == 0
    book = gradebook()
    assert (grade_of(book, WRITTEN).score, grade_of(book, CAUSAL).score) == (GIVEN, 0.5)
    assert book.find_comment(WRITTEN, "masks", "06_masks", "ana").comment == "Say why."
    comment = book.find_comment("06-causal-mask-answer", "masks", "06_masks", "ana").comment
    assert comment == "The idea is right."
    score = points_of("06.padding_mask") + GIVEN + 0.5
    assert book.find_submission("06_masks", "ana").score == score


@pytest.mark.slow
def test_a_mark_stays_but_is_shown_for_review_where_the_work_has_changed(store, masks, gradebook):
    store(result_of(masks, written="Because."), written="Because.")
    mark(gradebook(), WRITTEN, GIVEN)
    mark(gradebook(), CAUSAL, 0.5)
    better = result_of(masks, points=in_full("06.causal_mask"), written="Therefore.")
    assert store(better, written="Therefore.").to_mark == 1
    book = gradebook()
    assert grade_of(book, WRITTEN).score == GIVEN and grade_of(book, WRITTEN).needs_manual_grade
    assert grade_of(book, CAUSAL).score == 0.5 and grade_of(book, CAUSAL).needs_manual_grade
    assert grade_of(book, CAUSAL).auto_score == points_of("06.causal_mask")
    assert not grade_of(book, PADDING).needs_manual_grade
    for cell in (WRITTEN, CAUSAL):  # a person looks, and leaves it at that
        mark(gradebook(), cell, grade_of(gradebook(), cell).manual_score)
    assert store(better, written="Therefore.").to_mark == 0


def test_what_could_not_be_run_or_read_is_no_silent_zero(store, masks, gradebook, course):
    stored = store(result_of(masks, points={"06.bug": None}), unreadable(masks, "ben"))
    assert stored.to_mark == 2
    book = gradebook()
    grade = grade_of(book, "06-bug-check")
    assert grade.auto_score is None and grade.needs_manual_grade
    assert book.find_comment("06-bug-answer", "masks", "06_masks", "ana").comment == NOT_RUN
    notebook = book.find_submission("06_masks", "ben").notebooks[0]
    assert all(grade.auto_score is None and grade.needs_manual_grade for grade in notebook.grades)
    assert {comment.comment for comment in notebook.comments} == {NOT_RUN}
    shown = nbformat.read(course / "autograded" / "ben" / "06_masks" / "masks.ipynb", as_version=4)
    assert "could not be read" in shown.cells[0].source
    mark(gradebook(), "06-bug-check", 0.5)
    assert store(result_of(masks, points=in_full("06.bug"))).to_mark == 1
    assert grade_of(gradebook(), "06-bug-check").score == 0.5


@pytest.mark.usefixtures("own_messages")
def test_nothing_is_exported_before_everything_is_marked(store, masks, gradebook, tmp_path):
    store(result_of(masks, points=in_full("06.bug"), written="Because."), written="Because.")
    plugin = ExportWhatIsMarked(to=str(tmp_path / "grades.csv"))
    with pytest.raises(CourseError, match=r"1 submissions are not.*ana \(06_masks\)"):
        plugin.export(gradebook())
    mark(gradebook(), WRITTEN, GIVEN)
    plugin.export(gradebook())
    score = points_of("06.bug") + GIVEN
    row = f",ana,,,,{score},0.0,{score},{all_points('06')}.0"
    assert row in (tmp_path / "grades.csv").read_text()


def test_formgrader_lists_the_submissions(store, masks, course):
    store(
        result_of(masks, written="x"),
        result_of(masks, "ben"),
        unreadable(masks, "eva"),
        written="x",
    )
    api = NbGraderAPI(open_course_folder(course).directory)
    assert len(api.get_notebook_submission_indices("06_masks", "masks")) == 3
    listed = {each["student"]: each for each in api.get_notebook_submissions("06_masks", "masks")}
    assert {name: each["needs_manual_grade"] for name, each in listed.items()} == {
        "ana": True,
        "ben": False,
        "eva": True,
    }
    assert api.get_autograded_students("06_masks") == {"ana", "ben", "eva"}


def test_names_that_formgrader_would_take_for_html_or_paths_are_replaced(store, masks, course):
    names = ["<img src=x onerror=alert(1)>", "O'Neil, Jr", "O'Neil; Jr", "..", "*", "-f", "é"]
    safe = [student_id(name) for name in names]
    assert len(set(safe)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9]\w*-[0-9a-f]{6}", name) for name in safe)
    assert student_id("ana.k@uni.example") == "ana.k@uni.example"
    stored = store(unreadable(masks, names[0]), unreadable(masks, "ben"))
    assert stored.renamed == {names[0]: student_id(names[0])}
    assert (course / "autograded" / student_id(names[0])).is_dir()


def test_two_students_who_would_have_one_name_are_named_and_none_overwrites_the_other(
    store, masks, course
):
    names = ["Anna Adams", student_id("Anna Adams"), "ben"]
    stored = store(*(unreadable(masks, name) for name in names))
    assert (stored.submissions, stored.failed.keys()) == (1, {*names[:2]})
    assert f"nbgrader would call {names[1]} {names[1]}, too" in stored.failed[names[0]]
    assert not (course / "autograded" / names[1]).exists()


def test_what_was_handed_in_is_kept_beside_it(store, masks, course, tmp_path):
    store(result_of(masks))
    kept = course / "submitted" / "ana" / "06_masks" / "masks.ipynb"
    assert kept.read_bytes() == (tmp_path / "incoming" / "ana" / "masks.ipynb").read_bytes()


def test_a_timestamp_of_nbgrader_makes_late_penalties_possible(
    store, masks, course, gradebook, tmp_path
):
    book = gradebook()
    book.update_or_create_assignment("06_masks", duedate="2030-01-01 12:00:00")
    with (course / "nbgrader_config.py").open("a") as file:
        file.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    folder = tmp_path / "incoming" / "ana"
    folder.mkdir(parents=True)
    (folder / "timestamp.txt").write_text("2030-01-01 13:00:00 UTC\n")
    store(result_of(masks, points=in_full("06.bug")))
    submission = gradebook().find_submission("06_masks", "ana")
    assert submission.total_seconds_late == 3600
    assert submission.late_submission_penalty == submission.score == points_of("06.bug")
    (folder / "timestamp.txt").write_text("<script>\n")
    store(result_of(masks, points=in_full("06.bug")))
    submission = gradebook().find_submission("06_masks", "ana")
    assert submission.total_seconds_late == 0 and not submission.late_submission_penalty
    (folder / "timestamp.txt").unlink()
    os.mkfifo(folder / "timestamp.txt")
    assert store(result_of(masks)).submissions == 1  # and it does not wait for somebody to write


@pytest.mark.parametrize(
    "text", ["2030-01-01 12:00:00 ..", "2030-01-01 12:00:00 99999999999999", ""]
)
def test_a_timestamp_that_nobody_can_read_is_none(text):
    assert read_timestamp(text.encode()) is None
    assert read_timestamp(b"\xff") is None


def test_a_time_in_a_folder_that_a_student_handed_in_does_not_count(
    masks, notebook, course, gradebook, tmp_path
):
    run = ClassRun(incoming=tmp_path / "incoming", exercise=masks, results=tmp_path, secret=SECRET)
    folder = run.incoming / "ana"
    hand_in(folder / "06_masks" / "own", notebook, masks)
    found = []
    for day, where in enumerate(("06_masks/own", "06_masks", "."), 1):
        (folder / where / "timestamp.txt").write_text(f"2030-01-0{day} 12:00:00 UTC\n")
        store_class(course, run, results=[result_of(masks)])
        found.append(gradebook().find_submission("06_masks", "ana").timestamp)
    assert [time and time.day for time in found] == [None, None, 3]
    kept = course / "submitted" / "ana" / "06_masks" / "timestamp.txt"
    assert kept.read_text() == "2030-01-03 12:00:00 UTC\n"


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("beside", ["nbgrader_config.py", "gradebook.db", "notes.txt"])
def test_in_a_folder_of_nbgrader_s_the_time_that_nbgrader_wrote_counts(
    masks, tmp_path, beside, linked
):
    run = ClassRun(incoming=tmp_path / "submitted", exercise=masks, results=tmp_path, secret=SECRET)
    (tmp_path / beside).touch()
    if linked:
        (tmp_path / "elsewhere").mkdir()
        run.incoming.symlink_to(tmp_path / "elsewhere")
    folder = run.incoming / "ana" / "06_masks"
    folder.mkdir(parents=True)
    (folder / "timestamp.txt").write_text("in 06_masks")  # the student's, in a folder of any name
    (folder.parent / "timestamp.txt").write_text("in ana")
    assert run.timestamp("ana") == (b"in ana" if beside == "notes.txt" else b"in 06_masks")
    (folder.parent / "timestamp.txt").unlink()
    assert run.timestamp("ana") == (None if beside == "notes.txt" else b"in 06_masks")


def test_one_result_that_cannot_be_stored_does_not_end_it_for_the_others(
    store, masks, gradebook, monkeypatch
):
    original = gradebook_module.autograded_notebook

    def fails_for_ana(released, exercise, *, result, **options):
        if result.student == "ana":
            raise ZeroDivisionError("division by zero")
        return original(released, exercise, result=result, **options)

    monkeypatch.setattr(gradebook_module, "autograded_notebook", fails_for_ana)
    stored = store(result_of(masks), result_of(masks, "ben"))
    assert stored.failed == {"ana": "ZeroDivisionError: division by zero"}
    assert stored.submissions == 1
    assert [each.student.id for each in gradebook().assignment_submissions("06_masks")] == ["ben"]


def test_a_result_that_is_not_in_the_gradebook_is_named_and_not_noted(
    masks, course, notebook, tmp_path, monkeypatch
):
    run = ClassRun(
        incoming=tmp_path / "incoming", exercise=masks, results=tmp_path / "results", secret=SECRET
    )
    results = [result_of(masks), result_of(masks, "ben")]
    for result in results:
        hand_in(run.incoming / result.student, notebook, masks)
    monkeypatch.setattr(
        class_gradebook, "_keep_submission", lambda *args: 1 / (args[2].student != "ana")
    )
    text, all_stored = command._store_in_gradebook(course, run, results)
    assert "1 results could not be put" in text and "  ana: ZeroDivisionError" in text
    assert not all_stored
    assert list(recorded(tmp_path / "results" / "06_masks")) == ["ben"]


@pytest.mark.parametrize("how", ["a folder", "a link", "an absolute path"])
def test_work_in_submitted_is_left_as_it_is_and_other_work_is_copied_there(
    course, masks, notebook, tmp_path, how
):
    elsewhere = tmp_path / "elsewhere"
    if how == "a link":
        (course / "submitted").symlink_to(elsewhere)
    if how != "a folder":
        elsewhere.mkdir()
    if how == "an absolute path":
        with (course / CONFIG_FILE).open("a") as file:
            file.write(f"\nc.CourseDirectory.submitted_directory = {str(elsewhere)!r}\n")
    submitted = elsewhere if how == "an absolute path" else course / "submitted"
    run = ClassRun(incoming=submitted, exercise=masks, results=course, secret=SECRET)
    hand_in(submitted / "ana" / "06_masks", notebook, masks)
    (submitted / "ana" / "06_masks" / "masks.ipynb").rename(
        submitted / "ana" / "06_masks" / "masks (1).ipynb"
    )
    store_class(course, run, results=[result_of(masks)])
    assert len(list(submitted.rglob("*.ipynb"))) == 1
    other = replace(run, incoming=tmp_path / "incoming")
    hand_in(other.incoming / "ben", notebook, masks)
    assert store_class(course, other, results=[result_of(masks, "ben")]).failed == {}
    assert (submitted / "ben" / "06_masks" / "masks.ipynb").is_file()


@pytest.mark.usefixtures("own_messages")
def test_a_course_folder_with_other_cells_or_without_our_settings_is_refused(
    course, masks, store, tmp_path
):
    store(result_of(masks))
    other = tmp_path / "exercises" / "06_masks" / "masks.ipynb"
    other.parent.mkdir(parents=True)
    changed = json.loads(EXERCISE.read_text("utf-8"))
    del changed["cells"][3]
    other.write_text(json.dumps(changed))
    exercise = replace(masks, file=other)
    run = ClassRun(incoming=tmp_path, exercise=exercise, results=tmp_path, secret=SECRET)
    with pytest.raises(CourseError, match="grade it into a new course folder"):
        store_class(course, run, results=[result_of(masks)])
    config = course / "nbgrader_config.py"
    config.write_text("c = get_config()\n")
    with pytest.raises(CourseError, match=r"add the lines .*configure\(c\)"):
        open_course_folder(course)
    config.write_text("1 / 0\n")
    with pytest.raises(CourseError, match="ZeroDivisionError"):
        open_course_folder(course)


def test_marks_survive_a_correction_of_the_exercise_s_text(
    store, masks, course, gradebook, tmp_path
):
    store(result_of(masks, written="Because."), written="Because.")
    mark(gradebook(), WRITTEN, GIVEN)
    released = nbformat.read(EXERCISE, as_version=4)
    released.cells[3].source += " A correction."
    released, _ = ComputeChecksums().preprocess(released, {})
    corrected = tmp_path / "exercises" / "06_masks" / "masks.ipynb"
    corrected.parent.mkdir(parents=True)
    nbformat.write(released, corrected)
    exercise = replace(masks, file=corrected)
    run = ClassRun(incoming=tmp_path, exercise=exercise, results=tmp_path, secret=SECRET)
    store_class(course, run, results=[result_of(masks, written="Because.")])
    book = gradebook()
    assert grade_of(book, WRITTEN).score == GIVEN and not grade_of(book, WRITTEN).needs_manual_grade
    cell = book.find_source_cell(released.cells[3].id, "masks", "06_masks")
    assert cell.source.endswith("A correction.")


def test_rubrics_come_from_the_solutions_and_are_not_needed(tmp_path):
    found = rubrics(EXERCISE)
    heading = f"**Rubric** ({points_of('06.why_not_rows')} points)"
    assert list(found) == [WRITTEN] and heading in found[WRITTEN]
    assert "SOLUTION" not in found[WRITTEN]
    copied = tmp_path / "exercises" / "06_masks" / "masks.ipynb"
    copied.parent.mkdir(parents=True)
    assert rubrics(Path(shutil.copy(EXERCISE, copied))) == {}


@pytest.mark.smoke
@pytest.mark.slow
def test_the_command_grades_into_a_gradebook(jail, course, tmp_path, notebook, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incoming" / "O'Neil, Jr").mkdir(parents=True)
    (tmp_path / "incoming" / "O'Neil, Jr" / "masks.ipynb").write_text(json.dumps(notebook))
    command = ["grade", "incoming", "--assignment", "06_masks", "--gradebook", "course"]
    assert cli.main([*command, "--exercises", str(ROOT / "exercises")]) == 0
    shown, safe = capsys.readouterr().out, student_id("O'Neil, Jr")
    assert "Of 1 submissions, 0 need a person's marks" in shown
    assert f"is called {safe} there" in shown
    noted = recorded(tmp_path / "results" / "06_masks")["O'Neil, Jr"]
    assert (noted.course, noted.nbgrader_id) == (course, safe)
    shutil.copytree(course, tmp_path / "other")
    command[-1] = "other"
    assert cli.main([*command, "--exercises", str(ROOT / "exercises")]) == 0
    assert f"Marks that were given in {course} no longer count" in capsys.readouterr().out
    with Gradebook("sqlite:///course/gradebook.db") as book:
        assert book.find_submission("06_masks", safe).score == 0
