"""The results of a class in nbgrader's gradebook, each with what was handed in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.grading.class_run.class_run import ClassRun
from course_lib.grading.class_run.grade import HandIn, read_hand_in
from course_lib.grading.nbgrader.assignment_gradebook import AssignmentGradebook, read_timestamp
from course_lib.grading.nbgrader.course_folder import (
    CourseFolder,
    copy_file,
    open_course_folder,
    student_id,
)
from course_lib.grading.results import SubmissionResult, list_names
from course_lib.grading.submissions.exercise import Exercise
from course_lib.grading.submissions.submission import SubmissionError, read_regular_file


@dataclass(frozen=True, kw_only=True)
class StoredClass:
    """What was put into a gradebook: how many submissions, and how many of them need a person.

    ``failed`` says for whose result that was not possible, and why.
    """

    submissions: int
    to_mark: int
    renamed: dict[str, str]
    failed: dict[str, str]


def store_class(course: Path, run: ClassRun, *, results: Sequence[SubmissionResult]) -> StoredClass:
    """Put the results of a class into nbgrader's gradebook, with notebooks for formgrader.

    Args:
        course: the course folder; it is made if it is not there.
        run: what was graded.
        results: of that run.

    Raises:
        CourseError: the folder has another configuration or other cells, or can't be written.
    """
    folder = open_course_folder(course)
    to_mark = 0
    names: Mapping[str, str] = {each.student: student_id(each.student) for each in results}
    failed = dict(_with_one_id(names))
    with AssignmentGradebook(folder, run.exercise) as gradebook:
        for result in results:
            if result.student in failed:
                continue
            try:
                exercise, hand_in = _hand_in(run, result)
                timestamp = None
                if hand_in is not None:
                    timestamp = run.timestamp(result.student)
                    _keep_submission(folder, run, result, hand_in.path, timestamp)
                time = None if timestamp is None else read_timestamp(timestamp)
                to_mark += gradebook.store(result, hand_in, given=exercise, timestamp=time)
            except Exception as error:  # one student's work must not end it for the class
                gradebook.forget_unsaved()
                kind = "" if isinstance(error, CourseError) else f"{type(error).__name__}: "
                failed[result.student] = f"{kind}{error}"
    renamed = {name: safe for name, safe in names.items() if name != safe}
    return StoredClass(
        submissions=len(results) - len(failed), to_mark=to_mark, renamed=renamed, failed=failed
    )


def _with_one_id(names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The students whose work would overwrite that of another in the gradebook, and why."""
    for name, safe in names.items():
        others = [other for other, its in names.items() if its == safe and other != name]
        if others:
            yield name, f"nbgrader would call {list_names(others)} {safe}, too: rename one folder"


def _hand_in(run: ClassRun, result: SubmissionResult) -> tuple[Exercise, HandIn | None]:
    """What a student was given and has handed in; None if that can't be read."""
    if not result.readable:
        return run.exercise, None
    try:
        exercise, _ = run.exercise_of_student(result.student)
        return exercise, read_hand_in(run.incoming / result.student, exercise)
    except SubmissionError:  # it is gone since it was graded
        return run.exercise, None


def _keep_submission(
    folder: CourseFolder,
    run: ClassRun,
    result: SubmissionResult,
    handed_in: Path,
    timestamp: bytes | None,
) -> None:
    """A copy in submitted/, where nbgrader looks for it, unless it was handed in there."""
    submitted = Path(folder.directory.root) / folder.directory.submitted_directory
    if run.incoming.resolve().is_relative_to(submitted.resolve()):
        return
    target = folder.file(
        "submitted",
        run.exercise.assignment,
        name=run.exercise.file.name,
        student=student_id(result.student),
    )
    copy_file(read_regular_file(handed_in), target)
    if timestamp is not None:
        copy_file(timestamp, target.with_name("timestamp.txt"))
