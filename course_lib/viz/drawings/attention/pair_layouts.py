"""Which features of a head rotary positions turn together: two conventions."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import arc, label, vector


def draw_pair_layouts(d_head: int = 8, *, caption: str = "") -> Drawing:
    """Draw which features form a pair: (i, i + d_head / 2), or (2i, 2i + 1).

    Args:
        d_head: the features of a head.
        caption: one sentence below.

    Raises:
        ValueError: d_head is odd, or too large for the picture.
    """
    if d_head % 2 or not 4 <= d_head <= 16:
        raise ValueError(f"expected an even d_head of 4 to 16, got {d_head}")
    half = d_head // 2
    halves = [(i, i + half) for i in range(half)]
    interleaved = [(2 * i, 2 * i + 1) for i in range(half)]
    return Drawing(
        _layout("In halves", halves, note="Llama at Hugging Face, and this course"),
        _layout("Interleaved", interleaved, note="the paper, Meta's files, GGUF files of Llama"),
        caption=caption,
    )


def _layout(title: str, pairs: Sequence[tuple[int, int]], *, note: str) -> Panel:
    """The features of a head in a row, and an arc over each pair."""
    features = 2 * len(pairs)
    cell = min(38.0, (WIDTH - 4) / features)
    left, top = (WIDTH - cell * features) / 2, 112.0
    graphics = [vector((left, top), [0.0] * features, largest=1, cell=cell, height=28)]
    graphics += [
        label((left + cell * (i + 0.5), top + 14), str(i), cls="aside") for i in range(features)
    ]
    for first, second in pairs:
        ends = [left + cell * (i + 0.5) for i in (first, second)]
        height = 14 + 9 * (second - first)
        colour = "accent" if first == 0 else "line"
        width = 2.4 if first == 0 else 1.4
        graphics.append(
            arc((ends[0], top - 2), ends[1], height=height, colour=colour, width=width, head=False)
        )
    told = ", ".join(f"{first} with {second}" for first, second in pairs)
    return Panel(
        title=title,
        description=f"Of {features} features, from the fastest pair to the slowest: {told}.",
        body="".join(graphics),
        height=top + 34,
        note=note,
    )
