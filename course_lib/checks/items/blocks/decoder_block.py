"""07.decoder_block: The decoder block."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe, variation
from course_lib.checks.engine.adapters import use_module
from course_lib.checks.items.blocks.block_parts import (
    SUBLAYERS,
    TINY,
    DecoderBlock,
    Mask,
    decode,
    dropout_probes,
    init_block,
    padding,
    plain_norms,
    two_sides,
    zero_out,
)
from course_lib.checks.items.blocks.shared_misconceptions import (
    add_dropout_on_the_sums,
    add_drops_always,
    add_norms_the_sublayer_only,
    dropouts,
    no_residual,
    norms_in_order,
)
from course_lib.model import MultiHeadAttention, masks


def _decode_without_masks(draw: Draw) -> list[Call]:
    sides = draw.normal(2, 4, 8, std=2) + 1, draw.normal(2, 6, 8)
    train = draw.normal(2, 5, 8), draw.normal(2, 3, 8)
    return [
        decode(draw, *sides, about="4 target tokens, 6 source tokens, no masks"),
        decode(draw, *train, about="training mode, dropout 0", train=True),
    ]


def _decode_masked(draw: Draw) -> list[Call]:
    sides, mask = (draw.normal(2, 4, 8), draw.normal(2, 5, 8)), padding(draw, 2, 5)
    equal = draw.normal(2, 4, 8), draw.normal(2, 4, 8)
    return [
        decode(draw, *two_sides(draw, 3, 5, 5), about="source and target of the same length"),
        decode(draw, *two_sides(draw, 3, 4, 6), about="the source is longer"),
        decode(draw, *two_sides(draw, 3, 6, 4, left=True), about="padding on the left"),
        decode(draw, *sides, memory_mask=mask, about="only memory_mask"),
        decode(draw, *equal, masks.causal_mask(4), about="only target_mask, 4 tokens on each side"),
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


def _decode_tiny(draw: Draw) -> list[Call]:
    sides = draw.normal(2, 3, 8, std=1e-3), draw.normal(2, 4, 8)
    about = "numbers around 0.001, norms with a weight of 0.01"
    return [zero_out(plain_norms(decode(draw, *sides, about=about), scale=0.01), *SUBLAYERS)]


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
        Probe(TINY, _decode_tiny),
        Probe("nothing is dropped in evaluation mode", _decode_evaluated),
        *dropout_probes(decode, SUBLAYERS, 2, 3),
    ],
    hints=(
        "The frame of the encoder block, LayerNorm(x + Sublayer(x)), occurs three times here. "
        "Which of the three sublayers uses the memory, and for which of query, key and value?",
        "The query always comes from the target. Key and value come from the target in the "
        "first sublayer, and from the memory in the second. A mask belongs to the keys.",
        "The constructor creates two attentions, one feed-forward network and three norms. In "
        "forward, the three lines are built like the two of your encoder block. For "
        "cross-attention, ask: whose tokens get a new vector, and whose tokens do they attend to? "
        "And which of the two masks says what may be attended to there?",
    ),
)


class _Steps(DecoderBlock):
    """A decoder block in steps; each misconception overrides one of them.

    own, its: the masks of target and memory.
    """

    norms, drops = norms_in_order(1, 2, 3), dropouts(1, 1, 1)

    def target_mask(self, own: Mask, its: Mask) -> Mask:
        return own

    def memory_mask(self, own: Mask, its: Mask) -> Mask:
        return its

    def attend_to_target(self, x: Tensor, mask: Mask) -> Any:
        return self.self_attention(x, x, x, mask)

    def attend_to_memory(self, x: Tensor, memory: Tensor, mask: Mask) -> Any:
        return self.cross_attention(x, memory, memory, mask)

    def frame(self, i: int, x: Tensor, update: Tensor) -> Any:
        return self.norms()[i](x + self.drops()[i](update))

    def residual_1(self, x: Tensor) -> Tensor:
        """What the output of self_attention is added to; those below belong to the others."""
        return x

    def residual_2(self, x: Tensor) -> Tensor:
        return x

    def residual_3(self, x: Tensor) -> Tensor:
        return x

    def query(self, start: Tensor, x: Tensor) -> Tensor:
        """The query of cross_attention; start is the input of the block."""
        return x

    def transform(self, before: Tensor, x: Tensor) -> Any:
        """before: what goes into cross_attention."""
        return self.feed_forward(x)

    def sublayers(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        start, x = x, self.frame(0, self.residual_1(x), self.attend_to_target(x, own))
        found = self.attend_to_memory(self.query(start, x), memory, its)
        before, x = x, self.frame(1, self.residual_2(x), found)
        return self.frame(2, self.residual_3(x), self.transform(before, x))

    def forward(
        self, x: Tensor, memory: Tensor, target_mask: Mask = None, memory_mask: Mask = None
    ) -> Any:
        both = target_mask, memory_mask
        return self.sublayers(x, memory, self.target_mask(*both), self.memory_mask(*both))


def _no_mask(block: _Steps, own: Mask, its: Mask) -> Mask:
    return None


item.add(
    variation(_Steps, "TargetMaskInCrossAttention", memory_mask=_Steps.target_mask),
    "Your cross-attention gets the target's mask.",
    why="Its keys are source tokens, so its mask has to be about source tokens, too. If source and "
    "target have the same length, the wrong mask raises no error.",
    hint="Which of the two masks was computed from the tokens that are keys in cross-attention?",
)
item.add(
    variation(
        _Steps, "MasksExchanged", target_mask=_Steps.memory_mask, memory_mask=_Steps.target_mask
    ),
    "Your two masks are swapped.",
    why="In self-attention the keys are the target, and the mask hides the future and the target's "
    "padding. In cross-attention the keys are the source, and the mask hides the source's padding.",
    hint="For each attention, ask which tokens its keys are.",
)
item.add(
    variation(_Steps, "FutureIsRead", target_mask=_no_mask),
    "Your self-attention gets no mask, so each target token attends to the tokens after it.",
    why="The next token is the one to predict. In training the model simply copies it; when it "
    "translates, that token doesn't exist yet.",
    hint="One of forward's four arguments isn't used where it should be.",
)
item.add(
    variation(_Steps, "SourcePadsAreRead", memory_mask=_no_mask),
    "Your cross-attention gets no mask, so the source's padding gets weight like real tokens.",
    why="Then a translation depends on how much padding its batch needs.",
    hint="One of forward's four arguments isn't used where it should be.",
)


@item.misconception(
    "You invert a mask before you pass it on.",
    why="In this course, True always means that a query may attend to the key. PyTorch's "
    "nn.MultiheadAttention wants the inverse, but this layer doesn't.",
    hint="Look at how you pass the masks to the two attentions.",
)
class MasksTurnedRound(_Steps):
    def target_mask(self, own: Mask, its: Mask) -> Mask:
        return None if own is None else ~own

    def memory_mask(self, own: Mask, its: Mask) -> Mask:
        return None if its is None else ~its


item.spelling_with("MasksTurnedRound", memory_mask=_Steps.memory_mask)
item.spelling_with("MasksTurnedRound", target_mask=_Steps.target_mask)


@item.misconception(
    "In your cross-attention query and key come from the memory, and the value from the target.",
    why="One article describes it like this. But the query should come from the target, and each "
    "key needs its own value. If both lengths are equal this runs, and information from later "
    "target tokens leaks to earlier ones.",
    hint="Which side attends, and which side is attended to? The latter gives both key and value.",
)
class MemoryAsks(_Steps):
    def attend_to_memory(self, x: Tensor, memory: Tensor, mask: Mask) -> Any:
        return self.cross_attention(memory, memory, x, mask)


@item.misconception(
    "In your cross-attention the memory is the query, and the target is key and value.",
    why="That gives one row per source token, which you can't add to the target's rows unless both "
    "have the same length.",
    hint="How many rows should the result have? The query determines that.",
)
class TargetIsRead(_Steps):
    def attend_to_memory(self, x: Tensor, memory: Tensor, mask: Mask) -> Any:
        return self.cross_attention(memory, x, x, mask)


@item.misconception(
    "In your cross-attention only the key comes from the memory: the value comes from the target.",
    why="Each key needs its own value. The decoder would look for source tokens, but gather target "
    "tokens, later ones included.",
    hint="Which side is attended to? It gives both key and value.",
)
class ValuesFromTheTarget(_Steps):
    def attend_to_memory(self, x: Tensor, memory: Tensor, mask: Mask) -> Any:
        return self.cross_attention(x, memory, x, mask)


@item.misconception(
    "Your cross-attention doesn't use the memory: query, key and value all come from the target.",
    why="Cross-attention is the only connection between source and target. Without it, the decoder "
    "is a language model that ignores the source.",
    hint="Does your output change if the memory changes?",
)
class MemoryIsNeverRead(_Steps):
    def memory_mask(self, own: Mask, its: Mask) -> Mask:
        return own

    def attend_to_memory(self, x: Tensor, memory: Tensor, mask: Mask) -> Any:
        return self.cross_attention(x, x, x, mask)


item.spelling_with("MemoryIsNeverRead", memory_mask=_Steps.memory_mask)
item.spelling_with("MemoryIsNeverRead", memory_mask=_no_mask)
item.add(
    variation(_Steps, "NoResidualAroundSelfAttention", residual_1=no_residual),
    "There's no residual connection around self-attention.",
    why="Attention returns a weighted average over all tokens. Without x, the vectors of all "
    "target tokens become nearly equal after a few blocks.",
    hint="There are three sublayers, and each of them adds to x.",
)
item.add(
    variation(_Steps, "NoResidualAroundCrossAttention", residual_2=no_residual),
    "There's no residual connection around cross-attention.",
    why="Its output is a weighted average of source tokens. Without x, the target tokens' own "
    "vectors are lost.",
    hint="There are three sublayers, and each of them adds to x.",
)
item.add(
    variation(_Steps, "NoResidualAroundFeedForward", residual_3=no_residual),
    "There's no residual connection around feed_forward.",
    why="Each sublayer should add to the residual stream, not replace it. Without the residual "
    "path, gradients have to pass through feed_forward, too.",
    hint="There are three sublayers, and each of them adds to x.",
)


@item.misconception(
    "The query of your cross-attention is the input of the block, not the result of "
    "self-attention.",
    why="The query should contain information on the target so far. That's why self-attention "
    "comes first and its result is the query.",
    hint="What do you pass to cross-attention as its query, and where does that come from?",
)
class AsksTooEarly(_Steps):
    def query(self, start: Tensor, x: Tensor) -> Tensor:
        return start


@item.misconception(
    "Your feed_forward doesn't get the result of cross-attention, but its input.",
    why="It should process what cross-attention has found in the source. Like this, it never sees "
    "it.",
    hint="What is the input of the third sublayer?",
)
class TransformsTooEarly(_Steps):
    def transform(self, before: Tensor, x: Tensor) -> Any:
        return super().transform(x, before)


@item.misconception(
    "In your block cross-attention comes first and self-attention second.",
    why="In the paper self-attention comes first, so that the query of cross-attention contains "
    "information on the target so far.",
    hint="In which order does the task name the three sublayers?",
)
class MemoryFirst(_Steps):
    def sublayers(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        x = self.frame(0, self.residual_2(x), self.attend_to_memory(x, memory, its))
        before, x = x, self.frame(1, self.residual_1(x), self.attend_to_target(x, own))
        return self.frame(2, self.residual_3(x), self.transform(before, x))


item.spelling_with("MemoryFirst", norms=norms_in_order(2, 1, 3))


@item.misconception(
    "Your block uses one attention for both: self-attention and cross-attention share their "
    "weights.",
    why="Attending to the target and attending to the source are different tasks, and each needs "
    "its own weights.",
    hint="How many attentions does the constructor create, and which lines use each of them?",
)
class OneAttentionForBoth(_Steps):
    def attend_to_memory(self, x: Tensor, memory: Tensor, mask: Mask) -> Any:
        return self.self_attention(x, memory, memory, mask)


@item.spelling("OneAttentionForBoth")
class OneAttentionUnderTwoNames(_Steps):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.cross_attention = self.self_attention


@item.misconception(
    "Your block is pre-norm: it normalises the input of each sublayer, not the sum.",
    why="That's a good block, but the task asks for the paper's. There the norm comes after the "
    "sum, so the output of the block is normalised.",
    hint="In LayerNorm(x + Sublayer(x)), what's inside the norm's brackets?",
)
class PreNormInstead(_Steps):
    def sublayers(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        norms, drops = self.norms(), self.drops()
        x = x + drops[0](self.attend_to_target(norms[0](x), own))
        x = x + drops[1](self.attend_to_memory(norms[1](x), memory, its))
        return x + drops[2](self.feed_forward(norms[2](x)))


add_norms_the_sublayer_only(item, _Steps)
item.add(
    variation(_Steps, "NormsOutOfPlace", norms=norms_in_order(1, 1, 1)),
    "Your norms aren't where they belong: norm_1, norm_2 and norm_3 come after the three "
    "sublayers in this order.",
    why="Each norm learns a weight and bias for its own sum. A norm that isn't used is never "
    "trained, and in another order, trained weights would be loaded into the wrong norms.",
    hint="Which norm comes after each of the three sums?",
)
for _order in ((1, 1, 3), (1, 2, 2), (1, 2, 1), (2, 1, 3), (1, 3, 2)):
    item.spelling_with("NormsOutOfPlace", norms=norms_in_order(*_order))

item.add(
    variation(_Steps, "LastNormMissing", norms=norms_in_order(1, 2, 0)),
    "A norm is missing: not all of your sums are normalised.",
    why="After each sum, a norm brings the residual stream back to one scale. And the weight and "
    "bias of a norm that isn't used are never trained.",
    hint="Which norm comes after each of the three sums, and do you go on with its result?",
)
for _order in ((1, 0, 3), (0, 2, 3), (0, 0, 3), (0, 0, 0)):
    item.spelling_with("LastNormMissing", norms=norms_in_order(*_order))


@item.misconception(
    "Your norms have another eps than PyTorch's 1e-5.",
    why="eps is added to the variance, so for tiny numbers another eps gives another result. "
    "Trained weights belong to the eps that they were trained with.",
    hint="Which arguments does the task give to nn.LayerNorm?",
)
class AnotherEps(_Steps):
    eps = 1e-6

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout)
        for norm in (self.norm_1, self.norm_2, self.norm_3):
            norm.eps = self.eps


for _eps in (1e-8, 1e-3):
    item.spelling_with("AnotherEps", eps=_eps)


@item.misconception(
    "There's dropout inside your FeedForward.",
    why="The paper applies dropout to the output of a sublayer, not inside it. The "
    "default rate of FeedForward is 0.1, so it has to be told that it should drop nothing.",
    hint="Look at the third argument of FeedForward.",
)
class DropoutInsideFeedForward(_Steps):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.feed_forward.dropout.p = 0.1  # a new one would draw other numbers


@item.spelling("DropoutInsideFeedForward")
class TheSameDropoutInsideFeedForward(_Steps):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.feed_forward.dropout.p = dropout


@item.misconception(
    "There's dropout inside your attentions: some attention weights are dropped.",
    why="The paper applies dropout to the output of a sublayer. Many libraries drop attention "
    "weights as well, but this task doesn't.",
    hint="Which arguments does the task give to MultiHeadAttention?",
)
class DropoutInsideAttention(_Steps):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.self_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)


@item.misconception(
    "You apply dropout after the norm, so in training mode elements of the output are zero.",
    why="If an element of a sublayer's output is dropped, x is still there. If an element of the "
    "sum is dropped, it's lost.",
    hint="Dropout comes before the sum. What should be inside its brackets?",
)
class DropoutOnTheStream(_Steps):
    def frame(self, i: int, x: Tensor, update: Tensor) -> Any:
        return self.drops()[i](self.norms()[i](x + update))


add_dropout_on_the_sums(item, _Steps)
item.add(
    variation(_Steps, "NothingDropped", drops=dropouts(0, 0, 0)),
    "Nothing is dropped in training mode.",
    why="The paper applies dropout to the output of each sublayer (section 5.4).",
    hint="What does your block do with its argument dropout?",
)
item.add(
    variation(_Steps, "NoDropoutAfterFeedForward", drops=dropouts(1, 1, 0)),
    "Not every sublayer's output is dropped in training mode.",
    why="The paper applies dropout to the output of each sublayer (section 5.4), so that the model "
    "relies on none of them too much.",
    hint="There are three sublayers. Does the output of each go through dropout before it's added?",
)
for _applied in ((1, 0, 1), (0, 1, 1), (0, 0, 1), (1, 0, 0), (0, 1, 0)):
    item.spelling_with("NoDropoutAfterFeedForward", drops=dropouts(*_applied))


@item.misconception(
    "Your block's dropout has a fixed rate, whatever the constructor's argument says.",
    why="With dropout=0.0 your block would still be random in training mode, and nobody could set "
    "another rate.",
    hint="What does your block do with its argument dropout?",
)
class FixedDropout(_Steps):
    rate = 0.1

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, self.rate)


item.spelling_with("FixedDropout", rate=0.5)
add_drops_always(item, _Steps)
