"""What the model diagram's layout consists of: sizes, points, boxes, arrows.

They count in pixels from the top left corner, before the page scales them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

NORM, CHIP, LABEL, BAR = 15, 24, 18, 20  # heights
TIGHT = 3  # the gap between a norm and its part
FRAME = 10  # from a frame to what is in it
RING = 8  # radius
CHARACTER = 6.4  # about how wide a letter of a token is
N_BARS = 5


class Point(NamedTuple):
    """A position on the page."""

    x: float
    y: float


class Box(NamedTuple):
    """A rectangle: its top left corner, its width and its height."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> float:
        """Half way from left to right."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height


@dataclass(frozen=True)
class Arrow:
    """A line with corners, and a text at ``label``.

    The text is the shape of the tensor that goes along it, {t} its number of target words; or,
    ``aside``, a remark that runs along the line, from the top. ``order`` says when the light that
    shows a step runs along it.
    """

    points: tuple[Point, ...]
    _: KW_ONLY
    stack: str
    order: int
    text: str = ""
    label: Point | None = None
    head: bool = True
    aside: bool = False


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The whole diagram on one size of page.

    ``frames`` are those of the two stacks of layers. ``panel`` is for the texts about the parts;
    without it, they stand below the diagram.
    """

    width: float
    height: float
    boxes: dict[str, Box]
    norms: tuple[Box, ...]
    rings: tuple[Point, ...]
    frames: dict[str, Box]
    panel: Box | None
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What differs between a wide and a narrow page.

    On a wide one the output and the next word stand beside the decoder, above the texts about the
    parts: the whole diagram is then so low that it can be seen at once.
    """

    width: float
    encoder: tuple[float, float]  # left edge and width of the column
    decoder: tuple[float, float]
    side: tuple[float, float] | None
    margin: float  # from a frame to the boxes in it, left and right
    padding: float  # around a token, with the space to the next one
    box: float  # the height of a part
    arrow: float  # the gap with an arrow
    sum: float  # the gap with a ring
    plus: float  # the gap with positions


WIDE = Sizes(
    width=940,
    encoder=(4, 268),
    decoder=(362, 272),
    side=(676, 262),
    margin=34,
    padding=17,
    box=28,
    arrow=18,
    sum=21,
    plus=30,
)
NARROW = Sizes(
    width=344,
    encoder=(2, 158),
    decoder=(176, 158),
    side=None,
    margin=13,
    padding=12,
    box=34,
    arrow=24,
    sum=26,
    plus=38,
)
# One stack is lower, so its panel is wider; and its shapes are longer.
ONE_STACK_WIDE = replace(
    WIDE,
    encoder=(4, 240),
    decoder=(302, 262),
    side=(606, 330),
    box=36,
    arrow=26,
    sum=29,
    plus=36,
)
ONE_STACK_NARROW = replace(NARROW, encoder=(2, 138), decoder=(150, 182))
