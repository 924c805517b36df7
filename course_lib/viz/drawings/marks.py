"""What drawings are made of: each function returns SVG, in pixels of a panel.

A word is a rounded box, a vector a strip of cells, a matrix a block of strips, a sublayer a box
with the number of its lesson, the residual stream a thick band. The same thing has the same size
in the whole course. Colours are named by what they mean (see ``colours.COLOURS``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Literal

from course_lib.viz.drawings.colours import ink

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]
CELL = 16.0  # the side of a vector's cell
LINE = 18.0  # from one line of text to the next
# Widths of letters in the widest of the usual system fonts, in units of their size.
_NARROW, _WIDE = frozenset("iljtfr.,'!| "), frozenset("mwMW")


def element(name: str, content: str = "", **attributes: object) -> str:
    """An element of SVG or HTML.

    Args:
        name: of the element.
        content: markup inside it.
        attributes: ``_`` stands for ``-``, and ``cls`` for ``class``; None leaves one out, and
            floats are rounded to a tenth, so that all machines draw the same.
    """
    shown = {"class" if key == "cls" else key.replace("_", "-"): v for key, v in attributes.items()}
    inside = "".join(f' {key}="{_text(v)}"' for key, v in shown.items() if v is not None)
    return f"<{name}{inside}>{content}</{name}>" if content else f"<{name}{inside}/>"


def _text(value: object) -> str:
    return number(value) if isinstance(value, float) else escape(str(value))


def number(value: float, digits: int = 1) -> str:
    """A number with a fixed count of digits: another processor may change the last, and no more."""
    return f"{value:.{digits}f}"


def brief(value: float, digits: int = 1) -> str:
    """A number for people: without the zeros at its end."""
    return f"{round(value, digits):g}"


def signed(value: float, digits: int = 0) -> str:
    """A number as people read it, with a true minus and no negative zero."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def in_cell(value: float, digits: int) -> str:
    """A number as it stands in a cell: what is 0 as far as it is written has no zeros after it."""
    text = signed(value, digits)
    return text if float(text.replace("−", "-")) else "0"


def text_width(words: str, size: float = 14, *, bold: bool = False) -> float:
    """About how wide the words are, in pixels."""

    def width(letter: str) -> float:
        if letter in _NARROW:
            return 0.36
        if letter in _WIDE:
            return 0.93
        return 0.71 if letter.isupper() else 0.61

    return size * sum(map(width, words)) * (1.08 if bold else 1)


def group(*parts: str, cls: str | None = None, at: Point = (0, 0), **attributes: object) -> str:
    """Several graphics as one, moved to ``at``."""
    moved = f"translate({number(at[0])} {number(at[1])})" if at != (0, 0) else None
    return element("g", "".join(parts), cls=cls, transform=moved, **attributes)


def label(
    at: Point,
    words: str,
    *,
    cls: str | None = None,
    anchor: Anchor = "middle",
    colour: str | None = None,
) -> str:
    """Words whose middle has the height of ``at``.

    Args:
        at: where ``anchor`` lies.
        words: one line.
        cls: "bold", "aside" (smaller and grey), "math", "big", or several of them.
        anchor: which end of the words.
        colour: by its meaning; ink by default.
    """
    return element(
        "text",
        escape(words),
        x=float(at[0]),
        y=at[1] + 4.6,
        cls=cls,
        text_anchor=None if anchor == "start" else anchor,
        style=f"fill:{ink(colour)}" if colour else None,
    )


def token(
    at: Point,
    word: str,
    *,
    language: Literal["german", "english", "padding", ""] = "",
    width: float | None = None,
    strong: bool = False,
    height: float = 26,
) -> str:
    """A word in a rounded box, whose upper left corner is ``at``.

    Args:
        at: the corner.
        word: what is written in it.
        language: German is blue, English orange, padding hatched.
        width: by default that of the word.
        strong: with a thick border and bold, for the one that the text is about.
        height: of the box.
    """
    width = width or token_width(word)
    padding = language == "padding"
    fill = "hidden" if padding else f"{language}-box" if language else "fill"
    box = element(
        "rect",
        x=float(at[0]),
        y=float(at[1]),
        width=float(width),
        height=float(height),
        rx=7,
        fill=ink(fill),
        stroke=ink("line" if padding or not language else language),
        stroke_width=2.4 if strong else 1,
        stroke_dasharray="3 3" if padding else None,
    )
    cls = "aside" if padding else "bold" if strong else None
    return box + label((at[0] + width / 2, at[1] + height / 2), word, cls=cls)


