"""07.bug: A broken residual stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import load_weights
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


Middle = Callable[[Any, Tensor, Tensor, Mask], Tensor]


def _middle(block: Any, x: Tensor, memory: Tensor, mask: Mask) -> Tensor:
    """The second sublayer, with the mask of the memory."""
    y = block.norm_2(x)
    return x + block.cross_attention(y, memory, memory, mask)


def _pre_norm_decoder_block(
    block: Any,
    x: Tensor,
    memory: Tensor,
    target_mask: Mask,
    memory_mask: Mask,
    *,
    middle: Middle = _middle,
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    x = middle(block, x, memory, memory_mask)
    y = block.norm_3(x)
    return x + block.feed_forward(y)


def _with_middle(middle: Middle) -> Callable[..., Tensor]:
    """The block with another second sublayer."""

    @wraps(middle)
    def pre_norm_decoder_block(*inputs: Any) -> Tensor:
        return _pre_norm_decoder_block(*inputs, middle=middle)

    return pre_norm_decoder_block


def _use_parts(
    subject: Callable[..., Any],
    x: Tensor,
    memory: Tensor,
    target_mask: Mask,
    memory_mask: Mask,
    *,
    init: Mapping[str, Any],
    weights: Mapping[str, Tensor],
) -> Any:
    """Call a function with a decoder block that has these weights, and its inputs."""
    block = DecoderBlock(**init)
    load_weights(block, weights)
    return subject(block, x, memory, target_mask, memory_mask)


def _unmasked(draw: Draw) -> list[Call]:
    sides = draw.normal(2, 4, 8, std=3) + 1, draw.normal(2, 6, 8), None, None
    return [decode(draw, *sides, about="no masks, and x with another mean and variance")]


def _both_masked(draw: Draw) -> list[Call]:
    return [
        decode(draw, *two_sides(draw, 3, 4, 6), about="the source is longer"),
        decode(draw, *two_sides(draw, 2, 5, 5), about="source and target of the same length"),
    ]


def _gradients(draw: Draw) -> list[Call]:
    inputs = two_sides(draw, 2, 4, 3)
    return [decode(draw, *inputs, about="the gradients of target and memory", gradients=True)]


item = Item(
    "07.bug",
    reference=_pre_norm_decoder_block,
    use=_use_parts,
    tolerance=1e-4,
    bug=Bug(BUG, line=5),
    probes=[
        Probe("each sublayer is used as x + Sublayer(LayerNorm(x))", _unmasked),
        Probe("both masks still work", _both_masked),
        Probe("the gradient flows directly back to x", _gradients),
    ],
    hints=(
        "y is always a normalised copy, and x is the residual stream. For each line, say what "
        "it does to the residual stream.",
        "Imagine that all sublayers return zeros. A pre-norm block should then return x unchanged. "
        "Which line changes it?",
        "In three lines something is added. In each of them, what is it added to?",
    ),
)


@item.misconception(
    "Your block still normalises the residual stream: its output isn't x plus three sublayer "
    "outputs.",
    why="The direct path is interrupted in every block. A shallow model trains anyway, so you "
    "wouldn't notice until you train a deep one.",
    hint="What is the output of each sublayer added to, and has that been through a norm?",
)
@_with_middle
def still_from_the_copy(block: Any, x: Tensor, memory: Tensor, mask: Mask) -> Tensor:
    y = block.norm_2(x)
    return y + block.cross_attention(y, memory, memory, mask)


@item.misconception(
    "Now x is added, but x is also the query: the query of cross-attention is no longer "
    "normalised.",
    why="The input of a sublayer should be the normalised copy. Only the sum was wrong.",
    hint="What does cross-attention get as its query: the stream, or its normalised copy? There, "
    "the line was right.",
)
@_with_middle
def bare_query(block: Any, x: Tensor, memory: Tensor, mask: Mask) -> Tensor:
    return x + block.cross_attention(x, memory, memory, mask)


@item.misconception(
    "The residual connection around cross-attention is gone.",
    why="The target tokens' own vectors are lost in every block.",
    hint="The output of cross-attention has to be added to something. To what?",
)
@_with_middle
def residual_removed(block: Any, x: Tensor, memory: Tensor, mask: Mask) -> Tensor:
    return block.cross_attention(block.norm_2(x), memory, memory, mask)


@item.misconception(
    "You made the middle sublayer post-norm: it normalises the sum.",
    why="The other two are pre-norm. A norm around the sum interrupts the direct path just like "
    "the bug did.",
    hint="The norms were right. Look at what is added to what.",
)
@_with_middle
def middle_is_post_norm(block: Any, x: Tensor, memory: Tensor, mask: Mask) -> Tensor:
    return block.norm_2(x + block.cross_attention(x, memory, memory, mask))


@item.misconception(
    "You normalise the memory, too.",
    why="The memory has already been normalised, by the encoder's last norm. norm_2 belongs to the "
    "residual stream of the target.",
    hint="Keys and values were right. Look at what is added to what.",
)
@_with_middle
def memory_normed(block: Any, x: Tensor, memory: Tensor, mask: Mask) -> Tensor:
    y, memory = block.norm_2(x), block.norm_2(memory)
    return x + block.cross_attention(y, memory, memory, mask)
