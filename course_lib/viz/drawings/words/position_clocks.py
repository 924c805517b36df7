"""The sinusoidal positional encoding as a row of clocks, above the row of the table that it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import arrow, element, frame, label, number, signed, vector

# First for the fast hand; then three turns of it or more from one frame to the next, so that it
# stands near twelve and the slower ones are seen to move.
POSITIONS = (0, 1, 5, 19, 44)
MOST_PAIRS, LARGEST_RADIUS, LARGEST_CELL = 8, 36.0, 42.0
SPEED_AT, CLOCKS_AT = 36, 58
ROWS_AT, STRIP = 62.0, 28.0  # of the table beside: where its rows begin, and how high they are


def draw_position_clocks(
    table: Float[Tensor, "positions d_model"],
    positions: Sequence[int] = POSITIONS,
    *,
    start: int = 2,
    caption: str = "",
) -> Film:
    """Draw a few positions, each as a row of clocks and as its row of the table, framed there.

    A pair of columns (sin, cos) is a clock: the hand's tip lies sin to the right and cos above the
    middle. How fast a hand turns is read from position 1.

    Args:
        table: the encoding, with the columns sin, cos, sin, cos, …; at most eight pairs.
        positions: those that become frames, in order.
        start: the index of the frame that is shown first.
        caption: one sentence below.

    Raises:
        ValueError: the columns are no pairs of sine and cosine, too many, or do not change; a
            position is not in the table; or there are fewer than two positions.
    """
    length, d_model = table.shape
    if d_model % 2 or not 2 <= d_model <= 2 * MOST_PAIRS:
        raise ValueError(
            f"expected 2 to {2 * MOST_PAIRS} columns, in pairs, got {d_model}: draw a table of "
            "smaller d_model"
        )
    if len(positions) < 2 or not all(0 <= position < length for position in positions):
        raise ValueError(
            f"expected at least two positions below {length}, the rows of the table, got "
            f"{list(positions)}"
        )
    if length < 2:
        raise ValueError("expected rows for the positions 0 and 1 at least, got 1 row")
    pairs = table.detach().double().view(length, -1, 2)  # (positions, pairs, sin and cos)
    if (pairs.norm(dim=-1) - 1).abs().max() > 1e-3 or (pairs[0, :, 1] - 1).abs().max() > 1e-3:
        raise ValueError(
            "expected sin² + cos² = 1 for each pair of columns, and sin 0, cos 1 at position 0: is "
            "the layout interleaved (sin, cos, sin, cos, …), and does the table begin at 0?"
        )
    speeds = [math.atan2(*pair) for pair in pairs[1].tolist()]  # in radians per position
    if min(speeds) <= 0:
        raise ValueError(
            f"expected hands that run clockwise, got {min(speeds):.2g} radians from position 0 to "
            "1: are the columns sin before cos, and do they change?"
        )
    shown = sorted(set(positions))
    frames = [
        Frame(
            [_panel(p, pairs[p].tolist(), speeds), _table(table[shown].tolist(), shown, lit=p)],
            _sentence(p, speeds),
        )
        for p in positions
    ]
    return Film(frames, start=start, seconds=0.9, name="position", caption=caption)


def _panel(position: int, pairs: Sequence[Sequence[float]], speeds: Sequence[float]) -> Panel:
    """One position: its clocks, how many positions each takes for a turn, and its row."""
    column = min(WIDTH / len(pairs), 2 * LARGEST_CELL + 1)
    radius = min(LARGEST_RADIUS, column / 2 - 3)
    cell = min(LARGEST_CELL, column / 2)
    middle, clocks = CLOCKS_AT + radius, []
    turns_at = middle + radius + 34
    names_at = turns_at + 32
    row_at = names_at + 11
    digits = 1 if cell >= 32 else None
    turns = [2 * math.pi / speed for speed in speeds]
    crowded = column < 56
    for i, ((sine, cosine), speed) in enumerate(zip(pairs, speeds, strict=True)):
        turn = f"{turns[i]:.0f}" if crowded else f"{turns[i]:,.0f}"
        x = column * i + cell  # where its two cells meet
        clocks += [
            _clock((x, middle), sine, cosine, radius=radius, swept=speed if position else 0),
            label((x, turns_at), turn, cls="aside bold"),
            element(
                "path",  # from the clock to its two cells
                d=f"M{number(x - cell + 3)} {number(names_at - 9)}v-5h{number(2 * cell - 6)}v5",
                fill="none",
                stroke=ink("line"),
            ),
            vector((x - cell, row_at), (sine, cosine), largest=1, cell=cell, digits=digits),
        ]
        if not i or not crowded:
            clocks += [
                label((x - cell / 2, names_at), "sin", cls="aside"),
                label((x + cell / 2, names_at), "cos", cls="aside"),
            ]
    end = column * (len(pairs) - 1) + 2 * cell
    scale = [
        label((0, SPEED_AT), "fast", cls="aside", anchor="start"),
        arrow((34, SPEED_AT), (end - 36, SPEED_AT), colour="hair"),
        label((end, SPEED_AT), "slow", cls="aside", anchor="end"),
        label((0, turns_at - 18), "positions for one turn", cls="aside", anchor="start"),
        label((0, row_at + cell + 17), f"row {position} of the table", cls="bold", anchor="start"),
        label((WIDTH, row_at + cell + 17), "sin: to the right, cos: up", cls="aside", anchor="end"),
    ]
    if position:
        scale.append(label((WIDTH, 10), "shaded: the last step", cls="aside", anchor="end"))
    hands = "; ".join(
        f"{turn:,.0f} positions for one turn, sin {signed(sine, 2)}, cos {signed(cosine, 2)}"
        for (sine, cosine), turn in zip(pairs, turns, strict=True)
    )
    return Panel(
        title=f"Position {position}",
        description=f"{len(pairs)} clocks, from fast to slow: {hands}.",
        body="".join(clocks + scale),
        height=row_at + cell + 30,
    )


def _table(rows: Sequence[Sequence[float]], positions: Sequence[int], *, lit: int) -> Panel:
    """The rows of the positions below each other, the one whose clocks are drawn framed."""
    wide = min(LARGEST_CELL, (WIDTH - ROWS_AT - 2) / len(rows[0]))
    y, graphics, before = float(CLOCKS_AT), [], positions[0]
    for position, row in zip(positions, rows, strict=True):
        if position > before + 1:
            graphics.append(label((ROWS_AT - 18, y + 5), "⋮", cls="aside"))
            y += 14
        before = position
        cls = "bold" if position == lit else "aside"
        name = label((ROWS_AT - 12, y + STRIP / 2), str(position), cls=cls, anchor="end")
        strip = vector((ROWS_AT, y), row, largest=1, cell=wide, height=STRIP)
        if position == lit:
            strip += frame((ROWS_AT - 1, y - 1), wide * len(row) + 2, STRIP + 2)
        graphics += [name, strip]
        y += STRIP + 4
    graphics.append(label((ROWS_AT - 12, SPEED_AT), "position", cls="aside", anchor="end"))
    ends = ((ROWS_AT, "fast", "start"), (ROWS_AT + wide * len(rows[0]), "slow", "end"))
    graphics += [
        label((x, SPEED_AT), words, cls="aside", anchor="end" if side == "end" else "start")
        for x, words, side in ends
    ]
    return Panel(
        title="The table",
        description=f"The rows of the positions {', '.join(map(str, positions))} in colours, "
        f"teal above 0 and brown below. Row {lit} is framed.",
        body="".join(graphics),
        height=y + 6,
    )


def _clock(
    at: tuple[float, float], sine: float, cosine: float, *, radius: float, swept: float
) -> str:
    """A clock face: its hand, how far it turned since the position before, and sin and cos."""
    x, y = at
    reach = radius - 2
    tip = (x + reach * sine, y - reach * cosine)
    face = element(
        "circle", cx=x, cy=y, r=float(radius), fill=ink("fill"), stroke=ink("hair")
    ) + element("path", d=f"M{number(x)} {number(y - radius)}v5", stroke=ink("line"))
    wedge = ""
    if swept:
        angle = math.atan2(sine, cosine) - swept
        before = (x + reach * math.sin(angle), y - reach * math.cos(angle))
        wedge = element(
            "path",
            d=f"M{number(x)} {number(y)}L{number(before[0])} {number(before[1])}"
            f"A{number(reach)} {number(reach)} 0 0 1 {number(tip[0])} {number(tip[1])}z",
            fill=ink("accent"),
            fill_opacity="0.18",
        )
    legs = "".join(
        element(
            "path",
            d=d,
            stroke=ink("positive" if value > 0 else "negative"),
            stroke_width=4,
            stroke_opacity="0.6",
        )
        for value, d in (
            (cosine, f"M{number(x)} {number(y)}V{number(tip[1])}"),
            (sine, f"M{number(x)} {number(tip[1])}H{number(tip[0])}"),
        )
        if abs(value) > 0.004
    )
    hand = element(
        "path",
        d=f"M{number(x)} {number(y)}L{number(tip[0])} {number(tip[1])}",
        stroke=ink("accent"),
        stroke_width=2.4,
        stroke_linecap="round",
    )
    return face + wedge + legs + hand


def _sentence(position: int, speeds: Sequence[float]) -> str:
    """How often the hands have gone round."""
    if not position:
        return "Position 0: every hand points to twelve."
    turns = [position * speed / (2 * math.pi) for speed in speeds]
    told = f"the first hand has gone round {_times(turns[0])}"
    if len(turns) > 1:
        told += f", the second {_times(turns[1])}"
    if len(turns) > 2:
        told += f", the last {_times(turns[-1])}"
    return f"Position {position}: {told}."


def _times(turns: float) -> str:
    return f"{turns:.1f} times" if turns >= 0.05 else "hardly at all"
