"""Line and bar charts: losses, metrics, any numbers over an axis or by group."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.typing import ColorType
from torch import Tensor

from course_lib.viz.alt_text import describe, extremes, line_sentence, set_alt_text, titled
from course_lib.viz.plots.attention_summary import as_array
from course_lib.viz.style import DASHES, LINES, REFERENCE, WEIGHTS, dress, new_axes, palette, styled

Numbers = Tensor | np.ndarray | Sequence[float]


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
    ax: Axes | None = None,
) -> Axes:
    """Named lines over one x axis, with a legend beside the plot if there are several.

    Args:
        curves: name → y values, as many as x has.
        x_label: what x is, with its unit.
        y_label: what is measured, with its unit.
        title: what the picture shows.
        x: x values; by default 0, 1, 2, …
        log_x: logarithmic x axis; its values must be positive.
        log_y: logarithmic y axis; its values must be positive.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, or a curve with more or fewer values than x.
    """
    if not curves:
        raise ValueError("expected at least one named curve, got none: pass {name: values}")
    drawn = {name: as_array(numbers) for name, numbers in curves.items()}
    x_values = as_array(np.arange(len(next(iter(drawn.values())))) if x is None else x)
    ax = dress(ax or new_axes())
    for i, (name, values) in enumerate(drawn.items()):
        if values.shape != x_values.shape:
            raise ValueError(
                f"curve {name!r} must have one value for each of the {len(x_values)} values of x, "
                f"got shape {values.shape}: pass x, or curves of the same length"
            )
        colour, dashes = line_look(i, len(curves))
        ax.plot(x_values, values, color=colour, linestyle=dashes, label=name)
    ax.set(title=title, xlabel=x_label, ylabel=y_label)
    ax.set_xscale("log" if log_x else "linear")
    ax.set_yscale("log" if log_y else "linear")
    ax.grid(visible=True)
    if len(curves) > 1:
        _legend_beside(ax)
    return set_alt_text(ax, line_sentence(drawn, title=title, x_label=x_label, y_label=y_label))


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
        label: what the losses are, for the legend.
        floor: a horizontal line, such as a baseline to get below or a lower bound.
        floor_label: its name in the legend.
        band: lower and upper edge of a band, such as the lowest and highest loss of other seeds.
        band_label: what the band is, for the legend.
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
        ax.fill_between(epochs, low, high, color=LINES[0], alpha=0.2, linewidth=0, label=band_label)
    if floor is not None:
        ax.axhline(floor, color=REFERENCE, linestyle=":", label=f"{floor_label} ({floor:.4g})")
        set_alt_text(ax, f"{describe(ax)} The dotted line, {floor_label}, is at {floor:.4g}.")
    if len(ax.get_legend_handles_labels()[1]) > 1:
        _legend_beside(ax)
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
        ax=ax,
    )
    ax.set_xscale("log", base=2)
    ax.set_xticks(d_heads, [str(d_head) for d_head in d_heads])
    ax.minorticks_off()
    uniform = math.log(n_keys)
    ax.axhline(uniform, color=REFERENCE, linestyle=":", label=f"uniform: ln {n_keys}")
    ax.set_ylim(0, 1.08 * uniform)
    _legend_beside(ax)
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
    ax: Axes | None = None,
) -> Axes:
    """One horizontal bar for each name, the first on top, with its value at its end.

    Args:
        bars: name → value.
        title: what the picture shows.
        value: what the values mean, with their unit.
        group: what the names are.
        limits: ends of the value axis, such as (0, 100) for per cent.
        decimals: how many decimals are written.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw.
    """
    if not bars:
        raise ValueError("expected at least one bar, got none: pass {name: number}")
    ax = dress(ax or new_axes(height=1.5 + 0.45 * len(bars)))
    drawn = ax.barh(list(bars), list(bars.values()), color=LINES[0], height=0.65)
    ax.bar_label(drawn, fmt=f"{{:.{decimals}f}}", padding=4, fontsize=10)
    ax.invert_yaxis()
    ax.set(title=title, xlabel=value, ylabel=group)
    if limits is None:
        ax.margins(x=0.12)
    else:
        ax.set_xlim(limits[0], limits[1] + 0.08 * (limits[1] - limits[0]))
    ax.grid(visible=True, axis="x")
    ax.tick_params(axis="y", length=0)
    return set_alt_text(ax, titled(title, f"{value} by {group}: {extremes(bars, decimals)}."))


def line_look(index: int, total: int) -> tuple[ColorType, str]:
    """Colour and dashes of one line: lines differ in both, so that colour alone is not needed.

    Up to eight lines get distinct colours; more are taken as a series and get a colour gradient.
    """
    if total <= len(LINES):
        return LINES[index], DASHES[index % len(DASHES)]
    return palette(WEIGHTS)(0.15 + 0.85 * index / (total - 1)), "-"


def _legend_beside(ax: Axes) -> None:
    """Put the legend outside the axes, where it covers no line."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
