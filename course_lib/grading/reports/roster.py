"""The roster of a class: who is in it, and what a learning platform calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.grading.results import clean_name, list_names
from course_lib.grading.safe_csv import read_csv

Roster = Mapping[str, Mapping[str, str]]  # from a student's folder name to the row of the roster


def load_roster(path: Path) -> Roster:
    """A roster: a CSV file with the column ``student``, and others that a platform needs.

    ``student`` is the name of the student's folder in what was graded. Rows without one are left
    out: exports of platforms have some, such as Canvas's "Points Possible" and its test student.

    Raises:
        CourseError: it can't be read, or somebody is in it twice.
    """
    rows = [row for row in read_csv(path, ("student",)) if row["student"]]
    names = [clean_name(row["student"]) for row in rows]
    roster = dict(zip(names, rows, strict=True))
    if len(roster) != len(rows):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise CourseError(
            f"expected each student once in {path}, got twice or more: {list_names(twice)}. "
            "Delete the rows that are too many"
        )
    return roster


def match(roster: Roster, students: Sequence[str], *, partial: bool) -> None:
    """Compare a roster with those who handed in something.

    Args:
        roster: of the class.
        students: who handed in something.
        partial: somebody in the roster may have handed in nothing.

    Raises:
        CourseError: somebody is in one of the two only; it names them.
    """
    strangers = sorted(set(students) - roster.keys())
    absent = sorted(roster.keys() - set(students))
    told = []
    if strangers:
        told.append(f"not in the roster: {list_names(strangers)}")
    if absent and not partial:
        told.append(f"handed in nothing: {list_names(absent)}")
    if told:
        hint = ", or --partial to leave those empty who handed in nothing" if absent else ""
        raise CourseError(
            f"expected the roster and the results to name the same students, got {'; '.join(told)}."
            f" Correct the column student of the roster{hint}"
        )


def column(roster: Roster, names: Sequence[str], *, purpose: str) -> str:
    """The first of these columns that the roster fills for everybody.

    Args:
        roster: of the class.
        names: of columns, the best first.
        purpose: who needs one of them, for the message.

    Raises:
        CourseError: there is none, or two students have the same value in it.
    """
    rows = list(roster.values())
    filled = (name for name in names if rows and all(row.get(name) for row in rows))
    found = next(filled, None)
    if found is None:
        raise CourseError(
            f"expected a roster in which everybody has {' or '.join(names)}, which {purpose} needs "
            f"to recognise them, got the columns {', '.join(rows[0]) if rows else '(no rows)'}: "
            "give one with --roster"
        )
    values = [row[found] for row in rows]
    if len(set(values)) != len(values):
        twice = sorted({value for value in values if values.count(value) > 1})
        raise CourseError(
            f"expected another {found} for each student in the roster, got some for two students: "
            f"{list_names(twice)}. Correct them"
        )
    return found
