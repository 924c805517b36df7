"""The class at a glance as one HTML page, which needs neither a network nor a second file.

Names, notes and flags may come from anybody: Jinja2 escapes every text, and the page's content
security policy allows no script. Its bars and columns are elements with a length, in the colours of
all drawings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from course_lib.grading.marks.class_marks import Assignment, Mark
from course_lib.grading.reports.item_statistics import (
    FEWEST,
    Confusion,
    count_confusions,
    item_statistics,
)
from course_lib.grading.reports.standings import Standing, class_standings, who_may_need_help
from course_lib.grading.results import shown_points, shown_text
from course_lib.viz.drawings.colours import forced_variables, variables

PAGE = Path(__file__).parents[2] / "assets" / "class_report.html"
MOST_COMMON = 8  # misconceptions on top; each assignment's section has all of its own
_MOST_COLUMNS = 13  # of a histogram: each has room for a count of three digits
SimilarPairs = Sequence[Mapping[str, str]]  # the rows of similar.csv
Sentence = Callable[[str, str, str], str]  # of an item's id, a misconception's name, what was seen


def report_page(
    assignments: Sequence[Assignment],
    sentence: Sentence,
    *,
    similar: Mapping[str, SimilarPairs] | None = None,
) -> str:
    """The page.

    Args:
        assignments: with their marks; at least one.
        sentence: what to tell of a misconception.
        similar: pairs of submissions, by assignment, where they were looked for.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters |= {
        "shown": shown_text,
        "percent": lambda share: f"{share:.0%}",
        "points": shown_points,
    }
    marks = [mark for assignment in assignments for mark in assignment.marks]
    waiting = [mark for mark in marks if mark.waits_for]
    sections = [_section(each) for each in assignments]
    standings = class_standings(assignments)
    return environment.from_string(PAGE.read_text(encoding="utf-8")).render(
        colours=Markup(variables() + forced_variables()),
        student_count=len(standings),
        submission_count=len(marks),
        levels=sorted({mark.result.isolation for mark in marks}),
        common=most_common(assignments),
        nobody=[item.id for each in sections for item in each["statistics"] if item.nobody],
        help=who_may_need_help(standings),
        waiting=waiting,
        unread=sum(not mark.result.readable for mark in waiting),
        unrun=sum("not run" in mark.waits_for for mark in waiting),
        to_mark=sum("to be marked" in mark.waits_for for mark in waiting),
        assignments=sections,
        sentence=sentence,
        rows=[_row(each) for each in standings],
        flags=list_class_flags(assignments),
        similar=similar or {},
        fewest=FEWEST,
    )


def list_class_flags(assignments: Sequence[Assignment]) -> list[tuple[str, str, str]]:
    """Student, item and flag."""
    return [
        (mark.student, item.id, flag)
        for assignment in assignments
        for mark in assignment.marks
        for item in mark.items
        for flag in item.flags
    ]


class Counted(NamedTuple):
    """A misconception, and the number of submissions among which it was looked for."""

    confusion: Confusion
    submitted: int

    @property
    def share(self) -> float:
        """Of the submissions."""
        return len(self.confusion.students) / self.submitted


def most_common(assignments: Sequence[Assignment]) -> list[Counted]:
    """Of all assignments, the misconceptions that the largest share of a class has; more than one
    student has each.
    """
    found = [
        Counted(confusion, len(each.marks))
        for each in assignments
        for confusion in count_confusions(each)
        if len(confusion.students) > 1
    ]
    return sorted(found, key=lambda each: -each.share)[:MOST_COMMON]


class Column(NamedTuple):
    """A column of a histogram: from which points to which, how many students, how high it is as a
    share of the highest, and whether the median is in it.
    """

    first: int
    last: int
    students: int
    height: float
    median: bool


def histogram(points: Sequence[float], most: float) -> list[Column]:
    """How many students earned how many points.

    Args:
        points: of each student; half points are rounded up.
        most: that can be earned; somebody may have more, with extra credit.
    """
    top = math.floor(max([most, *points]) + 0.5)
    width = math.ceil((top + 1) / _MOST_COLUMNS)

    def column(value: float) -> int:
        return math.floor(value + 0.5) // width

    counts = Counter(map(column, points))
    highest = max(counts.values(), default=1)
    middle = column(float(np.median(points))) if points else None
    return [
        Column(i * width, i * width + width - 1, counts[i], counts[i] / highest, i == middle)
        for i in range(top // width + 1)
    ]


def _section(assignment: Assignment) -> dict[str, Any]:
    """What the page says of an assignment."""
    statistics = item_statistics(assignment)
    shown = assignment.distribution
    points = shown.points
    lower, median, upper = np.quantile(points, [0.25, 0.5, 0.75]) if points else [None] * 3
    # An item that few have been marked for may look hard by chance.
    shares = [
        item.share
        for item in statistics
        if item.share is not None and item.known >= len(assignment.marks) / 2
    ]
    reasons = {item.undefined for item in statistics}
    return {
        "name": assignment.name,
        "most": shown_points(assignment.most),
        "of": shown_points(shown.most),
        "automatic": shown.automatic,
        "submitted": len(assignment.marks),
        "known": len(points),
        "median": shown_points(median),
        "quartiles": f"{shown_points(lower)} to {shown_points(upper)}",
        "columns": histogram(points, shown.most),
        "statistics": statistics,
        "hardest": min(shares, default=None),
        # One reason for all is given once.
        "undefined": reasons.pop() if len(reasons) == 1 else "",
        "first": len(statistics) + 1,  # of its misconceptions, beside its items
        "confusions": [
            Counted(confusion, len(assignment.marks)) for confusion in count_confusions(assignment)
        ],
    }


def _row(standing: Standing) -> dict[str, object]:
    """A row of the table of students and assignments."""
    points, most = standing.so_far
    return {
        "student": standing.student,
        "cells": [_cell(mark) for mark in standing.marks],
        "total": f"{points:g} of {most:g}",
        "share": standing.share or 0.0,
    }


def _cell(mark: Mark | None) -> dict[str, object]:
    if mark is None:
        return {"text": "–", "share": None, "open": 0.0, "all": False}
    points, known = mark.so_far
    text = shown_points(mark.points)
    if mark.points is None and known:
        text = f"{points:g} + ?"
    return {
        "text": text,
        "share": min(1.0, points / mark.most),
        "open": (mark.most - known) / mark.most,
        "all": mark.points is not None and points >= mark.most,
    }
