"""The model diagram as one picture, for where no script runs."""

from __future__ import annotations

import json
import textwrap
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.textpath import TextPath
from PIL import Image

from course_lib.viz.diagram.model_diagram_geometry import BAR, CHIP, LABEL, RING, Box, Layout, Point
from course_lib.viz.display import to_png
from course_lib.viz.style import styled

if TYPE_CHECKING:
    from course_lib.viz.diagram.model_diagram import Step
    from course_lib.viz.diagram.model_diagram_parts import Part

ASSETS = Path(__file__).parents[2] / "assets" / "model_diagram"
CONSTANTS: dict[str, Any] = json.loads((ASSETS / "constants.json").read_text("utf-8"))
DPI = 100
THEME: dict[str, str] = CONSTANTS["themes"]["light"]
GROUNDS = ("back", "encoder", "decoder", "output", "small")  # on which there is text


def picture(
    layout: Layout,
    parts: tuple[Part, ...],
    source: list[str],
    target: list[str],
    step: Step,
    *,
    heading: str,
) -> bytes:
    """The diagram at one step as a small PNG.

    Args:
        layout: where everything stands.
        parts: what it is called and which lesson builds it.
        source: the tokens of the sentence.
        target: the tokens that were generated before this step.
        step: what is predicted, and what is read to predict it.
        heading: what it says in the panel, a paragraph a line.
    """
    figure = _draw(layout, parts, source, target, step)
    if layout.panel:
        _heading(figure.axes[0], layout.panel, heading)
    full = Image.open(BytesIO(to_png(figure))).convert("RGB")
    buffer = BytesIO()
    few = full.quantize(palette=_palette(), dither=Image.Dither.NONE)
    few.save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def attended(source: list[str], target: list[str], step: Step) -> list[str]:
    """The tokens that attention attends to: those of the source, or of a row with the target."""
    return [*source, *target][: len(step.attention)]


def _palette() -> Image.Image:
    """The theme's colours, and those at the edges of text.

    There are few, because a notebook stores the picture twice, also in the HTML.
    """
    blends = [
        tuple(a + (b - a) * share for a, b in zip(to_rgb(THEME[i]), to_rgb(THEME[j]), strict=True))
        for i in GROUNDS
        for j, share in (("ink", 0.3), ("ink", 0.6), ("soft", 0.5))
    ]
    colours = dict.fromkeys([*map(to_rgb, THEME.values()), *blends])
    palette = Image.new("P", (1, 1))
    palette.putpalette([round(255 * value) for colour in colours for value in colour])
    return palette


@styled
def _draw(
    layout: Layout, parts: tuple[Part, ...], source: list[str], target: list[str], step: Step
) -> Figure:
    figure = Figure(figsize=(layout.width / DPI, layout.height / DPI), dpi=DPI)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, layout.width), ylim=(layout.height, 0))
    ax.set_axis_off()
    for name, frame in layout.frames.items():
        _box(ax, frame, "none", THEME["edge"])
        _text(ax, Point(frame.x + 8, frame.bottom - 11), name, size=11, colour=THEME["soft"])
    for arrow in layout.arrows:
        _arrow(ax, arrow.points, head=arrow.head)
        if arrow.label and arrow.aside:
            aside: dict[str, Any] = {"align": "center", "rotation": -90, "va": "center"}
            _text(ax, arrow.label, arrow.text, size=11, colour=THEME["soft"], **aside)
        elif arrow.label:
            shape = arrow.text.format(t=len(target))
            _text(ax, arrow.label, shape, size=10, colour=THEME["soft"], family="DejaVu Sans Mono")
    for box in layout.norms:
        _box(ax, box, THEME["small"], THEME["small-edge"])
        middle = Point(box.centre, box.y + box.height / 2)
        _text(ax, middle, "norm", size=10, colour=THEME["soft"], align="center")
    for ring in layout.rings:
        circle = Circle(ring, RING, facecolor=THEME["back"], edgecolor=THEME["line"], zorder=2)
        ax.add_patch(circle)
        _text(ax, ring, "+", size=13, align="center")
    for part in parts:
        if part.id in layout.boxes:
            _part(ax, layout.boxes[part.id], part)
    _chips(ax, layout.boxes["source"], source)
    _chips(ax, layout.boxes["memory"], attended(source, target, step), step.attention)
    _chips(ax, layout.boxes["target"], target)
    _bars(ax, layout.boxes["prediction"], step)
    return figure


