"""What ``course grade`` prints: the isolation, a progress bar, a table, and what needs a person."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from tqdm.auto import tqdm

from course_lib.checks.engine.call import truncated
from course_lib.errors import CourseError
from course_lib.grading.class_run.class_run import (
    ClassRun,
    grade_class,
    left_out_of,
    left_results,
    load_secret,
    look_the_same,
    students_in,
)
from course_lib.grading.class_run.regrade_changes import changes_between, changes_summary
from course_lib.grading.jail.bubblewrap import refuse_shown
from course_lib.grading.jail.jail import Jail
from course_lib.grading.jail.server import Server
from course_lib.grading.options import GradeOptions
from course_lib.grading.results import (
    SubmissionResult,
    aligned,
    clean_name,
    list_names,
    shown_points,
    shown_text,
)
from course_lib.grading.submissions.exercise import exercises_folder, load_exercise
from course_lib.grading.submissions.own_numbers import flag_same_numbers
from course_lib.grading.variants.variants import load_variants
from course_lib.terminal import say

_MOST_NAME, _MOST_NOTE = 32, 200  # characters in the table, and of a note below it
_NOTES = 3  # of a student, below the table


def grade_and_report(options: GradeOptions, begun: Server | None = None) -> bool:
    """Grade, print the table, and tell whether everything could be graded.

    Args:
        options: of the command.
        begun: a server of the jail that has begun to start.

    Raises:
        CourseError: the options name something that is not there, or nothing isolates here.
    """
    exercises = options.exercises or exercises_folder()
    exercise = load_exercise(exercises, options.assignment)
    variants = None
    if options.variants:
        variants = load_variants(options.variants, options.assignment, options.groups)
    if options.gradebook:
        from course_lib.grading.nbgrader.course_folder import open_course_folder

        open_course_folder(options.gradebook)  # so that an error comes before the grading
    if not options.trusted:
        folders = {
            "submissions": options.incoming,
            "results": options.results,
            "exercises": exercises,
            "variants": options.variants,
            "secret": options.secret_file,
            "groups": options.groups,
            "gradebook": options.gradebook,
        }
        refuse_shown({name: folder for name, folder in folders.items() if folder is not None})
    students = students_in(options.incoming)
    if exercise.file.name in students:
        raise CourseError(
            f"expected a folder for each student in {options.incoming}, got {exercise.file.name}, "
            "as it was handed out: is that the folder of one student? Name the folder around it"
        )
    with Jail(trusted=options.trusted, begun=begun) as jail:
        say(isolation_line(jail.isolation), error=True)
        run = ClassRun(
            incoming=options.incoming.absolute(),  # also for the workers of a cluster
            exercise=exercise,
            results=options.results.absolute(),
            # Only now, so that a command that could not begin leaves no new secret behind.
            secret=load_secret(options.secret_file or options.results / "secret"),
            jobs=options.jobs,
            cluster=options.cluster,
            trusted=options.trusted,
            preview=options.diff,
            variants=variants,
        )
        earlier = {each.student: each for each in map(run.load_result, students) if each}
        bar = tqdm(grade_class(run, jail), total=len(students), desc="grading", unit="submission")
        results = flag_same_numbers(sorted(bar, key=lambda result: result.student))
    say(*table(results).split("\n"))
    if exercise.earlier_parts:
        say(
            "",
            f"The course's own parts were used in place of earlier answers "
            f"({', '.join(exercise.earlier_parts)}), so that an earlier error costs no point here.",
        )
    if left_out := left_out_of(options.incoming):
        say(
            "",
            f"Not graded, since names that begin with a dot, tables and what systems leave in "
            f"folders are nobody's work: {list_names(left_out)}. If they are students' work, "
            "rename them and grade again.",
        )
    for names in look_the_same(students):
        say(
            "",
            f"These names look the same: {', '.join(map(ascii, names))}. Each has a result of its "
            "own: if they are one student's, keep the folder that counts and grade again.",
        )
    folder = options.results / options.assignment
    if left := left_results(run, students):
        say(
            "",
            f"Not in {options.incoming}, but with a result in {folder}: {list_names(left)}. "
            "course report and course export count these, too. If somebody left or a folder was "
            "renamed, delete the old result.",
        )
    changes = [
        change for each in results for change in changes_between(earlier.get(each.student), each)
    ]
    say("", *changes_summary(changes, folder, preview=options.diff).split("\n"))
    all_stored = True
    if options.gradebook:
        text, all_stored = _store_in_gradebook(options.gradebook, run, results)
        say(*text.split("\n"))
    if options.diff:
        say("Next: the same command without --diff")
    else:
        say(f"Next: course report {shlex.quote(str(options.results))}")
    return all_stored and all(result.points is not None for result in results)


def _store_in_gradebook(
    course: Path, run: ClassRun, results: Sequence[SubmissionResult]
) -> tuple[str, bool]:
    """Put the results into nbgrader's gradebook; what is left to do, and whether all are there."""
    from course_lib.grading.marks.formgrader_marks import record_stored
    from course_lib.grading.nbgrader.class_gradebook import store_class

    stored = store_class(course, run, results=results)
    lines = [
        f"nbgrader's gradebook is in {course}. Of {stored.submissions} submissions, "
        f"{stored.to_mark} need a person's marks: cd {course} && jupyter lab, then "
        "Nbgrader → Formgrader → Manual Grading."
    ]
    lines += [f"  {name!r} is called {safe} there" for name, safe in stored.renamed.items()]
    if stored.failed:
        lines.append(
            f"{len(stored.failed)} results could not be put into the gradebook. Grade again when "
            "the cause is gone; if you see none, please report it:"
        )
        lines += [
            f"  {shown_text(name, _MOST_NAME)}: {shown_text(why, _MOST_NOTE)}"
            for name, why in stored.failed.items()
        ]
    put = [each for each in results if each.student not in stored.failed]
    for other in record_stored(run.results / run.exercise.assignment, course, results=put):
        lines.append(
            f"Marks that were given in {other} no longer count for course report and course "
            f"export: give them in {course}, or grade with --gradebook {other} again."
        )
    return "\n".join(lines), not stored.failed


