"""The plots of the class report, as SVG that takes its colours from the page around it.

They show items and counts but no names of students: those are in the page's tables.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from course_lib.checks.engine.call import truncated
from course_lib.checks.engine.item import name_in_words
from course_lib.grading.marks.class_marks import Assignment
from course_lib.grading.reports.item_statistics import Confusion, ItemStatistics
from course_lib.viz.style import STYLE

# Colours that stand for the page's own until the picture is SVG; no plot uses them otherwise.
_INK, _SOFT, _GRID, _FIRST, _SECOND = "#0a0b01", "#0a0b02", "#0a0b03", "#0a0b04", "#0a0b05"
_COLOURS = {
    _INK: "currentColor",
    _SOFT: "var(--soft)",
    _GRID: "var(--grid)",
    _FIRST: "var(--first)",
    _SECOND: "var(--second)",
}
_STYLE: dict[Any, Any] = STYLE | {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.transparent": True,
    "text.color": _INK,
    "text.parse_math": False,
    "axes.labelcolor": _SOFT,
    "axes.titlecolor": _INK,
    "axes.edgecolor": _SOFT,
    "axes.grid": True,
    "grid.color": _GRID,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "svg.fonttype": "none",  # text stays text: it can be read aloud and searched for
}
_styled = rc_context(_STYLE)
_WIDTH = 5.2  # inches: read on a phone, too
_FEW = 40  # students, of whom each can have a dot
_MOST_CONFUSIONS = 10  # in a plot; the table has all


def svg(figure: Figure, *, name: str, alt: str) -> str:
    """A figure as an SVG element.

    Args:
        figure: drawn in the style of this module.
        name: of the figure, different from all others on the page: its elements' ids depend on it.
        alt: what it shows, for people who can't see it.
    """
    text = io.StringIO()
    with rc_context({**_STYLE, "svg.hashsalt": name}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=nothing)
    picture = text.getvalue()
    picture = picture[picture.index("<svg") :]
    for colour, of_the_page in _COLOURS.items():
        picture = picture.replace(colour, of_the_page)
    # matplotlib numbers its groups alike in each figure, and an id must be unique on a page.
    picture = re.sub(r'\bid="(?=[a-z0-9.]+_\d+")', f'id="{name}-', picture)
    label = alt.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return picture.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def points_as_shares(assignment: Assignment) -> np.ndarray:
    """The points of each student as a share of all that ``distribution`` tells."""
    shown = assignment.distribution
    return np.array([points / shown.most for points in shown.points])


def _name(assignment: Assignment) -> str:
    """What is shown, and of how many."""
    shown = assignment.distribution
    automatic = ", automatic points" if shown.automatic else ""
    return f"{assignment.name}{automatic}  (n = {len(shown.points)})"


@_styled
def plot_overview(assignments: Sequence[Assignment]) -> Figure:
    """The shares of the points earned in each assignment: median, middle half, and range."""
    figure, axes = _figure(_WIDTH, 1.1 + 0.48 * len(assignments))
    random = np.random.default_rng(0)
    for row, assignment in enumerate(assignments):
        shares = points_as_shares(assignment)
        if not len(shares):
            axes.text(0.01, row, "no points known yet", va="center", color=_SOFT, fontsize=9)
            continue
        if len(shares) > 4:
            low, lower, upper, high = np.quantile(shares, [0.05, 0.25, 0.75, 0.95])
            axes.plot([low, high], [row, row], color=_FIRST, linewidth=1.5, solid_capstyle="butt")
            axes.plot(
                [lower, upper],
                [row, row],
                color=_FIRST,
                linewidth=7,
                solid_capstyle="butt",
                alpha=0.55,
            )
        if len(shares) <= _FEW:
            height = row + random.uniform(-0.16, 0.16, len(shares))
            axes.plot(shares, height, "o", color=_FIRST, markersize=4, alpha=0.7, markeredgewidth=0)
        axes.plot(np.median(shares), row, "D", color=_SECOND, markersize=6, markeredgewidth=0)
    _rows(axes, [_name(each) for each in assignments])
    _share_axis(axes, "share of the points earned")
    beyond = max((share for each in assignments for share in points_as_shares(each)), default=1.0)
    axes.set_xlim(right=max(1.02, beyond + 0.02))  # more than all, with extra credit
    axes.set_title("Points in each assignment")
    return figure


@_styled
def plot_distribution(assignment: Assignment) -> Figure:
    """How many students earned how many points in an assignment."""
    figure, axes = _figure(3.6, 2.5)
    shown = assignment.distribution
    points = np.array(shown.points)
    most = int(np.ceil(max([shown.most, *points])))  # more than all, with extra credit
    width = max(1, round(most / 25))
    edges = np.arange(-0.5, most + width + 0.5, width)
    counts, _ = np.histogram(points, edges)
    axes.bar(edges[:-1] + width / 2, counts, width * 0.86, color=_FIRST)
    axes.set(xlim=(-0.9, most + 0.9), xlabel=f"points of {shown.most:g}", ylabel="students")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes.set_ylim(0, max(1, counts.max()) * 1.06)
    axes.grid(False, axis="x")
    axes.set_title(_name(assignment))
    if len(points):
        axes.axvline(float(np.median(points)), color=_SECOND, linestyle="--", linewidth=1.6)
    return figure


@_styled
def plot_items(statistics: Sequence[ItemStatistics]) -> Figure:
    """For each item, the share that passed with its confidence interval, and discrimination."""
    figure = Figure(figsize=(_WIDTH, 1.1 + 0.48 * len(statistics)), layout="constrained")
    shares, correlations = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    for row, item in enumerate(statistics):
        if item.share is not None:
            shares.plot([item.low, item.high], [row, row], color=_FIRST, linewidth=2.2)
            shares.plot(item.share, row, "o", color=_FIRST, markersize=7, markeredgewidth=0)
        if item.discrimination is not None:
            correlations.plot([0, item.discrimination], [row, row], color=_SECOND, linewidth=2.2)
            correlations.plot(
                item.discrimination, row, "o", color=_SECOND, markersize=7, markeredgewidth=0
            )
        else:
            correlations.text(0.02, row, "not defined", va="center", color=_SOFT, fontsize=9)
    _rows(shares, [f"{item.id}  (n = {item.known})" for item in statistics])
    _share_axis(shares, "share that passed, 95 % interval")
    correlations.set(xlim=(-0.42, 1.04), xticks=[0, 0.5, 1], xlabel="correlation with the rest")
    correlations.axvline(0, color=_SOFT, linewidth=1)
    correlations.spines["left"].set_visible(False)
    shares.set_title("Difficulty")
    correlations.set_title("Discrimination")
    return figure


@_styled
def plot_confusions(confusions: Sequence[Confusion], students: int) -> Figure:
    """The most frequent misconceptions, and in how many submissions each was recognised."""
    shown = confusions[:_MOST_CONFUSIONS]
    names = [
        truncated(f"{c.item.partition('.')[2]}: {name_in_words(c.misconception)}", 60)
        for c in shown
    ]
    figure, axes = _figure(_WIDTH, 1.1 + 0.48 * len(shown))
    counts = [len(each.students) for each in shown]
    axes.barh(range(len(shown)), counts, 0.32, color=_FIRST)
    for row, count in enumerate(counts):
        axes.annotate(f"{count}", (count, row), (4, 0), textcoords="offset points", va="center")
    _rows(axes, names)
    axes.set(xlim=(0, max(counts) * 1.12), xlabel=f"submissions of {students}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    more = f", the {len(shown)} most frequent of {len(confusions)}"
    axes.set_title("Misconceptions" + (more if len(shown) < len(confusions) else ""))
    return figure


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows, from the top down; each name above its row, so that a phone has the width."""
    for row, name in enumerate(names):
        axes.text(0, row - 0.3, name, transform=axes.get_yaxis_transform(), fontsize=9)
    axes.set_yticks([])
    axes.set_ylim(len(names) - 0.6, -0.8)
    axes.spines["left"].set_visible(False)


def _share_axis(axes: Axes, label: str) -> None:
    axes.set(xlim=(-0.02, 1.02), xlabel=label)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
