"""The subcommands that work on the results of grading: report, export, similar.

What a subcommand needs is imported when it runs, so that ``course --help`` stays fast.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from course_lib.terminal import path_argument

EXPORT_FORMATS = ("csv", "nbgrader", "canvas", "moodle", "gradescope")


def _add_results_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "results", type=path_argument, metavar="RESULTS", help="the folder that course grade wrote"
    )
    parser.add_argument(
        "--assignment",
        action="append",
        default=[],
        metavar="NAME",
        help="such as 06_masks; may be repeated (default: all)",
    )
    parser.add_argument(
        "--marks",
        type=path_argument,
        metavar="FILE",
        help="points that a person gave: CSV with the columns student, item, points "
        "(default: all marks*.csv beside the results of each assignment)",
    )
    parser.add_argument(
        "--gradebook",
        type=path_argument,
        metavar="DIR",
        help="nbgrader's course folder, whose marks given in formgrader are read (default: where "
        "course grade --gradebook put the results, if it did)",
    )


def add_report_arguments(parser: ArgumentParser) -> None:
    """Which results, and where the page goes."""
    _add_results_arguments(parser)
    parser.add_argument(
        "--output",
        type=path_argument,
        default=Path("report"),
        metavar="DIR",
        help="the folder of the page and the CSV files (default: report)",
    )


def run_report(options: Namespace) -> int:
    """Write the class at a glance and say where it is."""
    from course_lib.grading.reports.report_command import ReportOptions, report

    page, *tables = report(
        ReportOptions(
            options.results,
            options.output,
            options.assignment,
            options.marks,
            options.gradebook,
        )
    )
    print(f"The class at a glance: {page}")
    print(f"As CSV: {', '.join(str(path) for path in tables)}")
    return 0


def add_export_arguments(parser: ArgumentParser) -> None:
    """Which results, for which platform, and who is in the class."""
    _add_results_arguments(parser)
    parser.add_argument(
        "--format",
        required=True,
        choices=EXPORT_FORMATS,
        help="the platform that reads it, or csv for a table",
    )
    parser.add_argument(
        "--output",
        type=path_argument,
        metavar="FILE",
        help="default: FORMAT.csv; for gradescope the folder gradescope",
    )
    parser.add_argument(
        "--roster",
        type=path_argument,
        metavar="FILE",
        help="CSV with the column student (the name of the folder that was graded), and for "
        "canvas ID, SIS User ID or SIS Login ID, for moodle email, username or idnumber, for "
        "nbgrader last_name, first_name and email",
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="leave empty what is not known yet and who handed in nothing, instead of refusing",
    )


def run_export(options: Namespace) -> int:
    """Write the points for a platform and say where they are."""
    from course_lib.grading.reports.export_command import ExportOptions, export

    written = export(
        ExportOptions(
            options.results,
            options.format,
            options.output,
            options.roster,
            options.marks,
            options.assignment,
            options.partial,
            options.gradebook,
        )
    )
    print(f"The points are in {written}")
    return 0


def add_similar_arguments(parser: ArgumentParser) -> None:
    """Whose work, which assignment, and where the pairs go."""
    parser.add_argument(
        "incoming",
        type=path_argument,
        metavar="INCOMING",
        help="a folder with a folder, or a notebook, for each student",
    )
    parser.add_argument("--assignment", required=True, metavar="NAME", help="such as 06_masks")
    parser.add_argument(
        "--results",
        type=path_argument,
        default=Path("results"),
        metavar="DIR",
        help="where NAME/similar.csv goes, which course report shows (default: results)",
    )
    parser.add_argument(
        "--exercises",
        type=path_argument,
        metavar="DIR",
        help="the exercises as released (default: exercises, here or beside the library)",
    )


def run_similar(options: Namespace) -> int:
    """Print the pairs of submissions that stand out."""
    from course_lib.grading.reports.similar_command import (
        SimilarOptions,
        find_similar,
        similar_table,
    )

    found, submissions = find_similar(
        SimilarOptions(options.incoming, options.assignment, options.exercises, options.results)
    )
    print(similar_table(found, submissions))
    return 0
