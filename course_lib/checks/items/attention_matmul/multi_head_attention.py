"""04.multi_head_attention: All heads together."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.adapters import use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.attention_matmul.attention_parts import (
    Layer,
    layer_call,
    learning,
    masked_layers,
    recent_mask,
    self_attention,
    three,
)
from course_lib.model import attention


def _sizes_and_types(draw: Draw) -> list[Call]:
    x, alike, strided = draw.normal(2, 5, 6), draw.normal(2, 4, 8), draw.strided(2, 5, 6)
    doubles = draw.normal(2, 5, 6, dtype=torch.float64)
    return [
        layer_call(draw, x, x, x, heads=1, about="a single head"),
        layer_call(draw, x, x, x, heads=6, about="one number a head"),
        layer_call(
            draw, alike, alike, alike, recent_mask(4), heads=4, about="as many heads as words"
        ),
        layer_call(
            draw, strided, strided, strided, heads=3, about="a tensor that is not contiguous"
        ),
        layer_call(draw, doubles, doubles, doubles, heads=3, about="float64"),
        layer_call(draw, x, x, x, heads=2, train=True, about="the layer in training mode"),
    ]


item = Item(
    "04.multi_head_attention",
    reference=attention.MultiHeadAttention,
    use=use_module,
    probes=[
        Probe("a sentence reads itself", self_attention),
        Probe(
            "queries, keys and values may be three different tensors",
            lambda draw: [
                layer_call(draw, *three(draw), heads=3, about="4 queries, 6 keys, values apart"),
                layer_call(draw, *three(draw), heads=4, about="4 queries, 6 keys, 4 heads"),
            ],
        ),
        Probe("what the mask hides is not read", masked_layers),
        Probe("any number of heads, any layout, float64, and both modes", _sizes_and_types),
        Probe("gradients reach every parameter and every input", learning),
    ],
    tolerance=1e-4,
    hints=(
        "Five steps: project, cut, attend, merge, mix. Each but the last you have already.",
        "Each of query, key and value goes through its own projection and is then cut. The context "
        "is merged, and out_proj comes last. Hand the mask on as it is.",
        "q = split_heads(self.q_proj(query), self.n_heads), k and v alike,\n"
        "context, _ = scaled_dot_product_attention(...), and self.out_proj(...(context)).",
    ),
)


@item.misconception(
    "Your output equals that of attention scaled by √d_model instead of √d_head.",
    why="After the cut a score is a sum of d_head products. With 8 heads the divisor is too large "
    "by √8, and all maps look washed out. A widely copied version has this bug.",
    hint="Take the width from the tensor that is multiplied.",
)
class ScaledByDModel(Layer):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query / math.sqrt(self.n_heads), key, value, mask)


@item.misconception(
    "Your output equals that of attention without any scale.",
    why="The spread of the scores grows with the root of d_head, and softmax hardens.",
    hint="Which step stands between the score product and softmax?",
)
class NotScaled(Layer):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query * math.sqrt(query.size(-1)), key, value, mask)


@item.misconception(
    "Your output equals that of a single head as wide as d_model.",
    why="Without the cut there is one softmax, so one question for each word. Parameters and "
    "shapes are the same, which is why nobody notices.",
    hint="Where do you use n_heads?",
)
class OneWideHead(Layer):
    def split(self, x: Tensor) -> Tensor:
        return x[:, None]


@item.misconception(
    "The heads are cut straight to (B, H, S, E): words leak into each other before attention.",
    why="view never changes the order of the numbers. It fills head 0 with the first part of the "
    "sentence.",
    hint="Cut the last axis first, then swap heads and words.",
)
class CutStraightAway(Layer):
    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), self.n_heads, x.size(1), -1)


@item.misconception(
    "The contexts are merged without moving the heads back: words and heads are mixed up.",
    why="The shape is right, but the numbers of word 0 are those of head 0 for the first words.",
    hint="What is the reverse of split_heads, step by step?",
)
class MergedStraightAway(Layer):
    def merge(self, context: Tensor) -> Tensor:
        return context.reshape(context.size(0), context.size(2), -1)


@item.misconception(
    "Your words do not read each other: in each word, heads read heads.",
    why="With (B, S, H, E) the last two axes are heads and numbers, so matmul compares heads. What "
    "one word says never reaches another.",
    hint="Which two axes does matmul multiply?",
)
class HeadsReadHeads(Layer):
    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.n_heads, -1))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return scores.softmax(dim=-1) @ value

    def merge(self, context: Tensor) -> Tensor:
        return context.flatten(2)


@item.misconception(
    "Your keys and values are made from the query: every sentence reads itself.",
    why="In self-attention that is the same. A decoder, though, reads the source through this very "
    "layer, and would never see it.",
    hint="Does your forward use its second and third argument?",
)
class ReadsItself(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(query, query, query)


@item.misconception(
    "Your values are made from the key tensor; the third argument is not used.",
    why="Mostly key and value are the same tensor, and nothing is seen. But what a word is found "
    "by and what it hands over may differ.",
    hint="Look at what goes into v_proj.",
)
class ValuesFromTheKey(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(query, key, key)


@item.misconception(
    "Your keys go through q_proj: k_proj is never used.",
    why="With one matrix for both, looking for something and being found by something are one and "
    "the same. k_proj would never learn.",
    hint="Four projections: name the place where each of them is used.",
)
class KeysFromQProj(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(query), self.q_proj(key), self.v_proj(value)


@item.misconception(
    "Your values go through k_proj: v_proj is never used.",
    why="What a word hands over would be what it is found by. v_proj would never learn.",
    hint="Four projections: name the place where each of them is used.",
)
class ValuesFromKProj(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(query), self.k_proj(key), self.k_proj(value)


@item.misconception(
    "Your output is the merged context: out_proj is missing.",
    why="The heads' answers lie side by side and have not met. W_O mixes them, and without it no "
    "column of the output can hear two heads.",
    hint="The paper's formula has one more matrix.",
)
class NotMixed(Layer):
    def mix(self, merged: Tensor) -> Tensor:
        return merged


@item.misconception(
    "Your layer gives the same with a mask and without.",
    why="The mask has to reach every softmax. A layer that drops it reads pads and the future.",
    hint="Follow the name mask through your forward.",
)
class MaskLost(Layer):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query, key, value, None)


@item.misconception(
    "What the mask allows is hidden, and what it hides is read.",
    why="In this course True means: may be read. Your attention takes the mask that way, so hand "
    "it on as it came.",
    hint="Is there one ~ too many, or too few?",
)
class MaskTurnedRound(Layer):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query, key, value, None if mask is None else ~mask)
