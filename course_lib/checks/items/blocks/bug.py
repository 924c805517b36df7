"""07.bug: The stream that is cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from course_lib.checks.adapters import load_weights
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.checks.items.blocks.block_parts import DecoderBlock, Mask, decode, two_sides

BUG = """\
def pre_norm_decoder_block(block, x, memory, target_mask, memory_mask):
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    x = y + block.cross_attention(y, memory, memory, memory_mask)
    y = block.norm_3(x)
    return x + block.feed_forward(y)
"""


def _pre_norm_decoder_block(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    x = x + block.cross_attention(y, memory, memory, memory_mask)
    return _think(block, x)


def _think(block: Any, x: Tensor) -> Tensor:
    thought: Tensor = block.feed_forward(block.norm_3(x))
    return x + thought


def _use_parts(
    subject: Callable[..., Any],
    *inputs: Any,
    init: Mapping[str, Any],
    weights: Mapping[str, Tensor],
) -> Any:
    """Hand a function the parts of a decoder block with these weights, and its inputs."""
    block = DecoderBlock(**init)
    load_weights(block, weights)
    return subject(block, *inputs)


def _unmasked(draw: Draw) -> list[Call]:
    sides = draw.normal(2, 4, 8, std=3) + 1, draw.normal(2, 6, 8), None, None
    return [decode(draw, *sides, about="a stream with a mean and a length of its own")]


def _both_masked(draw: Draw) -> list[Call]:
    return [
        decode(draw, *two_sides(draw, 3, 4, 6), about="the source is longer"),
        decode(draw, *two_sides(draw, 2, 5, 5), about="both of one length"),
    ]


def _straight_way(draw: Draw) -> list[Call]:
    inputs = two_sides(draw, 2, 4, 3)
    return [decode(draw, *inputs, about="the gradients of target and memory", gradients=True)]


item = Item(
    "07.bug",
    reference=_pre_norm_decoder_block,
    use=_use_parts,
    tolerance=1e-4,
    bug=Bug(BUG, line=5),
    probes=[
        Probe("each sublayer reads a normed copy and adds to the stream", _unmasked),
        Probe("both masks are still at work", _both_masked),
        Probe("the gradient has a straight way back to x", _straight_way),
    ],
    hints=(
        "y is always a normed copy, x is the stream. Say for each line what it does to the stream.",
        "Set all sublayers to zero in your mind. In a pre-norm block x must come out as it came "
        "in. Where is it changed?",
        "In three lines something is added. What is it added to, in each of them?",
    ),
)


@item.misconception(
    "The stream is still normed on its way through: what comes out is not x plus three results.",
    why="The straight path is cut in every block. A shallow model trains all the same, so nobody "
    "notices before it gets deep.",
    hint="Look at the left side of each plus.",
)
def still_from_the_copy(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    return _think(block, y + block.cross_attention(y, memory, memory, memory_mask))


@item.misconception(
    "Now x is added, but x asks as well: the query of cross-attention is no longer normed.",
    why="A sublayer reads the normed copy. The sum alone was to be mended.",
    hint="Change one letter, not two.",
)
def bare_query(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    return _think(block, x + block.cross_attention(x, memory, memory, memory_mask))


@item.misconception(
    "The residual around cross-attention is gone: only what was read from the memory goes on.",
    why="What the target words were is lost in every block.",
    hint="The line has to add to something. To what?",
)
def residual_removed(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    return _think(block, block.cross_attention(y, memory, memory, memory_mask))


@item.misconception(
    "You made the middle sublayer post-norm: the sum is normed.",
    why="Its neighbours are pre-norm. A norm around the sum cuts the straight path just as the bug "
    "did.",
    hint="The norms were right. Look at what is added to what.",
)
def middle_is_post_norm(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    return _think(block, block.norm_2(x + block.cross_attention(x, memory, memory, memory_mask)))


@item.misconception(
    "You norm the memory as well.",
    why="The memory has been normed by its own stack, with its own norm. norm_2 belongs to the "
    "target's stream.",
    hint="Keys and values were right. Look at what is added to what.",
)
def memory_normed(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y, memory = block.norm_2(x), block.norm_2(memory)
    return _think(block, x + block.cross_attention(y, memory, memory, memory_mask))
