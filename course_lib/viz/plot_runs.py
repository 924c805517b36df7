"""The curves of training runs, finished or under way, in one picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from course_lib.viz.style import DASHES, LINES, REFERENCE, styled
from course_lib.viz.alt_text import from_to, sentence, tell

LONGEST = 60  # letters of a run's name that are shown


@runtime_checkable
class History(Protocol):
    """What a run has come to.

    ``losses`` and ``rates`` (learning rates) have an entry for each step, or are empty;
    ``minutes`` has one for each step. ``epochs`` has the numbers of each validation, by name.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def summary(self) -> str: ...  # noqa: D102
    @property
    def losses(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def rates(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def minutes(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def epochs(self) -> Sequence[Mapping[str, float]]: ...  # noqa: D102


@dataclass(frozen=True)
class Panel:
    """One quantity: where it stands in a validation's numbers, and how it is shown."""

    key: str
    title: str
    unit: str
    factor: float = 1.0
    mark: str = ""  # follows a number

    @property
    def small(self) -> bool:
        """Whether it shares its row."""
        return self.key.startswith("valid_")


PANELS = (
    Panel("loss", "Loss", "nats per token"),
    Panel(
        "valid_accuracy_teacher_forced",
        "Teacher-forced accuracy",
        "% of tokens",
        factor=100.0,
        mark=" %",
    ),
    Panel("valid_exact", "Free-running, exact", "% of sentences", factor=100.0, mark=" %"),
    Panel("valid_bleu", "Free-running BLEU", "0 to 100"),
    Panel("rate", "Learning rate", "by the schedule"),
)
KINDS = {
    "each step": "training loss, each step",
    "training": "training loss, running mean",
    "validation": "validation",
}
Kind = Literal["each step", "training", "validation", "learning rate"]


@dataclass(frozen=True)
class Curve:
    """One line: the values of one quantity of one run, over its steps."""

    run: int
    panel: str
    kind: Kind
    steps: np.ndarray
    values: np.ndarray


def curves_of(histories: Sequence[History]) -> list[Curve]:
    """All the lines that there are to be drawn.

    Raises:
        ValueError: there is nothing to draw.
    """
    curves = [c for run, history in enumerate(histories) for c in _curves(run, history)]
    if not curves:
        raise ValueError(
            "expected a run that took a step or was validated, got none: is it too early?"
        )
    return curves


def _curves(run: int, history: History) -> Iterator[Curve]:
    losses, rates = np.asarray(history.losses, float), np.asarray(history.rates, float)
    if len(losses):
        steps = np.arange(1, len(losses) + 1)
        yield Curve(run, "loss", "each step", steps, losses)
        yield Curve(run, "loss", "training", steps, smooth(losses))
    else:
        yield from _rows(run, history, column="loss", panel=PANELS[0], kind="training")
    yield from _rows(run, history, column="valid_loss", panel=PANELS[0], kind="validation")
    for panel in PANELS:
        if panel.small:
            yield from _rows(run, history, column=panel.key, panel=panel, kind="validation")
    if len(rates):
        yield Curve(run, "rate", "learning rate", np.arange(1, len(rates) + 1), rates)


def _rows(run: int, history: History, *, column: str, panel: Panel, kind: Kind) -> Iterator[Curve]:
    rows = [row for row in history.epochs if column in row]
    if rows:
        steps = np.array([int(row["step"]) for row in rows])
        values = panel.factor * np.array([row[column] for row in rows], float)
        yield Curve(run, panel.key, kind, steps, values)


def smooth(values: np.ndarray) -> np.ndarray:
    """The mean over a fiftieth of the run to either side; less near the ends, alike on both sides.

    It lags behind nothing: a window that only looks back would show a falling loss too high.
    """
    n = len(values)
    places = np.arange(n)
    reach = np.minimum(max(2, n // 50), np.minimum(places, n - 1 - places))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return (sums[places + reach + 1] - sums[places - reach]) / (2 * reach + 1)


@styled
def plot_runs(histories: Sequence[History], *, total: int | None = None, dpi: int = 100) -> Figure:
    """Loss, scores of the validations and learning rate, over steps.

    One run has blue for training and orange for sentences that it does not learn from; of several,
    each has a colour and dashes of its own.

    Args:
        histories: one run, or several to be compared.
        total: where the steps will end, by default where they do.
        dpi: pixels to an inch.

    Raises:
        ValueError: there is nothing to draw.
    """
    curves = curves_of(histories)
    many = len(histories) > 1
    figure, axes = _new_axes({curve.panel for curve in curves}, dpi)
    for curve in curves:
        axes[curve.panel].plot(curve.steps, curve.values, **_look(curve, many=many))
    end = total or max(curve.steps[-1] for curve in curves)
    for key, ax in axes.items():
        ax.set_xlim(0, 1.01 * end)
        if key != "loss":
            # At least 1, so that nothing right yet is a line on the floor.
            ax.set_ylim(0, ax.get_ylim()[1] if key == "rate" else max(1.0, ax.get_ylim()[1]))
    _legend(figure, curves, [history.name for history in histories])
    one = f"{for_people(histories[0].name)}\n{for_people(histories[0].summary, 200)}"
    title = f"{len(histories)} training runs compared" if many else one.strip()
    figure.suptitle(title.replace("$", r"\$"), x=0.01, ha="left", fontsize=12)
    told = {
        f"{for_people(histories[curve.run].name)}, {curve.panel} ({curve.kind})": from_to(
            curve.values
        )
        for curve in curves
        if curve.kind != "each step"
    }
    return tell(figure, sentence(title, "Curves over steps", told))


def _new_axes(keys: set[str], dpi: int) -> tuple[Figure, dict[str, Axes]]:
    """The loss wide on top, what is validated in a row below it, the rate at the bottom."""
    small = [panel for panel in PANELS if panel.small and panel.key in keys]
    heights = {"loss": 2.9} | ({"small": 1.9} if small else {}) | {"rate": 1.4}
    heights = {row: height for row, height in heights.items() if row in {"small", *keys}}
    figure = Figure(figsize=(9, 0.9 + sum(heights.values())), dpi=dpi, layout="constrained")
    # Columns of one grid, so that the axes of all rows begin and end at one place.
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
    """How a line is drawn. Points mark what was validated; single steps are faint."""
    run = curve.run if many else int(curve.kind == "validation")
    few = curve.kind == "validation" and len(curve.steps) <= 40
    faint = curve.kind == "each step"
    return {
        "color": LINES[run % len(LINES)],
        "linestyle": "-" if faint else DASHES[(run + run // len(LINES)) % len(DASHES)],
        "linewidth": 0.8 if faint else 1.0 if few and many else 1.8,
        "alpha": 0.3 if faint else 1.0,
        "marker": "o" if few else None,
        "markersize": 4.5,
        "clip_on": not few,  # a point on an axis is seen as a whole
    }


def _legend(figure: Figure, curves: Sequence[Curve], names: Sequence[str]) -> None:
    """Below everything, where no line can pass under it: the runs, and the kinds of lines."""
    many = len(names) > 1
    handles = {}
    for curve in curves:
        look = _look(curve, many=many)
        if many and curve.kind == "training":
            # The space is for matplotlib, which leaves out names that begin with an underscore.
            handles[" " + for_people(names[curve.run])] = Line2D([], [], **look)
        if curve.panel == "loss":
            plain = {"color": REFERENCE, "linestyle": "-"} if many else {}
            handles.setdefault(KINDS[curve.kind], Line2D([], [], **look | plain))
    ordered = sorted(handles, key=lambda label: label in KINDS.values())
    labels = [label.replace("$", r"\$") for label in ordered]
    lines = [handles[label] for label in ordered]
    columns = 3 if max(map(len, labels)) < 30 else 2
    figure.legend(lines, labels, loc="outside lower left", ncols=columns, handlelength=3.2)


def for_people(text: str, longest: int = LONGEST) -> str:
    """A name as it may be shown: no line breaks, nothing that cannot be printed, not too long."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
