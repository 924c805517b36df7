"""07.pre_norm_encoder_block: The norm goes first."""

from __future__ import annotations

from torch import Tensor

from course_lib.checks.adapters import use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.blocks.block_parts import (
    SUBLAYERS,
    EncoderBlock,
    Mask,
    PreNormEncoderBlock,
    compare_moments,
    encode,
    evaluated,
    learning,
    masked,
    plain,
    silence,
    sizes,
    through_dropout,
)


def _silenced(draw: Draw) -> list[Call]:
    call = encode(draw, draw.normal(2, 4, 8, std=3) + 1, about="both sublayers return zeros")
    return [silence(call, *SUBLAYERS)]


item = Item(
    "07.pre_norm_encoder_block",
    reference=PreNormEncoderBlock,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe("each sublayer reads a normed copy and adds to the stream", plain),
        Probe("sublayers that return zeros leave the stream as it was", _silenced),
        Probe("what the mask hides is not read", masked),
        Probe("it holds for any sizes and any numbers", sizes),
        Probe("the input and all parameters get their gradients", learning),
        Probe("in evaluation mode nothing is dropped", evaluated),
        Probe(
            "dropout falls on what a sublayer returns, and on nothing else",
            through_dropout(encode, 2),
            compare=compare_moments,
        ),
    ],
    hints=(
        "The frame is x + Sublayer(LayerNorm(x)). What is never normed?",
        "Keep two things apart: the stream x, to which things are added, and its normed copy, "
        "which the sublayer reads. Query, key and value are all made from the copy.",
        "y = self.norm_1(x), then x = x + self.dropout(self.self_attention(...)), and the same "
        "once more for the other sublayer. No norm at the end: that one belongs to the stack.",
    ),
)


@item.misconception(
    "Your block is post-norm: it norms the sum.",
    why="Then nothing passes straight through: the stream is normed twice in every block, and the "
    "gradient has to go through both norms on its way back.",
    hint="The frame is x + Sublayer(LayerNorm(x)).",
)
class PostNormInstead(EncoderBlock):
    pass


@item.misconception(
    "You add to the normed copy, not to the stream.",
    why="The straight path from the first block to the last is cut at each norm, and that path is "
    "the whole point of pre-norm.",
    hint="Your code has an x and its normed copy. Which of them is on the left of the plus?",
)
class AddsToTheCopy(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x)
        x = x + self.dropout(self.self_attention(x, x, x, mask))
        x = self.norm_2(x)
        return x + self.dropout(self.feed_forward(x))


@item.misconception(
    "Only your query is normed; key and value are made from the bare stream.",
    why="A sublayer must read the normed copy and nothing else. The bare stream grows from block "
    "to block, and its keys and values would grow with it.",
    hint="How often does the copy occur between the brackets of attention?",
)
class OnlyTheQueryIsNormed(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.dropout(self.self_attention(self.norm_1(x), x, x, mask))
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


@item.misconception(
    "Your feed-forward reads the bare stream: the second norm is missing.",
    why="The stream grows with each block, so feed-forward would meet other sizes in each of them. "
    "And norm_2 would never learn.",
    hint="Both sublayers read a normed copy.",
)
class SecondNormMissing(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.dropout(self.self_attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(x))


@item.misconception(
    "Your block uses its first norm twice and its second never.",
    why="Each norm has a scale and a shift of its own to learn. The others get no gradient.",
    hint="Which parameters does your forward name, and how often?",
)
class FirstNormTwice(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.dropout(self.self_attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norm_1(x)))


@item.misconception(
    "You norm what a sublayer returns, not what it reads.",
    why="The sublayer then reads the bare stream, and what it adds has a fixed length however "
    "little it has to say.",
    hint="The norm stands inside the brackets of the sublayer.",
)
class NormsWhatIsReturned(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return x + self.norm_2(self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your feed-forward reads the stream as it was before attention: both sublayers start from the "
    "same x.",
    why="Then it cannot think about what attention has gathered. Some later models do this on "
    "purpose, to save time. Here it is another function.",
    hint="Which x does the second norm get?",
)
class SideBySide(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        found = self.dropout(self.self_attention(y, y, y, mask))
        return x + found + self.dropout(self.feed_forward(self.norm_2(x)))


@item.misconception(
    "Your attention has no residual: the stream is replaced by what was found.",
    why="Attention returns a mixture of all words. What each word was is gone, and so is the "
    "straight path.",
    hint="Each sublayer adds to x.",
)
class StreamReplaced(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = self.dropout(self.self_attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


@item.misconception(
    "Your block takes a mask and does nothing with it: pads are read like words.",
    why="A sentence's vectors would depend on how much padding its batch needs.",
    hint="Follow the mask from the brackets of forward to the one place that needs it.",
)
class MaskUnused(PreNormEncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x)


@item.misconception(
    "Your block drops nothing: in training mode equal sentences come out equal.",
    why="Dropout acts on each sublayer's result, in pre-norm blocks as in the paper's.",
    hint="One part that the constructor has made does not occur in your forward.",
)
class DropoutUnused(PreNormEncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.self_attention(y, y, y, mask)
        return x + self.feed_forward(self.norm_2(x))


@item.misconception(
    "In training mode some numbers of your block's output are zero: dropout falls on the stream.",
    why="What is dropped from the stream is lost for all blocks to come. What is dropped from a "
    "sublayer's result is still there in x.",
    hint="What stands inside the brackets of dropout: the sum, or what is to be added?",
)
class StreamDropped(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = self.dropout(x + self.self_attention(y, y, y, mask))
        return self.dropout(x + self.feed_forward(self.norm_2(x)))
