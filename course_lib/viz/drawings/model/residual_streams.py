"""Layers in a row without a residual connection and with one, and the gradient that comes back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import arrow, element, group, label, sign, stream
from course_lib.wording import power_of_ten

LEFT, RIGHT = 18.0, WIDTH - 18.0  # where the first layer begins and the last one ends
STREAM = 78.0  # the height of the stream
BACK = 138.0  # the height of the gradient's middle
THICKEST = 36.0  # of the gradient's band, in pixels
FEWEST, MOST = 2, 10  # layers


def draw_residual_streams(
    without: Sequence[float], with_residual: Sequence[float], *, caption: str = ""
) -> Drawing:
    """Draw what comes back to each layer, without and with a residual connection around it.

    The band of the gradient is as thick as the gradient is large, on one scale in both panels.

    Args:
        without: the gradient's size at the input of each layer, from the first one to the last,
            and then at the output of the last one.
        with_residual: the same for the same number of layers, each added to its input.
        caption: one sentence below.

    Raises:
        ValueError: there are too few layers or too many, not as many in both, or a size is
            negative or not finite.
    """
    n = len(without) - 1
    if len(with_residual) != len(without) or not FEWEST <= n <= MOST:
        raise ValueError(
            f"expected {FEWEST} to {MOST} layers, and as many in both, each with one number more, "
            f"got {len(without)} and {len(with_residual)} numbers"
        )
    sizes = [*without, *with_residual]
    if any(not math.isfinite(size) or size < 0 for size in sizes) or not max(sizes):
        raise ValueError(f"expected sizes of a gradient, at least 0 and not all 0, got {sizes}")
    scale = THICKEST / max(sizes)
    return Drawing(
        _panel("Without: each layer is in the way", _in_the_way(n), without, scale=scale),
        _panel("With: the stream runs past each layer", _beside(n), with_residual, scale=scale),
        caption=caption,
    )


def _panel(title: str, machine: str, gradient: Sequence[float], *, scale: float) -> Panel:
    first, last = _in_words(gradient[0]), _in_words(gradient[-1])
    ends = label((6, STREAM), "x", cls="math") + label((WIDTH - 6, STREAM), "y", cls="math")
    under = BACK + THICKEST / 2 + 16
    numbers = label((LEFT, under), first, cls="bold", anchor="start", colour="accent")
    numbers += label((RIGHT, under), last, cls="bold", anchor="end", colour="accent")
    numbers += label((LEFT, under + 17), "gradient at the first layer", cls="aside", anchor="start")
    numbers += label((RIGHT, under + 17), "from the loss", cls="aside", anchor="end")
    n = len(gradient) - 1
    return Panel(
        title=title,
        description=(
            f"{n} layers f in a row, from x to y. Below, the gradient comes back from the right "
            f"as a band: {last} at the end, {first} at the first layer."
        ),
        body=machine + ends + _gradient(gradient, scale) + numbers,
        height=under + 30,
    )


def _step(n: int) -> float:
    return (RIGHT - LEFT) / n


def _in_the_way(n: int) -> str:
    """Layers on the stream."""
    step = _step(n)
    side = min(28.0, step * 0.62)
    graphics = [stream([(LEFT, STREAM), (RIGHT, STREAM)])]
    for i in range(n):
        graphics.append(_layer(LEFT + (i + 0.5) * step, STREAM, side))
    return "".join(graphics)


def _beside(n: int) -> str:
    """Layers beside the stream, each with its branch and its sum."""
    step = _step(n)
    side = min(28.0, step * 0.5)
    graphics = [stream([(LEFT, STREAM), (RIGHT, STREAM)])]
    high = STREAM - 34
    for i in range(n):
        x = LEFT + i * step
        middle, back = x + step * 0.44, x + step * 0.86
        branch = element(
            "path",
            d=f"M{x + step * 0.06:.1f} {STREAM - 6:g}V{high:g}H{middle:.1f}",
            fill="none",
            stroke=ink("line"),
            stroke_width=1.4,
        )
        graphics += [
            branch,
            arrow((middle, high), (back, high), (back, STREAM - 6)),
            _layer(middle, high, side),
            sign((back, STREAM), radius=6),
        ]
    return "".join(graphics)


def _layer(x: float, y: float, side: float) -> str:
    box = element(
        "rect",
        x=x - side / 2,
        y=y - 13,
        width=side,
        height=26,
        rx=5,
        fill=ink("fill"),
        stroke=ink("line"),
    )
    return box + label((x, y), "f", cls="math")


def _gradient(sizes: Sequence[float], scale: float) -> str:
    """A band from right to left, at each layer as thick as the gradient is large."""
    step = _step(len(sizes) - 1)
    spots = [LEFT + i * step for i in range(len(sizes))]
    above = [f"{x:.1f} {BACK - size * scale / 2:.1f}" for x, size in zip(spots, sizes, strict=True)]
    below = [f"{x:.1f} {BACK + size * scale / 2:.1f}" for x, size in zip(spots, sizes, strict=True)]
    band = element("path", d="M" + "L".join([*above, *reversed(below)]) + "z", fill=ink("accent"))
    # The way on which nothing arrives is still to be seen.
    way = element(
        "path",
        d=f"M{RIGHT:g} {BACK:g}H{LEFT:g}",
        fill="none",
        stroke=ink("line"),
        stroke_dasharray="2 4",
    )
    return group(way, arrow((LEFT + 7, BACK), (LEFT - 10, BACK), colour="accent"), band)


def _in_words(size: float) -> str:
    """Two digits after the point, or as many zeros as there are, or a power of ten."""
    if size == 0 or size >= 0.01:
        return f"{size:.2f}".rstrip("0").rstrip(".")
    exponent = math.floor(math.log10(size))
    if exponent >= -10:
        return f"{size:.{-exponent}f}"
    return f"{size / 10**exponent:.0f} × {power_of_ten(exponent)}"
