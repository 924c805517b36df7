"""One style for every plot of the course, applied while a plot is drawn, never globally."""

from functools import cache
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

# Opaque white, because a transparent picture cannot be read in a dark theme.
STYLE: dict[Any, Any] = {
    "figure.facecolor": "white",
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
    "figure.dpi": 100,
    "savefig.dpi": 100,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "lines.linewidth": 2.0,
    "hatch.linewidth": 0.8,
}

# Seaborn's palettes, which colour-blind readers can tell apart; the first also prints well in grey.
WEIGHTS, SIGNED = "mako_r", "vlag"
LINES = "#0173b2 #de8f05 #029e73 #d55e00 #cc78bc #ca9161 #fbafe4 #949494".split()  # colorblind
DASHES = ["-", "--", "-.", ":"]

# What is masked, padding, or not a number.
HATCHED: dict[str, Any] = {"facecolor": "#ececec", "edgecolor": "#a8a8a8", "hatch": "////"}
REFERENCE = "#555555"

styled = rc_context(STYLE)
"""Decorator: inside the function, matplotlib draws in the style of the course."""


@cache
def palette(name: str) -> Colormap:
    """``WEIGHTS`` or ``SIGNED`` as matplotlib uses it."""
    import seaborn as sns  # late, because it imports pandas

    colours: Colormap = sns.color_palette(name, as_cmap=True)
    return colours


@styled
def new_axes(*, width: float = 8.0, height: float = 4.0) -> Axes:
    """Empty axes on a new figure, sized in inches.

    The figure is not registered with pyplot, so it is not shown a second time and need not be
    closed.
    """
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def dress(ax: Axes) -> Axes:
    """The course's style for axes that may have been made without it, as by ``Figure.subplots``."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[:].set_edgecolor(STYLE["axes.edgecolor"])
    ax.set_axisbelow(True)
    ax.tick_params(axis="x", labelsize=STYLE["xtick.labelsize"], grid_color=STYLE["grid.color"])
    ax.tick_params(axis="y", labelsize=STYLE["ytick.labelsize"], grid_color=STYLE["grid.color"])
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_fontsize(STYLE["axes.labelsize"])
    return ax


def figure_of(picture: Axes | Figure) -> Figure:
    """The figure that axes belong to; a figure is returned as it is."""
    figure = picture.get_figure(root=True) if isinstance(picture, Axes) else picture
    if not isinstance(figure, Figure):
        raise TypeError(
            f"a picture must be matplotlib Axes on a figure, or a Figure, got "
            f"{type(picture).__name__}: return what the plotting function returned"
        )
    return figure
