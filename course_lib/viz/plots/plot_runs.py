"""The curves of training runs, finished or in progress, in one figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from course_lib.viz.alt_text import alt_sentence, set_alt_text, value_range
from course_lib.viz.style import ACCENT, DASHES, LINES, REFERENCE, SOFT, styled

LONGEST = 60  # characters of a run's name that are shown


@runtime_checkable
class RunCurves(Protocol):
    """What a run has logged so far, such as a ``MetricsLog``.

    ``losses`` and ``learning_rates`` have one entry for each step, or are empty;
    ``minutes`` has one for each step. ``epochs`` has the metrics of each validation, by name.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def summary(self) -> str: ...  # noqa: D102
    @property
    def losses(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def learning_rates(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def minutes(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def epochs(self) -> Sequence[Mapping[str, float]]: ...  # noqa: D102


@dataclass(frozen=True)
class Panel:
    """One metric: its key in the log, and how it is shown."""

    key: str
    title: str
    _: KW_ONLY
    unit: str
    factor: float = 1.0
    mark: str = ""  # written after a number

    @property
    def small(self) -> bool:
        """Whether it shares its row."""
        return self.key.startswith("valid_")


PANELS = (
    Panel("loss", "Loss", unit="nats per token"),
    Panel(
        "valid_accuracy_teacher_forced",
        "Teacher-forced accuracy",
        unit="% of tokens",
        factor=100.0,
        mark=" %",
    ),
    Panel("valid_exact", "Autoregressive exact match", unit="%", factor=100.0, mark=" %"),
    Panel("valid_bleu", "Autoregressive BLEU", unit="0 to 100"),
    Panel("rate", "Learning rate", unit="by the schedule"),
)
LOSS_LABELS = {
    "each step": "training loss, each step",
    "training": "training loss, running mean",
    "validation": "validation",
}
CurveKind = Literal["each step", "training", "validation", "learning rate"]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line: the values of one metric of one run, over its steps."""

    run: int
    panel: str
    kind: CurveKind
    steps: np.ndarray
    values: np.ndarray


def curves_of(runs: Sequence[RunCurves]) -> list[Curve]:
    """All the lines to draw.

    Raises:
        ValueError: there is nothing to draw.
    """
    curves = [curve for index, run in enumerate(runs) for curve in _curves(index, run)]
    if not curves:
        raise ValueError(
            "expected a run that took a step or was validated, got none: is it too early?"
        )
    return curves


def _curves(index: int, run: RunCurves) -> Iterator[Curve]:
    def of_steps(panel: str, kind: CurveKind, values: np.ndarray) -> Curve:
        steps = np.arange(1, len(values) + 1)
        return Curve(run=index, panel=panel, kind=kind, steps=steps, values=values)

    losses, rates = np.asarray(run.losses, float), np.asarray(run.learning_rates, float)
    if len(losses):
        yield of_steps("loss", "each step", losses)
        yield of_steps("loss", "training", running_mean(losses))
    else:
        yield from _validated(index, run, key="loss", panel=PANELS[0], kind="training")
    validated = {"valid_loss": PANELS[0]} | {panel.key: panel for panel in PANELS if panel.small}
    for key, panel in validated.items():
        yield from _validated(index, run, key=key, panel=panel, kind="validation")
    if len(rates):
        yield of_steps("rate", "learning rate", rates)


def _validated(
    index: int, run: RunCurves, *, key: str, panel: Panel, kind: CurveKind
) -> Iterator[Curve]:
    rows = [row for row in run.epochs if key in row]
    if rows:
        steps = np.array([int(row["step"]) for row in rows])
        values = panel.factor * np.array([row[key] for row in rows], float)
        yield Curve(run=index, panel=panel.key, kind=kind, steps=steps, values=values)


def running_mean(values: np.ndarray) -> np.ndarray:
    """The centred mean over a fiftieth of the run on either side, symmetric and less near the ends.

    A window that only looks back would lag behind, and show a falling loss too high.
    """
    n = len(values)
    index = np.arange(n)
    half = np.minimum(max(2, n // 50), np.minimum(index, n - 1 - index))  # of the window
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return (sums[index + half + 1] - sums[index - half]) / (2 * half + 1)


@styled
def plot_runs(runs: Sequence[RunCurves], *, total: int | None = None, dpi: int = 100) -> Figure:
    """Loss, validation metrics and learning rate, over steps.

    A single run has validation in the accent colour and training in grey; of several runs, each
    has its own colour and dashes.

    Args:
        runs: one run, or several to compare.
        total: the last step on the x axis; by default the last one so far.
        dpi: pixels per inch.

    Raises:
        ValueError: there is nothing to draw.
    """
    curves = curves_of(runs)
    many = len(runs) > 1
    figure, axes = _new_axes({curve.panel for curve in curves}, dpi)
    for curve in curves:
        axes[curve.panel].plot(curve.steps, curve.values, **_look(curve, many=many))
    end = total or max(curve.steps[-1] for curve in curves)
    for key, ax in axes.items():
        ax.set_xlim(0, 1.01 * end)
        if key != "loss":
            # At least 1, so that a score of zero is a line along the x axis.
            ax.set_ylim(0, ax.get_ylim()[1] if key == "rate" else max(1.0, ax.get_ylim()[1]))
    names = distinct_names([run.name for run in runs])
    _legend(figure, curves, names)
    one = f"{names[0]}\n{for_people(runs[0].summary, 200)}"
    title = f"{len(runs)} training runs compared" if many else one.strip()
    figure.suptitle(title.replace("$", r"\$"), x=0.01, ha="left", fontsize=12)
    parts = {
        f"{names[curve.run]}, {curve.panel} ({curve.kind})": value_range(curve.values)
        for curve in curves
        if curve.kind != "each step"
    }
    return set_alt_text(figure, alt_sentence(title, "Curves against steps", parts))


def _new_axes(keys: set[str], dpi: int) -> tuple[Figure, dict[str, Axes]]:
    """The loss at the top, a row of validation metrics below, the learning rate at the bottom."""
    small = [panel for panel in PANELS if panel.small and panel.key in keys]
    heights = {"loss": 2.9} | ({"small": 1.9} if small else {}) | {"rate": 1.4}
    heights = {row: height for row, height in heights.items() if row in {"small", *keys}}
    figure = Figure(figsize=(9, 0.9 + sum(heights.values())), dpi=dpi, layout="constrained")
    # Columns of one grid, so that the axes of all rows are aligned.
    grid = figure.add_gridspec(len(heights), 6, height_ratios=list(heights.values()))
    axes = {}
    for row, name in enumerate(heights):
        panels = small if name == "small" else [panel for panel in PANELS if panel.key == name]
        for i, panel in enumerate(panels):
            span = 6 // len(panels)
            ax = axes[panel.key] = figure.add_subplot(grid[row, i * span : (i + 1) * span])
            ax.set_title(f"{panel.title} ({panel.unit})", fontsize=9 if panel.small else 10)
            ax.grid(visible=True)
            columns, rows = 3 if panel.small else 8, 6 if panel.key == "loss" else 4
            ax.xaxis.set_major_locator(MaxNLocator(columns, integer=True, steps=[1, 2, 5, 10]))
            ax.yaxis.set_major_locator(MaxNLocator(rows, steps=[1, 2, 5, 10]))
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:.4g}")
            if row == len(heights) - 1:
                ax.set_xlabel("step")
    return figure, axes


def _look(curve: Curve, *, many: bool) -> dict[str, Any]:
    """How a line is drawn. Points mark validations; single steps are faint."""
    run = curve.run if many else int(curve.kind == "validation")
    few = curve.kind == "validation" and len(curve.steps) <= 40
    faint = curve.kind == "each step"
    return {
        "color": LINES[run % len(LINES)] if many else (SOFT, ACCENT)[run],
        "linestyle": "-" if faint else DASHES[(run + run // len(LINES)) % len(DASHES)],
        "linewidth": 0.8 if faint else 1.0 if few and many else 1.8,
        "alpha": 0.3 if faint else 1.0,
        "marker": "o" if few else None,
        "markersize": 4.5,
        "clip_on": not few,  # so that a point on an axis is not cut in half
    }


def _legend(figure: Figure, curves: Sequence[Curve], names: Sequence[str]) -> None:
    """Below all axes, where it covers no line: the runs, and the kinds of lines."""
    many = len(names) > 1
    handles = {}
    for curve in curves:
        look = _look(curve, many=many)
        if many and curve.kind == "training":
            # The space: matplotlib leaves out labels that start with an underscore.
            handles[" " + names[curve.run]] = Line2D([], [], **look)
        if curve.panel == "loss":
            plain = {"color": REFERENCE, "linestyle": "-"} if many else {}
            handles.setdefault(LOSS_LABELS[curve.kind], Line2D([], [], **look | plain))
    ordered = sorted(handles, key=lambda label: label in LOSS_LABELS.values())
    labels = [label.replace("$", r"\$") for label in ordered]
    lines = [handles[label] for label in ordered]
    columns = 3 if max(map(len, labels)) < 30 else 2
    figure.legend(lines, labels, loc="outside lower left", ncols=columns, handlelength=3.2)


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names of runs as they are shown; where two would look alike, the later is numbered."""
    distinct: list[str] = []
    for name in names:
        shown, number = for_people(name), 1
        while shown in distinct:
            number += 1
            end = f" ({number})"
            shown = for_people(name, LONGEST - len(end)) + end
        distinct.append(shown)
    return distinct


def for_people(text: str, longest: int = LONGEST) -> str:
    """A name that is safe to show: no line breaks, nothing unprintable, not too long."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
