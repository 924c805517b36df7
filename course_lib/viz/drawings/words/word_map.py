"""Where words lie in a plane: groups of them, each word named beside its point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import TEXT, WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import Anchor, Point, element, label, number, text_width

TOP = 34.0  # of the field that the points may use
RADIUS, HALF_LINE = 3.5, 7.0
AROUND = 8.0  # from a group's points and words to its border
ROUNDS = 40
SHARES = tuple(1 - 0.02 * k for k in range(10))  # of the largest scale, which are tried


class _Field(NamedTuple):
    """Of a panel.

    Args:
        width: of the panel.
        bottom: the lower end of the field.
        sides, ends: room for words beside, and above and below, the points.
        turns: by how many degrees the plane may be turned.
    """

    width: float
    bottom: float
    sides: float
    ends: float
    turns: Sequence[int] = (0,)


BROAD = _Field(TEXT, 540.0, 70.0, 30.0, range(-45, 50, 5))
NARROW = _Field(WIDTH, 400.0, 28.0, 35.0)


class _Box(NamedTuple):
    """What words cover."""

    left: float
    top: float
    right: float
    bottom: float


class _Place(NamedTuple):
    """One way to write some words: where, how they are anchored there, and what they cover."""

    at: Point
    anchor: Anchor
    box: _Box
    cost: float


def draw_word_map(
    words: Sequence[str],
    points: Float[Tensor, "words 2"],
    *,
    groups: Sequence[str],
    lit: str,
    title: str,
    caption: str = "",
) -> Drawing:
    """Draw words as points in a plane, each with its name, and a border around each group.

    Both axes have the same scale, and on a wide page the plane is turned until it fills that:
    distances on the page are distances in the plane.

    Args:
        words: their names.
        points: the coordinates of each, such as the first two principal components of its row.
        groups: the name of each word's group.
        lit: the group that the text is about.
        title: what the picture says.
        caption: one sentence below.

    Raises:
        ValueError: numbers of words, points and groups differ, there is no such group, all points
            are one, or there are too many words to name them without overlaps.
    """
    if not len(words) == len(points) == len(groups) or len(words) < 2:
        raise ValueError(
            f"expected at least two words, and a point and a group for each, got {len(words)} "
            f"words, {len(points)} points and {len(groups)} groups"
        )
    names = list(dict.fromkeys(groups))
    if lit not in names:
        raise ValueError(f"expected one of the groups {', '.join(names)}, got {lit!r}")
    drawing = _Map(words, groups, lit, title)
    return Drawing(
        drawing.panel(points, BROAD, narrow=drawing.panel(points, NARROW)), caption=caption
    )


class _Map(NamedTuple):
    """What is drawn, on a wide page and on a phone."""

    words: Sequence[str]
    groups: Sequence[str]
    lit: str
    title: str

    def panel(self, points: Tensor, field: _Field, *, narrow: Panel | None = None) -> Panel:
        """The map in its field."""
        names = list(dict.fromkeys(self.groups))
        spots, dots, sites = self._sites(points, field)
        words = [site.box for site in sites]
        # A border goes around words as well, so that none lies across it.
        borders = {
            name: _hull(
                [
                    corner
                    for boxes in zip(dots, words, self.groups, strict=True)
                    if boxes[2] == name
                    for box in boxes[:2]
                    for corner in _corners(box)
                ]
            )
            for name in names
        }
        beside = [_beside(borders[name], name, field) for name in names]
        named = _placed(beside, [*dots, *words], own=False)
        if named is None:
            raise self._crowded()
        graphics = [_border(borders[name], strong=False) for name in names if name != self.lit]
        graphics.append(_border(borders[self.lit], strong=True))
        for spot, group, site in zip(spots, self.groups, sites, strict=True):
            graphics += _point(spot, site.box, "accent" if group == self.lit else "line")
        for word, group, site in zip(self.words, self.groups, sites, strict=True):
            cls = "aside bold" if group == self.lit else "aside"
            graphics.append(label(site.at, word, cls=cls, anchor=site.anchor))
        for name, site in zip(names, named, strict=True):
            colour = "accent" if name == self.lit else "soft"
            graphics.append(label(site.at, name, cls="bold", anchor=site.anchor, colour=colour))
        return Panel(
            title=self.title,
            description=self._told(names),
            body="".join(graphics),
            height=field.bottom + 22,
            width=field.width,
            narrow=narrow,
        )

    def _sites(self, points: Tensor, field: _Field) -> tuple[list[Point], list[_Box], list[_Place]]:
        """Where the points lie and the words stand: of some scales, where they tangle least."""
        found, least = None, (math.inf, math.inf)
        for share in SHARES:
            spots = _on_the_page(points, field, share)
            dots = [_Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in spots]
            around = [_around(at, word, field) for at, word in zip(spots, self.words, strict=True)]
            sites = _placed(around, dots, own=True)
            if sites is not None and _tangle(spots, sites, dots) < least:
                found, least = (spots, dots, sites), _tangle(spots, sites, dots)
        if found is None:
            raise self._crowded()
        return found

    def _crowded(self) -> ValueError:
        return ValueError(
            f"expected words that can be named without overlaps, got {len(self.words)} that "
            "lie too close together: choose fewer of them"
        )

    def _told(self, names: Sequence[str]) -> str:
        pairs = list(zip(self.words, self.groups, strict=True))
        each = [f"{name}: {', '.join(w for w, of in pairs if of == name)}" for name in names]
        return (
            f"{len(self.words)} words as points, {len(names)} groups, each within a border. "
            f"{'; '.join(each)}."
        )


def _leader(spot: Point, word: _Box) -> tuple[Point, float]:
    """Where a line from a point meets its word, and how long it is; 0 if none is needed."""
    x, y = spot
    near = (min(max(x, word.left), word.right), min(max(y, word.top), word.bottom))
    length = abs(near[0] - x) + abs(near[1] - y)
    return near, length if length > 11 else 0.0


def _tangle(
    spots: Sequence[Point], sites: Sequence[_Place], dots: Sequence[_Box]
) -> tuple[float, float]:
    """How often lines run through other words or points, and how long they are together."""
    crossed, together = 0, 0.0
    for i, (spot, site) in enumerate(zip(spots, sites, strict=True)):
        near, length = _leader(spot, site.box)
        together += length
        others = [
            box
            for j, (s, d) in enumerate(zip(sites, dots, strict=True))
            if j != i
            for box in (s.box, d)
        ]
        steps = [k / 20 for k in range(21)] if length else []
        along = [tuple(a + (b - a) * t for a, b in zip(spot, near, strict=True)) for t in steps]
        crossed += sum(
            any(b.left < x < b.right and b.top < y < b.bottom for x, y in along) for b in others
        )
    return crossed, together


def _point(spot: Point, word: _Box, colour: str) -> list[str]:
    """A word's point, and a thin line to the word where that stands off."""
    (x, y), (near, length) = spot, _leader(spot, word)
    point = element("circle", cx=x, cy=y, r=RADIUS, fill=ink(colour))
    if not length:
        return [point]
    d = f"M{number(x)} {number(y)}L{number(near[0])} {number(near[1])}"
    return [element("path", d=d, stroke=ink(colour), stroke_width="0.8"), point]


