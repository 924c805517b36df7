"""Reference blocks, test inputs and probes that several items of this lesson share.

The blocks repeat those of ``course_lib.model.blocks`` with the parts that learners write, such as
``norm_1`` instead of ``add_norm_1.norm``, so that weights load into a learner's class by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.checks.engine import Call, Draw, Probe
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import Difference
from course_lib.model import FeedForward, MultiHeadAttention, masks

Mask = Tensor | None
Sequences = Float[Tensor, "batch length d_model"]
Function = Callable[[Tensor], Tensor]  # a norm or dropout


def same(x: Tensor) -> Tensor:
    """What stands for a norm or dropout that is left out."""
    return x


class EncoderBlock(nn.Module):
    """Post-norm; parts: self_attention, feed_forward, norm_1, norm_2."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, 0.0)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Sequences, mask: Mask = None) -> Sequences:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


class PreNormEncoderBlock(EncoderBlock):
    """Pre-norm; the same parts."""

    def forward(self, x: Sequences, mask: Mask = None) -> Sequences:
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
        x: Sequences,
        memory: Float[Tensor, "batch memory d_model"],
        target_mask: Mask = None,
        memory_mask: Mask = None,
    ) -> Sequences:
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, target_mask)))
        x = self.norm_2(x + self.dropout(self.cross_attention(x, memory, memory, memory_mask)))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))


SUBLAYERS = "self_attention", "cross_attention", "feed_forward"


ROWS = 4000  # copies of one sentence: enough to estimate mean and standard deviation


def init_block(d_model: int = 8, n_heads: int = 2, d_ff: int = 12, **more: float) -> dict[str, Any]:
    return {"d_model": d_model, "n_heads": n_heads, "d_ff": d_ff, **more}


def _call(make: type[nn.Module], draw: Draw, *inputs: Any, about: str, **more: Any) -> Call:
    """A block with random weights, and without dropout unless ``init`` sets it."""
    init = more.pop("init", None) or init_block(dropout=0.0)
    gradients = more.pop("gradients", False)
    weights = {name: w.to(inputs[0].dtype) for name, w in draw.weights(make(**init)).items()}
    return Call(
        inputs, {"init": init, "weights": weights, **more}, about=about, gradients=gradients
    )


def padding(draw: Draw, batch: int, length: int, *, left: bool = False) -> Tensor:
    return masks.padding_mask(draw.tokens(batch, length, left=left), 0)


def compare_moments(
    calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
) -> Difference | None:
    """For many copies of one sentence under dropout: the share of zeros and each element's mean and
    standard deviation must be the reference's, within sampling error.
    """
    for call, right, answer in zip(calls, expected, answers, strict=True):
        if difference := _random_outputs_differ(call.about, right.value, answer.value):
            return difference
    return None


def _random_outputs_differ(about: str, want: Tensor, have: Tensor) -> Difference | None:
    zeros, due = (float((x == 0).double().mean()) for x in (have, want))
    if abs(zeros - due) > 0.02:
        share = f"{due:.0%} zeros" if due else "no element to be zero"
        return Difference(
            "value",
            expected=share,
            got=f"{zeros:.0%} zeros",
            where="in the output, in training mode",
        )
    where = f"copies of one sentence in training mode ({about})"
    if have.std(dim=0).max() < 1e-3 * want.std(dim=0).max():
        different = "a different output for each, since different elements are dropped"
        return Difference("value", expected=different, got="the same output for all", where=where)
    return _moments_differ(want, have, where)


def _moments_differ(want: Tensor, have: Tensor, where: str) -> Difference | None:
    std = want.std(dim=0)
    allowed = std.clamp(min=0.02 * float(std.max()))
    for name, due, got, most in (
        ("average", want.mean(dim=0), have.mean(dim=0), 0.15),
        ("standard deviation", std, have.std(dim=0), 0.2),
    ):
        off = ((due - got).abs() / allowed).nan_to_num(nan=float("inf"))
        if off.max() > most:
            index = int(off.argmax())
            a, b = (float(x.flatten()[index]) for x in (due, got))
            element = list(divmod(index, want.size(-1)))
            change = "too small" if b < a else "too large"
            where = f"the {name} of element {element} over {len(want)} {where} is {change}"
            return Difference("value", expected=f"{a:.2f}", got=f"{b:.2f}", where=where)
    return None


def _copies_of_a_sentence(draw: Draw, *shape: int) -> Tensor:
    return draw.normal(1, *shape).repeat(ROWS, 1, 1)


def _weights_of(call: Call) -> dict[str, Tensor]:
    """The parameters that a call gives to the block."""
    weights: dict[str, Tensor] = call.kwargs["weights"]
    return weights


def zero_out(call: Call, *parts: str) -> Call:
    """The same call, but these sublayers return zeros, since their last matrix is zero."""
    for name, weight in _weights_of(call).items():
        if name.startswith(parts) and ("out_proj" in name or "contract" in name):
            weight.zero_()
    return call


