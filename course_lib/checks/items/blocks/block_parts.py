"""What several items of this lesson need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.call import Answer, Call
from course_lib.checks.compare import Difference, first_difference
from course_lib.checks.draw import Draw
from course_lib.model import FeedForward, MultiHeadAttention, masks

Mask = Tensor | None


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


SUBLAYERS = "self_attention", "cross_attention", "feed_forward"


ROWS = 4000  # copies of one sentence: enough to see means and spreads under dropout


def init_block(d_model: int = 8, n_heads: int = 2, d_ff: int = 12, **more: float) -> dict[str, Any]:
    return {"d_model": d_model, "n_heads": n_heads, "d_ff": d_ff, **more}


def _call(make: type[nn.Module], draw: Draw, *inputs: Any, about: str, **more: Any) -> Call:
    """A block with weights as the reference's, and without dropout unless ``init`` asks for it."""
    init = more.pop("init", None) or init_block(dropout=0.0)
    gradients = more.pop("gradients", False)
    weights = {name: w.to(inputs[0].dtype) for name, w in draw.weights(make(**init)).items()}
    return Call(inputs, {"init": init, "weights": weights, **more}, about, gradients)


def padding(draw: Draw, batch: int, length: int, *, left: bool = False) -> Tensor:
    return masks.padding_mask(draw.tokens(batch, length, left=left), 0)


def compare_moments(
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


def silence(call: Call, *parts: str) -> Call:
    """The same call, with sublayers that return zeros: their last matrix is zero."""
    for name, weight in _weights_of(call).items():
        if name.startswith(parts) and ("out_proj" in name or "contract" in name):
            weight.zero_()
    return call


def through_dropout(
    encode_or_decode: Callable[..., Call], *sides: int
) -> Callable[[Draw], list[Call]]:
    """Calls in training mode: each sublayer in turn as the only one that says anything, so that
    what is dropped of it shows; then all of them under the usual dropout.
    """

    def calls(draw: Draw) -> list[Call]:
        words = [_equal_sentences(draw, length, 8) for length in sides]
        usual = encode_or_decode(
            draw, *words, about="the usual dropout", train=True, init=init_block()
        )
        parts = [name for name in SUBLAYERS if any(w.startswith(name) for w in _weights_of(usual))]
        return [*(alone(draw, part) for part in parts), usual]

    def alone(draw: Draw, part: str) -> Call:
        words = [_equal_sentences(draw, 1, 8) for _ in sides]
        about = f"dropout 0.4, and only {part} returns more than zeros"
        init = init_block(dropout=0.4)
        call = encode_or_decode(draw, *words, about=about, train=True, init=init)
        for name, weight in _weights_of(call).items():
            if name.startswith("norm"):
                weight.fill_(float(name.endswith("weight")))
        return silence(call, *(other for other in SUBLAYERS if other != part))

    return calls


encode = partial(_call, EncoderBlock)


def plain(draw: Draw) -> list[Call]:
    return [
        encode(draw, draw.normal(2, 5, 8, std=2) + 1, about="no mask"),
        encode(draw, draw.normal(3, 4, 8), about="training mode, dropout 0", train=True),
    ]


def masked(draw: Draw) -> list[Call]:
    right, left = padding(draw, 3, 5), padding(draw, 3, 5, left=True)
    return [
        encode(draw, draw.normal(3, 5, 8), right, about="pads on the right"),
        encode(draw, draw.normal(3, 5, 8), mask=left, about="pads on the left"),
        encode(draw, draw.normal(2, 4, 8), draw.mask(2, 1, 4, 4), about="a mask for each row"),
    ]


def sizes(draw: Draw) -> list[Call]:
    three, init = (draw.normal(3, 3, 6), padding(draw, 3, 3)), init_block(6, 3, 4, dropout=0.0)
    return [
        encode(draw, draw.normal(1, 1, 8), about="one sentence of one word"),
        encode(draw, *three, about="as many heads as words and sentences", init=init),
        encode(draw, draw.strided(2, 6, 8), about="x is not contiguous"),
        encode(draw, draw.normal(2, 3, 8, dtype=torch.float64), about="float64"),
        encode(draw, draw.normal(2, 3, 8, std=30), about="large numbers"),
    ]


def learning(draw: Draw) -> list[Call]:
    inputs = draw.normal(2, 4, 8), padding(draw, 2, 4)
    return [
        encode(draw, *inputs, about="the gradient of the input", gradients=True),
        encode(draw, *inputs, about="the gradients of the parameters", learns=True),
    ]


def evaluated(draw: Draw) -> list[Call]:
    return [encode(draw, draw.normal(2, 4, 8), about="dropout 0.9", init=init_block(dropout=0.9))]


decode = partial(_call, DecoderBlock)


def two_sides(draw: Draw, batch: int, target: int, source: int, *, left: bool = False) -> Any:
    """Inputs of a decoder block: target, memory and their masks."""
    tokens = draw.tokens(batch, target, left=left)
    two_masks = masks.decoder_mask(tokens, 0), padding(draw, batch, source, left=left)
    return draw.normal(batch, target, 8), draw.normal(batch, source, 8), *two_masks
