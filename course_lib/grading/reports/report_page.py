"""The class at a glance as one HTML page, which needs neither a network nor a second file.

Names, notes and flags may come from anybody: Jinja2 escapes every text, and the page's content
security policy allows no script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure
from tqdm.auto import tqdm

from course_lib.grading.marks.class_marks import Assignment, Mark
from course_lib.grading.reports.item_statistics import (
    FEWEST,
    Confusion,
    ItemStatistics,
    count_confusions,
    item_statistics,
)
from course_lib.grading.reports.report_plots import (
    plot_confusions,
    plot_distribution,
    plot_items,
    plot_overview,
    svg,
)
from course_lib.grading.results import shown_points, shown_text

PAGE = Path(__file__).parents[2] / "assets" / "class_report.html"
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
    environment.filters |= {"shown": shown_text, "percent": lambda share: f"{share:.0%}"}
    marks = [mark for assignment in assignments for mark in assignment.marks]
    waiting = [mark for mark in marks if mark.waits_for]
    bar = tqdm(assignments, desc="drawing", unit="assignment", delay=2, leave=False)
    return environment.from_string(PAGE.read_text(encoding="utf-8")).render(
        student_count=len({mark.student for mark in marks}),
        submission_count=len(marks),
        levels=sorted({mark.result.isolation for mark in marks}),
        waiting=waiting,
        unread=sum(not mark.result.readable for mark in waiting),
        unrun=sum("not run" in mark.waits_for for mark in waiting),
        to_mark=sum("to be marked" in mark.waits_for for mark in waiting),
        overview=_overview(assignments),
        assignments=[_section(each) for each in bar],
        sentence=sentence,
        rows=_rows(assignments),
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


def _overview(assignments: Sequence[Assignment]) -> Markup:
    alt = "For each assignment the median, quartiles and range of the points; as a table below."
    return _picture(plot_overview(assignments), name="overview", alt=alt)


def _picture(figure: Figure, *, name: str, alt: str) -> Markup:
    """Our own drawing, which holds no text of a learner's."""
    return Markup(svg(figure, name=name, alt=alt))


def _section(assignment: Assignment) -> Mapping[str, object]:
    """What the page says of an assignment."""
    statistics, confusions = item_statistics(assignment), count_confusions(assignment)
    shown = assignment.distribution
    points = shown.points
    lower, median, upper = np.quantile(points, [0.25, 0.5, 0.75]) if points else [None] * 3
    return {
        "name": assignment.name,
        "most": shown_points(assignment.most),
        "automatic": shown_points(shown.most) if shown.automatic else "",
        "submitted": len(assignment.marks),
        "known": len(points),
        "median": shown_points(median),
        "quartiles": f"{shown_points(lower)} to {shown_points(upper)}",
        "counts": [(shown_points(p), count) for p, count in sorted(Counter(points).items())],
        "nobody": [item.id for item in statistics if item.nobody],
        "statistics": statistics,
        "confusions": confusions,
        **_plots(assignment, statistics, confusions),
    }


def _plots(
    assignment: Assignment, statistics: Sequence[ItemStatistics], confusions: Sequence[Confusion]
) -> Mapping[str, object]:
    name = assignment.name
    pictures = {
        "distribution": _picture(
            plot_distribution(assignment),
            name=f"distribution-{name}",
            alt=f"How many students earned how many points in {name}; as a table below.",
        ),
        "item_plot": _picture(
            plot_items(statistics),
            name=f"items-{name}",
            alt=f"Difficulty and discrimination of the items of {name}; as a table below.",
        ),
    }
    if confusions:
        pictures["confusion_plot"] = _picture(
            plot_confusions(confusions, len(assignment.marks)),
            name=f"confusions-{name}",
            alt=f"How often each misconception was recognised in {name}; as a table below.",
        )
    return pictures


def _rows(assignments: Sequence[Assignment]) -> list[Mapping[str, object]]:
    """The table of students and assignments."""
    by_student: dict[str, dict[str, Mark]] = {}
    for assignment in assignments:
        for mark in assignment.marks:
            by_student.setdefault(mark.student, {})[assignment.name] = mark
    rows: list[Mapping[str, object]] = []
    for student, marks in sorted(by_student.items()):
        points, most = (sum(each) for each in zip(*(m.so_far for m in marks.values()), strict=True))
        rows.append(
            {
                "student": student,
                "cells": [_cell(marks.get(assignment.name)) for assignment in assignments],
                "total": f"{points:g} of {most:g}",
            }
        )
    return rows


def _cell(mark: Mark | None) -> Mapping[str, object]:
    if mark is None:
        return {"text": "–", "shade": "0"}
    points, known = mark.so_far
    text = shown_points(mark.points)
    if mark.points is None and known:
        text = f"{points:g} + ?"
    return {"text": text, "shade": f"{0.45 * points / mark.most:.2f}"}