def _on_the_page(points: Tensor, field: _Field, share: float) -> list[Point]:
    """The points in pixels, in the middle of the field, turned until their scale is the largest.

    ``share``: of that scale.
    """
    room = (field.width - 2 * field.sides, field.bottom - TOP - 2 * field.ends)
    best, turned = 0.0, points
    for degrees in sorted(field.turns, key=abs):
        a = math.radians(degrees)
        turn = points.new_tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
        extent = ((points @ turn).amax(dim=0) - (points @ turn).amin(dim=0)).tolist()
        if max(extent) == 0:
            raise ValueError("expected different points, got the same one for all words")
        scale = min(
            space / wide
            for space, wide in zip(room, extent, strict=True)
            if wide > 1e-6 * max(extent)
        )
        if scale > 1.01 * best:
            best, turned = scale, points @ turn
    middle = ((turned.amin(dim=0) + turned.amax(dim=0)) / 2).tolist()
    centre = (field.width / 2, (TOP + field.bottom) / 2)
    return [
        (centre[0] + (x - middle[0]) * best * share, centre[1] - (y - middle[1]) * best * share)
        for x, y in turned.tolist()
    ]


def _box(at: Point, anchor: Anchor, width: float) -> _Box:
    left = at[0] - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return _Box(left, at[1] - HALF_LINE, left + width, at[1] + HALF_LINE)


def _corners(box: _Box) -> list[Point]:
    return [(x, y) for x in (box.left, box.right) for y in (box.top, box.bottom)]


def _around(spot: Point, word: str, field: _Field) -> list[_Place]:
    """Where a word may stand around its point, the best first: right, left, above, below, off."""
    x, y = spot
    width = text_width(word, 12.5)
    sites: list[_Place] = []
    for distance in (0.0, 7.0, 14.0, 22.0, 31.0):
        near = RADIUS + 3 + distance
        options: list[tuple[Point, Anchor]] = [
            ((x + near, y), "start"),
            ((x - near, y), "end"),
            ((x, y - near - 5), "middle"),
            ((x, y + near + 5), "middle"),
            ((x + near * 0.75, y - near * 0.75 - 4), "start"),
            ((x + near * 0.75, y + near * 0.75 + 4), "start"),
            ((x - near * 0.75, y - near * 0.75 - 4), "end"),
            ((x - near * 0.75, y + near * 0.75 + 4), "end"),
        ]
        sites += [
            _Place(at, anchor, _box(at, anchor, width), 0.6 * i + 2 * distance)
            for i, (at, anchor) in enumerate(options)
        ]
    return [site for site in sites if _inside(site.box, field)]


