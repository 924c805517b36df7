"""The results of a class in nbgrader's gradebook, each with what was handed in."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.class_run import ClassRun
from course_lib.grading.course_folder import (
    CourseFolder,
    copy_file,
    open_course_folder,
    student_id,
)
from course_lib.grading.exercise import Exercise
from course_lib.grading.grade import HandIn, read_hand_in
from course_lib.grading.gradebook import AssignmentGradebook
from course_lib.grading.results import SubmissionResult
from course_lib.grading.submission import SubmissionError, read_regular_file


@dataclass(frozen=True)
class Stored:
    """What was put into a gradebook: how many submissions, and how many of them need a person."""

    submissions: int
    to_mark: int
    renamed: dict[str, str]


def store_class(
    course: Path, run: ClassRun, results: Sequence[SubmissionResult], notebook: Path
) -> Stored:
    """Put the results of a class into nbgrader's gradebook, with notebooks for formgrader.

    Args:
        course: the course folder; it is made if it is not there.
        run: what was graded.
        results: of that run.
        notebook: the exercise as released.

    Raises:
        CourseError: the folder has another configuration or other cells, or can't be written.
    """
    folder = open_course_folder(course)
    to_mark = 0
    with AssignmentGradebook(folder, run.exercise, notebook) as gradebook:
        for result in results:
            exercise, hand_in = _hand_in(run, result)
            if hand_in is not None:
                _keep_submission(folder, run, result, hand_in, notebook.name)
            to_mark += gradebook.store(result, hand_in, exercise)
    names: Mapping[str, str] = {each.student: student_id(each.student) for each in results}
    renamed = {name: safe for name, safe in names.items() if name != safe}
    return Stored(len(results), to_mark, renamed)


def _hand_in(run: ClassRun, result: SubmissionResult) -> tuple[Exercise, HandIn | None]:
    """What a student was given and has handed in; None if that can't be read."""
    if not result.readable:
        return run.exercise, None
    try:
        exercise, _ = run.given_to(result.student)
        return exercise, read_hand_in(run.incoming / result.student, exercise)
    except SubmissionError:  # it is gone since it was graded
        return run.exercise, None


def _keep_submission(
    folder: CourseFolder, run: ClassRun, result: SubmissionResult, hand_in: HandIn, name: str
) -> None:
    """A copy in submitted/, where nbgrader looks for it, unless it was handed in there."""
    target = folder.file(
        "submitted", run.exercise.assignment, name, student=student_id(result.student)
    )
    submitted = Path(folder.directory.root) / folder.directory.submitted_directory
    if run.incoming.resolve().is_relative_to(submitted):
        return
    copy_file(read_regular_file(hand_in.path), target)
    timestamp = hand_in.path.parent / "timestamp.txt"
    with contextlib.suppress(SubmissionError):
        copy_file(read_regular_file(timestamp, most=100), target.with_name("timestamp.txt"))
