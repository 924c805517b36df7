"""07.decoder_block: The decoder block."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.adapters import use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.blocks.block_parts import (
    DROPOUT,
    DecoderBlock,
    Mask,
    compare_moments,
    decode,
    init_block,
    padding,
    through_dropout,
    two_sides,
)
from course_lib.model import FeedForward, masks


def _decode_without_masks(draw: Draw) -> list[Call]:
    sides = draw.normal(2, 4, 8, std=2) + 1, draw.normal(2, 6, 8)
    train = draw.normal(2, 5, 8), draw.normal(2, 3, 8)
    return [
        decode(draw, *sides, about="4 target tokens, 6 source tokens, no masks"),
        decode(draw, *train, about="training mode, dropout 0", train=True),
    ]


def _decode_masked(draw: Draw) -> list[Call]:
    sides, mask = (draw.normal(2, 4, 8), draw.normal(2, 5, 8)), padding(draw, 2, 5)
    return [
        decode(draw, *two_sides(draw, 3, 5, 5), about="source and target of the same length"),
        decode(draw, *two_sides(draw, 3, 4, 6), about="the source is longer"),
        decode(draw, *two_sides(draw, 3, 6, 4, left=True), about="padding on the left"),
        decode(draw, *sides, memory_mask=mask, about="only memory_mask"),
    ]


def _decode_sizes(draw: Draw) -> list[Call]:
    three = draw.normal(3, 3, 6), draw.normal(3, 3, 6), masks.causal_mask(3), padding(draw, 3, 3)
    strided = draw.strided(2, 4, 8), draw.strided(2, 5, 8)
    wide = (draw.normal(2, length, 8, dtype=torch.float64) for length in (3, 4))
    return [
        decode(draw, *two_sides(draw, 1, 1, 4), about="a target of one token"),
        decode(draw, *two_sides(draw, 2, 4, 1), about="a source of one token"),
        decode(
            draw,
            *three,
            about="3 sentences, 3 tokens on either side, 3 heads",
            init=init_block(6, 3, 4, dropout=0.0),
        ),
        decode(draw, *strided, about="tensors that are not contiguous"),
        decode(draw, *wide, about="float64"),
    ]


def _decode_gradients(draw: Draw) -> list[Call]:
    one, other = two_sides(draw, 2, 4, 3), two_sides(draw, 2, 3, 4)
    return [
        decode(draw, *one, about="the gradients of target and memory", gradients=True),
        decode(draw, *other, about="the gradients of the parameters", learns=True),
    ]


def _decode_evaluated(draw: Draw) -> list[Call]:
    inputs = two_sides(draw, 2, 4, 3)
    return [decode(draw, *inputs, about="dropout 0.9", init=init_block(dropout=0.9))]


item = Item(
    "07.decoder_block",
    reference=DecoderBlock,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe("self-attention, then cross-attention, then feed-forward", _decode_without_masks),
        Probe("each attention gets the mask of its own keys", _decode_masked),
        Probe("it works for any sizes", _decode_sizes),
        Probe("target, memory and all parameters get gradients", _decode_gradients),
        Probe("nothing is dropped in evaluation mode", _decode_evaluated),
        Probe(DROPOUT, through_dropout(decode, 2, 3), compare_moments),
    ],
    hints=(
        "There are three sublayers, each used as LayerNorm(x + Sublayer(x)). Which of them uses "
        "the memory, and as what?",
        "The query is always the target. Key and value are first the target, then the memory. A "
        "mask belongs to the keys.",
        "The constructor creates two attentions, one feed-forward network and three norms. In "
        "forward, the middle line is x = self.norm_2(x + self.dropout(self.cross_attention(...))) "
        "with three inputs and one mask.",
    ),
)


class _Variant(DecoderBlock):
    """A decoder block in steps; each misconception overrides one of them.

    own, its: the masks of target and memory.
    """

    def attend_to_target(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_1(x + self.dropout(self.self_attention(x, x, x, own)))

    def attend_to_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(x, memory, memory, its)))

    def transform(self, x: Tensor) -> Any:
        return self.norm_3(x + self.dropout(self.feed_forward(x)))

    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        x = self.attend_to_target(x, memory, own, its)
        return self.transform(self.attend_to_memory(x, memory, own, its))

    def forward(
        self, x: Tensor, memory: Tensor, target_mask: Mask = None, memory_mask: Mask = None
    ) -> Any:
        return self.steps(x, memory, target_mask, memory_mask)


@item.misconception(
    "Your cross-attention gets the target's mask.",
    why="Its keys are source tokens, so its mask has to be about source tokens, too. If source and "
    "target have the same length, the wrong mask raises no error.",
    hint="Which of the two masks was computed from the tokens that are keys in cross-attention?",
)
class TargetMaskInCrossAttention(_Variant):
    def attend_to_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().attend_to_memory(x, memory, own, own)


@item.misconception(
    "Your two masks are swapped.",
    why="In self-attention the keys are the target, and the mask hides the future and the target's "
    "padding. In cross-attention the keys are the source, and the mask hides the source's padding.",
    hint="For each attention, ask which tokens its keys are.",
)
class MasksExchanged(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().steps(x, memory, its, own)


@item.misconception(
    "Your self-attention gets no mask, so each target token attends to the tokens after it.",
    why="The next token is the one to predict. In training the model simply copies it; when it "
    "translates, that token doesn't exist yet.",
    hint="One of forward's four arguments isn't used where it should be.",
)
class FutureIsRead(_Variant):
    def attend_to_target(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().attend_to_target(x, memory, None, its)


@item.misconception(
    "Your cross-attention gets no mask, so the source's padding gets weight like real tokens.",
    why="Then a translation depends on how much padding its batch needs.",
    hint="One of forward's four arguments isn't used where it should be.",
)
class SourcePadsAreRead(_Variant):
    def attend_to_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().attend_to_memory(x, memory, own, None)


@item.misconception(
    "In your cross-attention query and key come from the memory, and the value from the target.",
    why="One article describes it like this. But the query should come from the target, and each "
    "key needs its own value. If both lengths are equal this runs, and information from later "
    "target tokens leaks to earlier ones.",
    hint="Which side attends, and which side is attended to? The latter gives both key and value.",
)
class MemoryAsks(_Variant):
    def attend_to_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(memory, memory, x, its)))


@item.misconception(
    "In your cross-attention the memory is the query, and the target is key and value.",
    why="That gives one row per source token, which you can't add to the target's rows unless both "
    "have the same length.",
    hint="How many rows should the result have? The query determines that.",
)
class TargetIsRead(_Variant):
    def attend_to_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(memory, x, x, its)))


@item.misconception(
    "Your cross-attention doesn't use the memory: query, key and value all come from the target.",
    why="Cross-attention is the only connection between source and target. Without it, the decoder "
    "is a language model that ignores the source.",
    hint="Does your output change if the memory changes?",
)
class MemoryIsNeverRead(_Variant):
    def attend_to_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(x, x, x, own)))


@item.misconception(
    "There's no residual connection around cross-attention.",
    why="Its output is a weighted average of source tokens. Without x, the decoder loses the "
    "target tokens that it has generated so far.",
    hint="There are three sublayers, and each of them adds to x.",
)
class NoResidualAroundCrossAttention(_Variant):
    def attend_to_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(self.dropout(self.cross_attention(x, memory, memory, its)))


@item.misconception(
    "The query of your cross-attention is the input of the block, not the result of "
    "self-attention.",
    why="The query should contain information on the target so far. That's why self-attention "
    "comes first and its result is the query.",
    hint="Which x do you pass to cross-attention?",
)
class AsksTooEarly(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        y = self.norm_1(x + self.dropout(self.self_attention(x, x, x, own)))
        y = self.norm_2(y + self.dropout(self.cross_attention(x, memory, memory, its)))
        return self.transform(y)


@item.misconception(
    "In your block cross-attention comes first and self-attention second.",
    why="In the paper self-attention comes first, so that the query of cross-attention contains "
    "information on the target so far.",
    hint="In which order does the task name the three sublayers?",
)
class MemoryFirst(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        x = self.norm_1(x + self.dropout(self.cross_attention(x, memory, memory, its)))
        x = self.norm_2(x + self.dropout(self.self_attention(x, x, x, own)))
        return self.transform(x)


@item.misconception(
    "Your block uses self_attention twice and never uses cross_attention.",
    why="Attending to the target and attending to the source are different tasks, and each needs "
    "its own weights. Those of cross_attention would get no gradient.",
    hint="Which of your submodules get no gradient?",
)
class OneAttentionForBoth(_Variant):
    def attend_to_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.self_attention(x, memory, memory, its)))


@item.misconception(
    "There's dropout inside your FeedForward: its default rate is 0.1.",
    why="The paper applies dropout to the output of a sublayer, not inside it. Even with "
    "dropout=0.0, your block would be random in training mode.",
    hint="Look at the third argument of FeedForward.",
)
class DropoutInsideFeedForward(DecoderBlock):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.feed_forward = FeedForward(d_model, d_ff)


@item.misconception(
    "You apply dropout after the norm, so in training mode elements of the output are zero.",
    why="If an element of a sublayer's output is dropped, x is still there. If an element of the "
    "sum is dropped, it's lost.",
    hint="Dropout comes before the sum. What should be inside its brackets?",
)
class DropoutOnTheStream(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        x = self.dropout(self.norm_1(x + self.self_attention(x, x, x, own)))
        x = self.dropout(self.norm_2(x + self.cross_attention(x, memory, memory, its)))
        return self.dropout(self.norm_3(x + self.feed_forward(x)))


@item.misconception(
    "Nothing is dropped in training mode.",
    why="The paper applies dropout to the output of each sublayer (section 5.4).",
    hint="What does your block do with its argument dropout?",
)
class NothingDropped(DecoderBlock):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, 0.0)