def isolation_line(isolation: str) -> str:
    """What isolates the code that is handed in."""
    if isolation == "none":
        return "Isolation: none. What is handed in can do everything that you can."
    return f"Isolation: {isolation}"


def table(results: Sequence[SubmissionResult]) -> str:
    """A row for each student, and below it what a person should look at."""
    rows: list[tuple[str, ...]] = [("student", "points", "to mark", "flags", "")]
    rows += [_row(result) for result in results]
    lines = aligned(rows, right=(1, 2, 3))
    for result in results:
        notes = [
            *result.notes,
            *(f"{i.id} was not run: {i.reason}" for i in result.items if i.reason),
        ]
        if notes:
            lines += ["", f"{shown_text(result.student, _MOST_NAME)}:"]
            lines += [f"  {truncated(note, _MOST_NOTE)}" for note in notes[:_NOTES]]
            if len(notes) > _NOTES:
                lines.append(f"  … and {len(notes) - _NOTES} more in the result file")
    return "\n".join(lines)


def _row(result: SubmissionResult) -> tuple[str, ...]:
    name = shown_text(clean_name(result.student), _MOST_NAME)  # as many characters as one sees
    if not result.readable:
        return name, "?", "", "", "could not be read"
    flags = sum(bool(item.flags) for item in result.items)
    unrun = any(item.status == "not run" for item in result.items)
    return (
        name,
        f"{shown_points(result.points)} of {shown_points(result.most)}",
        str(result.to_mark or ""),
        str(flags or ""),
        "not all could be run" if unrun else "",
    )
