"""*You are here*: the model as a thin strip below a lesson's title, with the lesson's part lit.

The strip has two panels, which stand below each other on a phone: the encoder, and the decoder with
what it writes. A lesson that builds no part of the model lights the spot at which it works: what
goes in, what comes out, the way back from the output, or, dashed, the parts that it examines.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import arrow, element, label, sign, stream

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
    """A box of the strip: its name, the lines that are written in it, left edge and width."""

    name: str
    lines: tuple[str, ...]
    lesson: str
    x: float
    width: float


ENCODER = (
    Part("ids", ("ids",), "09", 1, 27),
    Part("embedding", ("embedding",), "02", 33, 75),
    Part("positions", ("positions",), "01", 113, 65),
    Part("self_attention", ("attention",), "04 · 06", 188, 62),
    Part("feed_forward", ("feed-", "forward"), "03", 267, 52),
)
DECODER = (
    Part("input", ("input",), "02 · 01", 1, 52),
    Part("self_attention", ("attention",), "04 · 06", 61, 62),
    Part("cross_attention", ("cross-", "attention"), "04 · 06", 140, 62),
    Part("feed_forward", ("feed-", "forward"), "03", 219, 52),
    Part("output", ("output",), "08", 293, 46),
)
SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")
ROW, HEIGHT = 38.0, 46.0  # the top of the boxes, and their height
MIDDLE = ROW + HEIGHT / 2
MEMORY, WAY = 26.0, 98.0  # heights
_ATTENTION = frozenset({"self_attention", "cross_attention"})

SPOTS = {
    "00": Spot("the whole machine", frozenset(), "whole"),
    "01": Spot("positional encoding", frozenset({"positions", "input"})),
    "02": Spot("embeddings", frozenset({"embedding", "input"})),
    "03": Spot("feed-forward, add & norm", frozenset({"feed_forward", "sum"})),
    "04": Spot("attention", _ATTENTION),
    "05": Spot("attention, with einsum", _ATTENTION),
    "06": Spot("masks inside attention", _ATTENTION | {"mask"}),
    "07": Spot("the blocks", frozenset({"block", "memory"})),
    "08": Spot("the full model", frozenset({"output"}), "whole"),
    "09": Spot("from text to ids", frozenset({"ids", "input"})),
    "10": Spot("learning two sentences", frozenset(), "training"),
    "11": Spot("training", frozenset(), "training"),
    "12": Spot("measuring its output", frozenset({"output", "exit"}), is_examined=True),
    "13": Spot("writing, word by word", frozenset({"output", "input"}), "decoding"),
    "14": Spot("looking inside attention", _ATTENTION, is_examined=True),
    "15": Spot("five machines like this", frozenset(), "whole", is_examined=True),
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
    return Drawing(_encoder(spot), _decoder(spot))


def _encoder(spot: Spot) -> Panel:
    lit, has_words = spot.parts, _in_encoder(spot)
    attention, network = ENCODER[-2:]
    end = network.x + network.width + 9  # the middle of the last sum
    colour = "accent" if "memory" in lit else "german"
    body = _frame(attention.x - 5, end + 11, lit="block" in lit)
    body += stream([(ENCODER[0].x + 10, MIDDLE), (end, MIDDLE)], width=10)
    body += stream([(end, MIDDLE), (end, MEMORY), (WIDTH, MEMORY)], colour, width=6, opacity=0.8)
    body += _boxes(ENCODER, spot)
    body += _sums(ENCODER, lit="sum" in lit)
    if spot.way == "training":
        body += _training(ENCODER)
    if spot.way == "whole":
        body += _bracket(opens=True, dashes=spot.dashes)
    return Panel(
        title="The encoder reads",
        description=_told("encoder", ENCODER, spot),
        body=body + (_here(spot) if has_words else ""),
        height=_height(spot, has_words=has_words, has_way=spot.way in ("whole", "training")),
    )


def _decoder(spot: Spot) -> Panel:
    lit, has_words = spot.parts, not _in_encoder(spot)
    first, last, output = DECODER[1], DECODER[-2], DECODER[-1]
    end = last.x + last.width + 9
    cross = DECODER[2].x + DECODER[2].width / 2
    colour = "accent" if "memory" in lit else "german"
    body = _frame(first.x - 5, end + 9, lit="block" in lit)
    body += stream([(DECODER[0].x + 10, MIDDLE), (output.x + 10, MIDDLE)], width=10)
    body += stream([(0, MEMORY), (cross, MEMORY), (cross, ROW + 4)], colour, width=6, opacity=0.8)
    body += _boxes(DECODER, spot)
    body += _sums(DECODER, lit="sum" in lit)
    middle = output.x + output.width / 2
    leaves = "exit" in lit
    body += arrow(
        (middle, ROW - 1),
        (middle, 14),
        colour="accent" if leaves else "line",
        width=2.4 if leaves else 1.4,
    )
    body += label((middle - 8, 17), "next word", cls="aside", anchor="end")
    if spot.way == "training":
        body += _training(DECODER)
    if spot.way == "whole":
        body += _bracket(opens=False, dashes=spot.dashes)
    if spot.way == "decoding":
        back = DECODER[0].x + DECODER[0].width / 2
        points = ((middle, ROW + HEIGHT + 2), (middle, WAY), (back, WAY), (back, ROW + HEIGHT + 3))
        body += arrow(*points, colour="accent", width=2.4)
    return Panel(
        title="The decoder writes",
        description=_told("decoder", DECODER, spot),
        body=body + (_here(spot) if has_words else ""),
        height=_height(spot, has_words=has_words, has_way=bool(spot.way)),
    )


def _in_encoder(spot: Spot) -> bool:
    """Whether the words stand below the encoder: where the first lit part is."""
    lit = {part.name for part in ENCODER} | {"block"}
    return spot.way in ("training", "whole") or bool(lit & spot.parts)


def _boxes(parts: tuple[Part, ...], spot: Spot) -> str:
    graphics = []
    for part in parts:
        lit = part.name in spot.parts
        middle = part.x + part.width / 2
        # Hatching lets through what is behind it, so a plain box lies below.
        if lit and "mask" in spot.parts:
            graphics.append(_box(part, "page"))
        graphics.append(
            _box(
                part,
                "hidden" if lit and "mask" in spot.parts else "fill",
                stroke="accent" if lit else "hair",
                stroke_width=2.4 if lit else 1,
                dashes=spot.dashes if lit else None,
            )
        )
        n = len(part.lines) + 1
        for i, words in enumerate((*part.lines, part.lesson)):
            y = MIDDLE + (i - (n - 1) / 2) * 13
            graphics.append(
                label((middle, y), words, cls="aside", colour="accent" if lit else None)
            )
    return "".join(graphics)


def _box(
    part: Part,
    fill: str,
    *,
    stroke: str = "none",
    stroke_width: float = 1,
    dashes: str | None = None,
) -> str:
    return element(
        "rect",
        x=float(part.x),
        y=ROW,
        width=float(part.width),
        height=HEIGHT,
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
            at = (part.x + part.width + 8.5, MIDDLE)
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
    """Around the sublayers of a block."""
    return element(
        "rect",
        x=float(left),
        y=ROW - 5,
        width=float(right - left),
        height=HEIGHT + 10,
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
    end = 1.2 if opens else WIDTH - 1.2
    return _line(f"M{end:g} {WAY - 7:g}V{WAY:g}H{WIDTH if opens else 0:g}", dashes)


def _training(parts: tuple[Part, ...]) -> str:
    """The way back: from the output to the left, and up into each part that learns."""
    below = ROW + HEIGHT + 2
    middles = {part.name: part.x + part.width / 2 for part in parts}
    learning = [x for name, x in middles.items() if name not in ("ids", "positions", "output")]
    ups = "".join(arrow((x, WAY), (x, below), colour="accent", width=2.4) for x in learning)
    if "output" in middles:
        return _line(f"M{middles['output']:g} {below:g}V{WAY:g}H0") + ups
    return _line(f"M{WIDTH} {WAY:g}H{learning[0]:g}") + ups


def _words_at(spot: Spot) -> float:
    """The height of the words, below the way if there is one."""
    return WAY + 17 if spot.way else WAY + 6


def _height(spot: Spot, *, has_words: bool, has_way: bool) -> float:
    """Of a panel: no higher than what stands in it, which on a phone saves room."""
    if has_words:
        return _words_at(spot) + 10
    return WAY + 4 if has_way else ROW + HEIGHT + 7


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
