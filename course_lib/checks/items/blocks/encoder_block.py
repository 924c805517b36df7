"""07.encoder_block: The encoder block."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.adapters import use_module
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.blocks.block_parts import (
    ENCODER_PROBES,
    EncoderBlock,
    Mask,
    PreNormEncoderBlock,
    without_mask,
)

item = Item(
    "07.encoder_block",
    reference=EncoderBlock,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe("attention, then feed-forward, each as LayerNorm(x + Sublayer(x))", without_mask),
        *ENCODER_PROBES,
    ],
    hints=(
        "There are two sublayers, each used as LayerNorm(x + Sublayer(x)).",
        "Query, key and value are all x. The output of the first norm is the x of the second "
        "sublayer. Apply dropout to the output of a sublayer, before you add it.",
        "x = self.norm_1(x + self.dropout(self.self_attention(..., mask))), and then the same "
        "line with the other sublayer and the other norm.",
    ),
)


@item.misconception(
    "There's no residual connection around attention: you apply the norm to its output without x.",
    why="Attention returns a weighted average over all tokens. Without x, two blocks are enough to "
    "make the vectors of all tokens nearly equal.",
    hint="What is added to what inside the first norm?",
)
class NoResidualAroundAttention(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


@item.misconception(
    "There's no residual connection around feed_forward.",
    why="Each sublayer should add to the residual stream, not replace it. Without the residual "
    "path, gradients have to pass through feed_forward, too.",
    hint="Compare what's inside your two norms.",
)
class NoResidualAroundFeedForward(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your second residual connection adds the input of the block, not the output of norm_1.",
    why="Then the output of attention reaches the output of the block only through feed_forward.",
    hint="What is the input of the second sublayer?",
)
class ResidualFromTheStart(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(y)))


@item.misconception(
    "Your block is pre-norm: it normalises the input of each sublayer, not the sum.",
    why="That's a good block, but it's a later task. In the paper the norm comes after the sum, so "
    "the output of the block is normalised.",
    hint="In LayerNorm(x + Sublayer(x)), what's inside the norm's brackets?",
)
class PreNormInstead(PreNormEncoderBlock):
    pass


@item.misconception(
    "You normalise the output of each sublayer, and add x afterwards.",
    why="The sum itself is never normalised, so the residual stream grows with every block.",
    hint="Is x added inside or outside the norm's brackets?",
)
class NormsTheSublayerOnly(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return x + self.norm_2(self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your block uses norm_1 twice and norm_2 never.",
    why="Each norm has its own weight and bias. Those of norm_2 get no gradient, so they're never "
    "trained.",
    hint="Which submodules does your forward use, and how often?",
)
class OneNormTwice(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_1(x + self.dropout(self.feed_forward(x)))


@item.misconception(
    "Your norms don't use the weight and bias that the constructor created.",
    why="These are parameters that should be trained. In one published system norms are created "
    "inside forward, and 30,720 parameters don't exist for this reason.",
    hint="The constructor has created two norms for you.",
)
class NormsMadeAnew(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        width = x.shape[-1:]
        x = F.layer_norm(x + self.dropout(self.self_attention(x, x, x, mask)), width)
        return F.layer_norm(x + self.dropout(self.feed_forward(x)), width)


@item.misconception(
    "Your feed-forward network comes first.",
    why="In the paper attention is the first sublayer. Weights that were trained in the paper's "
    "order would load into your block and give nonsense.",
    hint="In which order does the task name the two sublayers?",
)
class FeedForwardFirst(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.feed_forward(x)))
        return self.norm_2(x + self.dropout(self.self_attention(x, x, x, mask)))


@item.misconception(
    "Your block takes a mask but doesn't use it, so padding gets weight like real tokens.",
    why="Then the result for a sentence depends on how much padding its batch needs.",
    hint="Which of the submodules needs the mask?",
)
class MaskForgotten(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x)


@item.misconception(
    "Your block inverts the mask before it passes it on.",
    why="In this course True always means: may attend. You never have to invert a mask.",
    hint="Look at how you pass the mask to attention.",
)
class MaskTurnedRound(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x, None if mask is None else ~mask)


@item.misconception(
    "You apply dropout after the norm, so in training mode elements of the output are zero.",
    why="If an element of a sublayer's output is dropped, x is still there. If an element of the "
    "sum is dropped, it's lost. One published system does this, and trains worse the deeper it is.",
    hint="Dropout comes before the sum. What should be inside its brackets?",
)
class DropoutAfterTheNorm(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.dropout(self.norm_1(x + self.self_attention(x, x, x, mask)))
        return self.dropout(self.norm_2(x + self.feed_forward(x)))


@item.misconception(
    "Nothing is dropped in training mode.",
    why="The paper applies dropout to the output of each sublayer (section 5.4). Without it, the "
    "constructor's argument has no effect.",
    hint="Your forward doesn't use one of the submodules that the constructor creates.",
)
class NoDropout(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.self_attention(x, x, x, mask))
        return self.norm_2(x + self.feed_forward(x))
