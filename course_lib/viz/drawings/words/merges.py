"""Byte pair encoding as chips that fuse: a word, letter by letter, and its merges one by one."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import element, label, number, text_width

FIRST, ROW, CHIP = 46.0, 50.0, 28.0  # the first row's middle; from row to row; a chip's height
WIDEST_LETTER = 34.0
MOST_ROWS = 8


def draw_merges(
    words: Sequence[str],
    merges: Sequence[tuple[str, str]],
    *,
    caption: str = "",
) -> Drawing:
    """Draw how the merges of byte pair encoding turn the letters of words into subwords.

    A panel for each word; a row for each merge that changes it, in the order of the list. A letter
    stays in its column, so a chip grows where two have become one.

    Args:
        words: one or a few.
        merges: pairs of neighbours that become one subword, in the order in which they were
            learned.
        caption: one sentence below.

    Raises:
        ValueError: there is no word, one has too many letters for its panel or goes through too
            many merges, or there is a pair with an empty side.
    """
    if not words or not all(words):
        raise ValueError(f"expected at least one word, none of them empty, got {list(words)}")
    if any(len(pair) != 2 or not all(pair) for pair in merges):
        raise ValueError(f"expected pairs of two subwords as merges, got {list(merges)}")
    return Drawing(
        *(_panel(word, merges) for word in words), caption=caption, wide=not len(words) % 3
    )


def _panel(word: str, merges: Sequence[tuple[str, str]]) -> Panel:
    """The way of one word."""
    parts = list(word)
    rows: list[tuple[str, list[str], set[int]]] = [("letters", parts, set())]
    for i, pair in enumerate(merges, start=1):
        merged, fused = _merge(parts, pair)
        if fused:
            rows.append((f"merge {i}", merged, fused))
            parts = merged
    if len(rows) > MOST_ROWS:
        raise ValueError(
            f"expected a word that at most {MOST_ROWS - 1} merges change, got {len(rows) - 1} for "
            f"{word!r}: draw a shorter word, or fewer merges"
        )
    beside = max(text_width(name, 13) for name, _, _ in rows) + 14
    letter = min(WIDEST_LETTER, (WIDTH - 2 - beside) / len(word))
    if letter < 18:
        raise ValueError(
            f"expected a word of at most {int((WIDTH - 2 - beside) // 18)} letters, got "
            f"{len(word)} in {word!r}"
        )
    graphics, told = [], []
    for i, (name, subwords, fused) in enumerate(rows):
        y = FIRST + ROW * i
        if i:
            graphics += _fusions(rows[i - 1][1], subwords, fused, x=beside, y=y, letter=letter)
        cls = "aside bold" if i else "aside"
        graphics.append(label((0, y), name, cls=cls, anchor="start"))
        x = beside
        for j, subword in enumerate(subwords):
            width = letter * len(subword)
            graphics.append(_chip((x, y - CHIP / 2), subword, width=width - 4, strong=j in fused))
            x += width
        told.append(f"{name}: {' · '.join(subwords)}")
    n = len(parts)
    return Panel(
        title=f"{word}: {len(word)} letters, {n} token{'' if n == 1 else 's'}",
        description=f"Rows of chips. {'; '.join(told)}.",
        body="".join(graphics),
        height=FIRST + ROW * (len(rows) - 1) + CHIP / 2 + 8,
    )


def _merge(parts: Sequence[str], pair: tuple[str, str]) -> tuple[list[str], set[int]]:
    """The subwords after the pair was merged wherever it stands, and the indices of the new."""
    merged: list[str] = []
    fused: set[int] = set()
    i = 0
    while i < len(parts):
        if tuple(parts[i : i + 2]) == tuple(pair):
            fused.add(len(merged))
            merged.append("".join(pair))
            i += 2
        else:
            merged.append(parts[i])
            i += 1
    return merged, fused


def _chip(at: tuple[float, float], subword: str, *, width: float, strong: bool) -> str:
    """A subword in a rounded box; one that has just been made in the accent."""
    box = element(
        "rect",
        x=at[0],
        y=at[1],
        width=width,
        height=CHIP,
        rx=7,
        fill=ink("fill"),
        stroke=ink("accent" if strong else "line"),
        stroke_width=2.4 if strong else 1,
    )
    middle = (at[0] + width / 2, at[1] + CHIP / 2)
    return box + label(middle, subword, cls="bold" if strong else None)


def _fusions(
    before: Sequence[str],
    after: Sequence[str],
    fused: set[int],
    *,
    x: float,
    y: float,
    letter: float,
) -> list[str]:
    """From the two chips of the row above, lines that meet at the chip that they become."""
    graphics, left, k = [], x, 0
    for j, subword in enumerate(after):
        if j in fused:
            first, second = before[k], before[k + 1]
            k += 2
            top, bottom = y - ROW + CHIP / 2 + 2, y - CHIP / 2 - 2
            middle = left + (letter * len(subword) - 4) / 2
            start = left
            for part in (first, second):
                from_x = start + (letter * len(part) - 4) / 2
                half = (top + bottom) / 2
                d = (
                    f"M{number(from_x)} {number(top)}C{number(from_x)} {number(half)} "
                    f"{number(middle)} {number(half)} {number(middle)} {number(bottom)}"
                )
                graphics.append(
                    element("path", d=d, fill="none", stroke=ink("accent"), stroke_width=2)
                )
                start += letter * len(part)
        else:
            k += 1
        left += letter * len(subword)
    return graphics
