"""Where words lie in a plane: groups of them, each word named beside its point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import Anchor, Point, element, label, number, text_width

TOP, BOTTOM, MARGIN = 34.0, 386.0, 22.0  # the field that the points may use
RADIUS, HALF_LINE = 3.5, 7.0
AROUND = 13.0  # from a group's outermost points to its border
ROUNDS = 40


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

    Both axes have the same scale: distances on the page are distances in the plane.

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
    spots = _on_the_page(points)
    members = {
        name: [spot for spot, of in zip(spots, groups, strict=True) if of == name] for name in names
    }
    borders = {name: _hull(inside) for name, inside in members.items()}
    texts = [(word, 12.0) for word in words] + [(name, 15.0) for name in names]
    choices = [_around(spot, word) for spot, word in zip(spots, words, strict=True)]
    choices += [_beside(borders[name], name) for name in names]
    dots = [_Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in spots]
    chosen = _placed(choices, dots)
    if chosen is None:
        raise ValueError(
            f"expected words that can be named without overlaps, got {len(words)} that lie too "
            "close together: choose fewer of them"
        )
    graphics = [_border(borders[name], strong=name == lit) for name in names if name != lit]
    graphics.append(_border(borders[lit], strong=True))
    for (x, y), group, site in zip(spots, groups, chosen, strict=False):
        colour = "accent" if group == lit else "line"
        nearest = (
            min(max(x, site.box.left), site.box.right),
            min(max(y, site.box.top), site.box.bottom),
        )
        if abs(nearest[0] - x) + abs(nearest[1] - y) > 11:  # the word stands off: a thin line
            d = f"M{number(x)} {number(y)}L{number(nearest[0])} {number(nearest[1])}"
            graphics.append(element("path", d=d, stroke=ink(colour), stroke_width="0.8"))
        graphics.append(element("circle", cx=x, cy=y, r=RADIUS, fill=ink(colour)))
    for (text, _), site, group in zip(texts, chosen, [*groups, *names], strict=True):
        named = site in chosen[len(words) :]
        strong = group == lit
        cls = "bold" if named else "aside bold" if strong else "aside"
        colour_of_text = ("accent" if strong else "soft") if named else None
        graphics.append(label(site.at, text, cls=cls, anchor=site.anchor, colour=colour_of_text))
    told = "; ".join(
        f"{name}: {', '.join(w for w, of in zip(words, groups, strict=True) if of == name)}"
        for name in names
    )
    panel = Panel(
        title=title,
        description=f"{len(words)} words as points, {len(names)} groups, each within a border. "
        f"{told}.",
        body="".join(graphics),
        height=BOTTOM + 22,
    )
    return Drawing(panel, caption=caption)


def _on_the_page(points: Tensor) -> list[Point]:
    """The points in pixels, in the middle of the field, with one scale for both axes."""
    low, high = points.min(dim=0).values, points.max(dim=0).values
    extent = (high - low).tolist()
    if max(extent) == 0:
        raise ValueError("expected different points, got the same one for all words")
    room = (WIDTH - 2 * MARGIN - 2 * AROUND, BOTTOM - TOP - 2 * MARGIN - 2 * AROUND)
    scale = min(
        space / wide for space, wide in zip(room, extent, strict=True) if wide > 1e-9 * max(extent)
    )
    middle = ((low + high) / 2).tolist()
    centre = (WIDTH / 2, (TOP + BOTTOM) / 2)
    return [
        (centre[0] + (x - middle[0]) * scale, centre[1] - (y - middle[1]) * scale)
        for x, y in points.tolist()
    ]


def _box(at: Point, anchor: Anchor, width: float) -> _Box:
    left = at[0] - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return _Box(left, at[1] - HALF_LINE, left + width, at[1] + HALF_LINE)


def _around(spot: Point, word: str) -> list[_Place]:
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
    return [site for site in sites if _inside(site.box)]


def _beside(border: Sequence[Point], name: str) -> list[_Place]:
    """Where a group's name may stand: above its border, below it, left or right."""
    left, right = min(x for x, _ in border), max(x for x, _ in border)
    top, bottom = min(y for _, y in border), max(y for _, y in border)
    width = text_width(name, 15)
    sites: list[_Place] = []
    for k, off in enumerate((0.0, 12.0, 26.0)):
        out = AROUND + 11 + off
        for i, share in enumerate((0.5, 0.2, 0.8, 0.0, 1.0)):
            x = left + (right - left) * share
            x = min(max(x, width / 2), WIDTH - width / 2)
            for j, y in enumerate((top - out, bottom + out)):
                at = (x, y)
                sites.append(_Place(at, "middle", _box(at, "middle", width), i + 3 * j + 4 * k))
        for j, y in enumerate((top, (top + bottom) / 2, bottom)):
            for at, anchor in (((right + out, y), "start"), ((left - out, y), "end")):
                chosen: Anchor = "start" if anchor == "start" else "end"
                sites.append(_Place(at, chosen, _box(at, chosen, width), 8 + j + 4 * k))
    return [site for site in sites if _inside(site.box)]


def _inside(box: _Box) -> bool:
    return box.left >= 0 and box.right <= WIDTH and box.top >= 22 and box.bottom <= BOTTOM + 20


def _placed(choices: Sequence[Sequence[_Place]], dots: Sequence[_Box]) -> list[_Place] | None:
    """One site for each text so that none covers another or a point; None if that fails."""
    if not all(choices):
        return None
    boxes = [torch.tensor([site.box for site in options]) for options in choices]
    points = torch.tensor(dots)
    static = []  # what a site covers of points, and how much it is liked
    for i, (options, each) in enumerate(zip(choices, boxes, strict=True)):
        covered = _overlaps(each, points)
        if i < len(dots):
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
