"""07.pre_norm_encoder_block: Pre-norm: the norm goes first."""

from __future__ import annotations

from torch import Tensor

from course_lib.checks.adapters import use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.blocks.block_parts import (
    ENCODER_PROBES,
    SUBLAYERS,
    EncoderBlock,
    Mask,
    PreNormEncoderBlock,
    encode,
    without_mask,
    zero_out,
)


def _zeros(draw: Draw) -> list[Call]:
    call = encode(draw, draw.normal(2, 4, 8, std=3) + 1, about="both sublayers return zeros")
    return [zero_out(call, *SUBLAYERS)]


item = Item(
    "07.pre_norm_encoder_block",
    reference=PreNormEncoderBlock,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe("attention, then feed-forward, each as x + Sublayer(LayerNorm(x))", without_mask),
        Probe("if both sublayers return zeros, the output is x", _zeros),
        *ENCODER_PROBES,
    ],
    hints=(
        "Each sublayer is used as x + Sublayer(LayerNorm(x)). What is never normalised?",
        "There are two different things: the residual stream x, which you add to, and its "
        "normalised copy, the input of the sublayer. Query, key and value are all the copy.",
        "y = self.norm_1(x), then x = x + self.dropout(self.self_attention(...)), and the same "
        "again for the other sublayer. There's no norm at the end: that one belongs to the stack.",
    ),
)


@item.misconception(
    "Your block is post-norm: it normalises the sum.",
    why="Then there's no direct path through the block: the residual stream is normalised twice, "
    "and gradients have to pass through both norms.",
    hint="Each sublayer is used as x + Sublayer(LayerNorm(x)).",
)
class PostNormInstead(EncoderBlock):
    pass


@item.misconception(
    "You add to the normalised copy, not to the residual stream.",
    why="Pre-norm is about having a direct path from the first block to the last, and here each "
    "norm interrupts it.",
    hint="Your code has x and a normalised copy. Which of them is to the left of the plus?",
)
class AddsToTheCopy(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x)
        x = x + self.dropout(self.self_attention(x, x, x, mask))
        x = self.norm_2(x)
        return x + self.dropout(self.feed_forward(x))


@item.misconception(
    "You normalise only the query; key and value are x itself.",
    why="The input of a sublayer should be the normalised copy only. The residual stream grows "
    "from block to block, and keys and values would grow with it.",
    hint="How often should the copy occur in the call of attention?",
)
class OnlyTheQueryIsNormed(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.dropout(self.self_attention(self.norm_1(x), x, x, mask))
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


@item.misconception(
    "You don't normalise the input of feed_forward: norm_2 is missing.",
    why="The residual stream grows with each block, so the scale of feed_forward's input would "
    "grow with it. And norm_2 would get no gradient.",
    hint="The input of both sublayers should be a normalised copy.",
)
class SecondNormMissing(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.dropout(self.self_attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(x))


@item.misconception(
    "Your block uses norm_1 twice and norm_2 never.",
    why="Each norm has its own weight and bias. Those of norm_2 get no gradient, so they're never "
    "trained.",
    hint="Which submodules does your forward use, and how often?",
)
class FirstNormTwice(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.dropout(self.self_attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norm_1(x)))


@item.misconception(
    "You normalise the output of each sublayer, not its input.",
    why="Then the input of the sublayer grows with the residual stream, and its output always has "
    "the same norm, even if it should be small.",
    hint="The norm belongs inside the brackets of the sublayer.",
)
class NormsWhatIsReturned(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return x + self.norm_2(self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your feed_forward gets the x from before attention: both sublayers run in parallel.",
    why="Then it can't use what attention has gathered. Some later models do this on purpose, to "
    "save time, but it's a different function.",
    hint="Which x does norm_2 get?",
)
class SideBySide(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        found = self.dropout(self.self_attention(y, y, y, mask))
        return x + found + self.dropout(self.feed_forward(self.norm_2(x)))


@item.misconception(
    "There's no residual connection around attention: its output replaces x.",
    why="Attention returns a weighted average over all tokens. The token's own vector is lost, and "
    "so is the direct path.",
    hint="Each sublayer adds to x.",
)
class StreamReplaced(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = self.dropout(self.self_attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


@item.misconception(
    "Your block takes a mask but doesn't use it, so padding gets weight like real tokens.",
    why="Then the result for a sentence depends on how much padding its batch needs.",
    hint="Which of the submodules needs the mask?",
)
class MaskUnused(PreNormEncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x)


@item.misconception(
    "Nothing is dropped in training mode.",
    why="Dropout is applied to the output of each sublayer, in pre-norm blocks as in the paper's.",
    hint="Your forward doesn't use one of the submodules that the constructor creates.",
)
class DropoutUnused(PreNormEncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.self_attention(y, y, y, mask)
        return x + self.feed_forward(self.norm_2(x))


@item.misconception(
    "You apply dropout to the sum, so in training mode elements of the output are zero.",
    why="If an element of the residual stream is dropped, it's lost for all later blocks. If an "
    "element of a sublayer's output is dropped, x is still there.",
    hint="What should be inside the brackets of dropout: the sum, or what you add?",
)
class StreamDropped(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = self.dropout(x + self.self_attention(y, y, y, mask))
        return self.dropout(x + self.feed_forward(self.norm_2(x)))
