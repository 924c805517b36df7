"""An encoder and a decoder block beside each other: where the norm stands, and what reads what."""

from __future__ import annotations

from typing import Literal

from torch import nn

from course_lib.model import Transformer
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import (
    Point,
    arrow,
    element,
    label,
    sign,
    stream,
    sublayer,
    text_width,
)
from course_lib.viz.drawings.model.block_parts import Sublayer, read_block

Side = Literal["encoder", "decoder"]
LESSONS = {"self_attention": "04", "cross_attention": "04", "feed_forward": "03"}
TITLES = {
    "pre": "Pre-norm: the stream runs through",
    "post": "Post-norm: a norm after every sum",
}
MOST_SUBLAYERS = 3
# Heights from where a sublayer's branch leaves the stream: its box, the sum, the norm after it.
BOX, BOX_HEIGHT, SUM, POST_NORM, STEP = -60, 38, -75, -94, 108
LOW = 380  # where the first branch leaves
# Of each side: the middle of its stream, and its boxes' left edge and width.
STREAM: dict[Side, float] = {"encoder": 22, "decoder": 318}
BOXES: dict[Side, tuple[float, float]] = {"encoder": (38, 110), "decoder": (176, 126)}
MEMORY = 162  # the middle of the memory's way down
LANGUAGES: dict[Side, Literal["german", "english"]] = {"encoder": "german", "decoder": "english"}


def draw_block_stacks(*models: Transformer, caption: str = "") -> Drawing:
    """Draw the blocks of each model in a panel of its own, as the model runs them.

    Args:
        models: such as one with pre-norm and one with post-norm.
        caption: one sentence below.

    Raises:
        ValueError: as in ``block_stacks``, or the blocks of one stack differ.
    """
    panels = []
    for model in models:
        blocks = [*model.encoder.layers, *model.decoder.layers]
        n = len(model.encoder.layers)
        parts = [read_block(block, is_decoder=i >= n) for i, block in enumerate(blocks)]
        if len({*parts[:n]}) > 1 or len({*parts[n:]}) > 1:
            raise ValueError("expected blocks of one kind in each stack, got different ones")
        panels.append(
            block_stacks(
                parts[0],
                parts[n],
                n_layers=n,
                final_norm=isinstance(model.encoder.final_norm, nn.LayerNorm),
            )
        )
    return Drawing(*panels, caption=caption)


def block_stacks(
    encoder: tuple[Sublayer, ...],
    decoder: tuple[Sublayer, ...],
    *,
    n_layers: int,
    final_norm: bool,
) -> Panel:
    """One block of each stack, from bottom to top, with the residual stream as a band.

    Args:
        encoder: its block's sublayers, in order, from ``read_block``.
        decoder: those of the decoder's block.
        n_layers: blocks in each stack.
        final_norm: one more norm ends each stack.

    Raises:
        ValueError: there are more sublayers than there is room for, one is unknown, or the norm
            does not stand in the same spot everywhere.
    """
    norms = {part.norm for part in (*encoder, *decoder)}
    if len(norms) != 1:
        raise ValueError(f"expected the norm always before or always after, got {sorted(norms)}")
    (norm,) = norms
    if unknown := {part.name for part in (*encoder, *decoder)} - set(LESSONS):
        raise ValueError(
            f"expected sublayers called {', '.join(LESSONS)}, got {', '.join(sorted(unknown))}"
        )
    if max(len(encoder), len(decoder)) > MOST_SUBLAYERS or len(encoder) >= len(decoder):
        raise ValueError(
            f"expected at most {MOST_SUBLAYERS} sublayers, and fewer in the encoder, which leaves "
            f"room for the memory, got {len(encoder)} and {len(decoder)}"
        )
    top = _top(len(encoder)) - 22  # where the memory turns
    body = _frame("encoder", len(encoder)) + _frame("decoder", len(decoder))
    body += _band("encoder", top) + _band("decoder", 32)
    readers = [i for i, part in enumerate(decoder) if part.reads_memory]
    x = STREAM["encoder"]
    for i in readers:
        y = LOW - STEP * i + BOX + BOX_HEIGHT / 2
        body += stream(
            [(x, top + 16), (x, top), (MEMORY, top), (MEMORY, y), (BOXES["decoder"][0], y)],
            "german",
            width=8,
            opacity=0.8,
        )
    body += _block("encoder", encoder) + _block("decoder", decoder)
    body += label((x + 18, top - 38), "memory", cls="bold", anchor="start", colour="german")
    body += label((x + 18, top - 21), _for_blocks(n_layers), cls="aside", anchor="start")
    body += label((STREAM["decoder"] - 30, 42), "to the output, 08", cls="aside", anchor="end")
    if final_norm:
        body += _norm((92, top)) + _norm((STREAM["decoder"], 50))
    for side in ("encoder", "decoder"):
        left, right = _ends(side)
        words = f"{side} block × {n_layers}"
        body += label(((left + right) / 2, LOW + 28), words, cls="aside bold")
    return Panel(
        title=TITLES[norm],
        description=_told("encoder", encoder, final_norm=final_norm)
        + _told("decoder", decoder, final_norm=final_norm)
        + f"There are {n_layers} blocks of each kind.",
        body=body,
        height=LOW + 40,
    )


