"""The letters of an einsum as the edges of blocks: which ones meet, which vanish, which remain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import (
    CELL,
    Point,
    arrow,
    element,
    label,
    number,
    text_width,
)

TOP, GAP, SHEET = 60.0, 34.0, 5.0  # where the blocks begin; between them; from sheet to sheet
MOST_CELLS = 10  # of an edge whose cells are drawn; a longer one is a box without cells
BESIDE = 50.0  # the middle of the first line in a panel of its own
MOST_SHEETS = 3
WIDEST, HIGHEST = 120.0, 80.0  # of a block, in pixels
Role = Literal["shared", "summed", "left", "right", "left alone", "right alone"]
SAYS: Mapping[Role, str] = {
    "shared": "in all three: one sheet for each",
    "left": "only in {0}: stays, its rows",
    "right": "only in {1}: stays, its columns",
    "summed": "in both, not in the result: summed",
    "left alone": "only in {0}, not in the result: summed",
    "right alone": "only in {1}, not in the result: summed",
}


def draw_einsum(
    subscripts: str,
    *shapes: Sequence[int],
    names: tuple[str, str, str] = ("left", "right", "result"),
    list_beside: bool = False,
    caption: str = "",
) -> Drawing:
    """Draw an einsum of two operands as a product of blocks.

    The left operand stands beside the result, the right one above it. So the edges that stay line
    up, and those that are summed over meet in the corner. A letter that all three have counts
    sheets, one behind the other.

    Args:
        subscripts: such as "bhqe,bhke->bhqk"; blanks between letters do not matter.
        shapes: of the two operands.
        names: of the operands and of the result, short.
        list_beside: what becomes of each letter stands in a panel of its own, not below the blocks.
        caption: one sentence below.

    Raises:
        ValueError: there are not two operands and a result, a letter occurs twice in one of them,
            the shapes do not fit to the letters, or the result has a letter of its own.
    """
    left, right, result = _letters(subscripts)
    sizes = _sizes((left, right), shapes, subscripts)
    roles = {letter: _role(letter, left, right, result) for letter in dict.fromkeys(left + right)}
    rows, columns = _with(roles, "left"), _with(roles, "right")
    inner = _with(roles, "summed")
    alone = {side: _with(roles, f"{side} alone") for side in ("left", "right")}
    # Letters that only one operand has, and that vanish, lie on the inner edge if that is free.
    across = inner or alone["left"], inner or alone["right"]
    tall = rows + (alone["left"] if inner else "")
    wide = columns + (alone["right"] if inner else "")
    cells = [_product(each, sizes) for each in (tall, across[0], across[1], wide, rows, columns)]
    cell = min(
        CELL,
        WIDEST / max(min(n, MOST_CELLS) for n in (cells[1], cells[3])),
        HIGHEST / max(min(n, MOST_CELLS) for n in (cells[0], cells[2])),
    )
    tall_px, inner_x, inner_y, wide_px, rows_px, columns_px = (
        min(n, MOST_CELLS) * cell for n in cells
    )
    shared = _with(roles, "shared")
    sheets = min(MOST_SHEETS, _product(shared, sizes))
    depth = SHEET * (sheets - 1)
    meets = _chip_width(_edge(inner, sizes)) if inner else 0.0  # where the inner edges meet
    beside = max(text_width(_edge(tall, sizes), 15) + 12, meets / 2 - inner_x / 2 - depth, 26.0)
    corner = (  # of the result
        beside + max(inner_x + GAP + depth, inner_x / 2 + depth + meets / 2 + 24),
        TOP + inner_y + GAP + depth,
    )
    _require_room(
        (beside + inner_x / 2, corner[0] + max(columns_px / 2, 10)),
        corner[0] + wide_px + depth + 8,
        names,
    )
    at_left, above = (beside, corner[1]), (corner[0], TOP + depth)
    graphics = [
        _sheets(at_left, inner_x, tall_px, n=(cells[1], cells[0]), sheets=sheets),
        _sheets(above, wide_px, inner_y, n=(cells[3], cells[2]), sheets=sheets),
        _sheets(corner, columns_px, rows_px, n=(cells[5], cells[4]), sheets=sheets),
    ]
    graphics += _one_number(
        (at_left, above, corner),
        spans=(inner_x, inner_y),
        cell=cell,
        numbers=(cells[4], cells[5]),
        all_of=(tall_px if tall != rows else 0.0, wide_px if wide != columns else 0.0),
    )
    graphics += _names(
        (at_left, above, corner),
        right_of=(inner_x, wide_px, columns_px),
        below=(tall_px, inner_y, rows_px),
        names=names,
        depth=depth,
    )
    if tall:
        colour = None if tall == rows else "accent"
        graphics.append(
            label(
                (beside - 8, corner[1] + tall_px / 2),
                _edge(tall, sizes),
                cls="bold",
                anchor="end",
                colour=colour,
            )
        )
    if wide:
        colour = None if wide == columns else "accent"
        graphics.append(
            label(
                (corner[0] + depth + wide_px / 2, TOP - 12),
                _edge(wide, sizes),
                cls="bold",
                colour=colour,
            )
        )
    graphics += _inner_edges(
        (at_left[0] + inner_x / 2 + depth, corner[1] - depth),
        (corner[0], above[1] + inner_y / 2),
        inner=inner,
        across=across,
        sizes=sizes,
    )
    low = corner[1] + max(tall_px, rows_px) + 52
    y, lines = BESIDE if list_beside else low, []
    order: tuple[Role, ...] = ("summed", "left alone", "right alone", "shared", "left", "right")
    for role in order:
        for_role = _with(roles, role)
        if for_role:
            lines.append(_line(y, for_role, role, names=names, sizes=sizes))
            y += 32 if list_beside else 25
    gone = "".join(letter for letter in roles if letter not in result)
    stays = f"{_listed(result)} {'stay' if len(result) > 1 else 'stays'}" if result else ""
    if gone:
        verb = "vanish" if len(gone) > 1 else "vanishes"
        title = f"{_listed(gone)} {verb}; {stays or 'one number stays'}"
    else:
        title = f"Nothing is summed; {stays}"
    told = "; ".join(
        f"{', '.join(_with(roles, role))} {SAYS[role].format(*names)}"
        for role in order
        if _with(roles, role)
    )
    shape = ", ".join(
        f"{name} has the shape ({', '.join(str(sizes[letter]) for letter in letters)})"
        for name, letters in zip(names, (left, right, result), strict=True)
    )
    blocks = Panel(
        title=title,
        description=f"The einsum {left},{right}->{result}. {shape}. {told}.",
        note=f"{left}, {right} → {result or 'a number'}",
        body="".join(graphics if list_beside else graphics + lines),
        height=low - 24 if list_beside else y - 8,
    )
    if not list_beside:
        return Drawing(blocks, caption=caption)
    letters = Panel(
        title="What becomes of each letter",
        description=f"{told}.",
        body="".join(lines),
        height=y - 8,
    )
    return Drawing(blocks, letters, caption=caption)


def _letters(subscripts: str) -> tuple[str, str, str]:
    """The letters of both operands and of the result."""
    plain = "".join(subscripts.split())
    inputs, arrow_sign, result = plain.partition("->")
    operands = inputs.split(",")
    if not arrow_sign or len(operands) != 2 or not all(operands):
        raise ValueError(
            f"expected two operands and a result, as in 'qe,ke->qk', got {subscripts!r}"
        )
    for letters in (*operands, result):
        if not all(letter.isascii() and letter.isalpha() for letter in letters):
            raise ValueError(
                f"expected letters only, one for each axis, got {letters!r} in {subscripts!r}"
            )
        if len(set(letters)) < len(letters):
            raise ValueError(
                f"expected each letter once in {letters!r}: a diagonal is not drawn, got "
                f"{subscripts!r}"
            )
    unknown = set(result) - set(inputs)
    if unknown:
        raise ValueError(
            f"expected letters of the operands after the arrow, got {', '.join(sorted(unknown))} "
            f"in {subscripts!r}"
        )
    return operands[0], operands[1], result


def _sizes(
    operands: tuple[str, str], shapes: Sequence[Sequence[int]], subscripts: str
) -> dict[str, int]:
    """The size of each letter."""
    if len(shapes) != 2 or any(
        len(letters) != len(shape) for letters, shape in zip(operands, shapes, strict=False)
    ):
        raise ValueError(
            f"expected two shapes with a size for each letter of {subscripts!r}, got "
            f"{', '.join(str(tuple(shape)) for shape in shapes)}"
        )
    sizes: dict[str, int] = {}
    for letters, shape in zip(operands, shapes, strict=True):
        for letter, size in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, size) != size or size < 1:
                raise ValueError(
                    f"expected one size of at least 1 for {letter} in {subscripts!r}, got "
                    f"{sizes[letter]} and {size}"
                )
    return sizes


def _role(letter: str, left: str, right: str, result: str) -> Role:
    """What becomes of a letter."""
    stays = letter in result
    if letter in left and letter in right:
        return "shared" if stays else "summed"
    if letter in left:
        return "left" if stays else "left alone"
    return "right" if stays else "right alone"


def _with(roles: Mapping[str, Role], role: str) -> str:
    return "".join(letter for letter, its in roles.items() if its == role)


def _product(letters: str, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[letter] for letter in letters)


def _edge(letters: str, sizes: Mapping[str, int]) -> str:
    """What is written at an edge: "k 7", or "h 2 × e 3" where two letters share it."""
    return " × ".join(f"{letter} {sizes[letter]}" for letter in letters)


def _listed(letters: str) -> str:
    return ", ".join(letters[:-1]) + " and " + letters[-1] if len(letters) > 1 else letters


def _sheets(at: Point, width: float, height: float, *, n: tuple[int, int], sheets: int) -> str:
    """Blocks behind each other; the cells of the first are drawn, where they are few."""
    graphics = []
    for i in reversed(range(sheets)):
        x, y = at[0] + SHEET * i, at[1] - SHEET * i
        graphics.append(
            element("rect", x=x, y=y, width=width, height=height, fill=ink("page"), stroke="none")
        )
        graphics.append(
            element(
                "rect",
                x=x,
                y=y,
                width=width,
                height=height,
                fill=ink("fill"),
                stroke=ink("line"),
            )
        )
    inside = ""
    if n[0] <= MOST_CELLS:
        inside += "".join(
            f"M{number(at[0] + width * i / n[0])} {number(at[1])}v{number(height)}"
            for i in range(1, n[0])
        )
    if n[1] <= MOST_CELLS:
        inside += "".join(
            f"M{number(at[0])} {number(at[1] + height * i / n[1])}h{number(width)}"
            for i in range(1, n[1])
        )
    if inside:
        graphics.append(element("path", d=inside, fill="none", stroke=ink("hair")))
    return "".join(graphics)


def _one_number(
    corners: tuple[Point, Point, Point],
    *,
    spans: tuple[float, float],
    cell: float,
    numbers: tuple[int, int],
    all_of: tuple[float, float],
) -> list[str]:
    """The row and the column that make one number of the result, and that number."""
    at_left, above, result = corners
    row = min(1, numbers[0] - 1) * cell
    column = min(2, numbers[1] - 1) * cell
    look = {"fill": ink("accent"), "stroke": ink("accent")}
    marks = [
        (at_left[0], at_left[1] + (0 if all_of[0] else row), spans[0], all_of[0] or cell, "0.25"),
        (above[0] + (0 if all_of[1] else column), above[1], all_of[1] or cell, spans[1], "0.25"),
        (result[0] + column, result[1] + row, cell, cell, "1"),
    ]
    return [
        element("rect", x=x, y=y, width=w, height=h, fill_opacity=opacity, **look)
        for x, y, w, h, opacity in marks
    ]


def _names(
    corners: tuple[Point, Point, Point],
    *,
    right_of: tuple[float, float, float],
    below: tuple[float, float, float],
    names: tuple[str, str, str],
    depth: float,
) -> list[str]:
    """The operands' names: the left one and the result below, the right one at its right."""
    under = [corner[1] + height + 14 for corner, height in zip(corners, below, strict=True)]
    return [
        label((corners[0][0] + right_of[0] / 2, under[0]), names[0], cls="aside"),
        label(
            (corners[1][0] + right_of[1] + depth + 8, corners[1][1] + below[1] / 2),
            names[1],
            cls="aside",
            anchor="start",
        ),
        label(
            (corners[2][0] + max(right_of[2] / 2, 10), under[2]),
            names[2],
            cls="aside bold",
        ),
    ]


