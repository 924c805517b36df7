"""What the colours of a heat map mean: a bar beside it, or words above it if it is numbered.

Equal scales of one figure share their bar.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.transforms import Bbox

from course_lib.viz.style import HAIR, SOFT, figure_of, raise_title

GAP, WIDTH = 0.12, 0.14  # inches between a map and its bar, and of the bar
WORDS = "meaning"  # by which the words above a map are found


def add_colour_bar(ax: Axes, image: AxesImage, meaning: str) -> None:
    """A bar as tall as its map, in place of an equal one of the figure.

    Args:
        ax: of the map.
        image: its cells.
        meaning: of the colour, with its unit.
    """
    figure = figure_of(ax)
    for other in (other for axes in figure.axes for other in axes.images):
        bar = other.colorbar
        if bar is None or bar.ax.get_ylabel() != meaning or _scale(other) != _scale(image):
            continue
        bar.remove()

    def beside(*_: Any) -> Bbox:
        width = figure.get_size_inches()[0]
        box = ax.get_position()
        return Bbox.from_bounds(box.x1 + GAP / width, box.y0, WIDTH / width, box.height)

    inset = ax.inset_axes((1.0, 0.0, 0.1, 1.0))
    inset.set_axes_locator(beside)
    bar = figure.colorbar(image, cax=inset, label=meaning)
    bar.outline.set(edgecolor=HAIR, linewidth=0.8)


def add_words(ax: Axes, meaning: str) -> None:
    """What numbers mean, between them and their title; once for all maps of a figure."""
    shown = [
        text.get_text() for axes in figure_of(ax).axes for text in axes.texts if _is_meaning(text)
    ]
    if meaning not in shown:
        anchor: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        ax.annotate(meaning, (0, 1), (0, 5), color=SOFT, fontsize=10, gid=WORDS, **anchor)
    raise_title(ax)


def _is_meaning(text: Any) -> bool:
    return bool(text.get_gid() == WORDS)


def _scale(image: AxesImage) -> tuple[Any, ...]:
    return (image.cmap.name, *image.get_clim())
