"""Results in nbgrader's gradebook, and what formgrader shows of them. A person's marks stay.

nbgrader keeps, for each cell with points, the points that a program gave (``auto_score``) and those
that a person gave (``manual_score``), which win. Only the first are written here, and whether a
person has to look: where the points are not known, and where something has changed since a person
gave theirs. Doing it again changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import sysconfig
import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties, SaveCells
from nbgrader.utils import parse_utc
from sqlalchemy.exc import SAWarning

from course_lib.errors import CourseError
from course_lib.grading.class_run.grade import HandIn
from course_lib.grading.nbgrader.autograded import autograded_notebook
from course_lib.grading.nbgrader.course_folder import (
    CourseFolder,
    add_released,
    copy_file,
    rubrics,
    student_id,
)
from course_lib.grading.results import SubmissionResult
from course_lib.grading.submissions.exercise import Exercise

NOT_RUN = "This could not be graded by the program. A person will mark it."
NO_RESPONSE = "No response."  # nbgrader's own words


class AssignmentGradebook:
    """One assignment in a course's gradebook.

    Args:
        folder: the course folder.
        exercise: what was released.

    Raises:
        CourseError: the gradebook has submissions of another version of the assignment.
    """

    def __init__(self, folder: CourseFolder, exercise: Exercise) -> None:
        self.folder, self.exercise, self.name = folder, exercise, exercise.file.stem
        self.released = nbformat.read(exercise.file, as_version=4)
        by_item = {cell.id: cell.item for cell in exercise.cells}
        self.rubrics = {
            by_item.get(name, ""): text for name, text in rubrics(exercise.file).items()
        }
        add_released(folder, exercise.assignment, exercise=exercise.file)
        with _own_programs_first():  # a new gradebook asks the command alembic for its version
            self.gradebook = Gradebook(folder.directory.db_url, folder.directory.course_id)
        try:
            self._add_assignment()
        except BaseException:
            self.gradebook.close()
            raise

    def __enter__(self) -> AssignmentGradebook:
        return self

    def __exit__(self, *error: object) -> None:
        self.gradebook.close()

    def _resources(self, student: str = "") -> dict[str, Any]:
        names = {"assignment": self.exercise.assignment, "notebook": self.name, "student": student}
        return {"nbgrader": {**names, "db_url": self.folder.directory.db_url}}

    def _add_assignment(self) -> None:
        """The assignment with its cells and points, as `nbgrader generate_assignment` stores it."""
        self.gradebook.update_or_create_assignment(self.exercise.assignment)
        if self._known_cells() == _cell_contents(self.released):
            return
        try:
            SaveCells().preprocess(self.released, self._resources())
        except RuntimeError as error:
            raise CourseError(
                f"expected the cells of {self.exercise.assignment} that are in the gradebook, got "
                f"others ({error}): was the exercise changed after grading? grade it into a new "
                "course folder"
            ) from None
        self.gradebook.db.expire_all()

    def _known_cells(self) -> dict[str, tuple[str, float]]:
        try:
            notebook = self.gradebook.find_notebook(self.name, self.exercise.assignment)
        except MissingEntry:
            return {}
        points = {cell.name: cell.max_score for cell in notebook.grade_cells}
        return {
            cell.name: (cell.checksum, points.get(cell.name, 0)) for cell in notebook.source_cells
        }

    def store(
        self,
        result: SubmissionResult,
        hand_in: HandIn | None,
        *,
        given: Exercise,
        timestamp: datetime | None = None,
    ) -> bool:
        """Put a result into the gradebook; whether a person has to mark something of it.

        Args:
            result: of a submission.
            hand_in: the submission; None if it could not be read.
            given: the exercise that the student was given, which may be a variant.
            timestamp: when it was handed in, if that is known.
        """
        released = self.released
        if given is not self.exercise:
            released = nbformat.read(given.file, as_version=4)
        student, assignment = student_id(result.student), self.exercise.assignment
        answers = hand_in.transplant if hand_in else None
        notebook = autograded_notebook(
            released, given, answers=answers, result=result, rubrics=self.rubrics
        )
        target = self.folder.file(
            "autograded", assignment, name=f"{self.name}.ipynb", student=student
        )
        changed = _changed_answers(target, notebook, self.exercise)
        with warnings.catch_warnings():  # nbgrader adds the parts of a submission one by one
            warnings.simplefilter("ignore", SAWarning)
            self.gradebook.update_or_create_student(student)
            self.gradebook.update_or_create_submission(assignment, student, timestamp=timestamp)
        submitted = self.gradebook.find_submission_notebook(self.name, assignment, student)
        self._store_marks(submitted, result, changed)
        # After the marks: a run that is killed in between finds the same changes again.
        copy_file(nbformat.writes(notebook).encode("utf-8"), target)
        if timestamp is not None or submitted.late_submission_penalty:
            AssignLatePenalties(config=self.folder.config).preprocess(
                notebook, self._resources(student)
            )
        return any(grade.needs_manual_grade for grade in submitted.grades)

    def forget_unsaved(self) -> None:
        """Undo what an error has left half stored, so that others can be stored."""
        self.gradebook.db.rollback()

    def _store_marks(self, submitted: Any, result: SubmissionResult, changed: set[str]) -> None:
        items = {item.id: item for item in result.items}
        item_of = {cell.id: cell.item for cell in self.exercise.cells}
        for grade in submitted.grades:
            item = items.get(item_of[grade.name])
            points = item.points if item else None
            differs = grade.auto_score != points or item_of[grade.name] in changed
            if grade.auto_score != points:
                grade.auto_score = points
            by_person = grade.manual_score is not None
            needed = (grade.needs_manual_grade or differs) if by_person else points is None
            if grade.needs_manual_grade != needed:
                grade.needs_manual_grade = needed
        for comment in submitted.comments:
            item = items.get(item_of[comment.name])
            text = _comment(item.status if item else "not run")
            if comment.auto_comment != text:
                comment.auto_comment = text
        self.gradebook.db.commit()


@contextlib.contextmanager
def _own_programs_first() -> Iterator[None]:
    """Find the programs of this Python's environment, even where it was not activated."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _cell_contents(notebook: NotebookNode) -> dict[str, tuple[str, float]]:
    about = [cell.metadata["nbgrader"] for cell in notebook.cells if "nbgrader" in cell.metadata]
    return {each["grade_id"]: (each["checksum"], each.get("points", 0)) for each in about}


def _comment(status: str) -> str | None:
    if status == "not run":
        return NOT_RUN
    return NO_RESPONSE if status in ("no answer", "not started") else None


def _changed_answers(stored: Path, notebook: NotebookNode, exercise: Exercise) -> set[str]:
    """The items whose answers are not those that formgrader has shown so far; all, if unknown."""
    try:
        before = {cell["id"]: cell["source"] for cell in nbformat.read(stored, as_version=4).cells}
    except Exception:  # it is not there, or somebody changed it
        before = {}
    now = {cell.id: cell.source for cell in notebook.cells}
    answers = [cell for cell in exercise.cells if cell.role in ("answer", "written")]
    return {cell.item for cell in answers if now[cell.id] != before.get(cell.id)}


def read_timestamp(data: bytes) -> datetime | None:
    """The time in nbgrader's timestamp.txt; None if something else is in it."""
    try:
        return parse_utc(data.decode("utf-8").strip())
    except Exception:  # dateutil has errors of its own, and anybody may have written the file
        return None
