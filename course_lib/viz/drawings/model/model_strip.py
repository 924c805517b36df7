"""*You are here*: the model as a thin line below a lesson's title, with the lesson's part lit.

Ten parts stand at equal distances along the residual stream, each a box with the numbers of its
lessons and its name below. The line has two halves, which touch each other on a page and stand
below each other on a phone: the encoder, and the decoder with what it writes. A lesson that builds
no part of the model lights the spot at which it works: what goes in, what comes out, the way back
from the output, or, dashed, the parts that it examines.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import HALF, Drawing, Panel
from course_lib.viz.drawings.marks import (
    Point,
    arrow,
    element,
    label,
    sign,
    stream,
    text_width,
)

Way = Literal["", "whole", "training", "decoding"]


class Spot(NamedTuple):
    """Where a lesson works.

    Args:
        words: what follows "You are here:".
        parts: names of the parts that are lit, see ``ENCODER`` and ``DECODER``.
        way: what is lit below the parts: a bracket under the whole model, an arrow from the output
            back to all parts, or one from the output to the decoder's input.
        is_examined: the lesson builds nothing there, but measures or looks inside: dashed.
    """

    words: str
    parts: frozenset[str]
    way: Way = ""
    is_examined: bool = False

    @property
    def dashes(self) -> str | None:
        """Of what is lit, as in SVG's ``stroke-dasharray``."""
        return "4 3" if self.is_examined else None


class Part(NamedTuple):
    """A box of the strip, the lines of its name below, its lessons, and its middle in x."""

    name: str
    lines: tuple[str, ...]
    lesson: str
    x: float


BOX = 50.0  # the width of each box
ENCODER = (
    Part("ids", ("ids",), "09", 27),
    Part("embedding", ("embedding",), "02", 94),
    Part("positions", ("positions",), "01", 162),
    Part("self_attention", ("attention",), "04 · 06", 231),
    Part("feed_forward", ("feed-", "forward"), "03", 300),
)
DECODER = (
    Part("input", ("input",), "02 · 01", 31),
    Part("self_attention", ("attention",), "04 · 06", 102),
    Part("cross_attention", ("cross-", "attention"), "04 · 06", 173),
    Part("feed_forward", ("feed-", "forward"), "03", 244),
    Part("output", ("output",), "08", 319),
)
SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")
ROW, HEIGHT = 46.0, 26.0  # the top of the boxes, and their height
MIDDLE = ROW + HEIGHT / 2
NAMES, LINE = ROW + HEIGHT + 13, 14.0  # the middle of the first line of names, and to the second
SUM = BOX / 2 + 9.5  # from the middle of a sublayer to that of its sum
FRAME = (ROW - 9, NAMES + LINE + 11)  # of a block: its upper and its lower edge
MEMORY, WAY = 28.0, FRAME[1] + 16  # heights
_ATTENTION = frozenset({"self_attention", "cross_attention"})

SPOTS = {
    "00": Spot("the whole machine", frozenset(), "whole"),
    "01": Spot("positional encoding", frozenset({"positions", "input"})),
    "02": Spot("embeddings", frozenset({"embedding", "input"})),
    "03": Spot("feed-forward, add & norm", frozenset({"feed_forward", "sum"})),
    "04": Spot("attention", _ATTENTION),
    "05": Spot("attention, with einsum", _ATTENTION),
    "06": Spot("masks inside attention", _ATTENTION | {"mask"}),
    "07": Spot("the blocks", frozenset({"block"})),
    "08": Spot("the full model", frozenset({"output"}), "whole"),
    "09": Spot("from text to ids", frozenset({"ids", "input"})),
    "10": Spot("learning two sentences", frozenset(), "training"),
    "11": Spot("training", frozenset(), "training"),
    "12": Spot("measuring its output", frozenset({"output", "exit"}), is_examined=True),
    "13": Spot("writing, word by word", frozenset({"output", "input"}), "decoding"),
    "14": Spot("looking inside attention", _ATTENTION, is_examined=True),
    "15": Spot("five machines like this", frozenset(), "whole", is_examined=True),
    "16": Spot("without cross-attention", frozenset({"cross_attention"}), is_examined=True),
    "17": Spot("the block of today", frozenset({"block"})),
    "18": Spot("what attention keeps", frozenset({"self_attention"})),
}


