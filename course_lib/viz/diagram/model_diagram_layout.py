"""Where everything in the model diagram stands. Both drawings follow it, picture and live one."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Literal

from course_lib.model import TransformerConfig
from course_lib.viz.diagram.model_diagram_geometry import (
    BAR,
    CHARACTER,
    CHIP,
    FRAME,
    LABEL,
    N_BARS,
    NORM,
    RING,
    TIGHT,
    Arrow,
    Box,
    Layout,
    Point,
    Sizes,
)


def layout_of(
    config: TransformerConfig, source: list[str], target: list[str], *, sizes: Sizes
) -> Layout:
    """Place the parts of this model, with room for these tokens.

    Args:
        config: the model's.
        source: the tokens of the sentence.
        target: those of its translation, with the one that begins it.
        sizes: `WIDE` or `NARROW`.
    """
    encoder = _Column("encoder", sizes, config, f"(1, {len(source)}")
    decoder = _Column("decoder", sizes, config, "(1, {t}")
    encoder.build("source", source, ("encoder_attention", "encoder_feed_forward"))
    parts = ("decoder_attention", "cross_attention", "decoder_feed_forward")
    decoder.build("target", target, parts)
    encoder.arrow(sizes.arrow, encoder.vectors)
    encoder.row("memory", encoder.tray_height(source))
    ids = f"(1, {{t}}, {config.target_vocab})"
    if sizes.side is None:
        _output_above(encoder, decoder, ids)
    else:
        _output_beside(sizes.side, decoder, ids)
    height = max(encoder.top, decoder.top) + 4
    columns = (encoder.turned(height), decoder.turned(height))
    boxes = {name: box for column in columns for name, box in column.boxes.items()}
    panel = None
    if sizes.side is None:  # the bars get the whole width
        boxes["prediction"] = boxes["prediction"]._replace(x=2, width=sizes.width - 12)
    else:
        top = boxes["prediction"].bottom + 12
        panel = Box(sizes.side[0], top, sizes.side[1], round(height - top - 4, 1))
    return Layout(
        width=sizes.width,
        height=height,
        boxes=boxes,
        norms=tuple(box for column in columns for box in column.norms),
        rings=tuple(ring for column in columns for ring in column.rings),
        frames={column.name: column.frame for column in columns},
        panel=panel,
        arrows=(
            *(arrow for column in columns for arrow in column.arrows),
            _memory_arrow(boxes, f"(1, {len(source)}, {config.d_model})", encoder, decoder),
            _loop(boxes, sizes, decoder),
        ),
    )


BARS = LABEL + N_BARS * BAR + 8  # the height of the next word's box


def _output_above(encoder: _Column, decoder: _Column, shape: str) -> None:
    """The output and the next word on top of the decoder, and above the encoder."""
    sizes = decoder.sizes
    decoder.arrow(sizes.arrow, decoder.vectors)
    decoder.row("output", sizes.box, margin=sizes.margin)
    decoder.arrow(max(sizes.arrow, encoder.top + 136 - BARS - decoder.top), shape)
    decoder.row("prediction", BARS)


def _output_beside(side: tuple[float, float], decoder: _Column, shape: str) -> None:
    """The output beside the top of the decoder, and the next word below it."""
    left, width = side
    box, gap, y = decoder.sizes.box, decoder.sizes.arrow + 4, decoder.top + 8
    corners = (Point(decoder.centre, decoder.top), Point(decoder.centre, y), Point(left, y))
    decoder.add_arrow(corners, text=decoder.vectors, label=Point(decoder.centre + 12, y + 9))
    decoder.boxes["output"] = Box(left, y - box / 2, width, box)
    middle, bottom = left + width / 2, y - box / 2
    down = (Point(middle, bottom), Point(middle, bottom - gap))
    decoder.add_arrow(down, text=shape, label=Point(middle + 8, bottom - gap / 2))
    decoder.boxes["prediction"] = Box(left, bottom - gap - BARS, width, BARS)
    decoder.top = y + box / 2


class _Column:
    """A stack of parts that is built from the bottom; `turned` makes y count from the top."""

    def __init__(
        self,
        stack: Literal["encoder", "decoder"],
        sizes: Sizes,
        config: TransformerConfig,
        ids: str,
    ) -> None:
        self.name, self.sizes, self.config, self.ids = stack, sizes, config, ids
        self.vectors = f"{ids}, {config.d_model})"
        self.left, self.width = getattr(sizes, stack)
        self.centre = self.left + self.width / 2
        self.top = 4.0
        self.boxes: dict[str, Box] = {}
        self.norms: list[Box] = []
        self.rings: list[Point] = []
        self.frame = Box(0, 0, 0, 0)
        self.arrows: list[Arrow] = []

    def build(self, words: str, tokens: list[str], parts: tuple[str, ...]) -> None:
        """The words, their embedding, the layers and the last norm."""
        self.row(words, self.tray_height(tokens))
        self.arrow(self.sizes.arrow, f"{self.ids})")
        self.row(f"{words}_embedding", self.sizes.box, margin=self.sizes.margin)
        self._positions(f"{words}_positions", self.vectors)
        start = self.top
        self._line(FRAME, head=False)
        for part in parts:
            self._sublayer(part)
        self._line(FRAME + 4, head=False)
        self.frame = Box(self.left, start, self.width, self.top - start)
        # On the upper edge of the frame, beside the line of the words.
        width = min(90.0, self.width / 2 - 12)
        self.boxes[f"{self.name}_layers"] = Box(self.left + 6, self.top - 10, width, 20)
        if self.config.final_norm:
            self._line(12, head=False)
            self._norm()

    def tray_height(self, tokens: list[str]) -> float:
        """The height of a box with a label and these tokens, in as many lines as they need."""
        lines, used = 1, 0.0
        for token in tokens:
            needed = CHARACTER * len(token) + self.sizes.padding
            if used and used + needed > self.width - 10:
                lines, used = lines + 1, 0.0
            used += needed
        return LABEL + lines * CHIP + 6

    def row(self, name: str, height: float, *, margin: float = 0) -> None:
        """One box on top of what is there."""
        self.boxes[name] = Box(self.left + margin, self.top, self.width - 2 * margin, height)
        self.top += height

    def arrow(self, gap: float, shape: str) -> None:
        """An arrow to what comes next, with the shape of what goes along it."""
        label = Point(self.centre + 8, self.top + gap / 2)
        self._line(gap, shape=shape, label=label)

    def _line(
        self, gap: float, *, head: bool = True, shape: str = "", label: Point | None = None
    ) -> None:
        points = (Point(self.centre, self.top), Point(self.centre, self.top + gap))
        self.add_arrow(points, text=shape, label=label, head=head)
        self.top += gap

    def add_arrow(self, points: tuple[Point, ...], **more: Any) -> None:
        """An arrow through these points."""
        # The decoder's words pass once the new word has come back to the bottom.
        order = len(self.arrows) + 3 * (self.name == "decoder")
        self.arrows.append(Arrow(points, stack=self.name, order=order, **more))

    def _positions(self, name: str, shape: str) -> None:
        """A ring in which positions, from the right, are added."""
        ring = Point(self.centre, self.top + self.sizes.plus / 2)
        wide = self.sizes.side is not None
        left = self.centre + (34 if wide else 14)
        right = self.left + self.width - (4 if wide else 0)
        self.boxes[name] = Box(left, ring.y - 12, right - left, 24)
        self.add_arrow((Point(left, ring.y), Point(ring.x + RING, ring.y)))
        self.rings.append(ring)
        label = Point(self.centre - 12 - 6.2 * len(shape), ring.y) if wide else None
        self._line(self.sizes.plus, shape=shape if label else "", label=label)

    def _sublayer(self, part: str) -> None:
        """A part with its norm, and the residual line around it into a ring."""
        before = self.config.norm == "pre"
        start = self.top + 2
        self._line(10, head=False)
        if before:
            self._norm()
            self.top += TIGHT
        self.row(part, self.sizes.box, margin=self.sizes.margin)
        ring = Point(self.centre, self.top + self.sizes.sum / 2)
        side = self.left + self.width - self.sizes.margin + (6 if self.sizes.side is None else 12)
        corners = ((self.centre, start), (side, start), (side, ring.y), (ring.x + RING, ring.y))
        self.add_arrow(tuple(Point(*corner) for corner in corners))
        self.rings.append(ring)
        self._line(self.sizes.sum, head=False)
        if not before:
            self._norm()

    def _norm(self) -> None:
        width = self.width - 2 * self.sizes.margin
        self.norms.append(Box(self.left + self.sizes.margin, self.top, width, NORM))
        self.top += NORM

    def turned(self, height: float) -> _Column:
        """The same column with y counted from the top of a page of this height."""

        def turn(point: Point) -> Point:
            return Point(round(point.x, 1), round(height - point.y, 1))

        def turn_box(box: Box) -> Box:
            return Box(*turn(Point(box.x, box.y + box.height)), round(box.width, 1), box.height)

        other = copy(self)
        other.boxes = {name: turn_box(box) for name, box in self.boxes.items()}
        other.norms = [turn_box(box) for box in self.norms]
        other.frame = turn_box(self.frame)
        other.rings = [turn(point) for point in self.rings]
        other.arrows = [
            replace(a, points=tuple(map(turn, a.points)), label=a.label and turn(a.label))
            for a in self.arrows
        ]
        return other


def _memory_arrow(boxes: dict[str, Box], shape: str, encoder: _Column, decoder: _Column) -> Arrow:
    """From the encoder's result to the cross-attention of the decoder."""
    memory, cross = boxes["memory"], boxes["cross_attention"]
    right = memory.x + memory.width
    middle = (right + decoder.left) / 2
    y, end = memory.y + memory.height / 2, cross.y + cross.height / 2
    points = (Point(right, y), Point(middle, y), Point(middle, end), Point(cross.x, end))
    wide = encoder.sizes.side is not None
    label = Point(right + 6, y - 10) if wide else None
    return Arrow(points, stack="decoder", order=3, text=shape if wide else "", label=label)


def _loop(boxes: dict[str, Box], sizes: Sizes, decoder: _Column) -> Arrow:
    """From the predicted word back to the words so far."""
    prediction, target = boxes["prediction"], boxes["target"]
    right, x = decoder.left + decoder.width, sizes.width - 4
    start = right
    if sizes.side is not None:
        start, x = prediction.x, right + 12
    y, end = prediction.y + LABEL + BAR / 2, target.y + target.height / 2
    points = (Point(start, y), Point(x, y), Point(x, end), Point(right, end))
    remark: dict[str, Any] = {"text": "the new word joins the words so far", "aside": True}
    remark |= {"label": Point(x + 12, (y + end) / 2)}
    return Arrow(points, stack="decoder", order=0, **({} if sizes.side is None else remark))
