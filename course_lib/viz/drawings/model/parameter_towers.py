"""The whole model as two towers of parts, each as high as it has parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import nn

from course_lib.model import Transformer
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import HALF, Drawing, Panel
from course_lib.viz.drawings.marks import arrow, element, label, stream

Language = Literal["german", "english"]
# The left and the right edge of each tower's boxes; between them runs the memory.
EDGES: dict[Language, tuple[float, float]] = {
    "german": (1.0, HALF - 40.0),
    "english": (40.0, HALF - 1.0),
}
HIGHEST = 340.0  # of the higher tower's parts together
LEAST = 20.0  # of a box, for its words
TOP, BOTTOM = 66.0, 44.0  # above the higher tower, and below both
GAP, BLOCK_GAP = 3.0, 12.0
MEMORY = 16.0  # the middle of its way along the decoder
LESSONS = {"self_attention": "04", "cross_attention": "04", "feed_forward": "03"}


@dataclass(frozen=True, kw_only=True)
class _Part:
    name: str
    lesson: str
    count: int
    ends: bool = False  # of a block: a wider gap follows
    reads_memory: bool = False


class _Counter:
    """Counts the parameters of one module after the other, a shared one once."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def count(self, module: nn.Module) -> int:
        new = [p for p in module.parameters() if id(p) not in self.seen]
        self.seen.update(map(id, new))
        return sum(p.numel() for p in new)


def draw_parameter_towers(model: Transformer, *, caption: str = "") -> Drawing:
    """Draw the parts of a model from bottom to top, as high as they have parameters.

    A table that is shared is counted where it is first read. Norms are too low for a box: their
    sum is written above.

    Args:
        model: with an encoder and a decoder.
        caption: one sentence below.
    """
    counter = _Counter()
    reads = _Part(name="embedding", lesson="02", count=counter.count(model.source_embedding))
    writes = _Part(name="embedding", lesson="02", count=counter.count(model.target_embedding))
    encoder = [reads, *_blocks(model.encoder.layers, counter)]
    decoder = [writes, *_blocks(model.decoder.layers, counter)]
    norms = counter.count(model.encoder), counter.count(model.decoder)
    decoder.append(_Part(name="output layer", lesson="08", count=counter.count(model.output)))
    towers = {"german": (encoder, norms[0]), "english": (decoder, norms[1])}
    scale = HIGHEST / max(sum(part.count for part in parts) for parts, _ in towers.values())
    heights = {side: _height(parts, scale) for side, (parts, _) in towers.items()}
    ground = TOP + max(heights.values())
    memory = ground - heights["german"] - 26  # the height at which it leaves the encoder
    return Drawing(
        _encoder(encoder, norms[0], scale, ground=ground, memory=memory),
        _decoder(decoder, norms[1], scale, ground=ground, memory=memory),
        caption=caption,
        joined=True,
    )


def _blocks(layers: nn.ModuleList, counter: _Counter) -> list[_Part]:
    """The sublayers of all blocks, in the order in which they are stacked."""
    parts = []
    for i, block in enumerate(layers, start=1):
        names = [name for name in LESSONS if hasattr(block, name)]
        for name in names:
            parts.append(
                _Part(
                    name=f"block {i} · {name.replace('_', '-')}",
                    lesson=LESSONS[name],
                    count=counter.count(getattr(block, name)),
                    ends=name == names[-1],
                    reads_memory=name == "cross_attention",
                )
            )
    return parts


def _box_height(part: _Part, scale: float) -> float:
    return max(LEAST, part.count * scale)


def _height(parts: list[_Part], scale: float) -> float:
    return sum(_box_height(part, scale) + _gap(part) for part in parts)


def _gap(part: _Part) -> float:
    return BLOCK_GAP if part.ends or part.name == "embedding" else GAP


def _tower(
    parts: list[_Part], scale: float, *, language: Language, ground: float
) -> tuple[str, list[float]]:
    """The boxes, and the heights at which the memory is read."""
    graphics, read, y = [], [], ground
    left, right = EDGES[language]
    for part in parts:
        height = _box_height(part, scale)
        y -= height
        middle = y + height / 2
        graphics.append(
            element(
                "rect",
                x=left,
                y=y,
                width=right - left,
                height=height,
                rx=7,
                fill=ink(f"{language}-box"),
                stroke=ink(language),
            )
        )
        graphics.append(label((left + 10, middle), part.name, anchor="start"))
        graphics.append(label((right - 82, middle), part.lesson, cls="aside", anchor="end"))
        graphics.append(label((right - 10, middle), f"{part.count:,}", cls="bold", anchor="end"))
        if part.reads_memory:
            read.append(middle)
        y -= _gap(part)
    middle = (left + right) / 2
    graphics.append(arrow((middle, ground + 20), (middle, ground + 3)))
    return "".join(graphics), read


def _encoder(
    parts: list[_Part], norms: int, scale: float, *, ground: float, memory: float
) -> Panel:
    boxes, _ = _tower(parts, scale, language="german", ground=ground)
    middle = sum(EDGES["german"]) / 2
    top = memory + 26 + BLOCK_GAP
    way = stream(
        [(middle, top - 2), (middle, memory), (HALF, memory)], "german", width=8, opacity=0.8
    )
    words = label((middle, ground + 32), "source words", cls="aside")
    words += label((middle - 14, memory + 2), "memory", cls="bold", anchor="end", colour="german")
    return _panel("The encoder reads", parts, norms, body=way + boxes + words, height=ground)


def _decoder(
    parts: list[_Part], norms: int, scale: float, *, ground: float, memory: float
) -> Panel:
    boxes, read = _tower(parts, scale, language="english", ground=ground)
    left, right = EDGES["english"]
    middle, top = (left + right) / 2, ground - _height(parts, scale) + GAP
    way = [(0.0, memory), (MEMORY, memory), (MEMORY, read[0]), (left, read[0])]
    ways = stream(way, "german", width=8, opacity=0.8)
    for y in read[1:]:
        ways += stream([(MEMORY + 4, y), (left, y)], "german", width=8, opacity=0.8)
    words = label((middle, ground + 32), "target words so far", cls="aside")
    words += arrow((middle, top - 2), (middle, top - 18))
    words += label((middle + 10, top - 12), "a score for each word", cls="aside", anchor="start")
    return _panel("The decoder writes", parts, norms, body=ways + boxes + words, height=ground)


def _panel(title: str, parts: list[_Part], norms: int, *, body: str, height: float) -> Panel:
    total = sum(part.count for part in parts) + norms
    told = "; ".join(f"{part.name} {part.count:,}" for part in parts)
    memory = " Each cross-attention reads the memory." if any(p.reads_memory for p in parts) else ""
    return Panel(
        title=f"{title}: {total:,}",
        note=f"parameters, {norms:,} of them in norms",
        description=f"From bottom to top: {told}. The norms have {norms:,}.{memory}",
        body=body,
        height=height + BOTTOM,
        width=HALF,
    )