def token_width(word: str) -> float:
    """The width of a word's box."""
    return text_width(word) + 18


def vector(
    at: Point,
    values: Sequence[float],
    *,
    largest: float,
    cell: float = CELL,
    height: float | None = None,
    vertical: bool = False,
    colour: str | None = None,
    digits: int | None = None,
    quiet_zeros: bool = False,
) -> str:
    """A strip of cells, one for each number. Zero has the colour of the page.

    Args:
        at: the upper left corner.
        values: the numbers.
        largest: the absolute value that has the full colour.
        cell: the side of a cell.
        height: of a cell that is no square.
        vertical: from top to bottom.
        colour: of a quantity, such as "attention"; by default teal for positive and brown for
            negative numbers.
        digits: after the point, of the numbers in the cells; None writes none.
        quiet_zeros: write them in grey.
    """
    graphics = []
    height = height or cell
    for i, value in enumerate(values):
        x, y = (at[0], at[1] + i * height) if vertical else (at[0] + i * cell, at[1])
        share = min(1.0, abs(value) / largest)
        seen = share > 0.004
        name = colour or ("positive" if value > 0 else "negative")
        graphics.append(
            element(
                "rect",
                x=float(x),
                y=float(y),
                width=float(cell),
                height=float(height),
                cls="cell",
                fill=ink(name if seen else "none"),
                fill_opacity=number(share, 2) if seen else None,
            )
        )
        if digits is not None:
            graphics.append(
                label(
                    (x + cell / 2, y + height / 2),
                    in_cell(value, digits),
                    cls="aside" if quiet_zeros and not value else "aside bold",
                    colour="page" if share > 0.6 else None,
                )
            )
    return "".join(graphics)


def matrix(
    at: Point,
    rows: Sequence[Sequence[float]],
    *,
    largest: float,
    cell: float = CELL,
    gap: float = 0,
    colour: str | None = None,
    digits: int | None = None,
    quiet_zeros: bool = False,
) -> str:
    """A block of vectors, one below the other, ``gap`` apart; the rest as in ``vector``."""
    return "".join(
        vector(
            (at[0], at[1] + i * (cell + gap)),
            row,
            largest=largest,
            cell=cell,
            colour=colour,
            digits=digits,
            quiet_zeros=quiet_zeros,
        )
        for i, row in enumerate(rows)
    )


def frame(at: Point, width: float, height: float, *, radius: float = 3, border: float = 2.4) -> str:
    """Around the cells that a picture is about, in the accent colour.

    Args:
        at: its upper left corner.
        width, height: of the frame.
        radius: of its corners.
        border: how thick it is.
    """
    return element(
        "rect",
        x=float(at[0]),
        y=float(at[1]),
        width=float(width),
        height=float(height),
        rx=radius,
        fill="none",
        stroke=ink("accent"),
        stroke_width=border,
    )


def sublayer(
    at: Point,
    name: str,
    *,
    width: float,
    height: float = 38,
    lesson: str = "",
    colour: Literal["german", "english", "accent", ""] = "",
) -> str:
    """A part of the model as a box, with the number of the lesson that builds it below its name."""
    box = element(
        "rect",
        x=float(at[0]),
        y=float(at[1]),
        width=float(width),
        height=float(height),
        rx=8,
        fill=ink(f"{colour}-box" if colour in ("german", "english") else "fill"),
        stroke=ink(colour or "line"),
    )
    middle = at[0] + width / 2
    if not lesson:
        return box + label((middle, at[1] + height / 2), name)
    return (
        box
        + label((middle, at[1] + height / 2 - 7), name)
        + label((middle, at[1] + height / 2 + 8), lesson, cls="aside")
    )


def step_dots(step: int, steps: int) -> str:
    """Above a panel that is one of several steps: a dot for each, dark for its own."""
    return "".join(
        element("circle", cx=298 + 12 * i, cy=10, r=3.5, fill=ink("ink" if i == step else "hair"))
        for i in range(steps)
    )


def stream(
    points: Sequence[Point], colour: str = "line", *, width: float = 12, opacity: float = 0.38
) -> str:
    """What flows through the model, as a thick band: the residual stream, or the memory."""
    return _stroke(_rounded(points, bend=16), colour, width=width, opacity=opacity)


def arrow(
    *points: Point, colour: str = "line", width: float = 1.4, dashes: str | None = None
) -> str:
    """An arrow through the points, with rounded corners; its head is at the last one."""
    (ax, ay), (bx, by) = points[-2:]
    length = math.hypot(bx - ax, by - ay)
    short = min(5, length / 2) / length  # the line ends inside the head
    end = (bx - (bx - ax) * short, by - (by - ay) * short)
    line = _stroke(_rounded([*points[:-1], end], bend=8), colour, width=width, dashes=dashes)
    return line + _head((bx, by), (bx - ax, by - ay), colour=colour)


