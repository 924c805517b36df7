"""Line and bar charts: losses, metrics, any numbers over an axis or by group."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.typing import ColorType
from torch import Tensor

from course_lib.viz.alt_text import describe, extremes, line_sentence, set_alt_text, titled
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.plots.attention_summary import as_array
from course_lib.viz.plots.end_labels import label_ends
from course_lib.viz.style import (
    ACCENT,
    BAR,
    DASHES,
    DOTTED,
    INK,
    LINE,
    LINE_ABOVE,
    SOFT,
    dress,
    figure_of,
    new_axes,
    plain_ticks,
    raise_title,
    styled,
    written,
)

Numbers = Tensor | np.ndarray | Sequence[float]
SLATE, PALEST = COLOURS["attention"].light, 0.4  # of a series of lines, and its first opacity
CHARACTER_WIDTH = 0.085  # inches, about
PLOTTED = 0.75  # of the width of a figure of bars, about: the rest are their names
AROUND = 1.1  # inches above and below the axes, about
FEW = 4  # lines that are told apart by their greys; more are taken for a series


@styled
def plot_curves(
    curves: Mapping[str, Numbers],
    *,
    x_label: str,
    y_label: str,
    title: str,
    x: Numbers | None = None,
    log_x: bool = False,
    log_y: bool = False,
    accent: str | None = None,
    baselines: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Lines over one x axis, each with its name at its end if there are several.

    Args:
        curves: name → y values, as many as x has.
        x_label: what x is, with its unit.
        y_label: what is measured, with its unit.
        title: what the picture shows.
        x: x values; by default 0, 1, 2, …
        log_x: logarithmic x axis; its values must be positive.
        log_y: logarithmic y axis; its values must be positive.
        accent: the curve that the title is about, in the accent colour; by default none.
        baselines: name → y of dotted lines, such as chance.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, a curve with more or fewer values than x, or an accent on none.
    """
    if not curves:
        raise ValueError("expected at least one named curve, got none: pass {name: values}")
    _check_accent(accent, curves)
    drawn = {name: as_array(numbers) for name, numbers in curves.items()}
    looks = _looks(list(curves), accent)
    x_values = as_array(np.arange(len(next(iter(drawn.values())))) if x is None else x)
    ax = dress(ax or new_axes())
    for name, values in drawn.items():
        if values.shape != x_values.shape:
            raise ValueError(
                f"curve {name!r} must have one value for each of the {len(x_values)} values of x, "
                f"got shape {values.shape}: pass x, or curves of the same length"
            )
        colour, dashes = looks[name]
        ax.plot(x_values, values, color=colour, linestyle=dashes, label=name)
    ax.set(title=title, xlabel=x_label, ylabel=y_label)
    ax.set_xscale("log" if log_x else "linear")
    ax.set_yscale("log" if log_y else "linear")
    ax.grid(visible=True)
    ax.set_xmargin(0.015)  # the names of the lines are near their ends
    for name, height in (baselines or {}).items():
        ax.axhline(height, label=name, **DOTTED)
    plain_ticks(ax)
    _shorten_axis_label(ax)
    label_ends(ax)
    words = line_sentence(drawn, title=title, x_label=x_label, y_label=y_label)
    return set_alt_text(ax, words + _dotted(baselines))


