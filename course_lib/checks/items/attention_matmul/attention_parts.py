"""Test inputs, probes and a layer that several items on attention share."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from course_lib import model
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Probe


def _different_lengths(draw: Draw) -> list[Call]:
    query, key, value = draw.normal(2, 3, 4, 6), draw.normal(2, 3, 5, 6), draw.normal(2, 3, 5, 7)
    return [
        Call((query, key, value), about="4 queries, 5 keys, and wider values"),
        Call((query, key[:, :, :1], value[:, :, :1]), about="a single key, whose weight is 1"),
        Call(
            (query[:1, :1, :1], key[:1, :1], value[:1, :1]),
            about="one sentence, one head, one query",
        ),
    ]


def _widths(draw: Draw) -> list[Call]:
    return [
        Call(tuple(draw.normal(2, 3, 4, width) for _ in range(3)), about=f"d_head is {width}")
        for width in (1, 4, 9, 25)
    ]


def _masks(draw: Draw) -> list[Call]:
    inputs = tuple(draw.normal(2, 3, 4, 5) for _ in range(3))
    query, key, value = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 5), draw.normal(2, 3, 6, 5)
    return [
        Call(
            (query, key, value), {"mask": hiding_mask(draw, 2, 1, 1, 6)}, "a mask that hides keys"
        ),
        Call((*inputs, recent_mask(4)), about="a mask that hides the future and the distant past"),
        Call(
            (query, key, value, hiding_mask(draw, 2, 3, 4, 6)),
            about="a different mask for each head and query",
        ),
    ]


def _large_scores(draw: Draw) -> list[Call]:
    def integers(length: int, low: int, high: int) -> Tensor:
        return draw.ids(2, 2, length, 4, low=low, high=high).float()  # sums of these are exact

    value, mask = draw.normal(2, 2, 5, 4), hiding_mask(draw, 2, 1, 3, 5)
    mixed = integers(3, -20, 20), integers(5, -20, 20), value
    low = integers(3, 10, 20), integers(5, -20, -10), value
    return [
        Call(mixed, about="scores in the hundreds"),
        Call(low, about="all scores far below zero"),
        Call((*mixed, mask), about="scores in the hundreds, some masked"),
        Call((*low, mask), about="all scores far below zero, some masked"),
    ]


def _memory_and_types(draw: Draw) -> list[Call]:
    strided = tuple(draw.strided(2, 3, 4, 5) for _ in range(3))
    heads = tuple(model.split_heads(draw.normal(2, 4, 15), 3) for _ in range(3))
    doubles = tuple(draw.normal(2, 3, 4, 5, dtype=torch.float64) for _ in range(3))
    return [
        Call(strided, about="tensors that are not contiguous"),
        Call(heads, about="heads just split, also not contiguous"),
        Call((*doubles, hiding_mask(draw, 2, 1, 1, 4)), about="float64"),
        Call(tuple(draw.normal(3, 3, 3, 3) for _ in range(3)), about="all sizes equal"),
    ]


ATTENTION_PROBES = (  # lesson 05 asks for the same function, with einsum
    Probe(
        "the context is the values' average, weighted by the softmax of the scores",
        _different_lengths,
    ),
    Probe("scores are divided by √d_head, whatever d_head is", _widths),
    Probe("a masked key gets weight 0, and the other weights sum to one", _masks),
    Probe("the result is finite for scores of any size", _large_scores),
    Probe("it works on any memory layout and in float64", _memory_and_types),
    Probe(
        "gradients reach query, key and value",
        lambda draw: [
            Call(call.args, call.kwargs, call.about, gradients=True)
            for call in (*_different_lengths(draw), *_masks(draw))
        ],
    ),
)


class Layer(nn.Module):
    """Multi-head attention in steps; each misconception of the items overrides one of them."""

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
        return model.split_heads(x, self.n_heads)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return model.attention_matmul(query, key, value, mask)[0]

    def merge(self, context: Tensor) -> Tensor:
        return model.merge_heads(context)

    def project_out(self, merged: Tensor) -> Tensor:
        output: Tensor = self.out_proj(merged)
        return output

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        query, key, value = (self.split(x) for x in self.project(query, key, value))
        return self.project_out(self.merge(self.attend(query, key, value, mask)))


def hiding_mask(draw: Draw, *shape: int) -> Tensor:
    """Each row has both a True and a False, so the inverted mask is valid, too."""
    mask = draw.mask(*shape)
    mask[..., -1] &= ~mask.all(dim=-1)
    return mask


def recent_mask(size: int) -> Tensor:
    """Each query attends to itself and at most two positions before it, (1, 1, size, size)."""
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
    """A layer as wide as its inputs, with random weights."""
    init = {"d_model": first.size(-1), "n_heads": heads}
    with torch.device("meta"):  # only its shapes are needed
        layer = Layer(**init).to(first.dtype)
    weights = draw.weights(layer)
    return Call((first, *others), {"init": init, "weights": weights, **more}, about, gradients)


def three(draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
    return draw.normal(2, 4, 12), draw.normal(2, 6, 12), draw.normal(2, 6, 12)


def self_attention(draw: Draw) -> list[Call]:
    x, lone = draw.normal(2, 5, 12), draw.normal(1, 1, 4)
    return [
        layer_call(draw, x, x, x, heads=3, about="two sentences of 5 tokens, 3 heads"),
        layer_call(draw, lone, lone, lone, heads=2, about="one sentence of one token"),
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
            about="a mask that hides the future and the distant past",
        ),
        layer_call(draw, *three(draw), heads=2, mask=mask, about="a mask that hides keys"),
        layer_call(
            draw,
            *three(draw),
            hiding_mask(draw, 2, 2, 4, 6),
            heads=2,
            about="a different mask for each head",
        ),
    ]


def gradient_calls(draw: Draw) -> list[Call]:
    mask = hiding_mask(draw, 2, 1, 1, 6)
    return [
        layer_call(
            draw, *three(draw), mask, heads=3, learns=True, about="gradients of the parameters"
        ),
        layer_call(
            draw, *three(draw), mask, heads=3, gradients=True, about="gradients of the inputs"
        ),
    ]
