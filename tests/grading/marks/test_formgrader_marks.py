"""Marks that a person gave in formgrader, on their way to reports and exports."""

import csv
import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from course_lib import cli
from course_lib.errors import CourseError
from course_lib.grading.class_run.class_run import ClassRun
from course_lib.grading.marks.class_marks import load_class
from course_lib.grading.marks.formgrader_marks import (
    CHANGED,
    GRADED_AGAIN,
    RECORD_FILE,
    record_stored,
    recorded,
)
from course_lib.grading.marks.given_marks import GivenMark, answer_id, merge_marks
from course_lib.grading.nbgrader.class_gradebook import store_class
from course_lib.grading.nbgrader.course_folder import student_id
from course_lib.grading.reports.report_command import csv_files
from course_lib.grading.results import SubmissionResult, shown_points
from course_lib.grading.safe_csv import write_csv
from tests.grading import synthetic_class
from tests.grading.nbgrader.nbgrader_course import WRITTEN, hand_in, result_of, unreadable
from tests.grading.notebooks_to_hand_in import SECRET
from tests.item_points import in_full, points_of

pytestmark = pytest.mark.usefixtures("own_messages")
CAUSAL = "06-causal-mask-check"
WHY = "06.why_not_rows"
FULL, HALF = points_of(WHY), points_of(WHY) / 2


@pytest.fixture
def folder(tmp_path, monkeypatch, new_course):
    """The current folder, with a course folder of nbgrader in ``course``."""
    shutil.copytree(new_course, tmp_path / "course")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def grade(folder, masks, notebook):
    """``grade(result, …)``: store results as `course grade` does, by default in a gradebook too."""

    def grade(*results, into="course", written="Because."):
        synthetic_class.store(results, folder / "results")
        if not into:
            return []
        run = ClassRun(
            incoming=folder / "incoming", exercise=masks, results=folder / "results", secret=SECRET
        )
        for result in results:
            if result.readable:
                hand_in(run.incoming / result.student, notebook, masks, written=written)
        store_class(folder / into, run, results=results)
        return record_stored(folder / "results" / "06_masks", folder / into, results=results)

    return grade


def mark(points, cell=WRITTEN, *, student="ana", extra=None, course="course"):
    """As formgrader stores what a person types."""
    with Gradebook(f"sqlite:///{Path(course).absolute()}/gradebook.db") as book:
        given = book.find_grade(cell, "masks", "06_masks", student)
        given.manual_score, given.extra_credit = points, extra
        given.needs_manual_grade = points is None and given.auto_score is None
        book.db.commit()


def marks(**options):
    """The points of each student, and the assignment with its marks."""
    (assignment,) = load_class(Path("results"), **options)
    return {mark.student: mark.points for mark in assignment.marks}, assignment


def reviews(assignment):
    return {item.id: item.review for mark in assignment.marks for item in mark.items if item.review}


def export(*arguments):
    return cli.main(["export", "results", "--format", "csv", *arguments])


def exported():
    with Path("points.csv").open(encoding="utf-8-sig", newline="") as file:
        return {(row["student"], row["item"]): row for row in csv.DictReader(file)}


@pytest.mark.slow
def test_marks_given_in_formgrader_reach_export_and_report(grade, masks, capsys):
    grade(result_of(masks, points=in_full("06.padding_mask"), written="Because."))
    assert export() == 1
    assert "ana, 06_masks (to be marked: 06.why_not_rows)" in capsys.readouterr().err
    mark(FULL - 0.5)
    mark(0.5, CAUSAL)
    assert export() == 0
    assert "06_masks: read 2 marks given in formgrader, from the" in capsys.readouterr().err
    rows = exported()
    assert (rows["ana", WHY]["points"], rows["ana", WHY]["by_person"]) == (str(FULL - 0.5), "yes")
    assert (rows["ana", "06.causal_mask"]["points"], rows["ana", WHY]["flags"]) == ("0.5", "")
    assert rows["ana", "06.padding_mask"]["by_person"] == "no"
    assert cli.main(["report", "results"]) == 0
    assert "read 2 marks given in formgrader" in capsys.readouterr().err
    points, assignment = marks()
    assert points == {"ana": points_of("06.padding_mask") + FULL}
    assert len(csv_files([assignment])["to_mark.csv"]) == 1


@pytest.mark.slow
def test_reading_the_marks_changes_no_byte_of_the_gradebook(grade, masks):
    grade(result_of(masks, written="Because."))
    mark(FULL)
    before = hashlib.sha256(Path("course/gradebook.db").read_bytes()).digest()
    marks()
    assert hashlib.sha256(Path("course/gradebook.db").read_bytes()).digest() == before


