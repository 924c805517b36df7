"""Where everything in the model diagram stands. Both drawings follow it, picture and live one."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Literal

from course_lib.model import TransformerConfig
from course_lib.modern import PrefixConfig
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
    config: TransformerConfig | PrefixConfig,
    source: list[str],
    target: list[str],
    *,
    sizes: Sizes,
) -> Layout:
    """Place the parts of this model, with room for these tokens.

    One stack stands where the decoder does. Where the encoder does stand the words of the
    source, which are the first of its row, and what its attention reads.

    Args:
        config: the model's.
        source: the tokens of the sentence.
        target: those of its translation, with the one that begins it.
        sizes: `WIDE` or `NARROW`.
    """
    one_stack = isinstance(config, PrefixConfig)
    encoder = _Column("encoder", sizes, config, f"(1, {len(source)}")
    row = f"(1, {len(source)}+{{t}}" if one_stack else "(1, {t}"
    decoder = _Column("decoder", sizes, config, row)
    (_one_stack if one_stack else _two_stacks)(encoder, decoder, source, target)
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
    if one_stack:
        between = _row_arrows(boxes, decoder)
    else:
        shape = f"(1, {len(source)}, {config.d_model})"
        between = [_memory_arrow(boxes, "cross_attention", decoder, shape=shape)]
    return Layout(
        width=sizes.width,
        height=height,
        boxes=boxes,
        norms=tuple(box for column in columns for box in column.norms),
        rings=tuple(ring for column in columns for ring in column.rings),
        frames={column.frame_name: column.frame for column in columns if column.frame_name},
        panel=panel,
        arrows=(
            *(arrow for column in columns for arrow in column.arrows),
            *between,
            _loop(boxes, sizes, decoder),
        ),
    )


def _two_stacks(encoder: _Column, decoder: _Column, source: list[str], target: list[str]) -> None:
    encoder.build(
        "source", encoder.tray_height(source), ("encoder_attention", "encoder_feed_forward")
    )
    parts = ("decoder_attention", "cross_attention", "decoder_feed_forward")
    decoder.build("target", decoder.tray_height(target), parts)
    encoder.arrow(encoder.sizes.arrow, encoder.vectors)
    encoder.row("memory", encoder.tray_height(source))


def _one_stack(encoder: _Column, decoder: _Column, source: list[str], target: list[str]) -> None:
    # The two halves of the row are alike, and so high that there is room for the panel.
    row = max(encoder.tray_height(source), decoder.tray_height(target), LABEL + 2 * CHIP + 6)
    decoder.build("target", row, ("decoder_attention", "decoder_feed_forward"))
    decoder.frame_name = "one stack"
    encoder.row("source", row)
    encoder.top += encoder.sizes.plus
    if encoder.config.positions == "rotary":
        encoder.row("target_positions", 24)
        encoder.top += encoder.sizes.arrow
    encoder.row("memory", encoder.tray_height([*source, *target]))


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


def _norms(config: TransformerConfig | PrefixConfig) -> tuple[str, bool]:
    """Where the norms of a layer stand, and whether there is one after the last layer."""
    if isinstance(config, PrefixConfig):
        return config.placement, config.placement != "post"
    return config.norm, config.final_norm


class _Column:
    """A stack of parts that is built from the bottom; `turned` makes y count from the top."""

    def __init__(
        self,
        stack: Literal["encoder", "decoder"],
        sizes: Sizes,
        config: TransformerConfig | PrefixConfig,
        ids: str,
    ) -> None:
        self.name, self.sizes, self.config, self.ids = stack, sizes, config, ids
        self.placement, self.final_norm = _norms(config)
        self.vectors = f"{ids}, {config.d_model})"
        self.left, self.width = getattr(sizes, stack)
        self.centre = self.left + self.width / 2
        self.top = 4.0
        self.boxes: dict[str, Box] = {}
        self.norms: list[Box] = []
        self.rings: list[Point] = []
        self.frame, self.frame_name = Box(0, 0, 0, 0), ""
        self.arrows: list[Arrow] = []

    def build(self, words: str, tray: float, parts: tuple[str, ...]) -> None:
        """The words, their embedding, the layers and the last norm."""
        self.row(words, tray)
        self.arrow(self.sizes.arrow, f"{self.ids})")
        self.row(f"{words}_embedding", self.sizes.box, margin=self.sizes.margin)
        if self.config.positions in ("rotary", "none"):  # nothing is added
            self.arrow(self.sizes.arrow, self.vectors)
        else:
            self._positions(f"{words}_positions", self.vectors)
        start = self.top
        self._line(FRAME, head=False)
        for part in parts:
            self._sublayer(part)
        self._line(FRAME + 4, head=False)
        self.frame = Box(self.left, start, self.width, self.top - start)
        self.frame_name = self.name
        # On the upper edge of the frame, beside the line of the words.
        width = min(90.0, self.width / 2 - 12)
        self.boxes[f"{self.name}_layers"] = Box(self.left + 6, self.top - 10, width, 20)
        if self.final_norm:
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
        start = self.top + 2
        self._line(10, head=False)
        if self.placement != "post":
            self._norm()
            self.top += TIGHT
        self.row(part, self.sizes.box, margin=self.sizes.margin)
        if self.placement == "both":
            self.top += TIGHT
            self._norm()
        ring = Point(self.centre, self.top + self.sizes.sum / 2)
        side = self.left + self.width - self.sizes.margin + (6 if self.sizes.side is None else 12)
        corners = ((self.centre, start), (side, start), (side, ring.y), (ring.x + RING, ring.y))
        self.add_arrow(tuple(Point(*corner) for corner in corners))
        self.rings.append(ring)
        self._line(self.sizes.sum, head=False)
        if self.placement == "post":
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


def _memory_arrow(
    boxes: dict[str, Box],
    attention: str,
    decoder: _Column,
    *,
    start: str = "memory",
    shape: str = "",
) -> Arrow:
    """From the encoder's result, or another box beside the decoder, to an attention."""
    memory, reads = boxes[start], boxes[attention]
    right = memory.x + memory.width
    middle = (right + decoder.left) / 2
    y, end = memory.y + memory.height / 2, reads.y + reads.height / 2
    points = (Point(right, y), Point(middle, y), Point(middle, end), Point(reads.x, end))
    text = shape if decoder.sizes.side is not None else ""
    label = Point(right + 6, y - 10) if text else None
    return Arrow(points, stack="decoder", order=3, text=text, label=label)


def _row_arrows(boxes: dict[str, Box], decoder: _Column) -> list[Arrow]:
    """From the source to the target, which follows it in the row; and to attention."""
    source, target = boxes["source"], boxes["target"]
    y = source.y + source.height / 2
    row = (Point(source.x + source.width, y), Point(target.x, y))
    starts = ["memory"] + ["target_positions"] * (decoder.config.positions == "rotary")
    arrows = [_memory_arrow(boxes, "decoder_attention", decoder, start=start) for start in starts]
    return [Arrow(row, stack="decoder", order=2), *arrows]


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
