"""The options of ``course assign``, ``grade``, ``report``, ``export`` and ``similar``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from course_lib.arguments import option
from course_lib.errors import CourseError

ExportFormat = Literal["csv", "nbgrader", "canvas", "moodle", "gradescope"]


def _assignments() -> Any:
    """The field of two verbs that takes the names of assignments."""
    return option(
        "such as 06_masks; may be repeated (default: all)",
        default=(),
        metavar="NAME",
        flag="--assignment",
        many="repeat",
    )


@dataclass(frozen=True, kw_only=True)
class AssignOptions:
    """What is assigned: variants for groups, from a seed, or questions for a conversation.

    Raises:
        CourseError: the options ask for none of these, or for --list with a seed.
    """

    seed: str | None = option(
        "decides who gets what, such as 2027-spring; any text. With --oral it may be left out",
        default=None,
        metavar="TERM",
    )
    list_conventions: bool = option(
        "only list which item takes which conventions",
        default=False,
        flag="--list",
        exclusive="action",
    )
    oral: Path | None = option(
        "draw two questions for each student from what is in this folder, with expected points, "
        "for a conversation of three minutes; nothing in it is run. For instance: "
        "course assign --oral incoming --assignment 06_masks --results results",
        default=None,
        metavar="INCOMING",
        exclusive="action",
    )
    number: int = option("groups (default: %(default)s)", default=6, metavar="N", flag="--variants")
    assignments: tuple[str, ...] = _assignments()
    output: Path | None = option(
        "where group_1/NAME, group_2/NAME, … and manifest.json go (default: variants); with "
        "--oral, where NAME.html and NAME.csv go (default: oral)",
        default=None,
        metavar="DIR",
    )
    results: Path = option(
        "with --oral, where course grade wrote its results (default: %(default)s); what failed is "
        "asked about, too",
        default=Path("results"),
        metavar="DIR",
    )
    exercises: Path | None = option(
        "the public exercises (default: exercises, here or beside the library)",
        default=None,
        metavar="DIR",
    )

    def __post_init__(self) -> None:
        if self.list_conventions and self.seed is not None:
            raise CourseError("--list draws nothing, so it takes no --seed: leave out one")
        if not self.list_conventions and self.oral is None and self.seed is None:
            raise CourseError(
                "expected --seed TERM for variants, --oral INCOMING for questions, or --list, got "
                "none of them: see course assign --help"
            )


@dataclass(frozen=True, kw_only=True)
class HandedInOptions:
    """Whose work is read, and for which assignment."""

    incoming: Path = option(
        "a folder with a folder, or a notebook, for each student",
        metavar="INCOMING",
        positional=True,
    )
    assignment: str = option("such as 06_masks", metavar="NAME")
    exercises: Path | None = option(
        "the exercises as released (default: exercises, here or beside the library)",
        default=None,
        metavar="DIR",
    )


@dataclass(frozen=True, kw_only=True)
class GradeOptions(HandedInOptions):
    """Where the results go, how it is graded, and how much is trusted.

    Raises:
        CourseError: two options contradict each other, or one needs another.
    """

    results: Path = option(
        "where NAME/STUDENT.json go (default: %(default)s); what is there and unchanged is kept",
        default=Path("results"),
        metavar="DIR",
    )
    jobs: int = option("processes at the same time (default: %(default)s)", default=1, metavar="N")
    cluster: str = option(
        "grade on the workers of this Dask scheduler, such as tcp://host:8786, in place of "
        "--jobs; they need the same folders, and each grades one submission at a time",
        default="",
        metavar="ADDRESS",
    )
    variants: Path | None = option(
        "the folder that course assign wrote: each student is graded by their own variant",
        default=None,
        metavar="DIR",
    )
    groups: Path | None = option(
        "lines student,group (default: the group whose stamp is in the notebook)",
        default=None,
        metavar="CSV",
    )
    secret_file: Path | None = option(
        "decides the test inputs; made if it is not there (default: DIR/secret). "
        "Keep it: with another one everything is graded again",
        default=None,
        metavar="F",
    )
    diff: bool = option(
        "show which earlier points would change, and write no results", default=False
    )
    gradebook: Path | None = option(
        "also put the results into this course folder of nbgrader, to be marked and shown "
        "with its formgrader; made if it is not there. Marks that a person gave stay",
        default=None,
        metavar="DIR",
    )
    trusted: bool = option(
        "run the code as your own, with nothing to stop it; needs the next option",
        default=False,
        flag="--no-sandbox",
    )
    authors_known: bool = option(
        "say that you know their authors", default=False, flag="--i-trust-these-submissions"
    )

    def __post_init__(self) -> None:
        if self.trusted != self.authors_known:
            raise CourseError(
                "--no-sandbox and --i-trust-these-submissions need each other: without a sandbox, "
                "what is handed in can read and delete your files"
            )
        if self.jobs < 1:
            raise CourseError(f"--jobs must be at least 1, got {self.jobs}")
        if self.diff and self.gradebook:
            raise CourseError(
                "--diff writes nothing, so it can't be used with --gradebook: leave out one"
            )
        if self.groups and not self.variants:
            raise CourseError("--groups names the students' groups, but --variants was not given")


@dataclass(frozen=True, kw_only=True)
class SimilarOptions(HandedInOptions):
    """Where the pairs go."""

    results: Path = option(
        "where NAME/similar.csv goes, which course report shows (default: %(default)s)",
        default=Path("results"),
        metavar="DIR",
    )


@dataclass(frozen=True, kw_only=True)
class ResultsOptions:
    """Which results are read, and where the points that a person gave are."""

    results: Path = option("the folder that course grade wrote", metavar="RESULTS", positional=True)
    assignments: tuple[str, ...] = _assignments()
    marks: Path | None = option(
        "points that a person gave: CSV with the columns student, item, points "
        "(default: all marks*.csv beside the results of each assignment)",
        default=None,
        metavar="FILE",
    )
    gradebook: Path | None = option(
        "nbgrader's course folder, whose marks given in formgrader are read (default: where "
        "course grade --gradebook put the results, if it did)",
        default=None,
        metavar="DIR",
    )


@dataclass(frozen=True, kw_only=True)
class ReportOptions(ResultsOptions):
    """Where the page goes."""

    output: Path = option(
        "the folder of the page and the CSV files (default: %(default)s)",
        default=Path("report"),
        metavar="DIR",
    )


@dataclass(frozen=True, kw_only=True)
class ExportOptions(ResultsOptions):
    """For which platform, and who is in the class."""

    format: ExportFormat = option("the platform that reads it, or csv for a table")
    output: Path | None = option(
        "default: FORMAT.csv, or points.csv for csv; for gradescope the folder gradescope",
        default=None,
        metavar="FILE",
    )
    roster: Path | None = option(
        "CSV with the column student (the name of the folder that was graded), and for "
        "canvas ID, SIS User ID or SIS Login ID, for moodle email, username or idnumber, for "
        "nbgrader last_name, first_name and email",
        default=None,
        metavar="FILE",
    )
    partial: bool = option(
        "leave empty what is not known yet and who handed in nothing, instead of refusing",
        default=False,
    )
