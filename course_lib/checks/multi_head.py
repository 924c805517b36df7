"""Items of lesson 04 about the whole layer: heads cut, read, merged and mixed.

B batch, H heads, Q query length, K key length, S either, D d_model, E d_head.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from course_lib.checks.adapters import use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import attention
from course_lib.model.masks import masked_softmax

# --- 04.multi_head_attention ---------------------------------------------------------------------


class _Layer(nn.Module):
    """Multi-head attention in steps, so that each mistake below gets one of them wrong."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(query), self.k_proj(key), self.v_proj(value)

    def split(self, x: Tensor) -> Tensor:
        return attention.split_heads(x, self.n_heads)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return attention.attention_matmul(query, key, value, mask)[0]

    def merge(self, context: Tensor) -> Tensor:
        return attention.merge_heads(context)

    def mix(self, merged: Tensor) -> Tensor:
        mixed: Tensor = self.out_proj(merged)
        return mixed

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        query, key, value = (self.split(x) for x in self.project(query, key, value))
        return self.mix(self.merge(self.attend(query, key, value, mask)))


def hiding_mask(draw: Draw, *shape: int) -> Tensor:
    """In each row something is hidden and something is left, so a mask turned round is one, too."""
    mask = draw.mask(*shape)
    mask[..., -1] &= ~mask.all(dim=-1)
    return mask


def recent_mask(size: int) -> Tensor:
    """Each query reads itself and at most two before it, (1, 1, size, size)."""
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril().triu(-2)


def _call(
    draw: Draw,
    first: Tensor,
    *others: Tensor,
    heads: int,
    about: str,
    gradients: bool = False,
    **more: object,
) -> Call:
    """A layer as wide as its inputs, with drawn weights."""
    init = {"d_model": first.size(-1), "n_heads": heads}
    with torch.device("meta"):  # its shapes are wanted, not its first values
        layer = _Layer(**init).to(first.dtype)
    weights = draw.weights(layer)
    return Call((first, *others), {"init": init, "weights": weights, **more}, about, gradients)


def _three(draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
    return draw.normal(2, 4, 12), draw.normal(2, 6, 12), draw.normal(2, 6, 12)


def _self_attention(draw: Draw) -> list[Call]:
    x, lone = draw.normal(2, 5, 12), draw.normal(1, 1, 4)
    return [
        _call(draw, x, x, x, heads=3, about="two sentences of 5 words, 3 heads"),
        _call(draw, lone, lone, lone, heads=2, about="one sentence of one word"),
    ]


def _masked_layers(draw: Draw) -> list[Call]:
    x, mask = draw.normal(2, 5, 12), hiding_mask(draw, 2, 1, 1, 6)
    return [
        _call(
            draw,
            x,
            x,
            x,
            recent_mask(5),
            heads=3,
            about="a mask that hides the future and the far past",
        ),
        _call(draw, *_three(draw), heads=2, mask=mask, about="a mask that hides keys"),
        _call(
            draw,
            *_three(draw),
            hiding_mask(draw, 2, 2, 4, 6),
            heads=2,
            about="a mask for each head",
        ),
    ]


def _sizes_and_types(draw: Draw) -> list[Call]:
    x, alike, strided = draw.normal(2, 5, 6), draw.normal(2, 4, 8), draw.strided(2, 5, 6)
    doubles = draw.normal(2, 5, 6, dtype=torch.float64)
    return [
        _call(draw, x, x, x, heads=1, about="a single head"),
        _call(draw, x, x, x, heads=6, about="one number a head"),
        _call(draw, alike, alike, alike, recent_mask(4), heads=4, about="as many heads as words"),
        _call(draw, strided, strided, strided, heads=3, about="a tensor that is not contiguous"),
        _call(draw, doubles, doubles, doubles, heads=3, about="float64"),
        _call(draw, x, x, x, heads=2, train=True, about="the layer in training mode"),
    ]


def _learning(draw: Draw) -> list[Call]:
    mask = hiding_mask(draw, 2, 1, 1, 6)
    return [
        _call(draw, *_three(draw), mask, heads=3, learns=True, about="gradients of parameters"),
        _call(draw, *_three(draw), mask, heads=3, gradients=True, about="gradients of inputs"),
    ]


multi_head_attention = Item(
    "04.multi_head_attention",
    reference=attention.MultiHeadAttention,
    use=use_module,
    probes=[
        Probe("a sentence reads itself", _self_attention),
        Probe(
            "queries, keys and values may be three different tensors",
            lambda draw: [
                _call(draw, *_three(draw), heads=3, about="4 queries, 6 keys, values apart"),
                _call(draw, *_three(draw), heads=4, about="4 queries, 6 keys, 4 heads"),
            ],
        ),
        Probe("what the mask hides is not read", _masked_layers),
        Probe("any number of heads, any layout, float64, and both modes", _sizes_and_types),
        Probe("gradients reach every parameter and every input", _learning),
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


@multi_head_attention.mistake(
    "Your output equals that of attention scaled by √d_model instead of √d_head.",
    why="After the cut a score is a sum of d_head products. With 8 heads the divisor is too large "
    "by √8, and all maps look washed out. A widely copied version has this bug.",
    hint="Take the width from the tensor that is multiplied.",
)
class ScaledByDModel(_Layer):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query / math.sqrt(self.n_heads), key, value, mask)


@multi_head_attention.mistake(
    "Your output equals that of attention without any scale.",
    why="The spread of the scores grows with the root of d_head, and softmax hardens.",
    hint="Which step stands between the score product and softmax?",
)
class NotScaled(_Layer):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query * math.sqrt(query.size(-1)), key, value, mask)


@multi_head_attention.mistake(
    "Your output equals that of a single head as wide as d_model.",
    why="Without the cut there is one softmax, so one question for each word. Parameters and "
    "shapes are the same, which is why nobody notices.",
    hint="Where do you use n_heads?",
)
class OneWideHead(_Layer):
    def split(self, x: Tensor) -> Tensor:
        return x[:, None]


@multi_head_attention.mistake(
    "The heads are cut straight to (B, H, S, E): words leak into each other before attention.",
    why="view never changes the order of the numbers. It fills head 0 with the first part of the "
    "sentence.",
    hint="Cut the last axis first, then swap heads and words.",
)
class CutStraightAway(_Layer):
    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), self.n_heads, x.size(1), -1)