def dropout_probes(
    encode_or_decode: Callable[..., Call], parts: Sequence[str], *sides: int
) -> tuple[Probe, ...]:
    """Probes in training mode: for each sublayer one in which all others return zeros, which shows
    what is dropped of its output; then one with all of them and the default dropout.
    """

    def only(part: str, draw: Draw) -> list[Call]:
        inputs = [_copies_of_a_sentence(draw, 1, 8) for _ in sides]
        about = f"dropout 0.4, and all sublayers but {part} return zeros"
        init = init_block(dropout=0.4)
        call = plain_norms(encode_or_decode(draw, *inputs, about=about, train=True, init=init))
        return [zero_out(call, *(other for other in SUBLAYERS if other != part))]

    def usual(draw: Draw) -> list[Call]:
        inputs = [_copies_of_a_sentence(draw, length, 8) for length in sides]
        about = "the default dropout"
        return [encode_or_decode(draw, *inputs, about=about, train=True, init=init_block())]

    return (
        *(
            Probe(
                f"in training mode, dropout is applied to the output of {part}, before the sum",
                partial(only, part),
                compare=compare_moments,
            )
            for part in parts
        ),
        Probe(
            "by default dropout is 0.1, and nothing else is dropped", usual, compare=compare_moments
        ),
    )


def plain_norms(call: Call, *, scale: float = 1.0) -> Call:
    """The same call, but the norms have this weight and no bias."""
    for name, weight in _weights_of(call).items():
        if name.startswith("norm"):
            weight.fill_(scale * name.endswith("weight"))
    return call


encode = partial(_call, EncoderBlock)


def without_mask(draw: Draw) -> list[Call]:
    return [
        encode(draw, draw.normal(2, 5, 8, std=2) + 1, about="no mask"),
        encode(draw, draw.normal(3, 4, 8), about="training mode, dropout 0", train=True),
    ]


def _masked(draw: Draw) -> list[Call]:
    right, left = padding(draw, 3, 5), padding(draw, 3, 5, left=True)
    return [
        encode(draw, draw.normal(3, 5, 8), right, about="padding on the right"),
        encode(draw, draw.normal(3, 5, 8), mask=left, about="padding on the left"),
        encode(
            draw, draw.normal(2, 4, 8), draw.mask(2, 1, 4, 4), about="a different mask for each row"
        ),
    ]


def _sizes(draw: Draw) -> list[Call]:
    three, init = (draw.normal(3, 3, 6), padding(draw, 3, 3)), init_block(6, 3, 4, dropout=0.0)
    return [
        encode(draw, draw.normal(1, 1, 8), about="one sentence of one token"),
        encode(draw, *three, about="3 sentences, 3 tokens, 3 heads", init=init),
        encode(draw, draw.strided(2, 6, 8), about="a tensor that is not contiguous"),
        encode(draw, draw.normal(2, 3, 8, dtype=torch.float64), about="float64"),
        encode(draw, draw.normal(2, 3, 8, std=30), about="large numbers"),
    ]


def _tiny(draw: Draw) -> list[Call]:
    x = draw.normal(2, 3, 8, std=1e-3)
    small = plain_norms(
        encode(draw, x, about="numbers around 0.001, norms with a weight of 0.01"), scale=0.01
    )
    return [
        zero_out(encode(draw, x, about="numbers around 0.001"), "self_attention"),
        zero_out(encode(draw, x, about="numbers around 0.001"), "feed_forward"),
        zero_out(small, *SUBLAYERS),
    ]


def _gradients(draw: Draw) -> list[Call]:
    inputs = draw.normal(2, 4, 8), padding(draw, 2, 4)
    return [
        encode(draw, *inputs, about="the gradient of the input", gradients=True),
        encode(draw, *inputs, about="the gradients of the parameters", learns=True),
    ]


def _evaluated(draw: Draw) -> list[Call]:
    return [encode(draw, draw.normal(2, 4, 8), about="dropout 0.9", init=init_block(dropout=0.9))]


TINY = "the norms have PyTorch's eps of 1e-5, which matters for tiny numbers"


ENCODER_PROBES = (  # the same for post-norm and pre-norm
    Probe("masked keys get no weight", _masked),
    Probe("it works for any sizes and for large numbers", _sizes),
    Probe("the input and all parameters get gradients", _gradients),
    Probe(TINY, _tiny),
    Probe("nothing is dropped in evaluation mode", _evaluated),
    *dropout_probes(encode, ("self_attention", "feed_forward"), 2),
)


decode = partial(_call, DecoderBlock)


def two_sides(draw: Draw, batch: int, target: int, source: int, *, left: bool = False) -> Any:
    """Inputs of a decoder block: target, memory and their masks."""
    tokens = draw.tokens(batch, target, left=left)
    two_masks = masks.decoder_mask(tokens, 0), padding(draw, batch, source, left=left)
    return draw.normal(batch, target, 8), draw.normal(batch, source, 8), *two_masks
