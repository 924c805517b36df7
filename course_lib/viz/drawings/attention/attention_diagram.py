"""The paper's Figure 2, drawn anew: one head of attention, and several heads side by side."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import Drawing, Panel
from course_lib.viz.drawings.marks import (
    arrow,
    element,
    label,
    sublayer,
    text_width,
)

BOX, STEP, TOP, HEIGHT = 38, 66, 60, 424  # of a box, from one to the next, the upper one, a panel
BUILT_NOW = "Q4e"  # the question where the drawing stands
LATER = "06"  # the lesson that adds the mask


@dataclass(frozen=True)
class Part:
    """A box: its left edge, its width, how many stand above it, what it says, who builds it."""

    x: float
    _: KW_ONLY
    width: float
    level: int
    text: str
    built_in: str

    @property
    def y(self) -> float:
        """Its upper edge."""
        return TOP + STEP * self.level


ONE_HEAD = (
    Part(20, width=180, level=4, text="query · key", built_in="Q4a"),
    Part(20, width=180, level=3, text="÷ √d_head", built_in="Q4b"),
    Part(20, width=180, level=2, text="mask, if there is one", built_in=LATER),
    Part(20, width=180, level=1, text="softmax", built_in="Q4a"),
    Part(20, width=300, level=0, text="weights · values", built_in="Q4a"),
)
HEADS = (
    Part(14, width=96, level=4, text="q_proj", built_in="Q4a"),
    Part(122, width=96, level=4, text="k_proj", built_in="Q4a"),
    Part(230, width=96, level=4, text="v_proj", built_in="Q4a"),
    Part(14, width=312, level=3, text="split into H heads", built_in="Q4e"),
    Part(14, width=300, level=2, text="one head, H times", built_in="Q4a"),
    Part(14, width=312, level=1, text="merge the heads", built_in="Q4e"),
    Part(14, width=312, level=0, text="out_proj", built_in="Q4e"),
)
COPIED = "one head, H times"  # drawn as a stack
ENTERS = TOP + STEP * 4 + BOX + 26  # where the arrows into the lowest boxes begin


def attention_diagram() -> Drawing:
    """The paper's Figure 2 as our own drawing, with shapes and the questions of lesson 04."""
    return Drawing(
        Panel(
            title="One head",
            description="From bottom to top: query · key gives scores (Q, K), divided by √d_head, "
            "masked if there is a mask, softmax, then the mean of the values by these weights: a "
            "context (Q, E).",
            body=_one_head(),
            height=HEIGHT,
        ),
        Panel(
            title="Several heads",
            description="From bottom to top: three linear layers make queries, keys and values of "
            "x (B, S, D); split into H heads (8 in the paper); one head, H times; merge; one more "
            "linear layer.",
            body=_several_heads(),
            height=HEIGHT,
        ),
        caption=f"Each box names the question that builds it; magenta is what {BUILT_NOW} adds.",
    )


def _one_head() -> str:
    body = "".join(_rise(110, level) for level in range(1, 5))
    body += arrow((270, ENTERS), (270, TOP + BOX)) + _leaves(170, "context", "(Q, E)")
    for x, name, shape in ((65, "query", "(Q, E)"), (155, "key", "(K, E)")):
        body += _enters(x, name, shape) + arrow((x, ENTERS), (x, ENTERS - 26))
    body += _enters(270, "value", "(K, E)")
    body += _shape(118, 3, "scores (Q, K)") + _shape(118, 0, "weights (Q, K)")
    return body + "".join(map(_box, ONE_HEAD))


def _several_heads() -> str:
    body = ""
    for x in (62, 170, 278):
        body += arrow((170, ENTERS), (170, ENTERS - 13), (x, ENTERS - 13), (x, ENTERS - 26))
        body += _rise(x, 4) + _rise(x, 3)
    body += _rise(170, 2) + _rise(170, 1)
    body += _leaves(170, "output", "(B, S, D)") + _enters(170, "x", "(B, S, D)")
    shapes = ((3, "(B, S, D)"), (2, "(B, H, S, E)"), (1, "(B, H, S, E)"), (0, "(B, S, D)"))
    body += "".join(_shape(178, level, shape) for level, shape in shapes)
    return body + "".join(map(_box, HEADS))


def _rise(x: float, level: int) -> str:
    """An arrow from a box to the one above it."""
    return arrow((x, TOP + STEP * level), (x, TOP + STEP * (level - 1) + BOX))


def _shape(x: float, level: int, words: str) -> str:
    """What an arrow carries up to a level, right of it."""
    at = (x, TOP + STEP * level + BOX + 12)
    return label(at, words, cls="aside", anchor="start")


def _enters(x: float, name: str, shape: str) -> str:
    return label((x, ENTERS + 13), name) + label((x, ENTERS + 30), shape, cls="aside")


def _leaves(x: float, name: str, shape: str) -> str:
    beside = (x + text_width(name) / 2 + 6, TOP - 34)
    return (
        arrow((x, TOP), (x, TOP - 22))
        + label((x, TOP - 34), name)
        + label(beside, shape, cls="aside", anchor="start")
    )


def _box(part: Part) -> str:
    """A part, with what builds it as its second line: magenta if now, dashed if later."""
    if part.built_in == LATER:
        return _outline(part, dashes="4 4") + _words(part, f"lesson {LATER}")
    copies = [_outline(part, shift=shift) for shift in (8, 4, 0) if part.text == COPIED]
    box = sublayer(
        (part.x, part.y),
        part.text,
        width=part.width,
        height=BOX,
        lesson=part.built_in,
        colour="accent" if part.built_in == BUILT_NOW else "",
    )
    return "".join(copies) + box


def _outline(part: Part, *, shift: float = 0, dashes: str | None = None) -> str:
    return element(
        "rect",
        x=float(part.x + shift),
        y=float(part.y - shift),
        width=float(part.width),
        height=float(BOX),
        rx=8,
        fill=ink("page"),
        stroke=ink("line"),
        stroke_dasharray=dashes,
    )


def _words(part: Part, aside: str) -> str:
    middle = part.x + part.width / 2
    return label((middle, part.y + BOX / 2 - 7), part.text) + label(
        (middle, part.y + BOX / 2 + 8), aside, cls="aside"
    )