@styled
def plot_loss(
    losses: Numbers,
    *,
    title: str = "Training loss",
    label: str = "ours",
    floor: float | None = None,
    floor_label: str = "floor",
    band: tuple[Numbers, Numbers] | None = None,
    band_label: str = "other seeds",
    x_label: str = "epoch",
    log_y: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Loss in nats per token, over epochs or steps that count from 1.

    Args:
        losses: ours, in order.
        title: what the picture shows.
        label: what the losses are.
        floor: a horizontal line, such as a baseline to get below or a lower bound.
        floor_label: its name.
        band: lower and upper edge of a band, such as the lowest and highest loss of other seeds.
        band_label: what the band is.
        x_label: what is counted on the x axis.
        log_y: logarithmic loss axis.
        ax: where to draw; by default on a new figure.
    """
    ax = plot_curves(
        {label: losses},
        x=np.arange(1, len(losses) + 1),
        x_label=x_label,
        y_label="loss (nats per token)",
        title=title,
        log_y=log_y,
        ax=ax,
    )
    if band is not None:
        low, high = (as_array(edge) for edge in band)
        epochs = np.arange(1, len(low) + 1)
        ax.fill_between(epochs, low, high, color=LINE, alpha=0.3, linewidth=0, label=band_label)
    if floor is not None:
        ax.axhline(floor, label=f"{floor_label} ({floor:.4g})", **DOTTED)
        set_alt_text(ax, f"{describe(ax)} The dotted line, {floor_label}, is at {floor:.4g}.")
    return ax


@styled
def plot_entropy_by_d_head(
    d_heads: Sequence[int],
    *,
    scaled: Numbers,
    unscaled: Numbers,
    n_keys: int,
    ax: Axes | None = None,
) -> Axes:
    """Mean entropy of the attention weights against d_head (section 3.2.1 of the paper).

    Args:
        d_heads: the values of d_head.
        scaled: entropy in nats with scores / √d_head, one for each d_head.
        unscaled: the same without the division.
        n_keys: ln(n_keys), the entropy of uniform attention, is the dotted line.
        ax: where to draw; by default on a new figure.
    """
    ax = plot_curves(
        {"scores / √d_head": scaled, "unscaled scores": unscaled},
        x=np.asarray(d_heads),
        x_label="d_head",
        y_label="entropy of the weights (nats)",
        title="Without scaling, wide heads attend to few keys",
        accent="unscaled scores",
        ax=ax,
    )
    ax.set_xscale("log", base=2)
    ax.set_xticks(d_heads, [str(d_head) for d_head in d_heads])
    ax.minorticks_off()
    uniform = math.log(n_keys)
    ax.axhline(uniform, label=f"uniform: ln {n_keys}", **DOTTED)
    ax.set_ylim(0, 1.08 * uniform)
    return ax


@styled
def plot_bars(
    bars: Mapping[str, float],
    *,
    title: str,
    value: str,
    group: str,
    limits: tuple[float, float] | None = None,
    decimals: int = 1,
    accent: str | Collection[str] = (),
    baselines: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """One horizontal bar for each name, the first on top, with its value at its end, if not zero.

    Args:
        bars: name → value.
        title: what the picture shows.
        value: what the values mean, with their unit.
        group: what the names are.
        limits: ends of the value axis, such as (0, 100) for per cent.
        decimals: how many decimals are written.
        accent: the bars that the title is about; the others are grey.
        baselines: name → value of dotted lines, such as a guess, named above them.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, or an accent on a bar that is not there.
    """
    if not bars:
        raise ValueError("expected at least one bar, got none: pass {name: number}")
    chosen = [accent] if isinstance(accent, str) else list(accent)
    for name in chosen:
        _check_accent(name, bars)
    ax = dress(ax or new_axes(height=1.5 + 0.45 * len(bars)))
    colours = [ACCENT if name in chosen else BAR for name in bars]
    drawn = ax.barh(list(bars), list(bars.values()), color=colours, height=0.65)
    texts = [written(float(number), f".{decimals}f") for number in bars.values()]
    numbers = ax.bar_label(drawn, texts, padding=4, fontsize=10)
    for name, number in zip(bars, numbers, strict=True):
        number.set(**{"weight": "bold", "color": ACCENT} if name in chosen else {})
    ax.invert_yaxis()
    ax.set(title=title, xlabel=value, ylabel=group)
    if limits is None:
        ax.margins(x=0.12)
    else:
        ax.set_xlim(limits[0], limits[1] + 0.08 * (limits[1] - limits[0]))
    ax.grid(visible=True, axis="x")
    ax.tick_params(axis="y", length=0)
    _draw_baselines(ax, baselines or {})
    words = f"{value} by {group}: {extremes(bars, decimals)}.{_dotted(baselines)}"
    return set_alt_text(ax, titled(title, words))


def _dotted(baselines: Mapping[str, float] | None) -> str:
    """A sentence of an alt text; nothing without a baseline."""
    listed = ", ".join(f"{name} at {value:.4g}" for name, value in (baselines or {}).items())
    return f" Dotted: {listed}." if listed else ""


def _draw_baselines(ax: Axes, baselines: Mapping[str, float]) -> None:
    """Dotted lines across bars. Their names stand above the axes, one line each if they are near
    each other.
    """
    if not baselines:
        return
    low, high = ax.get_xlim()
    inches = figure_of(ax).get_size_inches()[0] * PLOTTED / (high - low)
    ends = [-math.inf]  # of the names of each line of text, in data units
    for name, value in sorted(baselines.items(), key=lambda pair: pair[1]):
        ax.axvline(value, **DOTTED)
        half = CHARACTER_WIDTH * (len(name) + 2) / inches / 2
        free = next((i for i, end in enumerate(ends) if end <= value - half), len(ends))
        ends[free : free + 1] = [value + half]
        offset = (0, 4 + LINE_ABOVE * free)
        anchor: dict[str, Any] = {"xycoords": ax.get_xaxis_transform()}
        anchor |= {"textcoords": "offset points", "ha": "center", "va": "bottom"}
        ax.annotate(name, (value, 1), offset, color=SOFT, fontsize=10, **anchor)
    raise_title(ax, len(ends))


def _shorten_axis_label(ax: Axes) -> None:
    """Where what is measured has more letters than fit along the axis, it stands above it."""
    figure = figure_of(ax)
    grid = ax.get_gridspec()
    room = figure.get_size_inches()[1] / (grid.nrows if grid else 1) - AROUND
    if CHARACTER_WIDTH * len(ax.get_ylabel()) <= room:
        return
    ax.yaxis.label.set(rotation=0, ha="left", va="bottom")
    ax.yaxis.set_label_coords(0, 1.02)
    raise_title(ax)


def _looks(names: Sequence[str], accent: str | None) -> dict[str, tuple[ColorType, str]]:
    """Colours and dashes of lines: one accent, and greys, so that colour alone is not needed."""
    looks: dict[str, tuple[ColorType, str]]
    if len(names) <= FEW:
        greys = iter([(INK, "--"), (SOFT, "-"), (LINE, "-.")])
        if accent is None:
            greys = iter([(INK, "-"), (SOFT, "--"), (LINE, "-"), (SOFT, "-.")])
        looks = {name: (ACCENT, "-") if name == accent else next(greys) for name in names}
    else:
        shares = np.linspace(PALEST, 1, len(names)).tolist()
        looks = {
            name: (to_rgba(SLATE, share), DASHES[i % 2])
            for i, (name, share) in enumerate(zip(names, shares, strict=True))
        }
        if accent is not None:
            looks[accent] = ACCENT, "-"
    return looks


def _check_accent(accent: str | None, names: Collection[str]) -> None:
    if accent is not None and accent not in names:
        raise ValueError(
            f"accent must be one of {', '.join(map(repr, names))}, got {accent!r}: "
            "it names what the text is about"
        )
