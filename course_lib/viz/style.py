"""One style for every plot of the course, applied while a plot is drawn, never globally.

Colours are those of light pages; a stored plot takes them by their meaning (`plot_svg`).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

from course_lib.viz.drawings.colours import COLOURS

INK, SOFT, LINE, HAIR, FILL, PAGE, ACCENT = (
    COLOURS[name].light for name in ("ink", "soft", "line", "hair", "fill", "page", "accent")
)

# Opaque, because a transparent picture cannot be read on a page that does not say its theme.
STYLE: dict[Any, Any] = {
    "figure.facecolor": PAGE,
    "axes.facecolor": PAGE,
    "savefig.facecolor": PAGE,
    "text.color": INK,
    "axes.labelcolor": SOFT,
    "axes.titlecolor": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "patch.edgecolor": INK,
    "hatch.color": HAIR,
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
    "axes.edgecolor": LINE,
    "axes.axisbelow": True,
    "grid.color": HAIR,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "lines.linewidth": 2.0,
    "hatch.linewidth": 1.4,
}

Quantity = Literal["value", "attention", "similarity", "leakage"]

# What a heat map shows: the names of the colours of its negative and its positive values. Zero is
# the colour of the page.
QUANTITIES: Mapping[Quantity, tuple[str, str]] = {
    "value": ("negative", "positive"),
    "attention": ("negative", "attention"),
    "similarity": ("negative", "similarity"),
    "leakage": ("negative", "leakage"),
}

# For parts that need a colour each, such as heads. Blue and orange belong to the two languages.
LINES = [
    COLOURS[name].light
    for name in "accent attention positive negative similarity leakage line soft".split()
]
DASHES = ["-", "--", "-.", ":"]

# What is masked, padding, or not a number.
HATCHED: dict[str, Any] = {"facecolor": FILL, "edgecolor": LINE, "hatch": "////"}
REFERENCE = SOFT  # chance and baselines, dotted
BAR = LINE  # that the text is not about

styled = rc_context(STYLE)
"""Decorator: inside the function, matplotlib draws in the style of the course."""


@cache
def palette(quantity: Quantity, *, signed: bool) -> LinearSegmentedColormap:
    """From the page's colour at zero to that of the quantity.

    Args:
        quantity: what is shown.
        signed: zero is in the middle, and negative values have a colour of their own.

    Raises:
        ValueError: there is no such quantity.
    """
    if quantity not in QUANTITIES:
        options = ", ".join(map(repr, QUANTITIES))
        raise ValueError(f"quantity must be one of {options}, got {quantity!r}")
    import seaborn as sns  # late, because it imports pandas

    below, above = (COLOURS[name].light for name in QUANTITIES[quantity])
    name = f"{quantity}, signed" if signed else quantity
    stops = sns.blend_palette([PAGE, above], 129)
    if signed:
        stops = sns.blend_palette([below, PAGE], 129)[:-1] + stops  # zero is the page's colour
    return LinearSegmentedColormap.from_list(name, stops, N=len(stops))


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
    ax.set_facecolor(PAGE)
    ax.tick_params(axis="x", labelsize=STYLE["xtick.labelsize"], grid_color=STYLE["grid.color"])
    ax.tick_params(axis="y", labelsize=STYLE["ytick.labelsize"], grid_color=STYLE["grid.color"])
    dress_labels(ax)
    return ax


def dress_labels(ax: Axes) -> None:
    """The course's style for what stands along the axes."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(fontsize=STYLE["axes.labelsize"], color=STYLE["axes.labelcolor"])
        axis.set_tick_params(color=LINE, labelcolor=INK)


def brightness(colour: Any) -> float:
    """How bright one of matplotlib's colours looks, 0 to 1 (ITU-R BT.601)."""
    red, green, blue, _ = to_rgba(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def figure_of(picture: Axes | Figure) -> Figure:
    """The figure that axes belong to; a figure is returned as it is."""
    figure = picture.get_figure(root=True) if isinstance(picture, Axes) else picture
    if not isinstance(figure, Figure):
        raise TypeError(
            f"a picture must be matplotlib Axes on a figure, or a Figure, got "
            f"{type(picture).__name__}: return what the plotting function returned"
        )
    return figure