def _inner_edges(
    top_of_left: Point,
    side_of_right: Point,
    *,
    inner: str,
    across: tuple[str, str],
    sizes: Mapping[str, int],
) -> list[str]:
    """The edges that vanish: an arc joins them where both have the same letters."""
    (x, y), (right_x, right_y) = top_of_left, side_of_right
    graphics = []
    if inner:
        words = _edge(inner, sizes)
        bend = (x, right_y)
        for end in ((x, y - 5), (right_x - 6, right_y)):
            graphics.append(arrow(bend, end, colour="accent", width=2))
        at = (bend[0] - _chip_width(words) / 2, bend[1] - 11)
        graphics.append(_chip(at, words, vanishes=True))
        return graphics
    if across[0]:
        graphics.append(label((x, y - 12), _edge(across[0], sizes), cls="bold", colour="accent"))
    if across[1]:
        graphics.append(
            label(
                (right_x - 8, right_y),
                _edge(across[1], sizes),
                cls="bold",
                anchor="end",
                colour="accent",
            )
        )
    return graphics


def _require_room(middles: tuple[float, float], right: float, names: Sequence[str]) -> None:
    """Refuse names that would cover each other, or that leave the panel."""
    needed = (text_width(names[0], 12) + text_width(names[2], 13)) / 2 + 6
    ends = (
        middles[0] - text_width(names[0], 12) / 2,
        WIDTH - middles[1] - text_width(names[2], 13) / 2,
        WIDTH - right - text_width(names[1], 12),
    )
    if middles[1] - middles[0] < needed or min(ends) < 0:
        raise ValueError(
            f"expected blocks and names that fit into {WIDTH} pixels, got the names "
            f"{', '.join(names)}: choose shorter ones, or smaller sizes"
        )