def _beside(border: Sequence[Point], name: str, field: _Field) -> list[_Place]:
    """Where a group's name may stand: above its border, below it, left or right."""
    left, right = min(x for x, _ in border), max(x for x, _ in border)
    top, bottom = min(y for _, y in border), max(y for _, y in border)
    width = text_width(name, 15)
    sites: list[_Place] = []
    for k, off in enumerate((0.0, 12.0, 26.0)):
        out = AROUND + 11 + off
        for i, share in enumerate((0.5, 0.2, 0.8, 0.0, 1.0)):
            x = left + (right - left) * share
            x = min(max(x, width / 2), field.width - width / 2)
            for j, y in enumerate((top - out, bottom + out)):
                at = (x, y)
                sites.append(_Place(at, "middle", _box(at, "middle", width), i + 3 * j + 4 * k))
        for j, y in enumerate((top, (top + bottom) / 2, bottom)):
            for at, anchor in (((right + out, y), "start"), ((left - out, y), "end")):
                chosen: Anchor = "start" if anchor == "start" else "end"
                sites.append(_Place(at, chosen, _box(at, chosen, width), 8 + j + 4 * k))
    return [site for site in sites if _inside(site.box, field)]


def _inside(box: _Box, field: _Field) -> bool:
    return (
        box.left >= AROUND + 1
        and box.right <= field.width - AROUND - 1
        and box.top >= 22
        and box.bottom <= field.bottom + 20
    )


def _placed(
    choices: Sequence[Sequence[_Place]], dots: Sequence[_Box], *, own: bool
) -> list[_Place] | None:
    """One site for each text so that none covers another or a dot; None if that fails.

    ``own``: the dots are the words' points, in their order.
    """
    if not all(choices):
        return None
    boxes = [torch.tensor([site.box for site in options]) for options in choices]
    points = torch.tensor(dots)
    static = []  # what a site covers of points, and how much it is liked
    for i, (options, each) in enumerate(zip(choices, boxes, strict=True)):
        covered = _overlaps(each, points)
        if own:
            covered[:, i] = 0  # a word's own point lies beside it
        static.append((covered.sum(dim=1), torch.tensor([site.cost for site in options])))
    chosen = [int((10 * covered + cost).argmin()) for covered, cost in static]
    taken = torch.stack([each[at] for each, at in zip(boxes, chosen, strict=True)])
    weights = torch.ones(len(choices))
    settled = False
    for _ in range(ROUNDS):
        before = list(chosen)
        for i, (covered, cost) in enumerate(static):
            others = _overlaps(boxes[i], taken) * weights
            others[:, i] = 0
            # Once no text covers another, each may only move to what it likes better.
            dear = 1e6 if settled else 10.0
            chosen[i] = int((dear * (covered + others.sum(dim=1)) + cost).argmin())
            taken[i] = boxes[i][chosen[i]]
        shared = _overlaps(taken, taken).fill_diagonal_(0).sum(dim=1)
        shared += torch.stack([each[0][at] for each, at in zip(static, chosen, strict=True)])
        settled = bool((shared == 0).all())
        if settled and chosen == before:
            break
        weights[shared > 0] *= 2  # the others have to make room for who found none
    if not settled:
        return None
    return [options[at] for options, at in zip(choices, chosen, strict=True)]


def _overlaps(boxes: Tensor, others: Tensor) -> Tensor:
    """The areas that each box shares with each of the others; (n, 4) and (m, 4) to (n, m)."""
    low = torch.maximum(boxes[:, None, :2], others[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return (high - low).clamp(min=0).prod(dim=-1)


def _hull(points: Sequence[Point]) -> list[Point]:
    """The corners of the smallest convex shape around the points, in order."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def half(along: Sequence[Point]) -> list[Point]:
        corners: list[Point] = []
        for x, y in along:
            while len(corners) > 1:
                (ax, ay), (bx, by) = corners[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                corners.pop()
            corners.append((x, y))
        return corners[:-1]

    return half(ordered) + half(ordered[::-1])


def _border(corners: Sequence[Point], *, strong: bool) -> str:
    """A soft shape around a group: its outermost points, joined by a band with round ends."""
    d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in corners) + "z"
    band = {"stroke_linejoin": "round", "stroke_linecap": "round"}
    edge = element(
        "path",
        d=d,
        fill="none",
        stroke=ink("accent" if strong else "hair"),
        stroke_width=2 * AROUND + (4.0 if strong else 2.0),
        **band,
    )
    inside = element(
        "path", d=d, fill=ink("fill"), stroke=ink("fill"), stroke_width=2 * AROUND, **band
    )
    return edge + inside
