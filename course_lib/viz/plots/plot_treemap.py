"""Where the parameters of a Transformer sit, as a treemap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch, Rectangle

from course_lib.viz.style import LINES, PAGE, figure_of, new_axes, styled

Box = tuple[float, float, float, float]  # left, bottom, width, height
CHARACTER, TEXT_HEIGHT = 0.085, 0.6  # inches needed for a character and for three lines
WIDTH, HEIGHT = 7.6, 3.9  # of the treemap, in inches


@styled
def plot_treemap(parts: Mapping[str, Mapping[str, int]], *, title: str) -> Axes:
    """Areas proportional to numbers: a colour for each group, with a rectangle for each part.

    Args:
        parts: group → part → number, such as the model's ``parameter_parts``.
        title: what the picture shows; the total is added to it.
    """
    groups = {group: sum(sizes.values()) for group, sizes in parts.items()}
    total = sum(groups.values())
    ax = new_axes(width=8.0, height=5.2)
    outer = squarify(list(groups.values()), (0.0, 0.0, WIDTH, HEIGHT))
    handles = []
    for i, ((group, size), box) in enumerate(zip(groups.items(), outer, strict=True)):
        colour = LINES[i % len(LINES)]
        inner = squarify(list(parts[group].values()), box)
        for (part, count), rectangle in zip(parts[group].items(), inner, strict=True):
            _draw_part(ax, rectangle, f"{group}\n{part}", count, total, colour)
        if min(box[2:]) > TEXT_HEIGHT:  # a frame would cover a small box
            ax.add_patch(Rectangle(box[:2], *box[2:], fill=False, edgecolor=PAGE, linewidth=4))
        label = f"{group}: {size:,} ({percentage(size / total)})"
        handles.append(Patch(facecolor=to_rgba(colour, 0.35), edgecolor=colour, label=label))
    ax.set(xlim=(0, WIDTH), ylim=(0, HEIGHT), title=f"{title}: {total:,}")
    ax.set_axis_off()
    figure_of(ax).legend(handles=handles, loc="outside lower left", ncols=2)
    return ax


def squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """Divide a box into one for each size, as square as possible (Bruls, Huizing, van Wijk 2000).

    Args:
        sizes: not negative, in any order; the areas are proportional to them.
        box: is filled without gaps.

    Returns:
        The boxes, in the order of the sizes.
    """
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    remaining = [i for i in order if sizes[i] > 0]
    boxes: dict[int, Box] = {}
    x, y, width, height = box
    while remaining and min(width, height) > 0:  # sizes below rounding error get no area
        scale = width * height / sum(sizes[i] for i in remaining)
        side = min(width, height)  # the next row of boxes is laid along the shorter side
        areas = [sizes[i] * scale for i in remaining]
        n = 1
        while n < len(areas) and _worst_ratio(areas[: n + 1], side) <= _worst_ratio(
            areas[:n], side
        ):
            n += 1
        depth, along = sum(areas[:n]) / side, 0.0
        for i, area in zip(remaining[:n], areas, strict=False):
            length = area / depth
            upright = (x, y + along, depth, length)
            boxes[i] = upright if width >= height else (x + along, y, length, depth)
            along += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
        remaining = remaining[n:]
    return [boxes.get(i, (x, y, 0.0, 0.0)) for i in range(len(sizes))]


def percentage(part: float) -> str:
    """A share from 0 to 1 in per cent; a small one is not rounded to zero."""
    return "< 0.1%" if 0 < part < 0.0005 else f"{part:.1%}"


def _worst_ratio(areas: Sequence[float], side: float) -> float:
    """The largest aspect ratio in a row of these areas along a side."""
    depth = sum(areas) / side
    return max(max(depth * depth / area, area / (depth * depth)) for area in areas)


def _draw_part(ax: Axes, box: Box, name: str, count: int, total: int, colour: str) -> None:
    left, bottom, width, height = box
    look: dict[str, Any] = {"facecolor": to_rgba(colour, 0.35), "edgecolor": PAGE}
    look["linewidth"] = 1.0 if min(width, height) > TEXT_HEIGHT else 0.0
    ax.add_patch(Rectangle((left, bottom), width, height, **look, label=name.replace("\n", ": ")))
    text = f"{name}\n{count:,} ({percentage(count / total)})"
    needed = CHARACTER * max(map(len, text.split("\n")))
    horizontal = needed <= width and height >= TEXT_HEIGHT
    if horizontal or (needed <= height and width >= TEXT_HEIGHT):
        middle = (left + width / 2, bottom + height / 2)
        angle = 0 if horizontal else 90
        ax.text(*middle, text, ha="center", va="center", fontsize=9.5, rotation=angle)
