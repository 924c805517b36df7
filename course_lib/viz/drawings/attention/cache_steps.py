"""What a key/value cache saves: the keys computed at each step of decoding, without and with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Buildup, Panel
from course_lib.viz.drawings.marks import element, group, label, text_width

ROWS_AT = 34  # the top of the first row
LARGEST_CELL, SMALLEST_CELL = 20, 14
ROOM = 30  # right of a row, for how many keys it computed
# How cells look: fill and border.
LOOKS = {"new": ("accent", "accent"), "again": ("hair", "line"), "kept": ("none", "line")}


def draw_cache_steps(
    words: Sequence[str], without: Sequence[int], cached: Sequence[int], *, caption: str = ""
) -> Buildup:
    """Draw decoding step by step: a row for each step, a cell for each word so far.

    Filled cells are keys that the step computed: the new word's in the accent, those computed
    again in grey. Cells that are only outlined were kept. A large number counts the filled ones.

    Args:
        words: what the decoder is given, one more at each step, <bos> first.
        without: at each step, how many rows pass through the key projection without a cache.
        cached: the same with a cache.
        caption: one sentence that a person would say.

    Raises:
        ValueError: counts that no step can have, or more words than there is room for.
    """
    for name, counts in (("without", without), ("cached", cached)):
        if len(counts) != len(words) or any(
            not 1 <= count <= step for step, count in enumerate(counts, 1)
        ):
            raise ValueError(
                f"expected for each of {len(words)} words a count from 1 to its number, since a "
                f"step computes at most the words so far; got {name}={list(counts)}"
            )
    left = max(text_width(word, 12) for word in words) + 10
    cell = min(LARGEST_CELL, int((WIDTH - left - ROOM) / len(words)))
    if cell < SMALLEST_CELL:
        raise ValueError(
            f"{len(words)} words, the longest {max(words, key=len)!r}, have no room in a panel of "
            f"{WIDTH} pixels: draw fewer"
        )
    totals = [list(accumulate(without)), list(accumulate(cached))]
    says = [
        f"Keys up to step {i + 1}, “{word}”: {a} without a cache, {b} with it."
        for i, (word, a, b) in enumerate(zip(words, *totals, strict=True))
    ]
    return Buildup(
        _panel("Without a cache", words, without, left=left, cell=cell),
        _panel("With a cache", words, cached, left=left, cell=cell),
        says=says,
        caption=caption,
    )


def _panel(
    title: str, words: Sequence[str], counts: Sequence[int], *, left: float, cell: int
) -> Panel:
    graphics, present = [], set()
    last = len(words) - 1
    for i, (word, count, total) in enumerate(zip(words, counts, accumulate(counts), strict=True)):
        y = ROWS_AT + i * cell
        # A cache holds the oldest words; what is not in it is computed.
        looks = ["kept"] * (i + 1 - count) + ["again"] * (count - 1) + ["new"]
        row = [label((left - 8, y + cell / 2), word, cls="aside", anchor="end")]
        for look in LOOKS:
            at = [left + j * cell for j, each in enumerate(looks) if each == look]
            row += [_cells(look, at, y, cell=cell)] if at else []
        end = (left + (i + 1) * cell + 6, y + cell / 2)
        row.append(label(end, f"+{count}", cls="aside", anchor="start"))
        graphics.append(group(*row, data_from=i))
        number = label((WIDTH - 2, ROWS_AT + 24), str(total), cls="big", anchor="end")
        hidden = None if i == last else "off"
        graphics.append(group(number, cls=hidden, data_from=i, data_to=i))
        present |= set(looks)
    graphics.append(label((WIDTH - 2, ROWS_AT + 50), "keys computed", cls="aside", anchor="end"))
    bottom, x = ROWS_AT + len(words) * cell + 12, left
    names = {"new": "new", "again": "computed again", "kept": "kept"}
    for look, name in names.items():
        if look in present:
            graphics.append(_cells(look, [x], bottom, cell=16))
            graphics.append(label((x + 22, bottom + 8), name, cls="aside", anchor="start"))
            x += 22 + text_width(name, 12) + 18
    each = ", ".join(map(str, counts))
    return Panel(
        title=title,
        description=(
            f"A row for each step, a cell for each of {', '.join(words)} so far. Keys computed, "
            f"step by step: {each}; in all {sum(counts)}."
        ),
        body="".join(graphics),
        height=bottom + 20,
    )


def _cells(look: str, lefts: Sequence[float], y: float, *, cell: int) -> str:
    """Cells of one look, at these x."""
    fill, border = LOOKS[look]
    side = cell - 3
    return group(
        *(
            element("rect", x=float(x + 1.5), y=y + 1.5, width=side, height=side, rx=4)
            for x in lefts
        ),
        fill=ink(fill),
        stroke=ink(border),
    )