def draw_model_strip(lesson: str) -> Drawing:
    """Draw the strip of a lesson.

    Args:
        lesson: its number, such as "04".

    Raises:
        ValueError: no lesson has that number.
    """
    if lesson not in SPOTS:
        raise ValueError(f"expected a lesson's number, one of {', '.join(SPOTS)}, got {lesson!r}")
    spot = SPOTS[lesson]
    return Drawing(_encoder(spot), _decoder(spot), joined=True)


def _encoder(spot: Spot) -> Panel:
    lit, has_words = spot.parts, _in_encoder(spot)
    end = ENCODER[-1].x + SUM  # the middle of the last sum
    body = _frame(ENCODER[3].x - BOX / 2, end, lit="block" in lit)
    body += stream([(ENCODER[0].x, MIDDLE), (end, MIDDLE)], "german", width=10)
    body += _memory([(end, MIDDLE), (end, MEMORY), (HALF, MEMORY)])
    body += _boxes(ENCODER, spot)
    body += _sums(ENCODER, lit="sum" in lit)
    body += _way(ENCODER, spot)
    return Panel(
        title="The encoder reads",
        description=_told("encoder", ENCODER, spot),
        body=body + (_here(spot) if has_words else ""),
        height=_height(spot, has_words=has_words, has_way=spot.way in ("whole", "training")),
        width=HALF,
    )


def _decoder(spot: Spot) -> Panel:
    lit, has_words = spot.parts, not _in_encoder(spot)
    output, cross = DECODER[-1].x, DECODER[2].x
    body = _frame(DECODER[1].x - BOX / 2, DECODER[-2].x + SUM, lit="block" in lit)
    body += stream([(DECODER[0].x, MIDDLE), (output, MIDDLE)], "english", width=10)
    body += _memory([(0, MEMORY), (cross, MEMORY), (cross, ROW + 2)])
    words = (cross + 12, MEMORY - 1)
    body += label(words, "memory", cls="aside bold", anchor="start", colour="german")
    body += _boxes(DECODER, spot)
    body += _sums(DECODER, lit="sum" in lit)
    leaves = "exit" in lit
    body += arrow(
        (output, ROW - 1),
        (output, 19),
        colour="accent" if leaves else "line",
        width=2.4 if leaves else 1.4,
    )
    body += label((HALF - 1, 10), "next word", cls="aside", anchor="end")
    body += _way(DECODER, spot)
    return Panel(
        title="The decoder writes",
        description=_told("decoder", DECODER, spot),
        body=body + (_here(spot) if has_words else ""),
        height=_height(spot, has_words=has_words, has_way=bool(spot.way)),
        width=HALF,
    )


def _memory(points: list[Point]) -> str:
    """A half of the pipe from the encoder to the decoder, in the colour of what it carries."""
    return stream(points, "german", width=6, opacity=0.8)


def _way(parts: tuple[Part, ...], spot: Spot) -> str:
    """What is lit below a half of the parts."""
    if spot.way == "training":
        return _training(parts)
    if spot.way == "whole":
        return _bracket(opens=parts is ENCODER, dashes=spot.dashes)
    if spot.way == "decoding" and parts is DECODER:
        x, back = DECODER[-1].x, DECODER[0].x
        points = ((x, NAMES + 10), (x, WAY), (back, WAY), (back, NAMES + 10))
        return arrow(*points, colour="accent", width=2.4)
    return ""


def _in_encoder(spot: Spot) -> bool:
    """Whether the words stand below the encoder: where the first lit part is."""
    lit = {part.name for part in ENCODER} | {"block"}
    return spot.way in ("training", "whole") or bool(lit & spot.parts)


def _boxes(parts: tuple[Part, ...], spot: Spot) -> str:
    graphics = []
    for part in parts:
        lit = part.name in spot.parts
        is_hatched = lit and "mask" in spot.parts
        left, size = part.x - BOX / 2, text_width(part.lesson, 12)
        graphics.append(_box((left, ROW), (BOX, HEIGHT), "page"))  # hides the stream
        graphics.append(
            _box(
                (left, ROW),
                (BOX, HEIGHT),
                "hidden" if is_hatched else "fill",
                stroke="accent" if lit else "line",
                stroke_width=2.4 if lit else 1,
                dashes=spot.dashes if lit else None,
            )
        )
        if is_hatched:  # no line runs through the numbers
            graphics.append(_box((part.x - size / 2, MIDDLE - 7), (size, 14), "page"))
        colour, cls = ("accent", "aside bold") if lit else (None, "aside")
        graphics.append(label((part.x, MIDDLE), part.lesson, cls="aside", colour=colour))
        graphics += [
            label((part.x, NAMES + i * LINE), words, cls=cls, colour=colour)
            for i, words in enumerate(part.lines)
        ]
    return "".join(graphics)


