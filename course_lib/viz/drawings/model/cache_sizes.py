"""What models keep of a text, on a logarithmic line: a frame for each length of the text."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.modern import DecoderConfig, cache_bytes, count_parameters
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import TEXT, WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import element, label, number, text_width

BYTES = 2  # of a number: float16 or bfloat16
FIRST, BAR = 54.0, 12.0  # the top of the first row; the height of a bar
UNITS = ("bytes", "kB", "MB", "GB", "TB")
SMALLEST, LARGEST = 4, 13  # powers of ten at the ends of the line: 10 kB and 10 TB


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How wide the panel is, where its bars begin and end, and how high a row is."""

    width: float
    left: float
    right: float
    row: float
    bar: float  # from the top of the row


BROAD = Layout(width=TEXT, left=218, right=TEXT - 14, row=40, bar=9)
NARROW = Layout(width=WIDTH, left=4, right=WIDTH - 10, row=60, bar=36)


class Row(NamedTuple):
    """A model after a text: what it keeps, what its parameters take, and how far it can read."""

    name: str
    how: str
    kept: int
    weights: int
    tokens: int
    is_lit: bool


def draw_cache_sizes(
    models: Mapping[str, DecoderConfig],
    lengths: Sequence[int],
    *,
    parameters: Mapping[str, int] | None = None,
    lit: Collection[str] = (),
    start: int = 0,
    caption: str = "",
) -> Film:
    """Draw the caches of models in 16 bits, a frame for each length of the text.

    A model that cannot read so long a text keeps the bar of the longest that it can, in outline.

    Args:
        models: what they are called -> their configurations.
        lengths: of the texts, in tokens; at least two.
        parameters: of models whose configuration does not say all that has parameters.
        lit: the models that the text is about.
        start: the frame that is shown first.
        caption: one sentence that a person would say.

    Raises:
        ValueError: a size that the line does not reach, or ``lit`` or ``parameters`` names a model
            that is not drawn.
    """
    counted = {name: count_parameters(config) for name, config in models.items()}
    for name in (*(parameters or {}), *lit):
        if name not in models:
            raise ValueError(f"expected one of {', '.join(models)}, got {name!r}")
    weights = {name: BYTES * size for name, size in (counted | dict(parameters or {})).items()}
    frames = []
    for length in lengths:
        rows = [
            _row(name, models[name], length, weights=weights[name], is_lit=name in lit)
            for name in models
        ]
        for size in (size for row in rows for size in (row.kept, row.weights)):
            if not 10**SMALLEST <= size <= 10**LARGEST:
                raise ValueError(
                    f"expected sizes from {in_bytes(10**SMALLEST)} to {in_bytes(10**LARGEST)}, "
                    f"got {in_bytes(size)}"
                )
        shown = [row for row in rows if row.is_lit] or rows
        says = "; ".join(f"{row.name} keeps {_kept(row, length)}" for row in shown)
        frames.append(Frame([_panel(rows, length)], f"After {_tokens(length)}: {says}."))
    return Film(frames, start=start, name="tokens", caption=caption)


