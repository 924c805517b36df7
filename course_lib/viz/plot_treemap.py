"""Where the parameters of a Transformer sit, as areas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch, Rectangle

from course_lib.viz.style import LINES, figure_of, new_axes, styled
from course_lib.viz.alt_text import sentence, tell

Box = tuple[float, float, float, float]  # left, bottom, width, height
CHARACTER, TEXT_HEIGHT = 0.085, 0.6  # inches that a letter and three lines need
WIDTH, HEIGHT = 7.6, 3.9  # of the map, in inches


@styled
def plot_treemap(
    parts: Mapping[str, Mapping[str, int]],
    *,
    title: str = "Where the parameters sit",
    ax: Axes | None = None,
) -> Axes:
    """Areas as large as numbers: a colour for each kind, in it a field for each part.

    Args:
        parts: kind → part → number, as from ``parameter_parts`` of the model.
        title: what is seen; the sum follows it.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, or a negative number.
    """
    kinds = {kind: sum(some.values()) for kind, some in parts.items()}
    total = sum(kinds.values())
    if total <= 0 or any(size < 0 for some in parts.values() for size in some.values()):
        raise ValueError(
            "a treemap needs numbers that are not negative, one of them positive, got "
            f"{ {kind: dict(some) for kind, some in parts.items()} }: are these counts?"
        )
    ax = ax or new_axes(width=8.0, height=5.2)
    outer = squarify(list(kinds.values()), (0.0, 0.0, WIDTH, HEIGHT))
    handles = []
    for i, ((kind, size), box) in enumerate(zip(kinds.items(), outer, strict=True)):
        colour = LINES[i % len(LINES)]
        inner = squarify(list(parts[kind].values()), box)
        for (part, count), field in zip(parts[kind].items(), inner, strict=True):
            _draw_field(ax, field, f"{kind}\n{part}", count, total, colour)
        if min(box[2:]) > TEXT_HEIGHT:  # a frame would cover what is small
            ax.add_patch(Rectangle(box[:2], *box[2:], fill=False, edgecolor="white", linewidth=4))
        label = f"{kind}: {size:,} ({share(size / total)})"
        handles.append(Patch(facecolor=to_rgba(colour, 0.35), edgecolor=colour, label=label))
    ax.set(xlim=(0, WIDTH), ylim=(0, HEIGHT), title=f"{title}: {total:,}")
    ax.set_axis_off()
    figure_of(ax).legend(handles=handles, loc="outside lower left", ncols=2)
    told = {kind: f"{size:,} ({share(size / total)})" for kind, size in kinds.items()}
    return tell(ax, sentence(f"{title}: {total:,}", "A field for each part", told))


def squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """Divide a box into one for each size, as square as may be (Bruls, Huizing, van Wijk 2000).

    Args:
        sizes: not negative, in any order; the areas have their proportions.
        box: what is to be filled without gaps.

    Returns:
        The boxes, in the order of the sizes.
    """
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    some = [i for i in order if sizes[i] > 0]
    boxes: dict[int, Box] = {}
    x, y, width, height = box
    while some and min(width, height) > 0:  # what is smaller than rounding gets nothing
        scale = width * height / sum(sizes[i] for i in some)
        side = min(width, height)  # the row of the next boxes stands along the shorter side
        areas = [sizes[i] * scale for i in some]
        n = 1
        while n < len(areas) and _worst(areas[: n + 1], side) <= _worst(areas[:n], side):
            n += 1
        depth, along = sum(areas[:n]) / side, 0.0
        for i, area in zip(some[:n], areas, strict=False):
            length = area / depth
            upright = (x, y + along, depth, length)
            boxes[i] = upright if width >= height else (x + along, y, length, depth)
            along += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
        some = some[n:]
    return [boxes.get(i, (x, y, 0.0, 0.0)) for i in range(len(sizes))]


def share(part: float) -> str:
    """A part of the whole in per cent; what is small is not called nothing."""
    return "< 0.1%" if 0 < part < 0.0005 else f"{part:.1%}"


def _worst(areas: Sequence[float], side: float) -> float:
    """The longest shape in a row of such areas along a side, as length over breadth."""
    depth = sum(areas) / side
    return max(max(depth * depth / area, area / (depth * depth)) for area in areas)


def _draw_field(ax: Axes, box: Box, name: str, count: int, total: int, colour: str) -> None:
    left, bottom, width, height = box
    look: dict[str, Any] = {"facecolor": to_rgba(colour, 0.35), "edgecolor": "white"}
    look["linewidth"] = 1.0 if min(width, height) > TEXT_HEIGHT else 0.0
    ax.add_patch(Rectangle((left, bottom), width, height, **look, label=name.replace("\n", ": ")))
    text = f"{name}\n{count:,} ({share(count / total)})"
    needed = CHARACTER * max(map(len, text.split("\n")))
    flat = needed <= width and height >= TEXT_HEIGHT
    if flat or (needed <= height and width >= TEXT_HEIGHT):
        middle = (left + width / 2, bottom + height / 2)
        turn = 0 if flat else 90
        ax.text(*middle, text, ha="center", va="center", fontsize=9.5, rotation=turn)