def _chip_width(words: str) -> float:
    return text_width(words, 15) + 12


def _chip(at: Point, words: str, *, vanishes: bool) -> str:
    """A letter and its size in a rounded box: in the accent where it is summed away."""
    box = element(
        "rect",
        x=float(at[0]),
        y=float(at[1]),
        width=_chip_width(words),
        height=22,
        rx=7,
        fill=ink("page" if vanishes else "fill"),
        stroke=ink("accent" if vanishes else "line"),
        stroke_width=2 if vanishes else 1,
    )
    return box + label(
        (at[0] + _chip_width(words) / 2, at[1] + 11),
        words,
        cls="bold" if vanishes else None,
        colour="accent" if vanishes else None,
    )


def _line(
    y: float, letters: str, role: Role, *, names: tuple[str, str, str], sizes: Mapping[str, int]
) -> str:
    """A line of the list below: the letters, their sizes, and what becomes of them."""
    graphics, x = [], 1.0
    for letter in letters:
        words = _edge(letter, sizes)
        graphics.append(_chip((x, y - 11), words, vanishes=role not in ("shared", "left", "right")))
        x += _chip_width(words) + 4
    says = SAYS[role].format(*names)
    if x + 4 + text_width(says, 12) > WIDTH:
        raise ValueError(
            f"expected words that fit into a line, got {letters} {says!r}: choose shorter names"
        )
    graphics.append(label((x + 4, y), says, cls="aside", anchor="start"))
    return "".join(graphics)
