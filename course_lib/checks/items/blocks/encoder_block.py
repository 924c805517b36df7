"""07.encoder_block: The encoder block."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.engine import Item, Probe, variation
from course_lib.checks.engine.adapters import use_module
from course_lib.checks.items.blocks.block_parts import (
    ENCODER_PROBES,
    EncoderBlock,
    Function,
    Mask,
    without_mask,
)
from course_lib.checks.items.blocks.shared_misconceptions import (
    add_dropout_on_the_sums,
    add_drops_always,
    add_mask_turned_round,
    add_mask_unused,
    add_norms_the_sublayer_only,
    add_one_norm_twice,
    add_one_output_not_dropped,
    dropouts,
    no_residual,
    norms_in_order,
)

item = Item(
    "07.encoder_block",
    reference=EncoderBlock,
    use=use_module,
    constructor_given=True,
    tolerance=1e-4,
    probes=[
        Probe("attention, then feed-forward, each as LayerNorm(x + Sublayer(x))", without_mask),
        *ENCODER_PROBES,
    ],
    hints=(
        "Write LayerNorm(x + Sublayer(x)) once for each of the two sublayers. What is the x "
        "of the second one?",
        "Query, key and value of attention are all x. What norm_1 returns is the x of the "
        "second sublayer. Dropout comes between a sublayer and its plus sign.",
        "Try it in numbers, without norms and dropout: if attention doubles its input, and "
        "feed-forward multiplies it by ten, x = 1 becomes 1 + 2 = 3, and this becomes 3 + 30 = "
        "33. Now apply dropout to the 2 and to the 30, and a norm to the 3 and to the 33. "
        "Attention takes query, key, value and mask, in this order.",
    ),
)


class _Steps(EncoderBlock):
    """An encoder block in steps; each misconception overrides one of them."""

    norms, drops = norms_in_order(1, 2), dropouts(1, 1)

    def attend(self, x: Tensor, mask: Mask) -> Tensor:
        return self.self_attention(x, x, x, mask)

    def frame(self, i: int, x: Tensor, update: Tensor) -> Tensor:
        return self.norms()[i](x + self.drops()[i](update))

    def residual_1(self, x: Tensor) -> Tensor:
        """What the output of attention is added to."""
        return x

    def residual_2(self, x: Tensor, y: Tensor) -> Tensor:
        """What the output of feed_forward is added to; x is the input of the block."""
        return y

    def transform(self, x: Tensor, y: Tensor) -> Tensor:
        return self.feed_forward(y)

    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.frame(0, self.residual_1(x), self.attend(x, mask))
        return self.frame(1, self.residual_2(x, y), self.transform(x, y))


item.add(
    variation(_Steps, "NoResidualAroundAttention", residual_1=no_residual),
    "There's no residual connection around attention: x isn't added to its output.",
    why="Attention returns a weighted average over all tokens. Without x, two blocks are enough to "
    "make the vectors of all tokens nearly equal.",
    hint="What is added to what inside the first norm?",
)
item.add(
    variation(_Steps, "NoResidualAroundFeedForward", residual_2=no_residual),
    "There's no residual connection around feed_forward.",
    why="Each sublayer should add to the residual stream, not replace it. Without the residual "
    "path, gradients have to pass through feed_forward, too.",
    hint="What is added to what inside the second norm?",
)


@item.misconception(
    "Your second residual connection adds the input of the block, not the output of norm_1.",
    why="Then the output of attention reaches the output of the block only through feed_forward.",
    hint="The sum of the second sublayer has two parts. Where does each of them come from?",
)
class ResidualFromTheStart(_Steps):
    def residual_2(self, x: Tensor, y: Tensor) -> Tensor:
        return x


@item.misconception(
    "Your feed_forward gets the input of the block, not the output of norm_1.",
    why="It should process what attention has gathered from the other tokens. Like this, it never "
    "sees it.",
    hint="What is the input of the second sublayer?",
)
class FeedForwardReadsTheStart(_Steps):
    def transform(self, x: Tensor, y: Tensor) -> Tensor:
        return super().transform(y, x)


@item.misconception(
    "Your block is pre-norm: it normalises the input of each sublayer, not the sum.",
    why="That's a good block, but it's a later task. In the paper the norm comes after the sum, so "
    "the output of the block is normalised.",
    hint="In LayerNorm(x + Sublayer(x)), what's inside the norm's brackets?",
)
class PreNormInstead(_Steps):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        norms, drops = self.norms(), self.drops()
        x = x + drops[0](self.attend(norms[0](x), mask))
        return x + drops[1](self.feed_forward(norms[1](x)))


add_norms_the_sublayer_only(item, _Steps)
add_one_norm_twice(item, _Steps, name="OneNormTwice")
item.add(
    variation(_Steps, "NormsSwapped", norms=norms_in_order(2, 1)),
    "Your two norms are swapped: norm_2 comes after attention, and norm_1 after feed_forward.",
    why="Each norm learns a weight and bias for its own sum. Weights that were trained with the "
    "names of the task would be loaded into the wrong norms.",
    hint="Which norm does the task give to attention?",
)
item.add(
    variation(_Steps, "SecondNormMissing", norms=norms_in_order(1, 0)),
    "A norm is missing: not both of your sums are normalised.",
    why="After each sum, a norm brings the residual stream back to one scale. And the weight and "
    "bias of a norm that isn't used are never trained.",
    hint="Which norm comes after each of your two sums, and do you go on with its result?",
)
for _order in ((0, 2), (0, 0)):
    item.spelling_with("SecondNormMissing", norms=norms_in_order(*_order))


@item.misconception(
    "Your norms don't use the weight and bias that the constructor created.",
    why="These are parameters that should be trained. One published system creates its norms "
    "inside forward, so they have none. In a model of the paper's size, 30,720 parameters "
    "are missing.",
    hint="The constructor has created two norms for you.",
)
class NormsMadeAnew(_Steps):
    def norms(self) -> list[Function]:
        return [lambda x: F.layer_norm(x, x.shape[-1:])] * 2


@item.misconception(
    "Your feed-forward network comes first.",
    why="In the paper attention is the first sublayer. Weights that were trained in the paper's "
    "order would load into your block and give nonsense.",
    hint="In which order does the task name the two sublayers?",
)
class FeedForwardFirst(_Steps):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.frame(0, x, self.feed_forward(x))
        return self.frame(1, x, self.attend(x, mask))


item.spelling_with("FeedForwardFirst", norms=norms_in_order(2, 1))
add_mask_unused(item, _Steps, name="MaskForgotten")
add_mask_turned_round(item, _Steps)


@item.misconception(
    "You apply dropout after the norm, so in training mode elements of the output are zero.",
    why="If an element of a sublayer's output is dropped, x is still there. If an element of the "
    "sum is dropped, it's lost. One published system does this.",
    hint="Dropout comes before the sum. What should be inside its brackets?",
)
class DropoutAfterTheNorm(_Steps):
    def frame(self, i: int, x: Tensor, update: Tensor) -> Tensor:
        return self.drops()[i](self.norms()[i](x + update))


add_dropout_on_the_sums(item, _Steps)
item.add(
    variation(_Steps, "NoDropout", drops=dropouts(0, 0)),
    "Nothing is dropped in training mode.",
    why="The paper applies dropout to the output of each sublayer (section 5.4). Without it, the "
    "constructor's argument has no effect.",
    hint="Where does your forward use self.dropout, and is its result what you add?",
)
add_one_output_not_dropped(
    item,
    _Steps,
    why="The paper applies dropout to the output of each sublayer (section 5.4), so that the model "
    "relies on none of them too much.",
)
add_drops_always(item, _Steps)


@item.misconception(
    "You apply dropout to the input of a sublayer, and not to its output.",
    why="The paper applies dropout to the output of each sublayer, before it is added (section "
    "5.4). Dropped from the input, an element is hidden from the whole sublayer.",
    hint="Does dropout come before or after the sublayer in your lines?",
)
class InputDropped(_Steps):
    drops = dropouts(0, 0)

    def attend(self, x: Tensor, mask: Mask) -> Tensor:
        return super().attend(self.dropout(x), mask)

    def transform(self, x: Tensor, y: Tensor) -> Tensor:
        return super().transform(x, self.dropout(y))