def _box(
    at: Point,
    size: tuple[float, float],
    fill: str,
    *,
    stroke: str = "none",
    stroke_width: float = 1,
    dashes: str | None = None,
) -> str:
    return element(
        "rect",
        x=float(at[0]),
        y=float(at[1]),
        width=float(size[0]),
        height=float(size[1]),
        rx=7,
        fill=ink(fill),
        stroke=ink(stroke),
        stroke_width=stroke_width,
        stroke_dasharray=dashes,
    )


def _sums(parts: tuple[Part, ...], *, lit: bool) -> str:
    """A plus after each sublayer, where its output is added to the stream."""
    graphics = []
    for part in parts:
        if part.name in SUBLAYERS:
            at = (part.x + SUM, MIDDLE)
            graphics.append(sign(at, radius=6))
            if lit:
                ring = element(
                    "circle",
                    cx=at[0],
                    cy=at[1],
                    r=6.5,
                    fill="none",
                    stroke=ink("accent"),
                    stroke_width=2.4,
                )
                graphics.append(ring)
    return "".join(graphics)


def _frame(left: float, right: float, *, lit: bool) -> str:
    """Around the sublayers of a block, whose first box and last sum are at these ends."""
    return element(
        "rect",
        x=float(left - 8),
        y=float(FRAME[0]),
        width=float(right - left + 19),
        height=float(FRAME[1] - FRAME[0]),
        rx=9,
        fill="none",
        stroke=ink("accent" if lit else "hair"),
        stroke_width=2.4 if lit else 1,
    )


def _line(d: str, dashes: str | None = None) -> str:
    """A lit line below the parts."""
    return element(
        "path",
        d=d,
        fill="none",
        stroke=ink("accent"),
        stroke_width=2.4,
        stroke_dasharray=dashes,
    )


def _bracket(*, opens: bool, dashes: str | None) -> str:
    """A line under the whole panel, with a hook at its left end if it opens, or else its right."""
    end = 1.2 if opens else HALF - 1.2
    return _line(f"M{end:g} {WAY - 9:g}V{WAY - 2:g}H{HALF if opens else 0:g}", dashes)


def _training(parts: tuple[Part, ...]) -> str:
    """The way back: from the output to the left, and up to each part that learns."""
    middles = {part.name: part.x for part in parts}
    learning = [x for name, x in middles.items() if name not in ("ids", "positions", "output")]
    below = FRAME[1] + 3
    ups = "".join(arrow((x, WAY), (x, below), colour="accent", width=2.4) for x in learning)
    if "output" in middles:
        return _line(f"M{middles['output']:g} {NAMES + 10:g}V{WAY:g}H0") + ups
    return _line(f"M{HALF:g} {WAY:g}H{learning[0]:g}") + ups


def _words_at(spot: Spot) -> float:
    """The height of the words, below the way if there is one."""
    return WAY + 17 if spot.way else WAY


def _height(spot: Spot, *, has_words: bool, has_way: bool) -> float:
    """Of a panel: no higher than what stands in it, which on a phone saves room."""
    if has_words:
        return _words_at(spot) + 10
    return WAY + 4 if has_way else FRAME[1] + 3


def _here(spot: Spot) -> str:
    """The words, at the panel's left edge in each lesson."""
    words = f"You are here: {spot.words}"
    return label((0, _words_at(spot)), words, cls="bold", anchor="start", colour="accent")


def _told(side: str, parts: tuple[Part, ...], spot: Spot) -> str:
    names = ", ".join(f"{' '.join(part.lines).replace('- ', '-')}" for part in parts)
    lit = [" ".join(part.lines).replace("- ", "-") for part in parts if part.name in spot.parts]
    told = f"You are here: {spot.words}. The {side}, from left to right: {names}. "
    if spot.way == "training":
        told += "An arrow leads from the output back to every part that learns."
    elif spot.way == "decoding" and side == "decoder":
        told += "An arrow leads from the output back to the input."
    elif spot.way == "whole":
        told += "All of it is meant."
    elif lit:
        told += f"Lit: {', '.join(lit)}."
    return told.strip()
