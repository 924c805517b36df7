"""The mask of one stack over source and target, beside the three maps of an encoder-decoder.

The four quadrants of the joined mask are the encoder's self-attention, cross-attention, the
decoder's self-attention, and one that stays empty. A slider sets the length of the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from course_lib.modern import prefix_mask
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Buildup, Panel
from course_lib.viz.drawings.marks import element, frame, group, label, number, text_width

Quadrant = Literal["source", "cross", "target", "empty"]

TOP = 62.0  # of the first row
GAP = 12.0  # between the maps of two stacks
LARGEST_CELL, SMALLEST_CELL = 24, 15
LEGEND = 20.0  # from one line of the legend to the next
COLOURS: dict[Quadrant, str] = {"source": "german", "cross": "attention", "target": "english"}
NAMES: dict[Quadrant, tuple[str, str]] = {
    "source": ("source reads source", "the encoder’s self-attention"),
    "cross": ("target reads source", "cross-attention"),
    "target": ("target reads target", "the decoder’s self-attention"),
}
SHARE = 0.75  # of a colour, in a cell


def quadrant(query: int, key: int, n_source: int) -> Quadrant:
    """In which quadrant of the joined mask a query and a key meet."""
    if query < n_source:
        return "source" if key < n_source else "empty"
    return "cross" if key < n_source else "target"


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """What both panels have in common.

    Attributes:
        words: of the source, then of the target; rows are queries and columns keys.
        n_source: how many of them are the source's.
        lit: the index of the framed row.
        left: the left end of the columns.
        cell: the side of a cell.
        gap: between the maps of source and target.
    """

    words: tuple[str, ...]
    n_source: int
    lit: int
    left: float
    cell: int
    gap: float = 0.0

    def x(self, key: int) -> float:
        """The left end of a column."""
        return self.left + key * self.cell + (self.gap if key >= self.n_source else 0)

    def y(self, query: int) -> float:
        """The top of a row."""
        return TOP + query * self.cell + (self.gap if query >= self.n_source else 0)

    @property
    def bottom(self) -> float:
        """Below the last row, the same with and without a gap."""
        return TOP + len(self.words) * self.cell + GAP

    def map_size(self, *, rows: slice, columns: slice) -> str:
        """How many rows and columns a map has, in words."""
        return f"{len(self.words[rows])} by {len(self.words[columns])}"


def draw_mask_quadrants(
    source: Sequence[str], target: Sequence[str], *, lit: int, caption: str = ""
) -> Buildup:
    """Draw the three maps of two stacks, and the one map of one stack with a slider.

    Rows are queries, columns are keys, in the same order. A cell is filled where the query may
    attend to the key. State n of the slider is a prefix of n tokens; the last is the whole source.
    A frame is drawn around what one softmax makes add up to 1.

    Args:
        source: the tokens of the source.
        target: what the decoder is given, BOS first.
        lit: the index in ``target`` of the row that is framed.
        caption: one sentence that a person would say.

    Raises:
        ValueError: there is no room for so many tokens, or no token has the index ``lit``.
    """
    if not source or not 0 <= lit < len(target):
        raise ValueError(
            f"expected source tokens and an index of one of {len(target)} target tokens, got "
            f"{len(source)} source tokens and lit={lit}"
        )
    words = (*source, *target)
    left = max(text_width(word, 12, bold=True) for word in words) + 8
    cell = min(LARGEST_CELL, int((WIDTH - 4 - GAP - left) / len(words)))
    if cell < SMALLEST_CELL:
        raise ValueError(
            f"{len(words)} tokens, the longest {max(words, key=len)!r}, have no room in a panel of "
            f"{WIDTH} pixels: draw fewer"
        )
    joined = _Layout(words=words, n_source=len(source), lit=len(source) + lit, left=left, cell=cell)
    return Buildup(
        _two_stacks(replace(joined, gap=GAP)),
        _one_stack(joined),
        says=[_says(source, n) for n in range(len(source) + 1)],
        name="length of the prefix",
        caption=caption,
    )


def _says(source: Sequence[str], n: int) -> str:
    if n == len(source):
        return f"Prefix {n}, the whole source: its words see one another, as in an encoder."
    if n < 2:
        return f"Prefix {n}: causal. A source word sees none of the words that follow it."
    return f"Prefix {n}: {', '.join(source[:n])} see one another, and the rest is causal."


def _two_stacks(layout: _Layout) -> Panel:
    n, cell, words = layout.n_source, layout.cell, layout.words
    seen = prefix_mask(torch.tensor([n]), len(words))[0, 0].tolist()
    cells = [
        _cell(layout.x(k), layout.y(q), cell, where if seen[q][k] else None)
        for q, k, where in _meetings(layout)
        if where != "empty"
    ]
    x, y = (layout.x(n) + layout.x(len(words))) / 2, (layout.y(0) + n * cell / 2)
    nothing = [
        label((x, y - 8), "the encoder", cls="aside"),
        label((x, y + 8), "has no target", cls="aside"),
    ]
    row = layout.y(layout.lit)
    frames = frame((layout.x(0), row), n * cell, cell)
    frames += frame((layout.x(n), row), (len(words) - n) * cell, cell)
    source, target = slice(n), slice(n, None)
    return Panel(
        title="Two stacks: three maps",
        description=(
            f"Rows {', '.join(words)} attend to columns in the same order. The encoder’s "
            f"self-attention is {layout.map_size(rows=source, columns=source)} and full, "
            f"cross-attention {layout.map_size(rows=target, columns=source)} and full, the "
            f"decoder’s self-attention {layout.map_size(rows=target, columns=target)} and causal. "
            f"The row of {words[layout.lit]} has two frames: two softmaxes."
        ),
        body=_around(layout)
        + "".join([*cells, *nothing, frames])
        + _legend(layout.bottom, [maps for _, maps in NAMES.values()], "two softmaxes"),
        height=layout.bottom + 14 + 4 * LEGEND,
    )


def _one_stack(layout: _Layout) -> Panel:
    n, words = layout.n_source, layout.words
    cells = []
    for q, k, where in _meetings(layout):
        at = (layout.x(k), layout.y(q), layout.cell)
        if k <= q:
            cells.append(_cell(*at, where))
        elif where == "source":  # hidden until the prefix holds this key
            cells.append(group(_cell(*at, None), cls="off", data_from=0, data_to=k))
            cells.append(group(_cell(*at, where), data_from=k + 1))
        else:
            cells.append(_cell(*at, None))
    states = [
        group(
            label(
                (layout.left, 30), f"prefix {i} of {n} source tokens", cls="aside", anchor="start"
            ),
            cls=None if i == n else "off",
            data_from=i,
            data_to=i,
        )
        for i in range(n + 1)
    ]
    width = len(words) * layout.cell
    return Panel(
        title="One stack: one map",
        description=(
            f"Rows {', '.join(words)} attend to columns in the same order, "
            f"{len(words)} by {len(words)}. With a prefix of {n} the source is full, target to "
            "source is full, target to target is causal, and source to target is hidden. The row "
            f"of {words[layout.lit]} has one frame: one softmax."
        ),
        body=_around(layout)
        + "".join([*cells, *states])
        + frame((layout.left, layout.y(layout.lit)), width, layout.cell)
        + _legend(layout.bottom, [reads for reads, _ in NAMES.values()], "one softmax"),
        height=layout.bottom + 14 + 4 * LEGEND,
    )


def _meetings(layout: _Layout) -> list[tuple[int, int, Quadrant]]:
    """Each query with each key, and the quadrant in which they meet."""
    indices = range(len(layout.words))
    return [(q, k, quadrant(q, k, layout.n_source)) for q in indices for k in indices]


def _cell(x: float, y: float, size: int, where: Quadrant | None) -> str:
    """A cell in the colour of its quadrant, or hatched."""
    return element(
        "rect",
        x=x,
        y=y,
        width=size,
        height=size,
        fill=ink(COLOURS[where] if where else "hidden"),
        fill_opacity=number(SHARE, 2) if where else None,
        stroke=ink("page"),
        stroke_width=1.5,
    )


def _around(layout: _Layout) -> str:
    """The words beside the rows, and above the columns whose they are."""
    n, graphics = layout.n_source, []
    for name, colour, first, last in (
        ("source", "german", 0, n),
        ("target", "english", n, len(layout.words)),
    ):
        start, end = layout.x(first) + 2, layout.x(last - 1) + layout.cell - 2
        d = f"M{number(start)} {number(TOP - 5)}H{number(end)}"
        graphics.append(element("path", d=d, stroke=ink(colour)))
        middle = ((start + end) / 2, TOP - 15)
        graphics.append(label(middle, name, cls="aside bold", colour=colour))
    graphics += [
        label(
            (layout.left - 6, layout.y(i) + layout.cell / 2),
            word,
            cls="aside bold" if i == layout.lit else "aside",
            anchor="end",
            colour="german" if i < n else "english",
        )
        for i, word in enumerate(layout.words)
    ]
    return "".join(graphics)


def _legend(bottom: float, names: Sequence[str], framed: str) -> str:
    """What the colours and the frame mean."""
    graphics = []
    for i, (where, words) in enumerate(zip(NAMES, names, strict=True)):
        y = bottom + 14 + LEGEND * i
        graphics.append(_cell(0.5, y - 7, 14, where))
        graphics.append(label((22, y), words, cls="aside", anchor="start"))
    y = bottom + 14 + LEGEND * len(NAMES)
    graphics.append(frame((1.5, y - 6), 13, 12))
    words = label((22, y), framed, cls="aside bold", anchor="start", colour="accent")
    return "".join([*graphics, words])
