"""07.pre_norm_encoder_block: Pre-norm: the norm goes first."""

from __future__ import annotations

from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe, variation
from course_lib.checks.engine.adapters import use_module
from course_lib.checks.items.blocks.block_parts import (
    ENCODER_PROBES,
    SUBLAYERS,
    Function,
    Mask,
    PreNormEncoderBlock,
    encode,
    without_mask,
    zero_out,
)
from course_lib.checks.items.blocks.shared_misconceptions import (
    add_drops_always,
    add_mask_turned_round,
    add_mask_unused,
    add_one_norm_twice,
    add_one_output_not_dropped,
    dropouts,
    no_residual,
    norms_in_order,
)


def _zeros(draw: Draw) -> list[Call]:
    call = encode(draw, draw.normal(2, 4, 8, std=3) + 1, about="both sublayers return zeros")
    return [zero_out(call, *SUBLAYERS)]


item = Item(
    "07.pre_norm_encoder_block",
    reference=PreNormEncoderBlock,
    use=use_module,
    constructor_given=True,
    tolerance=1e-4,
    probes=[
        Probe("attention, then feed-forward, each as x + Sublayer(LayerNorm(x))", without_mask),
        Probe("if both sublayers return zeros, the output is x", _zeros),
        *ENCODER_PROBES,
    ],
    hints=(
        "Follow x from the first line to the last. In this block it is never normalised "
        "itself. What is?",
        "There are two different things: the residual stream x, to which you add, and its "
        "normalised copy, which the sublayer gets. Query, key and value are all the copy.",
        "Try it in numbers: with a norm that divides by 10 and a sublayer that doubles its input, "
        "x = 10 becomes 10 + 2 · 1 = 12. In post-norm it would be (10 + 20) / 10 = 3. The second "
        "sublayer then starts from 12. There's no norm at the end, because that one belongs to "
        "the stack.",
    ),
)


class _Steps(PreNormEncoderBlock):
    """A pre-norm block in steps; each misconception overrides one of them.

    x is the residual stream, y its normalised copy.
    """

    norms, drops = norms_in_order(1, 2), dropouts(1, 1)

    def attend(self, x: Tensor, y: Tensor, mask: Mask) -> Tensor:
        return self.self_attention(y, y, y, mask)

    def frame(self, i: int, x: Tensor, update: Tensor) -> Tensor:
        return x + self.drops()[i](update)

    def residual_1(self, x: Tensor, y: Tensor) -> Tensor:
        """What the output of attention is added to."""
        return x

    def residual_2(self, x: Tensor, y: Tensor) -> Tensor:
        """What the output of feed_forward is added to."""
        return x

    def second(self, start: Tensor, x: Tensor) -> Tensor:
        """The second sublayer; start is the input of the block."""
        y = self.norms()[1](x)
        return self.frame(1, self.residual_2(x, y), self.feed_forward(y))

    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norms()[0](x)
        return self.second(x, self.frame(0, self.residual_1(x, y), self.attend(x, y, mask)))


@item.misconception(
    "Your block is post-norm: it normalises the sum.",
    why="Then there's no direct path through the block: the residual stream is normalised twice, "
    "and gradients have to pass through both norms.",
    hint="Each sublayer is used as x + Sublayer(LayerNorm(x)).",
)
class PostNormInstead(_Steps):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norms()[0](self.frame(0, x, self.attend(x, x, mask)))
        return self.norms()[1](self.frame(1, x, self.feed_forward(x)))


@item.misconception(
    "Only your first sublayer is pre-norm: the second is post-norm, and normalises the sum.",
    why="The second norm interrupts the direct path: nothing passes through the block unchanged.",
    hint="Compare your two sublayers. Where is the norm in each of them?",
)
class SecondIsPostNorm(_Steps):
    def second(self, start: Tensor, x: Tensor) -> Tensor:
        return self.norms()[1](self.frame(1, x, self.feed_forward(x)))


@item.misconception(
    "There's one more norm at the end of your block.",
    why="It interrupts the direct path, which is what pre-norm is about. A final norm comes once, "
    "after the last block, and belongs to the stack.",
    hint="What should your block return if both sublayers return zeros?",
)
class NormAtTheEnd(_Steps):
    last = 1

    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return self.norms()[self.last](super().forward(x, mask))


item.spelling_with("NormAtTheEnd", last=0)


@item.misconception(
    "You add the output of a sublayer to what you have normalised, not to the residual stream.",
    why="Pre-norm is about having a direct path from the first block to the last, and a norm on "
    "that path interrupts it.",
    hint="What is the output of each sublayer added to, and has that been through a norm?",
)
class AddsToTheCopy(_Steps):
    def residual_1(self, x: Tensor, y: Tensor) -> Tensor:
        return y

    def residual_2(self, x: Tensor, y: Tensor) -> Tensor:
        return y


item.spelling_with("AddsToTheCopy", residual_1=_Steps.residual_1)
item.spelling_with("AddsToTheCopy", residual_2=_Steps.residual_2)


