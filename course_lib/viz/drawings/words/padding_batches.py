"""Sentences in batches as rows of boxes, their padding hatched, in several orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import element, label, number, text_width

FIRST = 86.0  # the top of the first row
BOX_HEIGHT, LEFT = 20.0, 26.0  # of a token's box; room for the number of its sentence
WIDEST, NARROWEST = 28.0, 14.0  # of a token's box
TALLEST = 420.0  # a panel


class Spacing(NamedTuple):
    """How far rows and batches are apart."""

    row: float
    between: float


BOXES, LINES = Spacing(26.0, 18.0), Spacing(3.0, 6.0)  # a box for a token, a line for a sentence


class Batch(NamedTuple):
    """The indices of its sentences, how long the longest is, and how many pads that costs."""

    rows: Sequence[int]
    longest: int
    pads: int


def draw_padding(
    lengths: Sequence[int],
    orders: Mapping[str, Sequence[Sequence[int]]],
    *,
    lit: str,
    caption: str = "",
) -> Drawing:
    """Draw the same sentences in batches of several orders, a panel for each.

    The shares of padding are computed here: each batch is as wide as its longest sentence. Where
    there is no room for a box for each token, each sentence is a thin line.

    Args:
        lengths: tokens of each sentence.
        orders: what the order is called -> batches of indices, each sentence once.
        lit: the order that the text is about, whose share is written in colour.
        caption: one sentence below.

    Raises:
        ValueError: batches that are not all sentences, each once, or more or longer sentences
            than there is room for.
    """
    if not lengths or min(lengths) < 1:
        raise ValueError(f"expected sentences of at least one token, got lengths {list(lengths)}")
    if lit not in orders:
        raise ValueError(f"expected lit to be one of {', '.join(orders)}, got {lit!r}")
    width = min(WIDEST, (WIDTH - LEFT - 2) / max(lengths))
    if width < NARROWEST:
        most = int((WIDTH - LEFT - 2) / NARROWEST)
        raise ValueError(f"expected sentences of at most {most} tokens, got {max(lengths)}")
    drawn: dict[str, list[Batch]] = {}
    for name, batches in orders.items():
        if sorted(i for rows in batches for i in rows) != list(range(len(lengths))) or not all(
            batches
        ):
            raise ValueError(
                f"expected batches of {name!r} with the sentences 0 to {len(lengths) - 1}, each "
                f"once, got {[list(rows) for rows in batches]}"
            )
        if text_width(name, bold=True) > WIDTH:
            raise ValueError(f"expected names of orders that fit into a line, got {name!r}")
        drawn[name] = [_batch(rows, lengths) for rows in batches]
    spacing, height = BOXES, _height(drawn, BOXES)
    if height > TALLEST:
        spacing, height = LINES, _height(drawn, LINES)
    if height > TALLEST:
        raise ValueError(
            f"expected batches that fit into {TALLEST:.0f} pixels, got {len(lengths)} sentences in "
            f"{max(map(len, drawn.values()))} batches, {height:.0f} pixels: draw fewer"
        )
    return Drawing(
        *(
            _panel(
                name, batches, lengths, spacing=spacing, width=width, height=height, lit=name == lit
            )
            for name, batches in drawn.items()
        ),
        caption=caption,
    )


def _batch(rows: Sequence[int], lengths: Sequence[int]) -> Batch:
    longest = max(lengths[i] for i in rows)
    return Batch(rows, longest, sum(longest - lengths[i] for i in rows))


def _height(drawn: Mapping[str, Sequence[Batch]], spacing: Spacing) -> float:
    """Of the tallest panel."""
    most = max(
        spacing.row * sum(len(batch.rows) for batch in batches)
        + spacing.between * (len(batches) - 1)
        for batches in drawn.values()
    )
    return FIRST + most


def _panel(
    name: str,
    batches: Sequence[Batch],
    lengths: Sequence[int],
    *,
    spacing: Spacing,
    width: float,
    height: float,
    lit: bool,
) -> Panel:
    pads = sum(batch.pads for batch in batches)
    total = pads + sum(lengths)
    share = f"{100 * pads / total:.0f} %"
    graphics = [
        label((0, 48), share, cls="big", anchor="start", colour="accent" if lit else None),
        label(
            (100, 53),
            f"padding: {pads:,} of {total:,} {'boxes' if spacing is BOXES else 'tokens'}",
            cls="aside",
            anchor="start",
        ),
    ]
    y = FIRST
    for batch in batches:
        if spacing is LINES and batch.pads:
            graphics.append(_padding(batch, lengths, y, width))
        for i in batch.rows:
            if spacing is BOXES:
                at = (LEFT - 10, y + BOX_HEIGHT / 2)
                graphics.append(label(at, str(i + 1), cls="aside", anchor="end"))
                graphics += [
                    _box(LEFT + width * at, y, width, real=at < lengths[i])
                    for at in range(batch.longest)
                ]
            else:
                graphics.append(_line(0, lengths[i], y, width))
            y += spacing.row
        y += spacing.between
    told = "; ".join(_told(batch, lengths, spacing) for batch in batches)
    return Panel(
        title=name,
        description=f"{len(batches)} batches. {told}. In all, {pads} of {total} are pads, {share}.",
        body="".join(graphics),
        height=height,
    )


def _told(batch: Batch, lengths: Sequence[int], spacing: Spacing) -> str:
    """A batch in words."""
    if spacing is LINES:
        shortest = min(lengths[i] for i in batch.rows)
        return f"{len(batch.rows)} rows of {shortest} to {batch.longest}, {batch.pads} padding"
    numbers = ", ".join(str(i + 1) for i in batch.rows)
    tokens = ", ".join(str(lengths[i]) for i in batch.rows)
    return f"rows {numbers} of {tokens} tokens, {batch.pads} padding"


def _box(x: float, y: float, width: float, *, real: bool) -> str:
    return element(
        "rect",
        x=float(x + 1),
        y=float(y),
        width=float(width - 2),
        height=BOX_HEIGHT,
        rx=5,
        fill=ink("german-box" if real else "hidden"),
        stroke=ink("german" if real else "line"),
        stroke_dasharray=None if real else "3 3",
    )


def _line(start: int, end: int, y: float, width: float) -> str:
    """All tokens of a sentence."""
    return element(
        "rect",
        x=float(width * start),
        y=float(y),
        width=float(width * (end - start)),
        height=LINES.row - 0.6,
        fill=ink("german"),
    )


def _padding(batch: Batch, lengths: Sequence[int], y: float, width: float) -> str:
    """All padding of a batch of lines, as one hatched shape from their ends to the longest."""
    d = f"M{number(width * batch.longest)} {number(y)}"
    for k, i in enumerate(batch.rows):
        d += f"H{number(width * lengths[i])}V{number(y + LINES.row * (k + 1) - 0.6)}"
    d += f"H{number(width * batch.longest)}z"
    return element("path", d=d, fill=ink("hidden"), stroke=ink("hair"))
