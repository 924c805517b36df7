"""The names of lines at their right ends, in place of a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform

from course_lib.viz.style import LINE, SOFT, STYLE, brightness, figure_of

SAMPLE, GAP = 20.0, 6.0  # points: what stands before a name, and the blanks around it
LEADER = 8.0  # points, from the end of a line to a sample that stands elsewhere
MOVED = 2.0  # pixels
LEADING = 1.25  # heights of a line of text between two names
PALE = 0.6  # brightness from which a name is not written in its line's colour


def moved_apart(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Positions as near as possible to the wanted ones, no two nearer than the gap.

    Args:
        wanted: in any order; of equal ones, the first is lowest.
        gap: the least distance.
        low, high: where the positions lie if there is room for all; otherwise they are centred.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Without the gaps, positions may not fall: neighbours that would are replaced by their mean.
    blocks: list[list[float]] = []
    for rank, i in enumerate(order):
        blocks.append([wanted[i] - rank * gap])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    means = np.repeat([np.mean(block) for block in blocks], [len(block) for block in blocks])
    room = high - (len(wanted) - 1) * gap
    means = np.clip(means, low, room) if low <= room else np.full(len(wanted), (low + room) / 2)
    found = [0.0] * len(wanted)
    for rank, (i, mean) in enumerate(zip(order, means.tolist(), strict=True)):
        found[i] = mean + rank * gap
    return found


class EndLabels(Artist):
    """Drawn on the right of axes, when all their lines and limits are known.

    It takes the place of the legend of the axes, and is replaced by one that is asked for. There
    is nothing to draw where only one line has a name.
    """

    def __init__(self, ax: Axes) -> None:
        super().__init__()
        self.set_figure(figure_of(ax))
        self.axes = self.of = ax
        self.set_zorder(5)

    def get_texts(self) -> list[Text]:
        """The names, from the first line to the last."""
        return [text for text, *_ in self._placed()]

    def draw(self, renderer: Any) -> None:
        """As matplotlib calls it."""
        for text, *lines in self._placed():
            for line in lines:
                line.draw(renderer)
            text.draw(renderer)

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """Of all names, so that room is made for them."""
        boxes = [text.get_window_extent(renderer) for text in self.get_texts()]
        return Bbox.union(boxes) if boxes else Bbox.null()

    def get_tightbbox(self, renderer: Any = None) -> Bbox | None:
        """The same; None if there is nothing to draw."""
        return self.get_window_extent(renderer) if self._named() else None

    def _named(self) -> list[Line2D | PolyCollection]:
        """The lines and bands that have a name, if there are several."""
        bands = (part for part in self.of.collections if isinstance(part, PolyCollection))
        parts: list[Any] = [*self.of.lines, *bands]
        named = [part for part in parts if not str(part.get_label()).startswith("_")]
        return named if len(named) > 1 else []

    def _placed(self) -> list[tuple[Text, Line2D, Line2D]]:
        """Of each name: its letters, the sample of its line, and what leads to it."""
        parts = self._named()
        if not parts:
            return []
        figure = figure_of(self.of)
        point, box = figure.dpi / 72, self.of.bbox
        ends = [_end(self.of, part) for part in parts]
        gap = LEADING * STYLE["legend.fontsize"] * point
        # Of lines that meet at their ends, the one that came from above is named above.
        wanted = [end + 1e-3 * _mean(part) for end, part in zip(ends, parts, strict=True)]
        heights = moved_apart(wanted, gap=gap, low=box.y0, high=box.y1)
        moved = [abs(height - end) > MOVED for height, end in zip(heights, ends, strict=True)]
        x = box.x1 + GAP * point
        left = x + LEADER * point * any(moved)
        right = left + SAMPLE * point
        placed = []
        for part, end, height, away in zip(parts, ends, heights, moved, strict=True):
            sample = _sample(part, [left, right], [height, height])
            leader = Line2D([x, left], [end, height], color=LINE, linewidth=0.8, visible=away)
            text = Text(right + GAP * point / 2, height, str(part.get_label()), **_letters(part))
            for artist in (text, sample, leader):
                artist.set_figure(figure)
                artist.set_transform(IdentityTransform())
            placed.append((text, sample, leader))
        return placed


def label_ends(ax: Axes) -> None:
    """Write the name of each line at its end, whatever is drawn on the axes later."""
    labels: Any = EndLabels(ax)
    labels._remove_method = lambda _: setattr(ax, "legend_", None)  # as of a legend
    ax.legend_ = labels


def _end(ax: Axes, part: Line2D | PolyCollection) -> float:
    """The height of the last point within the axes, in pixels; of a band, of its middle."""
    box = ax.bbox
    if isinstance(part, Line2D):
        points = part.get_transform().transform(part.get_xydata())
        points = points[np.isfinite(points).all(axis=1) & (points[:, 0] <= box.x1 + 1)]
        last = points[-1:]
    else:
        points = part.get_transform().transform(part.get_paths()[0].vertices)
        last = points[points[:, 0] > points[:, 0].max() - 1]
    height = float(last[:, 1].mean()) if len(last) else (box.y0 + box.y1) / 2
    return min(max(height, box.y0), box.y1)


def _mean(part: Line2D | PolyCollection) -> float:
    """The mean height of a line's points, in pixels; of a band, of those of its edges."""
    points = part.get_xydata() if isinstance(part, Line2D) else part.get_paths()[0].vertices
    heights = part.get_transform().transform(points)[:, 1]
    heights = heights[np.isfinite(heights)]
    return float(heights.mean()) if len(heights) else 0.0


def _colour(part: Line2D | PolyCollection) -> Any:
    return part.get_color() if isinstance(part, Line2D) else part.get_facecolor()[0]


def _sample(part: Line2D | PolyCollection, xs: list[float], ys: list[float]) -> Line2D:
    """A short part of the line, before its name."""
    sample = Line2D(xs, ys, linewidth=7, color=_colour(part), solid_capstyle="butt")
    if isinstance(part, Line2D):
        sample.update_from(part)
        sample.set(linewidth=1.5, clip_on=False, clip_path=None)
        if part.get_linestyle() != "None":  # a marker would look like one more point
            sample.set_marker("")
        else:
            sample.set_data([sum(xs) / 2], ys[:1])
    return sample


def _letters(part: Line2D | PolyCollection) -> dict[str, Any]:
    """Of the name: in the colour of its line, if that is dark enough to be read."""
    red, green, blue, opacity = to_rgba(_colour(part))
    pale = opacity < 1 or brightness((red, green, blue)) > PALE
    return {
        "color": SOFT if pale else (red, green, blue),
        "fontsize": STYLE["legend.fontsize"],
        "fontfamily": STYLE["font.family"],
        "va": "center_baseline",
    }