def _for_blocks(n_layers: int) -> str:
    return "for every block" if n_layers > 1 else "for the one block"


def _top(n: int) -> float:
    """The upper edge of a block with ``n`` sublayers."""
    return LOW - STEP * (n - 1) + POST_NORM - 16


def _ends(side: Side) -> tuple[float, float]:
    """The left and the right edge of a block's frame."""
    left, width = BOXES[side]
    return (0.5, left + width + 4) if side == "encoder" else (left - 4, WIDTH - 0.5)


def _frame(side: Side, n: int) -> str:
    """What belongs to one block stands in one frame."""
    left, right = _ends(side)
    top = _top(n)
    return element(
        "rect",
        x=float(left),
        y=float(top),
        width=float(right - left),
        height=float(LOW + 14 - top),
        rx=10,
        fill="none",
        stroke=ink("hair"),
    )


def _band(side: Side, top: float) -> str:
    x = STREAM[side]
    if side == "encoder":
        top += 16  # the memory takes over
    return stream([(x, LOW + 14), (x, top)], LANGUAGES[side])


def _block(side: Side, parts: tuple[Sublayer, ...]) -> str:
    x = STREAM[side]
    left, width = BOXES[side]
    middle = left + width / 2
    inwards = 1 if side == "encoder" else -1
    edge, beside = x + 6 * inwards, x + 10 * inwards  # of the stream, and of the sum
    pill_edge = middle - 22 * inwards
    graphics = []
    for i, part in enumerate(parts):
        y = LOW - STEP * i
        box = y + BOX
        if part.norm == "pre":
            graphics += [
                arrow((edge, y), (pill_edge, y)),
                arrow((middle, y - 9), (middle, box + BOX_HEIGHT)),
                _norm((middle, y)),
            ]
        else:
            graphics.append(arrow((edge, y), (middle, y), (middle, box + BOX_HEIGHT)))
        graphics += [
            arrow((middle, box), (middle, y + SUM), (beside, y + SUM)),
            sublayer(
                (left, box),
                part.name.replace("_", "-"),
                width=width,
                height=BOX_HEIGHT,
                lesson=_aside(part),
                colour=LANGUAGES[side],
            ),
            sign((x, y + SUM)),
        ]
        if part.norm == "post":
            graphics.append(_norm((x, y + POST_NORM)))
    return "".join(graphics)


def _aside(part: Sublayer) -> str:
    words = [LESSONS[part.name]]
    if part.is_masked:
        words.append("past only")
    if part.reads_memory:
        words.append("k, v: memory")
    return " · ".join(words)


def _norm(at: Point) -> str:
    """A norm, as a pill with its middle at ``at``: what the two panels differ in."""
    width = text_width("norm", 12) + 12
    pill = element(
        "rect",
        x=at[0] - width / 2,
        y=at[1] - 8.5,
        width=width,
        height=17,
        rx=8.5,
        fill=ink("page"),
        stroke=ink("accent"),
        stroke_width=1.6,
    )
    return pill + label((at[0], at[1] - 0.5), "norm", cls="aside", colour="accent")


def _told(side: Side, parts: tuple[Sublayer, ...], *, final_norm: bool) -> str:
    """The block in words, from bottom to top."""
    steps = []
    for part in parts:
        name = part.name.replace("_", "-")
        name += " to the past only" if part.is_masked else ""
        name += " with keys and values from the memory" if part.reads_memory else ""
        steps += ["norm", name, "add"] if part.norm == "pre" else [name, "add", "norm"]
    last = f" The {side} ends with one more norm." if final_norm else ""
    return f"{side.capitalize()} block, from bottom to top: {', '.join(steps)}.{last} "