def _heading(ax: Axes, panel: Box, text: str) -> None:
    y = panel.y + 16
    for i, paragraph in enumerate(text.split("\n")):
        size = 15 if i == 0 else 12.5
        for line in textwrap.wrap(
            paragraph, int((panel.width - 16) / size / 0.56), break_on_hyphens=False
        ):
            _text(ax, Point(panel.x + 8, y), line, size=size, weight="bold" if i == 0 else "normal")
            y += 1.5 * size
        y += 6


def _part(ax: Axes, box: Box, part: Part) -> None:
    """A box with its name and its lesson: at the top if words follow, else in the middle."""
    _box(ax, box, THEME[part.stack], THEME[f"{part.stack}-edge"])
    tray = part.id in ("source", "memory", "target", "prediction")
    y = box.y + 11 if tray else box.y + box.height / 2
    small = box.height < BAR + 5
    start = Point(box.x + 8, y)
    _text(ax, start, part.name, size=11 if tray or small else 12.5)
    end = Point(box.x + box.width - 8, y)
    _text(ax, end, part.lesson, size=10, colour=THEME["soft"], align="right")


def _chips(ax: Axes, box: Box, tokens: list[str], weights: tuple[float, ...] = ()) -> None:
    """Tokens in lines from the left, each filled as far as its weight if there are weights."""
    x, y = box.x + 6, box.y + LABEL + 2
    for i, token in enumerate(tokens):
        width = _text_width(token, 12) + 12
        if x + width > box.x + box.width - 4:
            x, y = box.x + 6, y + CHIP
        _box(ax, Box(x, y, width, CHIP - 4), THEME["back"], THEME["edge"], rounding=4)
        _text(ax, Point(x + width / 2, y + 10), token, size=12, align="center")
        if weights:
            bar = Rectangle((x + 1, y + 1), weights[i] * (width - 2), CHIP - 6)
            bar.set(facecolor=THEME["attended"], edgecolor="none", zorder=3)
            ax.add_patch(bar)
        x += width + 5


def _bars(ax: Axes, box: Box, step: Step) -> None:
    """The most probable next words; the first is the one that is taken."""
    for i, (word, probability) in enumerate(step.top):
        y = box.y + LABEL + 4 + (i + 0.5) * BAR
        weight = "bold" if i == 0 else "normal"
        _text(ax, Point(box.x + 10, y), word, size=12, weight=weight)
        left, room = box.x + 120, box.width - 180
        bar = Rectangle((left, y - 5), max(probability * room, 1), 10)
        bar.set(facecolor=THEME["chosen" if i == 0 else "bar"], edgecolor="none", zorder=3)
        ax.add_patch(bar)
        end = Point(box.x + box.width - 10, y)
        _text(ax, end, f"{probability:.3f}", size=11, align="right", weight=weight)


def _box(ax: Axes, box: Box, face: str, edge: str, *, rounding: float = 6) -> None:
    style = f"round,pad=0,rounding_size={min(rounding, box.height / 2)}"
    patch = FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=style)
    patch.set(facecolor=face, edgecolor=edge, linewidth=1, zorder=2)
    ax.add_patch(patch)


def _arrow(ax: Axes, points: tuple[Point, ...], *, head: bool) -> None:
    xs, ys = zip(*points, strict=True)
    ax.plot(xs, ys, color=THEME["line"], linewidth=1.2, zorder=1, solid_joinstyle="round")
    if head:
        tip = FancyArrowPatch(*points[-2:], arrowstyle="-|>", shrinkA=0, shrinkB=0)
        tip.set(color=THEME["line"], mutation_scale=11, linewidth=1.2, zorder=1)
        ax.add_patch(tip)


def _text(
    ax: Axes,
    start: Point,
    text: str,
    *,
    size: float,
    colour: str = THEME["ink"],
    align: str = "left",
    **font: Any,
) -> None:
    """Text with its middle at a height; `size` in pixels."""
    ax.text(
        *start,
        text,
        fontsize=size * 72 / DPI,
        color=colour,
        ha=align,
        zorder=4,
        **{"va": "center_baseline"} | font,
    )


def _text_width(text: str, size: float) -> float:
    font = FontProperties(family="DejaVu Sans")
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width)