@pytest.mark.slow
def test_what_could_not_be_run_or_read_gets_its_marks_from_formgrader(grade, masks):
    grade(result_of(masks, points={"06.bug": None}), unreadable(masks, "ben"))
    assert marks()[0] == {"ana": None, "ben": None}
    mark(1, "06-bug-check")
    assert marks()[0] == {"ana": 1, "ben": None}
    for task in masks.tasks:
        role = "written" if task.entry.kind == "written" else "check"
        mark(1, f"{task.entry.id}-{role}".replace(".", "-").replace("_", "-"), student="ben")
    assert marks()[0]["ben"] == len(masks.tasks)


@pytest.mark.slow
def test_names_that_nbgrader_does_not_take_find_their_marks(grade, masks):
    names = ["O'Neil, Jr", "=cmd()", "two\nlines"]
    grade(*(result_of(masks, name, written="Because.") for name in names))
    given = dict(zip(names, (0, HALF, FULL), strict=True))
    for name, points in given.items():
        mark(points, student=student_id(name))
    assert marks()[0] == given


def test_a_mark_of_an_answer_that_has_changed_stays_and_is_named(grade, masks, capsys):
    grade(result_of(masks, written="Because."))
    mark(FULL)
    grade(result_of(masks, written="Therefore."), written="Therefore.")
    points, assignment = marks()
    assert points == {"ana": FULL} and reviews(assignment) == {WHY: CHANGED}
    assert export() == 0
    assert "other automatic points now: ana, 06.why_not_rows. Look" in capsys.readouterr().err
    assert exported()["ana", WHY]["flags"] == CHANGED
    mark(FULL)  # as Resolve does
    assert not reviews(marks()[1])


def test_a_mark_of_work_that_was_graded_again_without_the_gradebook_is_named(grade, masks, capsys):
    first = result_of(masks, written="Because.")
    grade(first)
    mark(FULL)
    again = replace(result_of(masks, written="Therefore."), key="another")
    grade(again, into="")
    points, assignment = marks()
    assert points == {"ana": FULL} and reviews(assignment) == {WHY: GRADED_AGAIN}
    assert export() == 0
    assert "1 marked in formgrader were graded again without" in capsys.readouterr().err
    same = replace(first, key="a new library")  # only something else has changed
    grade(same)
    assert not reviews(marks()[1])
    better = result_of(masks, points=in_full("06.causal_mask"), written="Because.")
    grade(result_of(masks, written="Because."))
    mark(1, CAUSAL)
    grade(better, into="")
    assert reviews(marks()[1]) == {"06.causal_mask": GRADED_AGAIN}


def test_a_mark_of_work_that_could_not_be_read_is_named_once_it_could(grade, masks):
    unread = replace(unreadable(masks), key="")
    grade(unread)
    mark(FULL)
    assert not reviews(marks()[1])
    grade(result_of(masks, written="Because."), into="")
    assert reviews(marks()[1])[WHY] == GRADED_AGAIN


def test_extra_credit_counts_but_is_no_mark_of_what_has_none(grade, masks):
    result = result_of(masks, points=in_full("06.padding_mask"), written="Because.")
    grade(result)
    mark(None, extra=1)
    assert marks()[0] == {"ana": None}
    mark(HALF, extra=0.5)
    mark(None, "06-padding-mask-check", extra=14)
    points, assignment = marks()
    assert points == {"ana": points_of("06.padding_mask") + 14 + HALF + 0.5}
    assert cli.main(["report", "results"]) == 0
    assert assignment.marks[0].items[0].passed


@pytest.mark.parametrize(
    ("points", "extra"), [(FULL + 0.5, None), (-1, None), (HALF, -1), (HALF, float("inf"))]
)
def test_a_mark_that_cannot_be_is_named(grade, masks, points, extra):
    grade(result_of(masks, written="Because."))
    mark(points, extra=extra)
    with pytest.raises(CourseError, match=r"for 06.why_not_rows of 'ana'.* in formgrader"):
        marks()


def test_marks_of_both_kinds_go_together_where_they_agree(grade, masks):
    grade(result_of(masks, written="Because."), result_of(masks, "ben", written="Because."))
    mark(FULL)
    file = Path("results/06_masks/marks.csv")
    header = ["student", "item", "points", "answer_id"]
    rows = [["ben", WHY, HALF, ""], ["ana", WHY, FULL, ""], ["ana", WHY, None, ""]]
    write_csv(file, [header, *rows])
    assert marks()[0] == {"ana": FULL, "ben": HALF}
    write_csv(file, [header, ["ana", WHY, HALF, ""]])
    both = f"has {shown_points(HALF)} there and {FULL} in formgrader"
    with pytest.raises(CourseError, match=rf"06.why_not_rows of 'ana' {both}.*Delete"):
        marks()


