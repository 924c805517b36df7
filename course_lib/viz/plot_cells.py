"""What a plot's SVG holds in place of pixels: the cells of heat maps, and their colour bars."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.colorbar import Colorbar
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray
from PIL import Image

from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.style import QUANTITIES

LEVELS = 50  # of opacity
MOST_CELLS = 1500  # that are drawn as paths; more are pixels
SHARPEST = 700  # pixels of a picture's side, so that its cells have edges


@contextmanager
def cells_as_marks(figure: Figure) -> Iterator[None]:
    """Within the statement, heat maps in our palettes are drawn as SVG of their own."""
    changed: list[Any] = []
    for image in (image for ax in figure.axes for image in ax.images):
        if _colours(image) is None:
            continue
        drawn: dict[Any, Any] = {image: partial(_draw_cells, image)}
        if isinstance(bar := image.colorbar, Colorbar):
            drawn[bar.solids] = partial(_draw_bar, bar, image)
        for artist, draw in drawn.items():
            artist.draw = draw
            changed.append(artist)
    try:
        yield
    finally:
        for artist in changed:
            del artist.draw  # that of its class is left


@contextmanager
def upright(figure: Figure) -> Iterator[None]:
    """Within the statement, upright tick labels end at their axis, however wide the letters are."""
    labels: list[Any] = [label for ax in figure.axes for label in ax.get_xticklabels()]
    turned = [label for label in labels if label.get_rotation() == 90 and label.get_va() == "top"]
    before = [(label.get_ha(), label.get_va(), label.get_rotation_mode()) for label in turned]
    for label in turned:
        label.set(ha="right", va="center", rotation_mode="anchor")
    try:
        yield
    finally:
        for label, (ha, va, mode) in zip(turned, before, strict=True):
            label.set(ha=ha, va=va, rotation_mode=mode)


def _colours(image: Any) -> tuple[str, str] | None:
    """The names of the colours below and above zero; None for a palette of somebody else's."""
    name: Any = image.cmap.name.split(",")[0]
    if isinstance(image.cmap, ListedColormap):  # of one colour
        return (name, name) if name in COLOURS else None
    return QUANTITIES.get(name)


def _draw_cells(image: AxesImage, renderer: Any) -> None:
    """One colour above zero and one below, whose opacity is the value."""
    if not image.get_visible():
        return
    svg = _svg(renderer)
    values: np.ma.MaskedArray = np.ma.masked_array(image.get_array())
    (n_rows, n_columns), (left, right, bottom, top) = values.shape, image.get_extent()
    view = image.axes.get_window_extent(renderer)
    corners = image.axes.transData.inverted().transform([(view.x0, view.y1), (view.x1, view.y0)])
    first, last = (corners - (left, top)) / (right - left, bottom - top) * (n_columns, n_rows)
    svg.writer.start(
        "svg",
        x=_text(view.x0),
        y=_text(svg.height - view.y1),
        width=_text(view.width),
        height=_text(view.height),
        viewBox=" ".join(map(_text, (*first, *(last - first)))),
        preserveAspectRatio="none",
        attrib={"shape-rendering": "crispEdges"},
    )
    shown = ~np.ma.getmaskarray(values)
    svg.writer.element("path", d=_runs(shown), fill=COLOURS["page"].light)  # over the hatching
    share = _shares(image, np.ma.filled(values.astype(float), np.nan))
    for sign, name in zip((-1, 1), _colours(image) or (), strict=True):
        part = np.nan_to_num(share * sign).clip(0, 1)
        if not part.any():
            continue
        if part.size > MOST_CELLS:
            _write_pixels(svg, part, COLOURS[name].light)
            continue
        levels = np.rint(part * LEVELS).astype(int)
        for level in np.unique(levels[levels > 0]).tolist():
            opacity = {"fill-opacity": f"{level / LEVELS:g}"} if level < LEVELS else {}
            svg.writer.element(
                "path", attrib=opacity, d=_runs(levels == level), fill=COLOURS[name].light
            )
    svg.writer.end("svg")


def _draw_bar(bar: Any, image: AxesImage, renderer: Any) -> None:
    """A gradient in place of 256 rectangles."""
    svg = _svg(renderer)
    view = bar.ax.get_window_extent(renderer)
    below, above = (COLOURS[colour].light for colour in _colours(image) or ())
    ends = _shares(image, np.array([bar.vmin, bar.vmax])).tolist()
    # Position, colour and opacity; at zero the colour changes, where none is seen.
    stops = [(0.0, below if ends[0] < 0 else above, abs(ends[0])), (1.0, above, abs(ends[1]))]
    if ends[0] < 0 < ends[1]:
        zero = ends[0] / (ends[0] - ends[1])
        stops[1:1] = [(zero, below, 0.0), (zero, above, 0.0)]
    name = svg._make_id("b", (view.bounds, image.cmap.name))
    box = {
        "x": _text(view.x0),
        "y": _text(svg.height - view.y1),
        "width": _text(view.width),
        "height": _text(view.height),
    }
    vertical = {"x1": "0", "x2": "0", "y1": "1", "y2": "0"}
    svg.writer.start(
        "linearGradient", id=name, attrib=vertical if bar.orientation == "vertical" else {}
    )
    for position, colour, share in stops:
        look = {"stop-color": colour, "stop-opacity": f"{min(1, share):.3f}"}
        svg.writer.element("stop", offset=f"{position:.4g}", attrib=look)
    svg.writer.end("linearGradient")
    svg.writer.element("rect", fill=COLOURS["page"].light, **box)
    svg.writer.element("rect", fill=f"url(#{name})", **box)


def _write_pixels(svg: RendererSVG, part: NDArray[np.float64], colour: str) -> None:
    """A mask, through which the colour is seen."""
    rows, columns = part.shape
    larger = max(1, SHARPEST // max(rows, columns))
    pixels = np.rint(255 * part).astype(np.uint8).repeat(larger, axis=0).repeat(larger, axis=1)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, format="png", optimize=True)
    address = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
    name = svg._make_id("k", address)
    size = {"width": str(columns), "height": str(rows)}
    svg.writer.start("mask", id=name)
    look = {"href": address, "image-rendering": "pixelated"}
    svg.writer.element("image", preserveAspectRatio="none", attrib=look, **size)
    svg.writer.end("mask")
    svg.writer.element("rect", fill=colour, mask=f"url(#{name})", **size)


def _shares(image: AxesImage, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From -1 to 1: how much of its colour each value has."""
    if isinstance(image.cmap, ListedColormap):  # of one colour
        return np.where(np.isnan(values.astype(float)), 0.0, 1.0)
    low, high = image.get_clim()
    share = (values.astype(float) - low) / ((high - low) or 1)
    return share * 2 - 1 if "signed" in image.cmap.name else share


def _runs(cells: NDArray[np.bool_]) -> str:
    """A path around these cells, each one unit wide: neighbours in a row are one rectangle."""
    path = []
    for row, line in enumerate(cells):
        edges = np.flatnonzero(np.diff(np.pad(line.astype(int), 1))).tolist()
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            path.append(f"M{start} {row}h{end - start}v1h-{end - start}z")
    return "".join(path)


def _svg(renderer: Any) -> RendererSVG:
    """The renderer behind matplotlib's mixture of pixels and SVG."""
    return renderer._renderer if hasattr(renderer, "_renderer") else renderer


def _text(number: float) -> str:
    return f"{number:.4f}"