@multi_head_attention.mistake(
    "The contexts are merged without moving the heads back: words and heads are mixed up.",
    why="The shape is right, but the numbers of word 0 are those of head 0 for the first words.",
    hint="What is the reverse of split_heads, step by step?",
)
class MergedStraightAway(_Layer):
    def merge(self, context: Tensor) -> Tensor:
        return context.reshape(context.size(0), context.size(2), -1)


@multi_head_attention.mistake(
    "Your words do not read each other: in each word, heads read heads.",
    why="With (B, S, H, E) the last two axes are heads and numbers, so matmul compares heads. What "
    "one word says never reaches another.",
    hint="Which two axes does matmul multiply?",
)
class HeadsReadHeads(_Layer):
    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.n_heads, -1))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return scores.softmax(dim=-1) @ value

    def merge(self, context: Tensor) -> Tensor:
        return context.flatten(2)


@multi_head_attention.mistake(
    "Your keys and values are made from the query: every sentence reads itself.",
    why="In self-attention that is the same. A decoder, though, reads the source through this very "
    "layer, and would never see it.",
    hint="Does your forward use its second and third argument?",
)
class ReadsItself(_Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(query, query, query)


@multi_head_attention.mistake(
    "Your values are made from the key tensor; the third argument is not used.",
    why="Mostly key and value are the same tensor, and nothing is seen. But what a word is found "
    "by and what it hands over may differ.",
    hint="Look at what goes into v_proj.",
)
class ValuesFromTheKey(_Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(query, key, key)


@multi_head_attention.mistake(
    "Your keys go through q_proj: k_proj is never used.",
    why="With one matrix for both, looking for something and being found by something are one and "
    "the same. k_proj would never learn.",
    hint="Four projections: name the place where each of them is used.",
)
class KeysFromQProj(_Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(query), self.q_proj(key), self.v_proj(value)


@multi_head_attention.mistake(
    "Your values go through k_proj: v_proj is never used.",
    why="What a word hands over would be what it is found by. v_proj would never learn.",
    hint="Four projections: name the place where each of them is used.",
)
class ValuesFromKProj(_Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(query), self.k_proj(key), self.k_proj(value)


@multi_head_attention.mistake(
    "Your output is the merged context: out_proj is missing.",
    why="The heads' answers lie side by side and have not met. W_O mixes them, and without it no "
    "column of the output can hear two heads.",
    hint="The paper's formula has one more matrix.",
)
class NotMixed(_Layer):
    def mix(self, merged: Tensor) -> Tensor:
        return merged


@multi_head_attention.mistake(
    "Your layer gives the same with a mask and without.",
    why="The mask has to reach every softmax. A layer that drops it reads pads and the future.",
    hint="Follow the name mask through your forward.",
)
class MaskLost(_Layer):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query, key, value, None)


@multi_head_attention.mistake(
    "What the mask allows is hidden, and what it hides is read.",
    why="In this course True means: may be read. Your attention takes the mask that way, so hand "
    "it on as it came.",
    hint="Is there one ~ too many, or too few?",
)
class MaskTurnedRound(_Layer):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query, key, value, None if mask is None else ~mask)


# --- 04.bug --------------------------------------------------------------------------------------

BUG = """\
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        batch, length, d_model = query.shape
        cut = (batch, -1, self.n_heads, self.d_head)
        query = self.q_proj(query).view(cut).transpose(1, 2)  # (B, H, Q, E)
        key = self.k_proj(key).view(batch, self.n_heads, self.d_head, -1)  # (B, H, E, K)
        value = self.v_proj(value).view(cut).transpose(1, 2)  # (B, H, K, E)
        scores = query @ key / math.sqrt(self.d_head)  # (B, H, Q, K)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        context = scores.softmax(dim=-1) @ value  # (B, H, Q, E)
        return self.out_proj(context.transpose(1, 2).reshape(batch, length, d_model))
"""


class _Mended(_Layer):
    """The same in steps; ``turned`` makes (B, H, E, K) of projected keys (B, K, D)."""

    def turned(self, key: Tensor) -> Tensor:
        return self.split(key).transpose(-2, -1)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        query, key, value = self.project(query, key, value)
        query, value = self.split(query), self.split(value)
        scores = query @ self.turned(key) / math.sqrt(query.size(-1))
        return self.mix(self.merge(masked_softmax(scores, mask) @ value))


bug = Item(
    "04.bug",
    reference=_Mended,
    use=use_module,
    bug=Bug(BUG, line=14),
    probes=[
        Probe(
            "each word is found by its own key",
            lambda draw: [
                _call(draw, *_three(draw), heads=3, about="4 queries, 6 keys, 3 heads of 4"),
                _call(draw, *_three(draw), heads=2, about="as many keys as numbers a head"),
            ],
        ),
        Probe("a sentence reads itself", _self_attention),
        Probe("what the mask hides is not read", _masked_layers),
        Probe("gradients reach every parameter and every input", _learning),
    ],
    tolerance=1e-4,
    hints=(
        "All shapes are right. Ask of each line which numbers stand where, not how many there are.",
        "view never changes the order of the numbers in memory. One line needs another order than "
        "the one it has.",
        "The keys have to be cut as queries and values are, and only then be turned: "
        ".view(cut).permute(0, ..., ..., ...).",
    ),
)


@bug.mistake(
    "The keys still hold numbers of other words: view alone cannot bring D in front of the words.",
    why="In memory the numbers of one word are neighbours. view(B, H, E, K) takes K neighbours for "
    "one number of K words.",
    hint="Look for the one view that is not followed by a transpose.",
)
class StillViewedOnly(_Mended):
    def turned(self, key: Tensor) -> Tensor:
        return key.reshape(key.size(0), self.n_heads, key.size(2) // self.n_heads, -1)


@bug.mistake(
    "The keys are turned now, but they were cut straight to (B, H, K, E) before: words are mixed.",
    why="view(B, H, K, E) fills head 0 with the first part of the sentence. What follows cannot "
    "repair it.",
    hint="Which axis may a view cut without harm?",
)
class CutStraightAndTurned(_Mended):
    def turned(self, key: Tensor) -> Tensor:
        return key.reshape(key.size(0), self.n_heads, key.size(1), -1).transpose(-2, -1)


@bug.mistake(
    "The keys' heads take every H-th number, and the queries' heads take E numbers in a row.",
    why="Then the first number of a query meets a number of a key that belongs to another head.",
    hint="In which order does `cut` name heads and numbers?",
)
class KeysTakeTurns(_Mended):
    def turned(self, key: Tensor) -> Tensor:
        return key.unflatten(2, (-1, self.n_heads)).permute(0, 3, 2, 1)


@bug.mistake(
    "Your keys are cut, but not turned: (B, H, K, E), and the next product wants (B, H, E, K).",
    why="That is an error, unless there are as many keys as numbers a head. Then it runs, and is "
    "wrong in silence.",
    hint="query @ key sums over the last axis of query. Which axis of key does it meet?",
)
class CutAndNotTurned(_Mended):
    def turned(self, key: Tensor) -> Tensor:
        return self.split(key)


@bug.mistake(
    "Now queries and values are cut straight away, too: all agree, and all of them are wrong.",
    why="Words leak into each other in all three. The line that differed was the wrong one, but "
    "it was not to be made the pattern.",
    hint="Try all three cuts on numbers that carry their place, as in the lesson.",
)
class AllCutStraightAway(_Mended):
    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), self.n_heads, x.size(1), -1)
