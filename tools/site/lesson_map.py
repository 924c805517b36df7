"""The flowchart of docs/map.md as SVG: on a code host a script draws it, a site has none.

It reads the few forms of Mermaid that the map has: ``A[label]``, ``A --> B``, ``A -.-> B``, groups.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import mean

NODE = r"(\w+)(?:\[([^\]]*)\])?"
LINE = re.compile(rf"^\s*{NODE}(?:\s*(-->|-\.->)\s*{NODE})?\s*$", re.MULTILINE)
WORDS = re.compile(r"^\s*(?:flowchart|subgraph|end)\b.*$", re.MULTILINE)
WIDTH, HEIGHT, ROW = 160, 36, 76  # of a box, and from one row to the next
LANE, GAP = 8, 16  # the width of an arrow that passes a row; the space between neighbours
SWEEPS = 24  # of the layout

Stop = tuple[str, str, int]  # where an arrow passes a row: from, to, row; of a box, twice its key


def flowchart_svg(text: str, address: Callable[[str], str]) -> str:
    """A picture whose boxes are links, each below the boxes that it needs; arrows keep off boxes.

    Args:
        text: the flowchart.
        address: where the box with a label leads.
    """
    labels: dict[str, str] = {}
    arrows: list[tuple[str, str, bool]] = []  # from, to, dotted
    for first, label, arrow, second, other in LINE.findall(WORDS.sub("", text)):
        labels.update({key: value for key, value in ((first, label), (second, other)) if value})
        if arrow:
            arrows.append((first, second, arrow == "-.->"))
    rows = _rows(labels, arrows)
    ways = [_way(first, second, rows) for first, second, _ in arrows]
    centres = _centres([(key, key, row) for key, row in rows.items()], ways)
    width = max(map(_right, centres.items())) + 2
    height = max(rows.values()) * ROW + HEIGHT + 2
    lines = [
        _arrow([(centres[stop], stop[2] * ROW) for stop in way], dotted=dotted)
        for way, (_, _, dotted) in zip(ways, arrows, strict=True)
    ]
    boxes = [
        _box(label, (centres[key, key, rows[key]], rows[key] * ROW), address(label))
        for key, label in labels.items()
    ]
    return (
        f'<div class="lesson-map"><svg viewBox="-1 -1 {width} {height}" role="group" '
        'aria-label="What builds on what: from top to bottom">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(lines)}{''.join(boxes)}</svg></div>"
    )


def _rows(labels: Iterable[str], arrows: list[tuple[str, str, bool]]) -> dict[str, int]:
    """The row of each box: the length of the longest way to it."""
    needs = {key: {a for a, b, _ in arrows if b == key} for key in labels}
    rows: dict[str, int] = {}
    for key in TopologicalSorter(needs).static_order():
        rows[key] = max((rows[need] + 1 for need in needs[key]), default=0)
    return rows


def _way(first: str, second: str, rows: Mapping[str, int]) -> list[Stop]:
    """An arrow's stops: its first box, each row between, where it needs space too, its last."""
    between = [(first, second, row) for row in range(rows[first] + 1, rows[second])]
    return [(first, first, rows[first]), *between, (second, second, rows[second])]


def _centres(boxes: Iterable[Stop], ways: Iterable[list[Stop]]) -> dict[Stop, int]:
    """The middle of each stop: near the stops it is joined to, and no two on one another."""
    joined: defaultdict[Stop, set[Stop]] = defaultdict(set)
    for first, second in (pair for way in ways for pair in pairwise(way)):
        joined[first].add(second)
        joined[second].add(first)
    rows: defaultdict[int, list[Stop]] = defaultdict(list)
    for stop in sorted({*boxes, *joined}):
        rows[stop[2]].append(stop)
    centres = {stop: 0.0 for row in rows.values() for stop in row}
    for row in rows.values():
        centres.update(_apart(dict.fromkeys(row, 0.0)))
    for _ in range(SWEEPS):
        for number in [*sorted(rows), *sorted(rows, reverse=True)]:
            wanted = {
                stop: mean([centres[other] for other in joined[stop]] or [centres[stop]])
                for stop in rows[number]
            }
            centres.update(_apart(wanted))
    left = min(x - _half(stop) for stop, x in centres.items())
    return {stop: round(x - left) for stop, x in centres.items()}


def _apart(wanted: Mapping[Stop, float]) -> dict[Stop, float]:
    """Places in one row in the order of the wanted ones, near them, with a gap between."""
    row = sorted(wanted, key=lambda stop: wanted[stop])
    steps = [0.0, *(_half(a) + GAP + _half(b) for a, b in pairwise(row))]
    rightwards: list[float] = []
    leftwards: list[float] = []
    for x, step in zip((wanted[stop] for stop in row), steps, strict=True):
        rightwards.append(max(x, rightwards[-1] + step) if rightwards else x)
    for x, step in zip((wanted[stop] for stop in reversed(row)), [0.0, *steps[:0:-1]], strict=True):
        leftwards.append(min(x, leftwards[-1] - step) if leftwards else x)
    both = zip(rightwards, reversed(leftwards), strict=True)
    return {stop: (a + b) / 2 for stop, (a, b) in zip(row, both, strict=True)}


def _half(stop: Stop) -> float:
    return (WIDTH if stop[0] == stop[1] else LANE) / 2


def _right(placed: tuple[Stop, int]) -> int:
    stop, centre = placed
    return round(centre + _half(stop))


def _arrow(stops: list[tuple[int, int]], *, dotted: bool) -> str:
    """From the lower edge of a box to the upper edge of one; straight down beside a box."""
    bend = (ROW - HEIGHT) // 2
    (x, y), *later = stops
    way = f"M{x} {y + HEIGHT}"
    for next_x, next_y in later:
        way += f"C{x} {next_y - bend} {next_x} {next_y - bend} {next_x} {next_y}"
        way += f"V{next_y + HEIGHT}"
        x = next_x
    way = way.rpartition("V")[0]
    return f'<path class="arrow{" dotted" * dotted}" marker-end="url(#tip)" d="{way}"/>'


def _box(label: str, top: tuple[int, int], address: str) -> str:
    x, y = top
    return (
        f'<a href="{html.escape(address)}"><rect x="{x - WIDTH // 2}" y="{y}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="8"/><text x="{x}" y="{y + 23}" '
        f'text-anchor="middle">{html.escape(label)}</text></a>'
    )
