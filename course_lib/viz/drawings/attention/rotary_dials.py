"""Rotary positions as dials: a query and a key turn, and the angle between them stays.

Each pair of features is a dial. Its two hands are the query and the key, each turned by its own
position, clockwise as the clocks of lesson 01: the pair's first number points up, its second to the
right. Beside the dials stand the scores, turned and with an added encoding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.model import sinusoidal_positions
from course_lib.modern import rotate
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import (
    Point,
    element,
    frame,
    label,
    number,
    signed,
)

SHIFTS = (0, 1, 10, 100)
MOST_PAIRS, LARGEST_RADIUS = 6, 37.0
DIALS_AT, ROWS_AT, ROW = 50.0, 64.0, 32.0  # heights
BARS, REACH = (164.0, 282.0), 48.0  # the middles of the two columns of bars, and the longest bar


class Hand(NamedTuple):
    """Where a hand of a dial points: to the right, and up, in shares of the radius."""

    right: float
    up: float

    @property
    def angle(self) -> float:
        """From twelve, clockwise, in radians."""
        return math.atan2(self.right, self.up)


def draw_rotary_dials(
    query: Float[Tensor, " d_head"],
    key: Float[Tensor, " d_head"],
    *,
    distance: int = 4,
    first: int = 3,
    shifts: Sequence[int] = SHIFTS,
    base: float = 10_000.0,
    start: int = -1,
    caption: str = "",
) -> Film:
    """Draw a query and a key that move along a text together, one frame for each shift.

    Args:
        query, key: before they are turned, with their pairs in halves, as ``rotate`` has them.
        distance: how far the query stands behind the key.
        first: the key's position without a shift.
        shifts: by how much both move, one for each frame.
        base: of the frequencies.
        start: the index of the frame that is shown first.
        caption: one sentence below.

    Raises:
        ValueError: query and key are not two vectors of the same even size, or too long; there are
            fewer than two shifts, or a position is negative.
    """
    if query.shape != key.shape or query.ndim != 1 or query.size(0) % 2:
        raise ValueError(
            f"expected two vectors of the same even size, got {tuple(query.shape)} and "
            f"{tuple(key.shape)}: take one query and one key of a head"
        )
    if not 2 <= query.size(0) <= 2 * MOST_PAIRS:
        raise ValueError(
            f"expected 2 to {2 * MOST_PAIRS} features, got {query.size(0)}: draw a smaller head"
        )
    if len(shifts) < 2 or min(shifts) + min(first, first + distance) < 0:
        raise ValueError(
            f"expected at least two shifts, and no position below 0, got shifts {list(shifts)} "
            f"from position {first}"
        )
    both = torch.stack((query, key)).detach().double()
    moves = [(first + distance + shift, first + shift) for shift in shifts]
    turned = [_turned(both, positions, base) for positions in moves]
    scores = [_scores(both, positions, base) for positions in moves]
    frames = [
        Frame(
            [
                _dials(positions, hands, before=turned[0] if shift else None),
                _table(moves, scores, lit=i),
            ],
            _sentence(shift, positions, scores[i], scores[0]),
        )
        for i, (shift, positions, hands) in enumerate(zip(shifts, moves, turned, strict=True))
    ]
    return Film(frames, start=start, seconds=1.4, name="shift", caption=caption)


Hands = list[tuple[Hand, Hand]]  # of the query and of the key, pair by pair


def _turned(both: Tensor, positions: tuple[int, int], base: float) -> Hands:
    """The hands of all dials, in shares of the longest."""
    vectors = rotate(both[None, None], torch.tensor(positions), base=base)[0, 0]  # (2, d_head)
    up, right = vectors.chunk(2, dim=-1)  # (2, pairs) each
    longest = float(both.unflatten(1, (2, -1)).norm(dim=1).max())
    ways = torch.stack((right, up), dim=-1) / longest  # (2, pairs, right and up)
    return [(Hand(*query), Hand(*key)) for query, key in ways.transpose(0, 1).tolist()]


def _scores(both: Tensor, positions: tuple[int, int], base: float) -> tuple[float, float]:
    """The product of query and key, turned, and with sines and cosines added instead."""
    turned = rotate(both[None, None], torch.tensor(positions), base=base)[0, 0]
    table = sinusoidal_positions(max(positions) + 1, both.size(1), base=base).double()
    added = both + table[list(positions)]
    return float(turned[0] @ turned[1]), float(added[0] @ added[1])


def _dials(positions: tuple[int, int], hands: Hands, *, before: Hands | None) -> Panel:
    """One shift: a dial for each pair, where its hands were before, and the angle between them."""
    column = WIDTH / len(hands)
    radius = min(LARGEST_RADIUS, column / 2 - 4)
    middle = DIALS_AT + radius
    graphics = [
        label((0, 33), "fast", cls="aside", anchor="start"),
        label((WIDTH, 33), "slow", cls="aside", anchor="end"),
        _key((column / 2 + 26, 33), "query"),
        _key((column / 2 + 92, 33), "key"),
    ]
    told = []
    for i, (query, key) in enumerate(hands):
        at = (column * (i + 0.5), middle)
        between = _between(query, key)
        if before:
            graphics += [_hand(at, hand, radius, ghost=True) for hand in before[i]]
        graphics.insert(0, _face(at, radius))
        graphics += [
            _wedge(at, key.angle, between, radius * 0.52),
            _hand(at, key, radius, dashes="4 3"),
            _hand(at, query, radius),
            label((at[0], middle + radius + 18), f"{_degrees(between)}°", cls="bold"),
        ]
        told.append(
            f"pair {i}: query at {_degrees(query.angle)}°, key at {_degrees(key.angle)}°, "
            f"{_degrees(between)}° between them"
        )
    foot = middle + radius + 38
    graphics.append(label((0, foot), "from the key to the query", cls="aside", anchor="start"))
    if before:
        graphics.append(label((WIDTH, foot), "grey: before", cls="aside", anchor="end"))
    return Panel(
        title=f"Query at position {positions[0]}, key at {positions[1]}",
        description=f"{len(hands)} dials, from fast to slow: {'; '.join(told)}.",
        body="".join(graphics),
        height=foot + 12,
    )


def _table(
    moves: Sequence[tuple[int, int]], scores: Sequence[tuple[float, float]], *, lit: int
) -> Panel:
    """The scores of all shifts below each other, those of the dials framed."""
    largest = max(abs(score) for pair in scores for score in pair)
    low, high = ROWS_AT - 4, ROWS_AT + ROW * len(scores)
    graphics = [
        label((104, 46), "positions", cls="aside", anchor="end"),
        label((BARS[0], 46), "turned", cls="aside bold", colour="accent"),
        label((BARS[1], 46), "added", cls="aside"),
        *(
            element("path", d=f"M{number(x)} {number(low)}V{number(high)}", stroke=ink("line"))
            for x in BARS
        ),
    ]
    for i, (positions, pair) in enumerate(zip(moves, scores, strict=True)):
        y = ROWS_AT + ROW * i
        name = f"{positions[0]} and {positions[1]}"
        cls = "bold" if i == lit else "aside"
        graphics.append(label((104, y + 12), name, cls=cls, anchor="end"))
        for x, score in zip(BARS, pair, strict=True):
            graphics.append(_bar((x, y + 3), score, largest))
        if i == lit:
            graphics.append(frame((1.2, y - 3), WIDTH - 2.4, ROW - 2))
    told = "; ".join(
        f"positions {positions[0]} and {positions[1]}: turned {signed(pair[0], 2)}, added "
        f"{signed(pair[1], 2)}"
        for positions, pair in zip(moves, scores, strict=True)
    )
    return Panel(
        title="Their product, the score",
        description=f"{told}. Positions {moves[lit][0]} and {moves[lit][1]} are framed.",
        body="".join(graphics),
        height=high + 6,
    )


def _bar(at: Point, score: float, largest: float) -> str:
    """A bar from a middle line to the right or left, and its number at the other side."""
    width = REACH * abs(score) / largest
    left = at[0] if score > 0 else at[0] - width
    bar = element(
        "rect",
        x=float(left),
        y=float(at[1]),
        width=float(width),
        height=18.0,
        fill=ink("positive" if score > 0 else "negative"),
        fill_opacity="0.75",
    )
    numeral = signed(score, 2)
    if score > 0:
        return bar + label((at[0] - 6, at[1] + 9), numeral, cls="aside bold", anchor="end")
    return bar + label((at[0] + 6, at[1] + 9), numeral, cls="aside bold", anchor="start")


def _face(at: Point, radius: float) -> str:
    return element(
        "circle", cx=at[0], cy=at[1], r=float(radius), fill=ink("fill"), stroke=ink("hair")
    ) + element("path", d=f"M{number(at[0])} {number(at[1] - radius)}v5", stroke=ink("line"))


def _hand(
    at: Point, hand: Hand, radius: float, *, dashes: str | None = None, ghost: bool = False
) -> str:
    reach = radius - 3
    tip = (at[0] + reach * hand.right, at[1] - reach * hand.up)
    return element(
        "path",
        d=f"M{number(at[0])} {number(at[1])}L{number(tip[0])} {number(tip[1])}",
        stroke=ink("hair" if ghost else "ink"),
        stroke_width=2.0 if ghost else 2.8,
        stroke_dasharray=dashes,
        stroke_linecap="round",
    )


def _wedge(at: Point, start: float, between: float, radius: float) -> str:
    """The sector from an angle, clockwise if ``between`` is positive."""
    x, y = at
    ends = [
        (x + radius * math.sin(angle), y - radius * math.cos(angle))
        for angle in (start, start + between)
    ]
    (ax, ay), (bx, by) = ends
    return element(
        "path",
        d=f"M{number(x)} {number(y)}L{number(ax)} {number(ay)}"
        f"A{number(radius)} {number(radius)} 0 0 {int(between > 0)} {number(bx)} {number(by)}z",
        fill=ink("accent"),
        fill_opacity="0.35",
        stroke=ink("accent"),
    )


def _between(query: Hand, key: Hand) -> float:
    """The angle from the key to the query, clockwise, between −π and π."""
    return math.remainder(query.angle - key.angle, 2 * math.pi)


def _degrees(angle: float) -> str:
    return signed(math.degrees(angle))


def _key(at: Point, name: str) -> str:
    """What a hand means."""
    line = element(
        "path",
        d=f"M{number(at[0])} {number(at[1])}h22",
        stroke=ink("ink"),
        stroke_width=2.8,
        stroke_dasharray="4 3" if name == "key" else None,
    )
    return line + label((at[0] + 27, at[1]), name, cls="aside", anchor="start")


def _sentence(
    shift: int, positions: tuple[int, int], scores: tuple[float, float], before: tuple[float, float]
) -> str:
    """What is to be seen."""
    if not shift:
        return (
            f"The query stands at position {positions[0]}, the key at {positions[1]}: each is "
            "turned by its own position."
        )
    return (
        f"Both {shift} further on: every hand has moved, no angle between two hands has. The "
        f"turned score is still {signed(scores[0], 2)}; with an added encoding it went from "
        f"{signed(before[1], 2)} to {signed(scores[1], 2)}."
    )
