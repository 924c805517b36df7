"""What a key/value cache saves and costs: numbers computed and kept, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Buildup, Panel
from course_lib.viz.drawings.marks import element, group, label, number, text_width

LEGEND_AT, ROWS_AT, ROW = 28, 84, 19  # the top of the legend and of the first row; a row's height
LARGEST_CELL, SMALLEST_CELL = 20, 12
BAR = 7  # the height of a key, and of a value below it
RIGHT = WIDTH - 2.0
VALUES_AT = 76.0  # the left end of the sums
# How keys and values look: their colour, and how much of it fills them.
LOOKS: dict[str, tuple[str, float]] = {
    "new": ("accent", 1),
    "again": ("soft", 1),
    "kept": ("accent", 0.12),
}


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """What both panels have in common."""

    words: Sequence[str]
    n_layers: int
    d_model: int
    left: float
    cell: int

    @property
    def numbers(self) -> int:
        """A token's keys and values in all layers."""
        return 2 * self.n_layers * self.d_model


def draw_cache_steps(
    words: Sequence[str],
    without: Sequence[int],
    cached: Sequence[int],
    *,
    n_layers: int,
    d_model: int,
    caption: str = "",
) -> Buildup:
    """Draw decoding step by step: a row for each step, a cell for each token so far.

    A cell is a token's key above its value. In the accent are those of the new token, in grey those
    that the step computes again, and only outlined those that the cache has kept. Beside a row
    stands how many numbers the step computes, and how many are kept after it.

    Args:
        words: what the decoder is given, one more at each step, <bos> first.
        without: at each step, how many rows pass through the key projection without a cache.
        cached: the same with a cache.
        n_layers: of the decoder; each has keys and values of its own.
        d_model: how many numbers a key has, all heads together, and a value.
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
    widest = text_width(f"{2 * n_layers * d_model * len(words):,}", 12)
    cell = min(LARGEST_CELL, int((RIGHT - 2 * (widest + 10) - left) / len(words)))
    if cell < SMALLEST_CELL:
        raise ValueError(
            f"{len(words)} words, the longest {max(words, key=len)!r}, have no room in a panel of "
            f"{WIDTH} pixels: draw fewer"
        )
    layout = _Layout(words=words, n_layers=n_layers, d_model=d_model, left=left, cell=cell)
    totals = [list(accumulate(counts)) for counts in (without, cached)]
    says = [
        f"Up to step {i + 1}, “{word}”: {a * layout.numbers:,} numbers computed without a cache, "
        f"{b * layout.numbers:,} with one, which keeps {(i + 1) * layout.numbers:,}."
        for i, (word, a, b) in enumerate(zip(words, *totals, strict=True))
    ]
    return Buildup(
        _panel("Without a cache: every token again", layout, without, keeps=False),
        _panel("With a cache: only the new token", layout, cached, keeps=True),
        says=says,
        caption=caption,
    )


def _panel(title: str, layout: _Layout, counts: Sequence[int], *, keeps: bool) -> Panel:
    words, left, per_cell = layout.words, layout.left, layout.numbers
    kept = [per_cell * (i + 1) if keeps else 0 for i in range(len(words))]
    columns = {"computed": RIGHT}
    if keeps:
        columns = {"kept": RIGHT, "computed": RIGHT - text_width(f"{kept[-1]:,}", 12) - 10}
    graphics = [_legend("kept" if keeps else "again")]
    graphics.append(label((left - 8, ROWS_AT - 11), "reads", cls="aside", anchor="end"))
    # The rows below are short: there is room for a heading left of its column.
    graphics += [
        label((x, ROWS_AT - 11), name, cls="aside", anchor="end") for name, x in columns.items()
    ]
    bottom = ROWS_AT + len(words) * ROW
    for i, (count, cells) in enumerate(zip(counts, accumulate(counts), strict=True)):
        y = ROWS_AT + i * ROW
        row = [
            label((left - 8, y + ROW / 2), words[i], cls="aside", anchor="end"),
            *_cells((left, y), _looks(i, count, keeps=keeps), layout.cell),
        ]
        for name, x in columns.items():
            shown = kept[i] if name == "kept" else count * per_cell
            row.append(label((x, y + ROW / 2), f"{shown:,}", cls="aside", anchor="end"))
        graphics.append(group(*row, data_from=i))
        sums = [f"{cells} × {per_cell:,} = {cells * per_cell:,} numbers"]
        sums.append(f"{i + 1} × {per_cell:,} = {kept[i]:,} numbers" if keeps else "0 numbers")
        written = [
            label((VALUES_AT, bottom + 38 + 20 * j), words, cls="bold", anchor="start")
            for j, words in enumerate(sums)
        ]
        hidden = None if i == len(words) - 1 else "off"
        graphics.append(group(*written, cls=hidden, data_from=i, data_to=i))
    graphics += _sums(layout, bottom)
    each = ", ".join(f"{count * per_cell:,}" for count in counts)
    stored = f" Kept after each step: {', '.join(f'{n:,}' for n in kept)}." if keeps else ""
    return Panel(
        title=title,
        description=(
            f"A row for each step, a cell for each of {', '.join(words)} so far: a key and a value "
            f"in {_layers(layout)}, {per_cell:,} numbers. Numbers computed, step by step: {each}; "
            f"in all {sum(counts) * per_cell:,}.{stored}"
        ),
        body="".join(graphics),
        height=bottom + 68,
    )


def _looks(i: int, count: int, *, keeps: bool) -> list[str]:
    """Of the tokens up to the i-th: a cache holds the oldest; what is not in it is computed."""
    return [*["kept"] * (i + 1 - count), *["again"] * (count - 1), "new"]


def _layers(layout: _Layout) -> str:
    return f"{layout.n_layers} layer" + ("s" if layout.n_layers > 1 else "")


def _sums(layout: _Layout, bottom: float) -> list[str]:
    """What stands before the sums below the rows, and how many numbers a cell stands for."""
    line = element("path", d=f"M0 {number(bottom + 5)}H{WIDTH}", stroke=ink("hair"), fill="none")
    names = [
        label((0, bottom + 18 + 20 * i), name, cls="aside", anchor="start")
        for i, name in enumerate(("a cell", "computed", "kept"))
    ]
    one = f"{layout.d_model:,} + {layout.d_model:,}"
    words = f"{_layers(layout)} × ({one}) = {layout.numbers:,}"
    return [line, *names, label((VALUES_AT, bottom + 18), words, anchor="start")]


def _cells(at: tuple[float, float], looks: Sequence[str], cell: int) -> list[str]:
    """A row of keys, and one of values below it: a path for each look."""
    paths = []
    for look in LOOKS:
        d = "".join(
            _bar(at[0] + i * cell + 1, at[1] + top, cell - 3, BAR)
            for i, each in enumerate(looks)
            if each == look
            for top in (1.5, 1.5 + BAR + 1.5)
        )
        if d:
            paths.append(element("path", d=d, **_paint(look)))
    return paths


def _bar(x: float, y: float, width: int, height: int) -> str:
    """The path around a key or a value."""
    return f"M{number(x)} {number(y)}h{width}v{height}h{-width}z"


def _paint(look: str) -> dict[str, str]:
    colour, share = LOOKS[look]
    return {"fill": ink(colour), "fill_opacity": f"{share:g}", "stroke": ink(colour)}


def _legend(old: str) -> str:
    """What the new and the old tokens' keys and values look like, large enough to be named."""
    names: dict[str, str] = {"new": "new", "again": "computed again", "kept": "kept, only read"}
    graphics, x = [], 0.5
    for look in ("new", old):
        for i, word in enumerate(("key", "value")):
            y = LEGEND_AT + 16.0 * i
            graphics.append(element("path", d=_bar(x, y, 42, 15), **_paint(look)))
            colour = None if look == "kept" else "page"
            graphics.append(label((x + 21, y + 7.5), word, cls="aside bold", colour=colour))
        graphics.append(label((x + 50, LEGEND_AT + 15.5), names[look], cls="aside", anchor="start"))
        x += 50 + text_width(names[look], 12) + 22
    return "".join(graphics)
