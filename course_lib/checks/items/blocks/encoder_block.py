"""07.encoder_block: A block that reads."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.adapters import use_module
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.blocks.block_parts import (
    EncoderBlock,
    Mask,
    PreNormEncoderBlock,
    compare_moments,
    encode,
    evaluated,
    learning,
    masked,
    plain,
    sizes,
    through_dropout,
)

item = Item(
    "07.encoder_block",
    reference=EncoderBlock,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe("attention, then feed-forward: each is added, and the sum normed", plain),
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
        "Two sublayers, one frame around each: LayerNorm(x + Sublayer(x)).",
        "Query, key and value are all made from x. What comes out of the first frame is the x of "
        "the second. Dropout acts on what the sublayer returns, before it is added.",
        "x = self.norm_1(x + self.dropout(self.self_attention(..., mask))), and then the same "
        "frame with the other sublayer and the other norm.",
    ),
)


@item.misconception(
    "Your attention has no residual: its result is normed, and x itself is gone.",
    why="Attention returns a mixture of all words. With nothing added to it, two blocks are enough "
    "to make all words of a sentence alike.",
    hint="What is added to what, inside the first norm?",
)
class NoResidualAroundAttention(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your feed-forward has no residual: what attention gathered goes through it and is not kept.",
    why="Each sublayer is meant to add something to the stream, not to replace it. The gradient "
    "loses its short way back, too.",
    hint="Compare the insides of your two norms.",
)
class NoResidualAroundFeedForward(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your second residual adds the x that came into the block, not the one after the first norm.",
    why="What attention found then reaches the output only through feed-forward, and the first "
    "norm is by-passed.",
    hint="After the first frame, which x does the second one begin with?",
)
class ResidualFromTheStart(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(y)))


@item.misconception(
    "Your block is pre-norm: it norms what a sublayer reads, and leaves the sum alone.",
    why="That is a good block, and another task. The paper's norms come after the sum, so the "
    "block's output is normed.",
    hint="In LayerNorm(x + Sublayer(x)), what stands inside the norm's brackets?",
)
class PreNormInstead(PreNormEncoderBlock):
    pass


@item.misconception(
    "You norm what the sublayer returns, and add it to x afterwards.",
    why="The sum itself is never normed, so the stream grows with every block.",
    hint="Is the residual inside or outside the norm's brackets?",
)
class NormsTheSublayerOnly(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return x + self.norm_2(self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your block uses its first norm twice and its second never.",
    why="Each norm has a scale and a shift of its own to learn. The forgotten ones get no gradient "
    "and stay as they were.",
    hint="Which parameters does your forward name, and how often?",
)
class OneNormTwice(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_1(x + self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your norms have no scale and no shift: they are made anew whenever the block runs.",
    why="What is made inside forward is thrown away with it. In one published system 30,720 "
    "parameters never existed for this reason.",
    hint="The constructor has made two norms for you.",
)
class NormsMadeAnew(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        width = x.shape[-1:]
        x = F.layer_norm(x + self.dropout(self.self_attention(x, x, x, mask)), width)
        return F.layer_norm(x + self.dropout(self.feed_forward(x)), width)


@item.misconception(
    "Your block thinks before it gathers: feed-forward comes first.",
    why="In the paper attention is the first sublayer. The parameters would fit, and a model "
    "trained the other way would give nonsense.",
    hint="In which order does the task name the two sublayers?",
)
class FeedForwardFirst(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.feed_forward(x)))
        return self.norm_2(x + self.dropout(self.self_attention(x, x, x, mask)))


@item.misconception(
    "Your block takes a mask and does nothing with it: pads are read like words.",
    why="A sentence's vectors would depend on how much padding its batch needs.",
    hint="Follow the mask from the brackets of forward to the one place that needs it.",
)
class MaskForgotten(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x)


@item.misconception(
    "Your block hands on the mask turned round: what may be read is hidden.",
    why="In this course True means may be read, from the mask to the softmax. Nothing on the way "
    "has to be turned.",
    hint="Look at how you pass the mask to attention.",
)
class MaskTurnedRound(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x, None if mask is None else ~mask)


@item.misconception(
    "In training mode some numbers of your block's output are zero: dropout falls on the stream.",
    why="What dropout takes from a sublayer's result is still there in x. What it takes from the "
    "normed sum is lost. One published system does this, and trains worse the deeper it is.",
    hint="Dropout comes before the sum. What stands inside its brackets?",
)
class DropoutAfterTheNorm(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.dropout(self.norm_1(x + self.self_attention(x, x, x, mask)))
        return self.dropout(self.norm_2(x + self.feed_forward(x)))


@item.misconception(
    "Your block drops nothing: in training mode equal sentences come out equal.",
    why="Dropout on each sublayer's result is part of the paper's recipe (section 5.4), and the "
    "constructor's argument would have no effect.",
    hint="One part that the constructor has made does not occur in your forward.",
)
class NoDropout(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.self_attention(x, x, x, mask))
        return self.norm_2(x + self.feed_forward(x))