def in_bytes(size: float) -> str:
    """A size as people write it, with three digits: 3.76 GB."""
    power = min(int(math.log10(max(size, 1)) // 3), len(UNITS) - 1)
    return f"{size / 1000**power:.3g} {UNITS[power]}"


def how_it_keeps(config: DecoderConfig) -> str:
    """What a layer keeps of a token, in a few words."""
    if config.d_latent is not None:
        return f"one latent for {config.n_heads} heads"
    heads = config.resolved_n_kv_heads
    words = f"{heads} head{'s' if heads > 1 else ''} of keys"
    windows = {window for window in config.layer_windows if window is not None}
    if heads == config.n_heads:
        words = f"{heads} heads, each with its keys"
    return words + (f", window {min(windows):,}" if windows else "")


def _tokens(length: int) -> str:
    return f"{length:,} token{'s' if length > 1 else ''}"


def _kept(row: Row, length: int) -> str:
    at = f" at its longest, {_tokens(row.tokens)}" if row.tokens < length else ""
    return in_bytes(row.kept) + at


def _row(name: str, config: DecoderConfig, length: int, *, weights: int, is_lit: bool) -> Row:
    tokens = min(length, config.max_len)
    kept = cache_bytes(config, tokens, bytes_per_number=BYTES)
    return Row(name, how_it_keeps(config), kept, weights, tokens, is_lit)


def _panel(rows: Sequence[Row], length: int) -> Panel:
    told = "; ".join(
        f"{row.name} ({row.how}) {_kept(row, length)}" + f", its weights {in_bytes(row.weights)}"
        for row in rows
    )
    title = f"Kept after {_tokens(length)}"

    def drawn(layout: Layout, narrow: Panel | None = None) -> Panel:
        return Panel(
            title=title,
            note="all in 16 bits; each step is a hundred times as much",
            description=f"{told}.",
            body=_body(rows, length, layout),
            height=FIRST + len(rows) * layout.row + 26,
            width=layout.width,
            narrow=narrow,
        )

    return drawn(BROAD, drawn(NARROW))


def _x(size: float, layout: Layout) -> float:
    share = (math.log10(size) - SMALLEST) / (LARGEST - SMALLEST)
    return layout.left + share * (layout.right - layout.left)


def _body(rows: Sequence[Row], length: int, layout: Layout) -> str:
    bottom = FIRST + len(rows) * layout.row
    graphics = []
    # On a phone, names stand above their bars, and a line would run through them.
    for power in range(SMALLEST, LARGEST, 2):
        x = _x(10**power, layout)
        line = f"M{number(x)} {FIRST - 4:g}V{bottom:g}"
        if layout is NARROW:
            tops = [FIRST + i * layout.row + layout.bar - 5 for i in range(len(rows))]
            line = "".join(f"M{number(x)} {top:g}v{BAR + 10:g}" for top in tops)
        graphics.append(element("path", d=line, stroke=ink("hair")))
        words, is_first = in_bytes(10**power), layout is NARROW and power == SMALLEST
        at = (0 if is_first else x, bottom + 14)
        graphics.append(label(at, words, cls="aside", anchor="start" if is_first else "middle"))
    for i, row in enumerate(rows):
        graphics.append(_drawn_row(row, FIRST + i * layout.row, length, layout))
    words = "its weights"
    x = layout.width - text_width(words, 12) - 4
    graphics.append(_marker(x - 10, 14))
    graphics.append(label((x, 10), words, cls="aside", anchor="start"))
    return "".join(graphics)


def _drawn_row(row: Row, top: float, length: int, layout: Layout) -> str:
    colour = "accent" if row.is_lit else "line"
    too_long = row.tokens < length
    left, right, y = layout.left, _x(row.kept, layout), top + layout.bar
    bar = element(
        "rect",
        x=left,
        y=y,
        width=right - left,
        height=BAR,
        rx=2,
        fill=ink("page" if too_long else colour),
        stroke=ink(colour),
        stroke_dasharray="3 3" if too_long else None,
    )
    at = _x(row.weights, layout)
    name = label((0, top + 8), row.name, cls="bold", anchor="start")
    how = label((0, top + 24), row.how, cls="aside", anchor="start")
    size = in_bytes(row.kept) + (f" at {row.tokens:,}" if too_long else "")
    if too_long and layout is BROAD:
        size += ", its longest"
    cls = "aside" if too_long else "aside bold"
    value = label((right + 6, y + BAR / 2), size, cls=cls, anchor="start")
    return name + how + bar + value + _marker(at, y - 2)


def _marker(x: float, y: float) -> str:
    """A triangle whose tip points down to (x, y)."""
    d = f"M{number(x)} {number(y)}l-4 -7h8z"
    return element("path", d=d, fill=ink("ink"))
