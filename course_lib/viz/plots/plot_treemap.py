"""Where the parameters of a Transformer sit, as a treemap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from course_lib.viz.style import ACCENT, LINE, PAGE, SOFT, new_axes, styled

Box = tuple[float, float, float, float]  # left, bottom, width, height
CHARACTER, TEXT_HEIGHT = 0.085, 0.6  # inches needed for a character and for three lines
CHARACTERS_BELOW = 90
WIDTH, HEIGHT = 8.5, 4.2  # of the treemap, in inches


@styled
def plot_treemap(
    parts: Mapping[str, Mapping[str, int]], *, title: str, accent: str | None = None
) -> Axes:
    """Areas proportional to numbers: a rectangle for each part, the parts of a group side by side.

    Parts that are too small for their words are listed below.

    Args:
        parts: group → part → number, such as the model's ``parameter_parts``.
        title: what the picture shows.
        accent: the group that the title names.

    Raises:
        ValueError: there is no such group.
    """
    if accent not in {None, *parts}:
        raise ValueError(f"accent must be one of {', '.join(parts)}, got {accent!r}")
    groups = {group: sum(sizes.values()) for group, sizes in parts.items()}
    total = sum(groups.values())
    ax = new_axes(width=8.8, height=5.4)
    outer = squarify(list(groups.values()), (0.0, 0.0, WIDTH, HEIGHT))
    unnamed = []
    for (group, size), box in zip(groups.items(), outer, strict=True):
        inner = squarify(list(parts[group].values()), box)
        named = False
        for (part, count), rectangle in zip(parts[group].items(), inner, strict=True):
            named |= _draw_part(
                ax, rectangle, f"{group}\n{part}", count, total, is_lit=group == accent
            )
        if not named:
            unnamed.append(f"{group} {size:,} ({percentage(size / total)})")
    ax.set(xlim=(0, WIDTH), ylim=(0, HEIGHT), title=title)
    ax.set_axis_off()
    if unnamed:
        words = fill(f"too small for words: {', '.join(unnamed)}", CHARACTERS_BELOW)
        ax.text(0, -0.14, words, ha="left", va="top", fontsize=10, color=SOFT)
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


def _draw_part(ax: Axes, box: Box, name: str, count: int, total: int, *, is_lit: bool) -> bool:
    """Draw a rectangle, and its words if there is room for them: returns whether there was."""
    left, bottom, width, height = box
    colour = ACCENT if is_lit else LINE
    look: dict[str, Any] = {"facecolor": to_rgba(colour, 0.22), "edgecolor": PAGE}
    look["linewidth"] = 3.0 if min(width, height) > TEXT_HEIGHT else 0.0
    ax.add_patch(Rectangle((left, bottom), width, height, **look, label=name.replace("\n", ": ")))
    text = f"{name}\n{count:,} ({percentage(count / total)})"
    needed = CHARACTER * max(map(len, text.split("\n")))
    horizontal = needed <= width and height >= TEXT_HEIGHT
    if not horizontal and not (needed <= height and width >= TEXT_HEIGHT):
        return False
    middle = (left + width / 2, bottom + height / 2)
    angle = 0 if horizontal else 90
    ax.text(*middle, text, ha="center", va="center", fontsize=9.5, rotation=angle)
    return True
