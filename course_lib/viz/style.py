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
from matplotlib.ticker import LogFormatter

from course_lib.viz.drawings.colours import COLOURS
from course_lib.wording import power_of_ten

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

Quantity = Literal["value", "attention", "similarity", "leakage", "count"]

# What a heat map shows: the names of the colours of its negative and its positive values. Zero is
# the colour of the page.
QUANTITIES: Mapping[Quantity, tuple[str, str]] = {
    "value": ("negative", "positive"),
    "attention": ("negative", "attention"),
    "similarity": ("negative", "similarity"),
    "leakage": ("negative", "leakage"),
    "count": ("negative", "soft"),  # also shares and indices: a number without a meaning of its own
}

# For parts that need a colour each, such as heads. Blue and orange belong to the two languages.
LINES = [
    COLOURS[name].light
    for name in "accent attention positive negative similarity leakage line soft".split()
]
DASHES = ["-", "--", "-.", ":"]
WIDTH = 8.8  # inches, of a page's column
LINE_ABOVE = 15  # points, of a line of small letters between axes and their title

# What is masked, padding, or not a number.
HATCHED: dict[str, Any] = {"facecolor": FILL, "edgecolor": LINE, "hatch": "////"}
REFERENCE = SOFT  # chance and baselines, dotted
DOTTED: dict[str, Any] = {"color": REFERENCE, "linestyle": ":", "linewidth": 1.5}
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
def new_axes(*, width: float = WIDTH, height: float = 4.0) -> Axes:
    """Empty axes on a new figure, sized in inches; by default as wide as a page's column.

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
        axis.set_tick_params(which="both", color=LINE, labelcolor=INK)
        axis.set_tick_params(which="minor", labelsize=STYLE["xtick.labelsize"])


def raise_title(ax: Axes, lines: int = 1) -> None:
    """Leave room for lines of small letters between the axes and their title."""
    title = ax.get_title(loc="left")
    ax.set_title(title, loc="left", pad=STYLE["axes.titlepad"] + LINE_ABOVE * lines)


def written(number: float, form: str) -> str:
    """A number as a picture writes it, with a true minus; nothing if that would be a zero.

    Args:
        number: what is written.
        form: how, such as ``.2f``.
    """
    text = format(number, form)
    return "" if not text.strip("-0.") else text.replace("-", "−")


class PlainTicks(LogFormatter):
    """Labels of a logarithmic axis: 0.6 and 1,000; a power of ten only where that is shorter."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """As matplotlib calls it."""
        if not super().__call__(x, pos):
            return ""
        low, high = self.axis.get_view_interval() if self.axis else (x, x)
        wide = low < 0.9e-4 or high > 1e6
        if 0.01 <= x <= 100 or not wide:
            return f"{x:,.6g}"
        mantissa, power = f"{x:.3e}".split("e")
        factor = "" if float(mantissa) == 1 else f"{float(mantissa):g} × "
        return factor + power_of_ten(int(power))


def plain_ticks(ax: Axes) -> None:
    """Plain numbers along the logarithmic axes of a plot, all in the same look."""
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(PlainTicks())
            axis.set_minor_formatter(PlainTicks())


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