def test_of_two_equal_marks_the_one_counts_that_knows_the_present_answer():
    key = ("ana", WHY)
    doubtful, known = GivenMark(2, review=CHANGED), GivenMark(2, answer_id=answer_id("Therefore."))
    path = Path("marks.csv")
    assert merge_marks({key: known}, {key: doubtful}, path=path) == {key: known}
    assert merge_marks({key: GivenMark(2)}, {key: doubtful}, path=path) == {key: doubtful}
    assert merge_marks({key: known}, {key: GivenMark(2)}, path=path) == {key: GivenMark(2)}


def test_a_gradebook_that_has_moved_is_asked_for_and_found_by_its_option(grade, masks, folder):
    grade(result_of(masks, written="Because."))
    mark(FULL)
    (folder / "course").rename(folder / "moved")
    with pytest.raises(CourseError, match=r"there is none: name its folder with --gradebook; .*"):
        marks()
    assert not (folder / "course").exists()
    assert marks(gradebook=Path("moved"))[0] == {"ana": FULL}
    assert marks(gradebook=Path("moved/gradebook.db"))[0] == {"ana": FULL}
    assert export() == 1 and export("--gradebook", "moved") == 0
    assert cli.main(["report", "results", "--gradebook", "moved"]) == 0
    (folder / "moved" / "gradebook.db").rename(folder / "kept.db")
    with pytest.raises(CourseError, match="there is none"):
        marks(gradebook=Path("moved"))
    assert not (folder / "moved" / "gradebook.db").exists()
    (folder / "moved" / "gradebook.db").write_bytes(b"no database at all, but some text" * 99)
    with pytest.raises(CourseError, match="could not read it"):
        marks(gradebook=Path("moved"))
    (folder / "results" / "06_masks" / RECORD_FILE).unlink()
    assert marks()[0] == {"ana": None}


def test_results_and_gradebook_may_be_moved_together(grade, masks, folder, monkeypatch):
    grade(result_of(masks, written="Because."))
    mark(FULL)
    (folder / "term").mkdir()
    for name in ("results", "course"):
        (folder / name).rename(folder / "term" / name)
    monkeypatch.chdir(folder / "term")
    assert marks()[0] == {"ana": FULL}


def test_a_gradebook_from_before_it_was_noted_is_read_by_its_option(grade, masks):
    grade(result_of(masks, written="Because."))
    mark(FULL)
    Path("results/06_masks", RECORD_FILE).unlink()
    points, assignment = marks(gradebook=Path("course"))
    assert points == {"ana": FULL} and not reviews(assignment)


def test_each_student_s_marks_come_from_where_the_result_was_put_last(grade, masks, folder):
    both = [result_of(masks, name, written="Because.") for name in ("ana", "ben")]
    assert grade(*both) == []
    mark(FULL)
    mark(HALF, student="ben")
    shutil.copytree(folder / "course", folder / "other")
    assert grade(both[1], into="other") == [folder / "course"]
    mark(HALF / 2, student="ben", course="other")
    points, assignment = marks()
    assert points == {"ana": FULL, "ben": HALF / 2}
    assert len(assignment.remarks) == 2 and not any("passed over" in r for r in assignment.remarks)
    assert {each.course.name for each in recorded(Path("results/06_masks")).values()} == {
        "course",
        "other",
    }


def test_marks_of_students_and_items_without_results_are_named(grade, masks):
    both = [result_of(masks, name, written="Because.") for name in ("ana", "ben")]
    grade(*both)
    mark(FULL)
    mark(HALF, student="ben")
    for path in Path("results/06_masks").glob("*.json"):
        result = SubmissionResult.from_json(path.read_text())
        if result.student == "ben":
            path.unlink()
        else:
            path.write_text(replace(result, items=result.items[:-1]).to_json())
    assert "without results here: ana, 06.why_not_rows; ben." in marks()[1].remarks[1]


def test_late_penalties_are_named(grade, masks):
    grade(result_of(masks, points=in_full("06.bug")))
    with Gradebook(f"sqlite:///{Path('course').absolute()}/gradebook.db") as book:
        book.find_submission_notebook("masks", "06_masks", "ana").late_submission_penalty = 1.0
        book.db.commit()
    points, assignment = marks()
    assert points == {"ana": points_of("06.bug")}
    assert "are not taken off these points: ana." in assignment.remarks[-1]
