"""What ``course assign --oral`` does: two questions for each student, as a page and as a CSV file.

What was handed in is read as text. Nothing of it is executed, and no machine judges the answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tqdm.auto import tqdm

from course_lib.atomic import write_atomically
from course_lib.errors import CourseError
from course_lib.grading.class_run.class_run import students_in
from course_lib.grading.class_run.grade import HandIn, code_id, encodable, read_hand_in
from course_lib.grading.class_run.regrade_changes import CHANGES_FILE
from course_lib.grading.marks.class_marks import load_results
from course_lib.grading.options import AssignOptions
from course_lib.grading.oral.candidates import HandedIn, candidates
from course_lib.grading.oral.draw_questions import draw_questions
from course_lib.grading.oral.oral_page import StudentQuestions, oral_page, oral_rows
from course_lib.grading.oral.own_answer import own_answers
from course_lib.grading.oral.question_bank import load_bank
from course_lib.grading.results import ItemResult, SubmissionResult, clean_name, shown_text
from course_lib.grading.safe_csv import read_csv, write_csv
from course_lib.grading.submissions.exercise import Exercise, exercises_folder, load_exercise
from course_lib.grading.submissions.submission import SubmissionError
from course_lib.run_options import HANDED_IN
from course_lib.terminal import say
from course_lib.training.runs.handed_in_run import read_log

_MOST_NAME, _MOST_NOTE = 32, 200  # characters of what is printed
NOT_GRADED = "not graded yet, or changed since: nothing is asked about what grading found"
NOTHING_WRITTEN = "nothing was written: there is nothing to ask about"
NO_QUESTION = "no question fits: what was written is no valid Python, or too long, or too little"
ABSENT = "has a result, and nothing in the folder of this class"


@dataclass(frozen=True, kw_only=True)
class Graded:
    """What grading left in the folder of an assignment's results.

    Attributes:
        results: by student.
        corrected: by student, the items that had fewer points in an earlier run.
        secret: of the class, so that nobody can draw their own questions at home; "" without one.
    """

    results: Mapping[str, SubmissionResult]
    corrected: Mapping[str, Collection[str]]
    secret: str = ""


def ask_class(options: AssignOptions) -> None:
    """Draw the questions, write the page and the table, and say where they are.

    Raises:
        CourseError: the options name something that is not there, or nothing can be written.
    """
    if options.oral is None or len(options.assignments) != 1:
        raise CourseError(
            f"--oral is about one assignment, and {len(options.assignments)} were named: add, for "
            "instance, --assignment 06_masks"
        )
    [assignment] = options.assignments
    exercise = load_exercise(options.exercises or exercises_folder(), assignment)
    graded = _graded(options.results, assignment)
    names = students_in(options.oral)
    drawn = [
        ask_student(options.oral / name, exercise, graded, seed=options.seed or "")
        for name in tqdm(names, desc="reading", unit="submission", delay=2, leave=False)
    ]
    here = {clean_name(each.student) for each in drawn}
    drawn += [StudentQuestions(name, (), ABSENT) for name in sorted(graded.results.keys() - here)]
    folder = options.output or Path("oral")
    page, table = folder / f"{assignment}.html", folder / f"{assignment}.csv"
    write_atomically(page, oral_page(assignment, drawn))
    write_csv(table, oral_rows(drawn), byte_order_mark=True)  # it is for a spreadsheet
    if not graded.results:
        say(f"No results in {options.results / assignment}: nothing is asked about what failed.")
    asked = sum(bool(each.questions) for each in drawn)
    say(f"Questions for {asked} of {len(drawn)} students: {page}")
    say(f"The same as a table, with room for marks and notes: {table}")
    for each in drawn:
        if each.note:
            name, note = shown_text(each.student, _MOST_NAME), shown_text(each.note, _MOST_NOTE)
            say(f"  {name}: {note}")


def ask_student(path: Path, exercise: Exercise, graded: Graded, *, seed: str) -> StudentQuestions:
    """The questions for one student, or why there are none.

    Args:
        path: what was handed in; its name is the student's.
        exercise: what was handed out.
        graded: what grading found.
        seed: another one draws other questions.
    """
    student = encodable(path.name)
    try:
        hand_in = read_hand_in(path, exercise)
    except SubmissionError as error:
        return StudentQuestions(student, (), str(error))
    result = graded.results.get(clean_name(student))
    results = _results_of(hand_in, exercise, result)
    handed_in = HandedIn(
        answers=own_answers(hand_in.transplant, exercise),
        written=hand_in.transplant.written,
        results=results,
        corrected=graded.corrected.get(clean_name(student), ()),
        log=_log(hand_in),
    )
    found = candidates(handed_in, load_bank(exercise.assignment))
    questions = draw_questions(found, _key(student, hand_in, graded.secret, seed))
    if not questions:
        is_empty = not (handed_in.answers or handed_in.written)
        return StudentQuestions(student, (), NOTHING_WRITTEN if is_empty else NO_QUESTION)
    is_known = not graded.results or handed_in.answers.keys() <= results.keys()
    return StudentQuestions(student, tuple(questions), "" if is_known else NOT_GRADED)


def _results_of(
    hand_in: HandIn, exercise: Exercise, result: SubmissionResult | None
) -> dict[str, ItemResult]:
    """By item, the results of these very answers."""
    present = {task.entry.id: code_id(task, hand_in.transplant) for task in exercise.tasks}
    items = result.items if result else ()
    return {each.id: each for each in items if each.code == present.get(each.id)}


def _log(hand_in: HandIn) -> list[dict[str, float]]:
    with suppress(CourseError):
        return read_log(hand_in.with_run / HANDED_IN)
    return []


def _key(student: str, hand_in: HandIn, secret: str, seed: str) -> str:
    """What decides the draw: the student, what they wrote, and the class."""
    theirs = [cell.source for cell in hand_in.transplant.cells if not cell.ours]
    written = sorted(hand_in.transplant.written.items())
    parts = [seed, secret, clean_name(student), theirs, written]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _graded(folder: Path, assignment: str) -> Graded:
    """What grading wrote, if it did.

    Raises:
        CourseError: a result can't be read.
    """
    results = {each.student: each for each in load_results(folder / assignment)}
    corrected: dict[str, set[str]] = {}
    if (changes := folder / assignment / CHANGES_FILE).is_file():
        for row in read_csv(changes, ("student", "item", "before")):
            if row["before"] == "not yet":
                corrected.setdefault(clean_name(row["student"]), set()).add(row["item"])
    secret = ""
    with suppress(OSError, ValueError):
        secret = (folder / "secret").read_text(encoding="utf-8").strip()
    return Graded(results=results, corrected=corrected, secret=secret)
