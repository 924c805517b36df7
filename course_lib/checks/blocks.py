"""Items of lesson 07: the encoder's and the decoder's block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.adapters import load_weights, use_module
from course_lib.checks.call import Answer, Call
from course_lib.checks.compare import Difference, first_difference
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import FeedForward, MultiHeadAttention, masks

Mask = Tensor | None

# --- The blocks as the exercise asks for them ----------------------------------------------------


class EncoderBlock(nn.Module):
    """Post-norm; parts: self_attention, feed_forward, norm_1, norm_2."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, 0.0)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


class PreNormEncoderBlock(EncoderBlock):
    """The same parts, each norm before its sublayer."""

    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.dropout(self.self_attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


class DecoderBlock(nn.Module):
    """Post-norm; parts: self_attention, cross_attention, feed_forward, norm_1 to norm_3."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, 0.0)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Mask = None,
        memory_mask: Mask = None,
    ) -> Tensor:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, target_mask)))
        x = self.norm_2(x + self.dropout(self.cross_attention(x, memory, memory, memory_mask)))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))


# --- What the probes are made of -----------------------------------------------------------------

SUBLAYERS = "self_attention", "cross_attention", "feed_forward"
ROWS = 4000  # copies of one sentence: enough to see means and spreads under dropout


def _init(d_model: int = 8, n_heads: int = 2, d_ff: int = 12, **more: float) -> dict[str, Any]:
    return {"d_model": d_model, "n_heads": n_heads, "d_ff": d_ff, **more}


def _call(make: type[nn.Module], draw: Draw, *inputs: Any, about: str, **more: Any) -> Call:
    """A block with weights as the reference's, and without dropout unless ``init`` asks for it."""
    init = more.pop("init", None) or _init(dropout=0.0)
    gradients = more.pop("gradients", False)
    weights = {name: w.to(inputs[0].dtype) for name, w in draw.weights(make(**init)).items()}
    return Call(inputs, {"init": init, "weights": weights, **more}, about, gradients)


def _padding(draw: Draw, batch: int, length: int, *, left: bool = False) -> Tensor:
    return masks.padding_mask(draw.tokens(batch, length, left=left), 0)


def spread_as_it_must(
    calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
) -> Difference | None:
    """Of many equal sentences under dropout: the share of zeros, and each number's mean and spread,
    must be the reference's, as far as chance allows.
    """
    pairs = [(right.value, answer.value) for right, answer in zip(expected, answers, strict=True)]
    for want, have in pairs:
        if not isinstance(have, Tensor) or (have.shape, have.dtype) != (want.shape, want.dtype):
            return first_difference(want, have)
        zeros = float((have == 0).double().mean())
        if abs(zeros - float((want == 0).double().mean())) > 0.02:
            return Difference("value", "no zeros", f"{zeros:.0%} zeros", "what comes out")
    still = [
        call.about
        for call, (want, have) in zip(calls, pairs, strict=True)
        if have.std(dim=0).max() < 1e-3 * want.std(dim=0).max()
    ]
    if still:
        return Difference(
            "value", "chance", "equal answers", f"equal sentences ({'; '.join(still)})"
        )
    return next(filter(None, (_moments_differ(*pair) for pair in pairs)), None)


def _moments_differ(want: Tensor, have: Tensor) -> Difference | None:
    spread = want.std(dim=0)
    allowed = spread.clamp(min=0.02 * float(spread.max()))
    for name, due, got, most in (
        ("mean", want.mean(dim=0), have.mean(dim=0), 0.15),
        ("spread", spread, have.std(dim=0), 0.2),
    ):
        off = ((due - got).abs() / allowed).nan_to_num(nan=float("inf"))
        if off.max() > most:
            a, b = (f"{float(x.flatten()[off.argmax()]):.2f}" for x in (due, got))
            return Difference("value", a, b, f"the {name} over many equal sentences")
    return None


def _equal_sentences(draw: Draw, *shape: int) -> Tensor:
    return draw.normal(1, *shape).repeat(ROWS, 1, 1)


def _weights_of(call: Call) -> dict[str, Tensor]:
    """The parameters that a call gives to the block."""
    weights: dict[str, Tensor] = call.kwargs["weights"]
    return weights


def _silence(call: Call, *parts: str) -> Call:
    """The same call, with sublayers that return zeros: their last matrix is zero."""
    for name, weight in _weights_of(call).items():
        if name.startswith(parts) and ("out_proj" in name or "contract" in name):
            weight.zero_()
    return call


def _dropped(encode_or_decode: Callable[..., Call], *sides: int) -> Callable[[Draw], list[Call]]:
    """Calls in training mode: each sublayer in turn as the only one that says anything, so that
    what is dropped of it shows; then all of them under the usual dropout.
    """

    def calls(draw: Draw) -> list[Call]:
        words = [_equal_sentences(draw, length, 8) for length in sides]
        usual = encode_or_decode(draw, *words, about="the usual dropout", train=True, init=_init())
        parts = [name for name in SUBLAYERS if any(w.startswith(name) for w in _weights_of(usual))]
        return [*(alone(draw, part) for part in parts), usual]

    def alone(draw: Draw, part: str) -> Call:
        words = [_equal_sentences(draw, 1, 8) for _ in sides]
        about = f"dropout 0.4, and only {part} returns more than zeros"
        init = _init(dropout=0.4)
        call = encode_or_decode(draw, *words, about=about, train=True, init=init)
        for name, weight in _weights_of(call).items():
            if name.startswith("norm"):
                weight.fill_(float(name.endswith("weight")))
        return _silence(call, *(other for other in SUBLAYERS if other != part))

    return calls


# --- 07.encoder_block ----------------------------------------------------------------------------


_encode = partial(_call, EncoderBlock)


def _plain(draw: Draw) -> list[Call]:
    return [
        _encode(draw, draw.normal(2, 5, 8, spread=2) + 1, about="no mask"),
        _encode(draw, draw.normal(3, 4, 8), about="training mode, dropout 0", train=True),
    ]


def _masked(draw: Draw) -> list[Call]:
    right, left = _padding(draw, 3, 5), _padding(draw, 3, 5, left=True)
    return [
        _encode(draw, draw.normal(3, 5, 8), right, about="pads on the right"),
        _encode(draw, draw.normal(3, 5, 8), mask=left, about="pads on the left"),
        _encode(draw, draw.normal(2, 4, 8), draw.mask(2, 1, 4, 4), about="a mask for each row"),
    ]


def _sizes(draw: Draw) -> list[Call]:
    three, init = (draw.normal(3, 3, 6), _padding(draw, 3, 3)), _init(6, 3, 4, dropout=0.0)
    return [
        _encode(draw, draw.normal(1, 1, 8), about="one sentence of one word"),
        _encode(draw, *three, about="as many heads as words and sentences", init=init),
        _encode(draw, draw.strided(2, 6, 8), about="x is not contiguous"),
        _encode(draw, draw.normal(2, 3, 8, dtype=torch.float64), about="float64"),
        _encode(draw, draw.normal(2, 3, 8, spread=30), about="large numbers"),
    ]


def _learning(draw: Draw) -> list[Call]:
    inputs = draw.normal(2, 4, 8), _padding(draw, 2, 4)
    return [
        _encode(draw, *inputs, about="the gradient of the input", gradients=True),
        _encode(draw, *inputs, about="the gradients of the parameters", learns=True),
    ]


def _evaluated(draw: Draw) -> list[Call]:
    return [_encode(draw, draw.normal(2, 4, 8), about="dropout 0.9", init=_init(dropout=0.9))]


encoder_block = Item(
    "07.encoder_block",
    reference=EncoderBlock,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe("attention, then feed-forward: each is added, and the sum normed", _plain),
        Probe("what the mask hides is not read", _masked),
        Probe("it holds for any sizes and any numbers", _sizes),
        Probe("the input and all parameters get their gradients", _learning),
        Probe("in evaluation mode nothing is dropped", _evaluated),
        Probe(
            "dropout falls on what a sublayer returns, and on nothing else",
            _dropped(_encode, 2),
            judge=spread_as_it_must,
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


@encoder_block.mistake(
    "Your attention has no residual: its result is normed, and x itself is gone.",
    why="Attention returns a mixture of all words. With nothing added to it, two blocks are enough "
    "to make all words of a sentence alike.",
    hint="What is added to what, inside the first norm?",
)
class NoResidualAroundAttention(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


@encoder_block.mistake(
    "Your feed-forward has no residual: what attention gathered goes through it and is not kept.",
    why="Each sublayer is meant to add something to the stream, not to replace it. The gradient "
    "loses its short way back, too.",
    hint="Compare the insides of your two norms.",
)
class NoResidualAroundFeedForward(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(self.dropout(self.feed_forward(x)))


@encoder_block.mistake(
    "Your second residual adds the x that came into the block, not the one after the first norm.",
    why="What attention found then reaches the output only through feed-forward, and the first "
    "norm is by-passed.",
    hint="After the first frame, which x does the second one begin with?",
)
class ResidualFromTheStart(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(y)))


@encoder_block.mistake(
    "Your block is pre-norm: it norms what a sublayer reads, and leaves the sum alone.",
    why="That is a good block, and another task. The paper's norms come after the sum, so the "
    "block's output is normed.",
    hint="In LayerNorm(x + Sublayer(x)), what stands inside the norm's brackets?",
)
class PreNormInstead(PreNormEncoderBlock):
    pass


@encoder_block.mistake(
    "You norm what the sublayer returns, and add it to x afterwards.",
    why="The sum itself is never normed, so the stream grows with every block.",
    hint="Is the residual inside or outside the norm's brackets?",
)
class NormsTheSublayerOnly(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return x + self.norm_2(self.dropout(self.feed_forward(x)))


@encoder_block.mistake(
    "Your block uses its first norm twice and its second never.",
    why="Each norm has a scale and a shift of its own to learn. The forgotten ones get no gradient "
    "and stay as they were.",
    hint="Which parameters does your forward name, and how often?",
)
class OneNormTwice(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_1(x + self.dropout(self.feed_forward(x)))


@encoder_block.mistake(
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


@encoder_block.mistake(
    "Your block thinks before it gathers: feed-forward comes first.",
    why="In the paper attention is the first sublayer. The parameters would fit, and a model "
    "trained the other way would give nonsense.",
    hint="In which order does the task name the two sublayers?",
)
class FeedForwardFirst(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.dropout(self.feed_forward(x)))
        return self.norm_2(x + self.dropout(self.self_attention(x, x, x, mask)))


@encoder_block.mistake(
    "Your block takes a mask and does nothing with it: pads are read like words.",
    why="A sentence's vectors would depend on how much padding its batch needs.",
    hint="Follow the mask from the brackets of forward to the one place that needs it.",
)
class MaskForgotten(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x)


@encoder_block.mistake(
    "Your block hands on the mask turned round: what may be read is hidden.",
    why="In this course True means may be read, from the mask to the softmax. Nothing on the way "
    "has to be turned.",
    hint="Look at how you pass the mask to attention.",
)
class MaskTurnedRound(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x, None if mask is None else ~mask)


@encoder_block.mistake(
    "In training mode some numbers of your block's output are zero: dropout falls on the stream.",
    why="What dropout takes from a sublayer's result is still there in x. What it takes from the "
    "normed sum is lost. One published system does this, and trains worse the deeper it is.",
    hint="Dropout comes before the sum. What stands inside its brackets?",
)
class DropoutAfterTheNorm(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.dropout(self.norm_1(x + self.self_attention(x, x, x, mask)))
        return self.dropout(self.norm_2(x + self.feed_forward(x)))


@encoder_block.mistake(
    "Your block drops nothing: in training mode equal sentences come out equal.",
    why="Dropout on each sublayer's result is part of the paper's recipe (section 5.4), and the "
    "constructor's argument would have no effect.",
    hint="One part that the constructor has made does not occur in your forward.",
)
class NoDropout(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = self.norm_1(x + self.self_attention(x, x, x, mask))
        return self.norm_2(x + self.feed_forward(x))


# --- 07.decoder_block ----------------------------------------------------------------------------


_decode = partial(_call, DecoderBlock)


def _two_sides(draw: Draw, batch: int, target: int, source: int, *, left: bool = False) -> Any:
    """Inputs of a decoder block: target, memory and their masks."""
    tokens = draw.tokens(batch, target, left=left)
    two_masks = masks.decoder_mask(tokens, 0), _padding(draw, batch, source, left=left)
    return draw.normal(batch, target, 8), draw.normal(batch, source, 8), *two_masks


def _decode_plainly(draw: Draw) -> list[Call]:
    sides = draw.normal(2, 4, 8, spread=2) + 1, draw.normal(2, 6, 8)
    train = draw.normal(2, 5, 8), draw.normal(2, 3, 8)
    return [
        _decode(draw, *sides, about="4 target words, 6 source words, no masks"),
        _decode(draw, *train, about="training mode, dropout 0", train=True),
    ]


def _decode_masked(draw: Draw) -> list[Call]:
    sides, mask = (draw.normal(2, 4, 8), draw.normal(2, 5, 8)), _padding(draw, 2, 5)
    return [
        _decode(draw, *_two_sides(draw, 3, 5, 5), about="both sides of one length"),
        _decode(draw, *_two_sides(draw, 3, 4, 6), about="the source is longer"),
        _decode(draw, *_two_sides(draw, 3, 6, 4, left=True), about="pads on the left"),
        _decode(draw, *sides, memory_mask=mask, about="a mask for the memory alone"),
    ]


def _decode_sizes(draw: Draw) -> list[Call]:
    three = draw.normal(3, 3, 6), draw.normal(3, 3, 6), masks.causal_mask(3), _padding(draw, 3, 3)
    strided = draw.strided(2, 4, 8), draw.strided(2, 5, 8)
    wide = (draw.normal(2, length, 8, dtype=torch.float64) for length in (3, 4))
    return [
        _decode(draw, *_two_sides(draw, 1, 1, 4), about="the first word of a translation"),
        _decode(draw, *_two_sides(draw, 2, 4, 1), about="a source of one word"),
        _decode(draw, *three, about="three of everything", init=_init(6, 3, 4, dropout=0.0)),
        _decode(draw, *strided, about="not contiguous"),
        _decode(draw, *wide, about="float64"),
    ]


def _decode_learning(draw: Draw) -> list[Call]:
    one, other = _two_sides(draw, 2, 4, 3), _two_sides(draw, 2, 3, 4)
    return [
        _decode(draw, *one, about="the gradients of target and memory", gradients=True),
        _decode(draw, *other, about="the gradients of the parameters", learns=True),
    ]


def _decode_evaluated(draw: Draw) -> list[Call]:
    inputs = _two_sides(draw, 2, 4, 3)
    return [_decode(draw, *inputs, about="dropout 0.9", init=_init(dropout=0.9))]


decoder_block = Item(
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
            _dropped(_decode, 2, 3),
            judge=spread_as_it_must,
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
    """A decoder block in steps, so that a mistake can change one. own, its: the two masks."""

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


@decoder_block.mistake(
    "Your cross-attention gets the target's mask.",
    why="Its columns are source words. A mask that says 'target word 1 may read target words 0 and "
    "1' is taken to speak of source words. With equal lengths nothing complains.",
    hint="Which of the two masks was made from the tokens that cross-attention reads?",
)
class TargetMaskInCrossAttention(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().read_memory(x, memory, own, own)


@decoder_block.mistake(
    "Your two masks have changed places.",
    why="Self-attention reads the target: its mask hides the future and the target's pads. "
    "Cross-attention reads the source, and needs the source's padding.",
    hint="For each attention, say whose words its keys are.",
)
class MasksExchanged(_Variant):
    def steps(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().steps(x, memory, its, own)


@decoder_block.mistake(
    "Your self-attention gets no mask: every target word reads the words that follow it.",
    why="The next word is the one to be predicted. In training the model copies it; in translation "
    "it is not there.",
    hint="One of forward's four arguments is not used where it should be.",
)
class FutureIsRead(_Variant):
    def read_target(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().read_target(x, memory, None, its)


@decoder_block.mistake(
    "Your cross-attention gets no mask: the source's pads are read like words.",
    why="A translation would depend on how much padding its batch needs.",
    hint="One of forward's four arguments is not used where it should be.",
)
class SourcePadsAreRead(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return super().read_memory(x, memory, own, None)


@decoder_block.mistake(
    "In your cross-attention query and key come from the memory, and the value from the target.",
    why="One write-up says so. But the one who asks is the target, and each key needs its own "
    "value. With equal lengths this runs, and later target words leak into earlier ones.",
    hint="Who reads? Who is read? What is read has a key and a value.",
)
class MemoryAsks(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(memory, memory, x, its)))


@decoder_block.mistake(
    "In your cross-attention the memory asks and the target is read.",
    why="That gives a row for each source word, which cannot be added to the target's rows unless "
    "both have one length.",
    hint="How many rows must the result have? The query decides it.",
)
class TargetIsRead(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(memory, x, x, its)))


@decoder_block.mistake(
    "Your cross-attention never reads the memory: query, key and value all come from the target.",
    why="It is the only bridge from source to target. Without it the decoder writes fluent "
    "sentences about nothing.",
    hint="Does a change of the memory change your output?",
)
class MemoryIsNeverRead(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.cross_attention(x, x, x, own)))


@decoder_block.mistake(
    "Your cross-attention has no residual: only what was read from the memory goes on.",
    why="Whatever the target words were is lost. The result is a mixture of source words, and "
    "the decoder no longer knows what it has written.",
    hint="Three frames, and each of them adds.",
)
class NoResidualAroundCrossAttention(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(self.dropout(self.cross_attention(x, memory, memory, its)))


@decoder_block.mistake(
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


@decoder_block.mistake(
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


@decoder_block.mistake(
    "Your block uses one attention for both tasks: cross_attention is made and never used.",
    why="To read one's own sentence and to read another language are two skills, with matrices of "
    "their own. The unused ones never learn.",
    hint="Which of your parts get no gradient?",
)
class OneAttentionForBoth(_Variant):
    def read_memory(self, x: Tensor, memory: Tensor, own: Mask, its: Mask) -> Any:
        return self.norm_2(x + self.dropout(self.self_attention(x, memory, memory, its)))


@decoder_block.mistake(
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


@decoder_block.mistake(
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


@decoder_block.mistake(
    "Your block drops nothing: in training mode equal sentences come out equal.",
    why="Dropout on each sublayer's result is part of the paper's recipe (section 5.4).",
    hint="What does your block do with its argument dropout?",
)
class NothingDropped(DecoderBlock):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads, d_ff, 0.0)


# --- 07.pre_norm_encoder_block -------------------------------------------------------------------


def _silenced(draw: Draw) -> list[Call]:
    call = _encode(draw, draw.normal(2, 4, 8, spread=3) + 1, about="both sublayers return zeros")
    return [_silence(call, *SUBLAYERS)]


pre_norm_encoder_block = Item(
    "07.pre_norm_encoder_block",
    reference=PreNormEncoderBlock,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe("each sublayer reads a normed copy and adds to the stream", _plain),
        Probe("sublayers that return zeros leave the stream as it was", _silenced),
        Probe("what the mask hides is not read", _masked),
        Probe("it holds for any sizes and any numbers", _sizes),
        Probe("the input and all parameters get their gradients", _learning),
        Probe("in evaluation mode nothing is dropped", _evaluated),
        Probe(
            "dropout falls on what a sublayer returns, and on nothing else",
            _dropped(_encode, 2),
            judge=spread_as_it_must,
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


@pre_norm_encoder_block.mistake(
    "Your block is post-norm: it norms the sum.",
    why="Then nothing passes straight through: the stream is normed twice in every block, and the "
    "gradient has to go through both norms on its way back.",
    hint="The frame is x + Sublayer(LayerNorm(x)).",
)
class PostNormInstead(EncoderBlock):
    pass


@pre_norm_encoder_block.mistake(
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


@pre_norm_encoder_block.mistake(
    "Only your query is normed; key and value are made from the bare stream.",
    why="A sublayer must read the normed copy and nothing else. The bare stream grows from block "
    "to block, and its keys and values would grow with it.",
    hint="How often does the copy occur between the brackets of attention?",
)
class OnlyTheQueryIsNormed(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.dropout(self.self_attention(self.norm_1(x), x, x, mask))
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


@pre_norm_encoder_block.mistake(
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


@pre_norm_encoder_block.mistake(
    "Your block uses its first norm twice and its second never.",
    why="Each norm has a scale and a shift of its own to learn. The others get no gradient.",
    hint="Which parameters does your forward name, and how often?",
)
class FirstNormTwice(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.dropout(self.self_attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norm_1(x)))


@pre_norm_encoder_block.mistake(
    "You norm what a sublayer returns, not what it reads.",
    why="The sublayer then reads the bare stream, and what it adds has a fixed length however "
    "little it has to say.",
    hint="The norm stands inside the brackets of the sublayer.",
)
class NormsWhatIsReturned(EncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        x = x + self.norm_1(self.dropout(self.self_attention(x, x, x, mask)))
        return x + self.norm_2(self.dropout(self.feed_forward(x)))


@pre_norm_encoder_block.mistake(
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


@pre_norm_encoder_block.mistake(
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


@pre_norm_encoder_block.mistake(
    "Your block takes a mask and does nothing with it: pads are read like words.",
    why="A sentence's vectors would depend on how much padding its batch needs.",
    hint="Follow the mask from the brackets of forward to the one place that needs it.",
)
class MaskUnused(PreNormEncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        return super().forward(x)


@pre_norm_encoder_block.mistake(
    "Your block drops nothing: in training mode equal sentences come out equal.",
    why="Dropout acts on each sublayer's result, in pre-norm blocks as in the paper's.",
    hint="One part that the constructor has made does not occur in your forward.",
)
class DropoutUnused(PreNormEncoderBlock):
    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        y = self.norm_1(x)
        x = x + self.self_attention(y, y, y, mask)
        return x + self.feed_forward(self.norm_2(x))


@pre_norm_encoder_block.mistake(
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


# --- 07.bug --------------------------------------------------------------------------------------

BUG = """\
def pre_norm_decoder_block(block, x, memory, target_mask, memory_mask):
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    x = y + block.cross_attention(y, memory, memory, memory_mask)
    y = block.norm_3(x)
    return x + block.feed_forward(y)
"""


def _pre_norm_decoder_block(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    x = x + block.cross_attention(y, memory, memory, memory_mask)
    return _think(block, x)


def _think(block: Any, x: Tensor) -> Tensor:
    thought: Tensor = block.feed_forward(block.norm_3(x))
    return x + thought


def _use_parts(
    subject: Callable[..., Any],
    *inputs: Any,
    init: Mapping[str, Any],
    weights: Mapping[str, Tensor],
) -> Any:
    """Hand a function the parts of a decoder block with these weights, and its inputs."""
    block = DecoderBlock(**init)
    load_weights(block, weights)
    return subject(block, *inputs)


def _unmasked(draw: Draw) -> list[Call]:
    sides = draw.normal(2, 4, 8, spread=3) + 1, draw.normal(2, 6, 8), None, None
    return [_decode(draw, *sides, about="a stream with a mean and a length of its own")]


def _both_masked(draw: Draw) -> list[Call]:
    return [
        _decode(draw, *_two_sides(draw, 3, 4, 6), about="the source is longer"),
        _decode(draw, *_two_sides(draw, 2, 5, 5), about="both of one length"),
    ]


def _straight_way(draw: Draw) -> list[Call]:
    inputs = _two_sides(draw, 2, 4, 3)
    return [_decode(draw, *inputs, about="the gradients of target and memory", gradients=True)]


bug = Item(
    "07.bug",
    reference=_pre_norm_decoder_block,
    use=_use_parts,
    tolerance=1e-4,
    bug=Bug(BUG, line=5),
    probes=[
        Probe("each sublayer reads a normed copy and adds to the stream", _unmasked),
        Probe("both masks are still at work", _both_masked),
        Probe("the gradient has a straight way back to x", _straight_way),
    ],
    hints=(
        "y is always a normed copy, x is the stream. Say for each line what it does to the stream.",
        "Set all sublayers to zero in your mind. In a pre-norm block x must come out as it came "
        "in. Where is it changed?",
        "In three lines something is added. What is it added to, in each of them?",
    ),
)


@bug.mistake(
    "The stream is still normed on its way through: what comes out is not x plus three results.",
    why="The straight path is cut in every block. A shallow model trains all the same, so nobody "
    "notices before it gets deep.",
    hint="Look at the left side of each plus.",
)
def still_from_the_copy(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    return _think(block, y + block.cross_attention(y, memory, memory, memory_mask))


@bug.mistake(
    "Now x is added, but x asks as well: the query of cross-attention is no longer normed.",
    why="A sublayer reads the normed copy. The sum alone was to be mended.",
    hint="Change one letter, not two.",
)
def bare_query(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    return _think(block, x + block.cross_attention(x, memory, memory, memory_mask))


@bug.mistake(
    "The residual around cross-attention is gone: only what was read from the memory goes on.",
    why="What the target words were is lost in every block.",
    hint="The line has to add to something. To what?",
)
def residual_removed(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    return _think(block, block.cross_attention(y, memory, memory, memory_mask))


@bug.mistake(
    "You made the middle sublayer post-norm: the sum is normed.",
    why="Its neighbours are pre-norm. A norm around the sum cuts the straight path just as the bug "
    "did.",
    hint="The norms were right. Look at what is added to what.",
)
def middle_is_post_norm(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    return _think(block, block.norm_2(x + block.cross_attention(x, memory, memory, memory_mask)))


@bug.mistake(
    "You norm the memory as well.",
    why="The memory has been normed by its own stack, with its own norm. norm_2 belongs to the "
    "target's stream.",
    hint="Keys and values were right. Look at what is added to what.",
)
def memory_normed(
    block: Any, x: Tensor, memory: Tensor, target_mask: Mask, memory_mask: Mask
) -> Tensor:
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y, memory = block.norm_2(x), block.norm_2(memory)
    return _think(block, x + block.cross_attention(y, memory, memory, memory_mask))
