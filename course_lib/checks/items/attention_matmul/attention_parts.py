"""What several items of this lesson need."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Probe
from course_lib.model import attention


def _unlike_lengths(draw: Draw) -> list[Call]:
    query, key, value = draw.normal(2, 3, 4, 6), draw.normal(2, 3, 5, 6), draw.normal(2, 3, 5, 7)
    return [
        Call((query, key, value), about="4 queries, 5 keys, and values of another width"),
        Call((query, key[:, :, :1], value[:, :, :1]), about="a single key: its weight is 1"),
        Call((query[:1, :1, :1], key[:1, :1], value[:1, :1]), about="one sentence, head and query"),
    ]


def _widths(draw: Draw) -> list[Call]:
    return [
        Call(tuple(draw.normal(2, 3, 4, width) for _ in range(3)), about=f"d_head is {width}")
        for width in (1, 4, 9, 25)
    ]


def _masks(draw: Draw) -> list[Call]:
    self_reading = tuple(draw.normal(2, 3, 4, 5) for _ in range(3))
    query, key, value = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 5), draw.normal(2, 3, 6, 5)
    return [
        Call(
            (query, key, value), {"mask": hiding_mask(draw, 2, 1, 1, 6)}, "a mask that hides keys"
        ),
        Call(
            (*self_reading, recent_mask(4)), about="a mask that hides the future and the far past"
        ),
        Call(
            (query, key, value, hiding_mask(draw, 2, 3, 4, 6)),
            about="a mask for each head and query",
        ),
    ]


def _large_scores(draw: Draw) -> list[Call]:
    def whole(length: int, low: int, high: int) -> Tensor:
        return draw.ids(2, 2, length, 4, low=low, high=high).float()  # sums of these are exact

    value, mask = draw.normal(2, 2, 5, 4), hiding_mask(draw, 2, 1, 3, 5)
    unlike = whole(3, -20, 20), whole(5, -20, 20), value
    low = whole(3, 10, 20), whole(5, -20, -10), value
    return [
        Call(unlike, about="scores in the hundreds"),
        Call(low, about="all scores far below zero"),
        Call((*unlike, mask), about="scores in the hundreds, some hidden"),
        Call((*low, mask), about="all scores far below zero, some hidden"),
    ]


def _memory_and_types(draw: Draw) -> list[Call]:
    strided = tuple(draw.strided(2, 3, 4, 5) for _ in range(3))
    heads = tuple(attention.split_heads(draw.normal(2, 4, 15), 3) for _ in range(3))
    doubles = tuple(draw.normal(2, 3, 4, 5, dtype=torch.float64) for _ in range(3))
    return [
        Call(strided, about="tensors that are not contiguous"),
        Call(heads, about="heads just cut, not contiguous either"),
        Call((*doubles, hiding_mask(draw, 2, 1, 1, 4)), about="float64"),
        Call(tuple(draw.normal(3, 3, 3, 3) for _ in range(3)), about="all sizes alike"),
    ]


ATTENTION_PROBES = (  # lesson 05 asks for the same, written with letters
    Probe("each query mixes the values by the softmax of its scores", _unlike_lengths),
    Probe("scores are divided by √d_head, whatever the width", _widths),
    Probe("a hidden key has the weight 0, and what is left sums to one", _masks),
    Probe("scores of any size keep it finite", _large_scores),
    Probe("it works on any memory layout and in float64", _memory_and_types),
    Probe(
        "gradients reach query, key and value",
        lambda draw: [
            Call(call.args, call.kwargs, call.about, gradients=True)
            for call in (*_unlike_lengths(draw), *_masks(draw))
        ],
    ),
)


class Layer(nn.Module):
    """Multi-head attention in steps, so that each misconception below gets one of them wrong."""

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


def layer_call(
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
        layer = Layer(**init).to(first.dtype)
    weights = draw.weights(layer)
    return Call((first, *others), {"init": init, "weights": weights, **more}, about, gradients)


def three(draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
    return draw.normal(2, 4, 12), draw.normal(2, 6, 12), draw.normal(2, 6, 12)


def self_attention(draw: Draw) -> list[Call]:
    x, lone = draw.normal(2, 5, 12), draw.normal(1, 1, 4)
    return [
        layer_call(draw, x, x, x, heads=3, about="two sentences of 5 words, 3 heads"),
        layer_call(draw, lone, lone, lone, heads=2, about="one sentence of one word"),
    ]


def masked_layers(draw: Draw) -> list[Call]:
    x, mask = draw.normal(2, 5, 12), hiding_mask(draw, 2, 1, 1, 6)
    return [
        layer_call(
            draw,
            x,
            x,
            x,
            recent_mask(5),
            heads=3,
            about="a mask that hides the future and the far past",
        ),
        layer_call(draw, *three(draw), heads=2, mask=mask, about="a mask that hides keys"),
        layer_call(
            draw,
            *three(draw),
            hiding_mask(draw, 2, 2, 4, 6),
            heads=2,
            about="a mask for each head",
        ),
    ]


def learning(draw: Draw) -> list[Call]:
    mask = hiding_mask(draw, 2, 1, 1, 6)
    return [
        layer_call(draw, *three(draw), mask, heads=3, learns=True, about="gradients of parameters"),
        layer_call(draw, *three(draw), mask, heads=3, gradients=True, about="gradients of inputs"),
    ]
