"""What a stored plot shows, so that two can be compared by its values and not by its bytes."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass, field
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
PLOT_ID = re.compile(r"(?<=#)\w+")
RUN = re.compile(r"M(\d+) (\d+)h(\d+)v1h-\d+z")
PIXELS = "data:image/png;base64,"
NAMESPACE = re.compile(r"\{.*\}")
GEOMETRY = {
    *("x", "y", "x1", "x2", "y1", "y2", "width", "height", "viewBox", "transform", "d", "offset"),
    *("points", "cx", "cy", "r", "stop-opacity"),
}
Cell = tuple[int, int, int, str]  # which heat map, column, row, colour


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """What may differ between two plots that show the same.

    Attributes:
        distance: in units of the picture, that a mark may have moved.
        strength: 0 to 1, that the colour of a cell may have changed.
    """

    distance: float
    strength: float


@dataclass
class StoredPlot:
    """The parts of a plot.

    Attributes:
        size: width and height, in pixels.
        words: its texts, one in each line.
        marks: what it is made of, without numbers.
        coordinates: the numbers of the marks.
        cells: of heat maps, how strong the colour is, 0 to 1; a cell that is missing has none.
        pixels: of heat maps with many cells, the same.
    """

    size: tuple[float, float]
    words: str = ""
    marks: list[str] = field(default_factory=list)
    coordinates: list[float] = field(default_factory=list)
    cells: dict[Cell, float] = field(default_factory=dict)
    pixels: list[NDArray[np.uint8]] = field(default_factory=list)

    def difference(self, stored: StoredPlot, tolerance: Tolerance) -> str:
        """In words, how this plot differs from the stored one, except in its words; or nothing.

        Args:
            stored: the other one.
            tolerance: what may differ.
        """
        if self.marks != stored.marks or len(self.coordinates) != len(stored.coordinates):
            return f"stored {len(stored.marks)} marks, now {len(self.marks)} others"
        moved = np.abs(np.subtract(self.coordinates, stored.coordinates)).max(initial=0)
        if moved > tolerance.distance:
            return f"a mark has moved by {moved:.2f} > {tolerance.distance}"
        cells = {*self.cells, *stored.cells}
        changed = max(
            (abs(self.cells.get(c, 0) - stored.cells.get(c, 0)) for c in cells), default=0
        )
        if [pixels.shape for pixels in self.pixels] != [pixels.shape for pixels in stored.pixels]:
            return "a heat map has another size"
        for new, old in zip(self.pixels, stored.pixels, strict=True):
            changed = max(changed, np.abs(new.astype(float) - old).max() / 255)
        if changed > tolerance.strength:
            return f"a cell has changed by {changed:.2f} > {tolerance.strength}"
        return ""


def read_plot(address: str) -> StoredPlot:
    """The plot in the address of an image, without ``data:image/svg+xml,``."""
    root = ElementTree.fromstring(unquote(address))
    plot = StoredPlot((float(root.attrib["width"]), float(root.attrib["height"])))
    words: list[str] = []
    heat_maps = 0
    for element in root.iter():
        tag = NAMESPACE.sub("", element.tag)
        if tag == "style":
            continue  # of the colours, and of marks that name them
        if tag == "svg" and element is not root:
            heat_maps += 1
            _read_cells(plot, element, heat_maps)
        if tag in ("text", "tspan") and element.text:
            words.append(element.text)
        given = {NAMESPACE.sub("", name): text for name, text in element.attrib.items()}
        if tag == "image":
            _read_pixels(plot, given.pop("href", ""))
        if RUN.match(given.get("d", "")):
            continue
        _read_mark(plot, tag, given)
    plot.words = "\n".join(words)
    return plot


def _read_cells(plot: StoredPlot, heat_map: ElementTree.Element, number: int) -> None:
    for path in heat_map:
        opacity = float(path.get("fill-opacity", "1"))
        for run in RUN.finditer(path.get("d", "")):
            column, row, length = map(int, run.groups())
            for x in range(column, column + length):
                plot.cells[number, x, row, path.get("fill", "")] = opacity


def _read_pixels(plot: StoredPlot, address: str) -> None:
    picture = Image.open(io.BytesIO(base64.b64decode(address.removeprefix(PIXELS))))
    plot.pixels.append(np.asarray(picture.convert("RGB")))


def _read_mark(plot: StoredPlot, tag: str, given: dict[str, str]) -> None:
    given.pop("id", None)
    parts = [tag]
    for name in sorted(given):
        text = PLOT_ID.sub("", given[name])
        if name in GEOMETRY:
            plot.coordinates += map(float, NUMBER.findall(text))
            text = NUMBER.sub("0", text)
        parts.append(f"{name}={text}")
    plot.marks.append(" ".join(parts))
