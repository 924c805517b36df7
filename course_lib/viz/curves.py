"""Numbers over time, over sizes and over groups: lines and bars."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.typing import ColorType
from torch import Tensor

from course_lib.viz.attention_summary import as_array
from course_lib.viz.style import DASHES, LINES, REFERENCE, WEIGHTS, new_axes, styled
from course_lib.viz.alt_text import from_to, sentence, tell

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
    """Named lines over one x axis. The names stand beside the plot when there are several.

    Args:
        curves: name → y values; all have the length of x.
        x_label: what x counts.
        y_label: what is measured, with its unit.
        title: what is seen.
        x: where the values lie; by default 0, 1, 2, …
        log_x: logarithmic x axis; its values must then be positive.
        log_y: logarithmic y axis; its values must then be positive.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, or a curve whose length is not that of x.
    """
    if not curves:
        raise ValueError("expected at least one named curve, got none: pass {name: values}")
    first = next(iter(curves.values()))
    places = as_array(np.arange(len(first)) if x is None else x)
    ax = ax or new_axes()
    for i, (name, numbers) in enumerate(curves.items()):
        values = as_array(numbers)
        if values.shape != places.shape:
            raise ValueError(
                f"curve {name!r} must have one value for each of the {len(places)} places on x, "
                f"got shape {values.shape}: pass x, or curves of one length"
            )
        colour, dashes = line_look(i, len(curves))
        ax.plot(places, values, color=colour, linestyle=dashes, label=name)
    ax.set(title=title, xlabel=x_label, ylabel=y_label)
    ax.set_xscale("log" if log_x else "linear")
    ax.set_yscale("log" if log_y else "linear")
    ax.grid(visible=True)
    if len(curves) > 1:
        _legend_beside(ax)
    told = {name: from_to(as_array(numbers)) for name, numbers in curves.items()}
    return tell(ax, sentence(title, f"{y_label} over {x_label}", told))


@styled
def plot_loss(
    losses: Numbers,
    *,
    title: str = "Training loss",
    floor: float | None = None,
    floor_label: str = "floor",
    published: Numbers | None = None,
    band: tuple[Numbers, Numbers] | None = None,
    x_label: str = "epoch",
    log_y: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Loss in nats per token, over epochs or steps that count from 1.

    Args:
        losses: ours, in order.
        title: what is seen.
        floor: a horizontal line that training should cross or cannot cross.
        floor_label: whose floor it is.
        published: someone else's curve, to compare with; it may be shorter or longer.
        band: lowest and highest loss over several seeds.
        x_label: what one loss belongs to.
        log_y: logarithmic loss axis.
        ax: where to draw; by default on a new figure.
    """
    ours = as_array(losses)
    ax = plot_curves(
        {"ours": ours},
        x=np.arange(1, len(ours) + 1),
        x_label=x_label,
        y_label="loss (nats per token)",
        title=title,
        log_y=log_y,
        ax=ax,
    )
    if band is not None:
        low, high = (as_array(edge) for edge in band)
        epochs = np.arange(1, len(low) + 1)
        ax.fill_between(
            epochs,
            low,
            high,
            color=LINES[0],
            alpha=0.2,
            linewidth=0,
            label="other seeds",
        )
    if published is not None:
        theirs = as_array(published)
        epochs = np.arange(1, len(theirs) + 1)
        ax.plot(epochs, theirs, color=LINES[1], linestyle="--", label="published")
    if floor is not None:
        ax.axhline(floor, color=REFERENCE, linestyle=":", label=f"{floor_label} ({floor:.4g})")
    if len(ax.get_legend_handles_labels()[1]) > 1:
        _legend_beside(ax)
    told = {"ours": from_to(ours)}
    if published is not None:
        told["published"] = from_to(theirs)
    if floor is not None:
        told[floor_label] = f"at {floor:.4g}"
    return tell(ax, sentence(title, f"loss in nats per token over {x_label}", told))


@styled
def plot_entropy_by_d_head(
    d_heads: Sequence[int],
    *,
    scaled: Numbers,
    unscaled: Numbers,
    n_keys: int,
    title: str = "Without the scale, wide heads stop spreading their attention",
    ax: Axes | None = None,
) -> Axes:
    """Mean entropy of the attention weights against the width of a head (section 3.2.1).

    Args:
        d_heads: the widths tried.
        scaled: entropy in nats with scores / √d_head, one for each width.
        unscaled: the same without the division.
        n_keys: ln(n_keys), the entropy of uniform attention, is the dotted line.
        title: what is seen.
        ax: where to draw; by default on a new figure.
    """
    ax = plot_curves(
        {"scores / √d_head": scaled, "scores as they are": unscaled},
        x=np.asarray(d_heads),
        x_label="d_head",
        y_label="entropy of the weights (nats)",
        title=title,
        ax=ax,
    )
    ax.set_xscale("log", base=2)
    ax.set_xticks(d_heads, [str(width) for width in d_heads])
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
    """One horizontal bar for each name, first on top, its number at its end.

    Args:
        bars: name → length of the bar.
        title: what is seen.
        value: what the length means, with its unit.
        group: what the names are.
        limits: ends of the value axis, such as (0, 100) for per cent.
        decimals: how many are written.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw.
    """
    if not bars:
        raise ValueError("expected at least one bar, got none: pass {name: number}")
    ax = ax or new_axes(height=1.5 + 0.45 * len(bars))
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
    told = {name: f"{length:.{decimals}f}" for name, length in bars.items()}
    return tell(ax, sentence(title, f"{value} by {group}", told))


def line_look(index: int, total: int) -> tuple[ColorType, str]:
    """Colour and dashes of one line: lines differ in both, so that neither is needed alone.

    Up to eight lines are kinds of things; more are steps along something, and get a gradient.
    """
    if total <= len(LINES):
        return LINES[index], DASHES[index % len(DASHES)]
    return WEIGHTS(0.15 + 0.85 * index / (total - 1)), "-"


def _legend_beside(ax: Axes) -> None:
    """Outside the axes, where no line can pass under it."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
