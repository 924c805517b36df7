"""The flowchart of docs/map.md as SVG: on a code host a script draws it, a site has none.

It reads the few forms of Mermaid that the map has: ``A[label]``, ``A --> B``, ``A -.-> B``, groups.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from graphlib import TopologicalSorter

NODE = r"(\w+)(?:\[([^\]]*)\])?"
LINE = re.compile(rf"^\s*{NODE}(?:\s*(-->|-\.->)\s*{NODE})?\s*$", re.MULTILINE)
WORDS = re.compile(r"^\s*(?:flowchart|subgraph|end)\b.*$", re.MULTILINE)
WIDTH, HEIGHT, ROW, COLUMN = 168, 36, 76, 196  # of a box, and from one to the next


def flowchart_svg(text: str, address: Callable[[str], str]) -> str:
    """A picture whose boxes are links, each below the boxes that it needs.

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
    corners = _corners(labels, arrows)
    width = max(x for x, _ in corners.values()) + WIDTH + 2
    height = max(y for _, y in corners.values()) + HEIGHT + 2
    lines = [_arrow(corners[a], corners[b], dotted=dotted) for a, b, dotted in arrows]
    boxes = [_box(labels[key], corner, address(labels[key])) for key, corner in corners.items()]
    return (
        f'<svg class="lesson-map" viewBox="-1 -1 {width} {height}" role="group" '
        'aria-label="What builds on what: from top to bottom">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(lines)}{''.join(boxes)}</svg>"
    )


def _corners(
    labels: Mapping[str, str], arrows: list[tuple[str, str, bool]]
) -> dict[str, tuple[int, int]]:
    """The upper left corner of each box; its row is the longest way to it."""
    needs = {key: {a for a, b, _ in arrows if b == key} for key in labels}
    row: dict[str, int] = {}
    for key in TopologicalSorter(needs).static_order():
        row[key] = max((row[need] + 1 for need in needs[key]), default=0)
    rows = defaultdict(list)
    for key in sorted(labels):
        rows[row[key]].append(key)
    widest = max(map(len, rows.values()))
    return {
        key: ((widest - len(keys) + 2 * number) * COLUMN // 2, line * ROW)
        for line, keys in rows.items()
        for number, key in enumerate(keys)
    }


def _arrow(start: tuple[int, int], end: tuple[int, int], *, dotted: bool) -> str:
    x1, y1, x2, y2 = start[0] + WIDTH // 2, start[1] + HEIGHT, end[0] + WIDTH // 2, end[1]
    bend = (y2 - y1) // 2
    if y2 - y1 > ROW and x1 == x2:  # around the boxes between
        x1, x2 = x1 + WIDTH // 3, x2 + WIDTH // 3
    return (
        f'<path class="arrow{" dotted" * dotted}" marker-end="url(#tip)" '
        f'd="M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2 - 1}"/>'
    )


def _box(label: str, corner: tuple[int, int], address: str) -> str:
    x, y = corner
    return (
        f'<a href="{html.escape(address)}"><rect x="{x}" y="{y}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="8"/><text x="{x + WIDTH // 2}" y="{y + 23}" '
        f'text-anchor="middle">{html.escape(label)}</text></a>'
    )
