"""05.bug: No token affects another."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.checks.items.attention_einsum.einsum_parts import (
    draw_inputs,
    into_heads,
    out_of_heads,
    scaled_scores,
)

BUG = """\
def self_attention(x, w_q, w_k, w_v, w_o):
    query = torch.einsum("bsd,dhe->bhse", x, w_q)
    key = torch.einsum("bsd,dhe->bhse", x, w_k)
    value = torch.einsum("bsd,dhe->bhse", x, w_v)
    scores = torch.einsum("bhqe,bhke->bhqk", query, key)
    weights = (scores / math.sqrt(query.size(-1))).softmax(dim=-1)
    context = torch.einsum("bhqk,bhqe->bhqe", weights, value)
    return torch.einsum("bhqe,hed->bqd", context, w_o)
"""


def _self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, letters: str = "bhqk,bhke->bhqe"
) -> Tensor:
    """The same, with ``letters`` in line 7."""
    query, key, value = (into_heads(x, w) for w in (w_q, w_k, w_v))
    context = torch.einsum(letters, scaled_scores(query, key).softmax(dim=-1), value)
    return out_of_heads(context, w_o)


def _with_letters(name: str, letters: str) -> Callable[..., Tensor]:
    def answer(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
        return _self_attention(x, w_q, w_k, w_v, w_o, letters)

    answer.__name__ = name
    return answer


def _one_token_changed(draw: Draw) -> list[Call]:
    x, *weights = draw_inputs(draw, length=5, heads=3, d=8, e=4)
    changed = x.clone()
    changed[:, 2] = draw.normal(2, 8)
    return [
        Call((x, *weights), about="a sentence"),
        Call((changed, *weights), about="the same with one token replaced"),
    ]


item = Item(
    "05.bug",
    reference=_self_attention,
    bug=Bug(BUG, line=7),
    probes=[
        Probe("a change of one token affects the others", _one_token_changed),
        Probe(
            "it works for any number of tokens and heads",
            lambda draw: [
                Call(
                    draw_inputs(draw, length=4, heads=4, d=8, e=2), about="as many tokens as heads"
                ),
                Call(
                    draw_inputs(draw, length=3, heads=3, d=3, e=3),
                    about="length, heads, d_model and d_head are all 3",
                ),
                Call(
                    draw_inputs(draw, length=1, heads=2, d=6, e=3), about="sentences of one token"
                ),
            ],
        ),
        Probe(
            "gradients reach x and all four weights",
            lambda draw: [
                Call(
                    draw_inputs(draw, length=5, heads=3, d=8, e=4),
                    {},
                    about="gradients",
                    gradients=True,
                )
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        'Read every string aloud, as in lesson 05: "for every ..., the sum over ..." Which of '
        "these sentences doesn't describe attention?",
        "One string sums over a letter that occurs in one input only. What is the sum of a row of "
        "weights?",
        "A context is a weighted average of the values of all keys. Which letter do the keys have?",
    ),
)


item.add(
    _with_letters("still_own_value", "bhqk,bhqe->bhqe"),
    "Each token's context is still its own value, so no token affects another.",
    why="The values share no letter with the last axis of the weights. So this axis is summed "
    "over in the weights alone, and each row of weights sums to 1. The gradients of w_q and w_k "
    "are zero.",
    hint="The last axis of the weights is that of the keys. Which letter does it have in your "
    "string, and do the values have it, too?",
)
item.add(
    _with_letters("a_new_letter", "bhqk,bhve->bhqe"),
    "Now all tokens get the same context: the plain sum of the values.",
    why="Weights and values share no letter for the tokens. So each is summed over separately, "
    "and a row of weights sums to 1.",
    hint="Each value belongs to a key. Which letter do the keys have in the weights, and which in "
    "the values?",
)
item.add(
    _with_letters("weights_renamed", "bhkq,bhke->bhqe"),
    "Weights and values share a letter now, but you sum over the queries instead of the keys: "
    "rows and columns of the weights are swapped.",
    why="The weights were computed as bhqk, and softmax was over their last axis. Letters in "
    "another order don't move any axes. In self-attention the sizes agree, so there's no error.",
    hint="Which axis of the weights does your line sum over: the last one, as softmax did, or the "
    "one before it?",
)
item.add(
    _with_letters("summed_over_readers", "bhqk,bhke->bhke"),
    "You sum over the queries: each token keeps its own value, multiplied by the weight it gets.",
    why="There should be one context per query. Letters after the arrow are kept, the others are "
    "summed over.",
    hint="Which axis should the context have: q or k?",
)
item.add(
    _with_letters("context_words_first", "bhqk,bhke->bqhe"),
    "Weights and values share a letter now, but your context is (b, q, h, e), and the next line "
    "expects (b, h, q, e).",
    why="If there are as many tokens as heads, there's no error, and tokens are treated as heads.",
    hint="Fix what comes before the arrow, and leave what comes after it.",
)