@item.misconception(
    "You normalise only the query; key and value are x itself.",
    why="The input of a sublayer should be the normalised copy only. The residual stream grows "
    "from block to block, and keys and values would grow with it.",
    hint="How often should the copy occur in the call of attention?",
)
class OnlyTheQueryIsNormed(_Steps):
    def attend(self, x: Tensor, y: Tensor, mask: Mask) -> Tensor:
        return self.self_attention(y, x, x, mask)


item.add(
    variation(_Steps, "FirstNormMissing", norms=norms_in_order(0, 2)),
    "You don't normalise the input of attention: norm_1 has no effect.",
    why="The residual stream grows with each block, so the scale of attention's input would grow "
    "with it. And norm_1 would get no gradient.",
    hint="The input of both sublayers should be a normalised copy.",
)
item.add(
    variation(_Steps, "SecondNormMissing", norms=norms_in_order(1, 0)),
    "You don't normalise the input of feed_forward: norm_2 has no effect.",
    why="The residual stream grows with each block, so the scale of feed_forward's input would "
    "grow with it. And norm_2 would get no gradient.",
    hint="The input of both sublayers should be a normalised copy.",
)
add_one_norm_twice(item, _Steps, name="FirstNormTwice")
item.add(
    variation(_Steps, "NormsSwapped", norms=norms_in_order(2, 1)),
    "Your two norms are swapped: attention gets norm_2, and feed_forward gets norm_1.",
    why="Each norm learns a weight and bias for its own sublayer. Weights that were trained with "
    "the names of the task would be loaded into the wrong norms.",
    hint="Which norm does the task give to attention?",
)


@item.misconception(
    "You normalise the output of each sublayer, not its input.",
    why="Then the input of the sublayer grows with the residual stream, and what you add always "
    "has about the same norm, even if it should be small.",
    hint="The norm belongs inside the brackets of the sublayer.",
)
class NormsWhatIsReturned(_Steps):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        norms, drops = self.norms(), self.drops()
        x = x + norms[0](drops[0](self.attend(x, x, mask)))
        return x + norms[1](drops[1](self.feed_forward(x)))


@item.spelling("NormsWhatIsReturned")
class NormsThenDrops(_Steps):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        norms, drops = self.norms(), self.drops()
        x = x + drops[0](norms[0](self.attend(x, x, mask)))
        return x + drops[1](norms[1](self.feed_forward(x)))


@item.misconception(
    "Your feed_forward gets the x from before attention: both sublayers run in parallel.",
    why="Then it can't use what attention has gathered. Some later models do this on purpose, to "
    "save time, but it's a different function.",
    hint="Does norm_2 get the residual stream from before attention, or from after it?",
)
class SideBySide(_Steps):
    def second(self, start: Tensor, x: Tensor) -> Tensor:
        y = self.norms()[1](start)
        return self.frame(1, self.residual_2(x, y), self.feed_forward(y))


item.add(
    variation(_Steps, "StreamReplaced", residual_1=no_residual),
    "There's no residual connection around attention: its output replaces x.",
    why="Attention returns a weighted average over all tokens. The token's own vector is lost, and "
    "so is the direct path.",
    hint="Each sublayer adds to x.",
)
item.add(
    variation(_Steps, "StreamReplacedByFeedForward", residual_2=no_residual),
    "There's no residual connection around feed_forward: its output replaces x.",
    why="What attention has added reaches the next block only through feed_forward, and the direct "
    "path is gone.",
    hint="Each sublayer adds to x.",
)
add_mask_unused(item, _Steps, name="MaskUnused")
add_mask_turned_round(item, _Steps)
item.add(
    variation(_Steps, "DropoutUnused", drops=dropouts(0, 0)),
    "Nothing is dropped in training mode.",
    why="Dropout is applied to the output of each sublayer, in pre-norm blocks as in the paper's.",
    hint="Where does your forward use self.dropout, and is its result what you add?",
)
add_one_output_not_dropped(
    item,
    _Steps,
    why="Dropout is applied to the output of each sublayer, in pre-norm blocks as in the paper's.",
)


@item.misconception(
    "You apply dropout to the sum, so in training mode elements of the output are zero.",
    why="If an element of the residual stream is dropped, it's lost for all later blocks. If an "
    "element of a sublayer's output is dropped, x is still there.",
    hint="What should be inside the brackets of dropout: the sum, or what you add?",
)
class StreamDropped(_Steps):
    def frame(self, i: int, x: Tensor, update: Tensor) -> Tensor:
        return self.drops()[i](x + update)


@item.misconception(
    "You apply dropout to the normalised copy, before the sublayer and not after it.",
    why="Dropout is applied to the output of each sublayer, in pre-norm blocks as in the paper's.",
    hint="Does dropout come before or after the sublayer in your lines?",
)
class CopyDropped(_Steps):
    drops = dropouts(0, 0)

    def norms(self) -> list[Function]:
        return [lambda x: self.dropout(self.norm_1(x)), lambda x: self.dropout(self.norm_2(x))]


add_drops_always(item, _Steps)
