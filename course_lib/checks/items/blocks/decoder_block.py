"""07.decoder_block: A block that writes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.adapters import use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.blocks.block_parts import (
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


def _decode_plainly(draw: Draw) -> list[Call]:
    sides = draw.normal(2, 4, 8, std=2) + 1, draw.normal(2, 6, 8)
    train = draw.normal(2, 5, 8), draw.normal(2, 3, 8)
    return [
        decode(draw, *sides, about="4 target words, 6 source words, no masks"),
        decode(draw, *train, about="training mode, dropout 0", train=True),
    ]


def _decode_masked(draw: Draw) -> list[Call]:
    sides, mask = (draw.normal(2, 4, 8), draw.normal(2, 5, 8)), padding(draw, 2, 5)
    return [
        decode(draw, *two_sides(draw, 3, 5, 5), about="both sides of one length"),
        decode(draw, *two_sides(draw, 3, 4, 6), about="the source is longer"),
        decode(draw, *two_sides(draw, 3, 6, 4, left=True), about="pads on the left"),
        decode(draw, *sides, memory_mask=mask, about="a mask for the memory alone"),
    ]


def _decode_sizes(draw: Draw) -> list[Call]:
    three = draw.normal(3, 3, 6), draw.normal(3, 3, 6), masks.causal_mask(3), padding(draw, 3, 3)
    strided = draw.strided(2, 4, 8), draw.strided(2, 5, 8)
    wide = (draw.normal(2, length, 8, dtype=torch.float64) for length in (3, 4))
    return [
        decode(draw, *two_sides(draw, 1, 1, 4), about="the first word of a translation"),
        decode(draw, *two_sides(draw, 2, 4, 1), about="a source of one word"),
        decode(draw, *three, about="three of everything", init=init_block(6, 3, 4, dropout=0.0)),
        decode(draw, *strided, about="not contiguous"),
        decode(draw, *wide, about="float64"),
    ]


def _decode_learning(draw: Draw) -> list[Call]:
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
        Probe("the target reads itself, then the memory, then thinks", _decode_plainly),
        Probe("each attention gets the mask of what it reads", _decode_masked),
        Probe("it holds for any sizes and any numbers", _decode_sizes),
        Probe("target, memory and all parameters get their gradients", _decode_learning),
        Probe("in evaluation mode nothing is dropped", _decode_evaluated),
        Probe(
            "dropout falls on what a sublayer returns, and on nothing else",
            through_dropout(decode, 2, 3),
            compare=compare_moments,
        ),
    ],
    hints=(
        "Three sublayers, three frames LayerNorm(x + Sublayer(x)). In which of them does the "
        "memory come in, and as what?",
        "Who asks is the query: always the target. Who is read is key and value: first the target, "
        "then the memory. A mask belongs to the keys.",
        "Two attentions, one feed-forward and three norms in the constructor. In forward, the "
        "middle line is x = self.norm_2(x + self.dropout(self.cross_attention(...))) with three "
        "inputs and one mask.",
    ),
)


class _Variant(DecoderBlock):
    """A decoder block in steps, so that a misconception can change one. own, its: the two masks."""

    def read_target(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_1(x + self.dropout(self.self_attention(x, x, x, own)))

    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(x, memory, memory, its)))

    def think(self, x: Tensor) -> Any:
        return self.norm_3(x + self.dropout(self.feed_forward(x)))

    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        x = self.read_target(x, memory, own, its)
        return self.think(self.read_memory(x, memory, own, its))

    def forward(
        self, x: Tensor, memory: Tensor, target_mask: Mask = None, memory_mask: Mask = None
    ) -> Any:
        return self.steps(x, memory, target_mask, memory_mask)


@item.misconception(
    "Your cross-attention gets the target's mask.",
    why="Its columns are source words. A mask that says 'target word 1 may read target words 0 and "
    "1' is taken to speak of source words. With equal lengths nothing complains.",
    hint="Which of the two masks was made from the tokens that cross-attention reads?",
)
class TargetMaskInCrossAttention(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().read_memory(x, memory, own, own)


@item.misconception(
    "Your two masks have changed places.",
    why="Self-attention reads the target: its mask hides the future and the target's pads. "
    "Cross-attention reads the source, and needs the source's padding.",
    hint="For each attention, say whose words its keys are.",
)
class MasksExchanged(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().steps(x, memory, its, own)


@item.misconception(
    "Your self-attention gets no mask: every target word reads the words that follow it.",
    why="The next word is the one to be predicted. In training the model copies it; in translation "
    "it is not there.",
    hint="One of forward's four arguments is not used where it should be.",
)
class FutureIsRead(_Variant):
    def read_target(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().read_target(x, memory, None, its)


@item.misconception(
    "Your cross-attention gets no mask: the source's pads are read like words.",
    why="A translation would depend on how much padding its batch needs.",
    hint="One of forward's four arguments is not used where it should be.",
)
class SourcePadsAreRead(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().read_memory(x, memory, own, None)


@item.misconception(
    "In your cross-attention query and key come from the memory, and the value from the target.",
    why="One write-up says so. But the one who asks is the target, and each key needs its own "
    "value. With equal lengths this runs, and later target words leak into earlier ones.",
    hint="Who reads? Who is read? What is read has a key and a value.",
)
class MemoryAsks(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(memory, memory, x, its)))


@item.misconception(
    "In your cross-attention the memory asks and the target is read.",
    why="That gives a row for each source word, which cannot be added to the target's rows unless "
    "both have one length.",
    hint="How many rows must the result have? The query decides it.",
)
class TargetIsRead(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(memory, x, x, its)))


@item.misconception(
    "Your cross-attention never reads the memory: query, key and value all come from the target.",
    why="It is the only bridge from source to target. Without it the decoder writes fluent "
    "sentences about nothing.",
    hint="Does a change of the memory change your output?",
)
class MemoryIsNeverRead(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(x, x, x, own)))


@item.misconception(
    "Your cross-attention has no residual: only what was read from the memory goes on.",
    why="Whatever the target words were is lost. The result is a mixture of source words, and "
    "the decoder no longer knows what it has written.",
    hint="Three frames, and each of them adds.",
)
class NoResidualAroundCrossAttention(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(self.dropout(self.cross_attention(x, memory, memory, its)))


@item.misconception(
    "Your cross-attention asks with the x that came into the block, not with what self-attention "
    "has made of it.",
    why="The query should know what is already written: so self-attention comes first, and its "
    "result asks.",
    hint="Which x do you hand to cross-attention?",
)
class AsksTooEarly(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        y = self.norm_1(x + self.dropout(self.self_attention(x, x, x, own)))
        y = self.norm_2(y + self.dropout(self.cross_attention(x, memory, memory, its)))
        return self.think(y)


@item.misconception(
    "Your block reads the memory first and itself afterwards.",
    why="In the paper self-attention comes first, so that the question put to the source knows "
    "what has been written.",
    hint="In which order does the task name the three sublayers?",
)
class MemoryFirst(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        x = self.norm_1(x + self.dropout(self.cross_attention(x, memory, memory, its)))
        x = self.norm_2(x + self.dropout(self.self_attention(x, x, x, own)))
        return self.think(x)


@item.misconception(
    "Your block uses one attention for both tasks: cross_attention is made and never used.",
    why="To read one's own sentence and to read another language are two skills, with matrices of "
    "their own. The unused ones never learn.",
    hint="Which of your parts get no gradient?",
)
class OneAttentionForBoth(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.self_attention(x, memory, memory, its)))


@item.misconception(
    "There is dropout inside your feed-forward: FeedForward has one of its own, 0.1 unless you say "
    "otherwise.",
    why="The paper drops what a sublayer returns, and nothing inside it. With dropout=0.0 your "
    "block would still be random.",
    hint="Look at the third argument of FeedForward.",
)
class DropoutInsideFeedForward(DecoderBlock):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.feed_forward = FeedForward(d_model, d_ff)


@item.misconception(
    "In training mode some numbers of your block's output are zero: dropout falls on the stream.",
    why="What dropout takes from a sublayer's result is still there in x. What it takes from the "
    "normed sum is lost.",
    hint="Dropout comes before the sum. What stands inside its brackets?",
)
class DropoutOnTheStream(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        x = self.dropout(self.norm_1(x + self.self_attention(x, x, x, own)))
        x = self.dropout(self.norm_2(x + self.cross_attention(x, memory, memory, its)))
        return self.dropout(self.norm_3(x + self.feed_forward(x)))


@item.misconception(
    "Your block drops nothing: in training mode equal sentences come out equal.",
    why="Dropout on each sublayer's result is part of the paper's recipe (section 5.4).",
    hint="What does your block do with its argument dropout?",
)
class NothingDropped(DecoderBlock):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, 0.0)
