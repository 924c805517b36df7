"""The verbs of teachers: ``course assign``, ``grade``, ``report``, ``export`` and ``similar``.

What a verb needs is imported when it runs, so that ``course --help`` stays fast.
"""

from __future__ import annotations

import sys

from course_lib.errors import CourseError
from course_lib.grading.options import (
    AssignOptions,
    ExportOptions,
    GradeOptions,
    ReportOptions,
    SimilarOptions,
)
from course_lib.terminal import say


def run_assign(options: AssignOptions) -> int:
    """Write exercises for each group or questions for each student, or list conventions."""
    if options.oral is not None:
        from course_lib.grading.oral.oral_command import ask_class

        ask_class(options)
        return 0
    from course_lib.grading.assign_command import assign_and_report, listing

    if options.list_conventions:
        say(*listing().split("\n"))
    else:
        assign_and_report(options)
    return 0


def run_grade(options: GradeOptions) -> int:
    """Grade a class in the jail and print a table; 1 if something could not be graded."""
    if sys.platform == "win32":
        raise CourseError(
            "course grade needs Linux, or macOS with --no-sandbox, and this is Windows: run it in "
            "WSL or in a container"
        )
    from course_lib.grading.jail.server import early_server

    with early_server(options.trusted) as begun:  # it loads PyTorch while this process does
        from course_lib.grading.grade_command import grade_and_report

        return 0 if grade_and_report(options, begun) else 1


def run_report(options: ReportOptions) -> int:
    """Write the class at a glance and say where it is."""
    from course_lib.grading.reports.report_command import report

    page, *tables = report(options)
    say(f"The class at a glance: {page}")
    say(f"As CSV: {', '.join(str(path) for path in tables)}")
    return 0


def run_export(options: ExportOptions) -> int:
    """Write the points for a platform and say where they are."""
    from course_lib.grading.reports.export_command import export

    say(f"The points are in {export(options)}")
    return 0


def run_similar(options: SimilarOptions) -> int:
    """Print the pairs of submissions that stand out."""
    from course_lib.grading.reports.similar_command import find_similar, similar_table

    found, submissions = find_similar(options)
    say(*similar_table(found, submissions).split("\n"))
    return 0
