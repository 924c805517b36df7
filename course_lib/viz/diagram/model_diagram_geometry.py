"""What the model diagram's layout consists of: sizes, points, boxes, arrows.

They count in pixels from the top left corner, before the page scales them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

BOX, NORM, CHIP, LABEL, BAR = 34, 15, 24, 18, 20  # heights
ARROW, TIGHT, SUM, PLUS = 24, 3, 26, 38  # gaps: with an arrow, without, with a ring, with positions
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
    """The whole diagram on one size of page; ``frames`` are those of the two stacks of layers."""

    width: float
    height: float
    boxes: dict[str, Box]
    norms: tuple[Box, ...]
    rings: tuple[Point, ...]
    frames: dict[str, Box]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What differs between a wide and a narrow page."""

    width: float
    encoder: tuple[float, float]  # left edge and width of the column
    decoder: tuple[float, float]
    margin: float  # from a frame to the boxes in it, left and right
    padding: float  # around a token, with the space to the next one
    free: float  # above the encoder: for the texts about the parts, or for the bars


WIDE = Sizes(width=900, encoder=(6, 380), decoder=(484, 386), margin=46, padding=17, free=200)
NARROW = Sizes(width=344, encoder=(2, 158), decoder=(176, 158), margin=13, padding=12, free=136)