def arc(
    start: Point,
    end: float,
    *,
    height: float,
    colour: str = "line",
    width: float = 1.4,
    dashes: str | None = None,
    head: bool = True,
) -> str:
    """An arc over words: from ``start`` to the same height at x = ``end``; a loop if that is x.

    Args:
        start: where it begins.
        end: where it ends, in x.
        height: how far it rises, in pixels.
        colour: by its meaning.
        width: of the line.
        dashes: as in SVG's ``stroke-dasharray``.
        head: whether it ends in an arrow's head.
    """
    x, y = start
    if x == end:
        rise = height * 1.6
        reach = height * 0.8
        d = (
            f"M{number(x + 5)} {number(y)}c{number(reach)} {number(-rise)} "
            f"{number(-reach - 10)} {number(-rise)} -10 -3"
        )
        tip, lean = (x - 5, y), (height * 0.3, height)
    else:
        top = number(y - height * 1.33)
        lean_x = (end - x) * 0.12
        d = (
            f"M{number(x)} {number(y)}C{number(x + lean_x)} {top} {number(end - lean_x)} {top} "
            f"{number(end)} {number(y - 2)}"
        )
        tip, lean = (end, y), (lean_x, height * 1.33)
    line = _stroke(d, colour, width=width, dashes=dashes)
    return line + (_head(tip, lean, colour=colour, size=6) if head else "")


def flow(start: Point, end: Point, *, width: float, colour: str, opacity: float = 0.55) -> str:
    """A band that swings from one side to the other: its width says how much flows."""
    return _stroke(swing(start, end), colour, width=max(1.2, width), opacity=opacity)


def swing(start: Point, end: Point) -> str:
    """The path of a curve that leaves ``start`` and reaches ``end`` level."""
    middle = number((start[0] + end[0]) / 2)
    return (
        f"M{number(start[0])} {number(start[1])}C{middle} {number(start[1])} "
        f"{middle} {number(end[1])} {number(end[0])} {number(end[1])}"
    )


def sign(at: Point, words: str = "+", *, radius: float = 9) -> str:
    """A sign in a circle: + where a sublayer's output is added, × where something may not pass."""
    circle = element(
        "circle",
        cx=float(at[0]),
        cy=float(at[1]),
        r=float(radius),
        fill=ink("page"),
        stroke=ink("line"),
    )
    return circle + label((at[0], at[1] - 0.3), words)


def _stroke(
    d: str,
    colour: str,
    *,
    width: float,
    dashes: str | None = None,
    opacity: float | None = None,
) -> str:
    """A line along the path ``d``."""
    return element(
        "path",
        d=d,
        fill="none",
        stroke=ink(colour),
        stroke_width=float(width),
        stroke_opacity=None if opacity is None else number(opacity, 2),
        stroke_dasharray=dashes,
    )


def _rounded(points: Sequence[Point], *, bend: float) -> str:
    """The path through the points, its corners rounded by at most ``bend`` pixels."""
    points = [points[0], *(b for a, b in pairwise(points) if a != b)]
    path = f"M{number(points[0][0])} {number(points[0][1])}"
    for (ax, ay), (bx, by), (cx, cy) in zip(points, points[1:], points[2:], strict=False):
        before, after = math.hypot(bx - ax, by - ay), math.hypot(cx - bx, cy - by)
        r = min(bend, before / 2, after / 2)
        enter = (bx - (bx - ax) / before * r, by - (by - ay) / before * r)
        leave = (bx + (cx - bx) / after * r, by + (cy - by) / after * r)
        path += (
            f"L{number(enter[0])} {number(enter[1])}Q{number(bx)} {number(by)} "
            f"{number(leave[0])} {number(leave[1])}"
        )
    return path + f"L{number(points[-1][0])} {number(points[-1][1])}"


def _head(tip: Point, along: Point, *, colour: str, size: float = 7) -> str:
    """An arrow's head that points in the direction ``along``."""
    length = math.hypot(*along)
    dx, dy = along[0] / length, along[1] / length
    x, y = tip[0] - dx * size, tip[1] - dy * size
    corners = [tip, (x - dy * size / 2, y + dx * size / 2), (x + dy * size / 2, y - dx * size / 2)]
    d = "M" + "L".join(f"{number(a)} {number(b)}" for a, b in corners) + "z"
    return element("path", d=d, fill=ink(colour))
