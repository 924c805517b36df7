"""05.bug: Nobody listens."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
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


def _one_word_changed(draw: Draw) -> list[Call]:
    x, *weights = draw_inputs(draw, words=5, heads=3, d=8, e=4)
    changed = x.clone()
    changed[:, 2] = draw.normal(2, 8)
    return [
        Call((x, *weights), about="a sentence"),
        Call((changed, *weights), about="one new word"),
    ]


item = Item(
    "05.bug",
    reference=_self_attention,
    bug=Bug(BUG, line=7),
    probes=[
        Probe("what one word says reaches the others", _one_word_changed),
        Probe(
            "any number of words and heads",
            lambda draw: [
                Call(draw_inputs(draw, words=4, heads=4, d=8, e=2), about="as many words as heads"),
                Call(draw_inputs(draw, words=3, heads=3, d=3, e=3), about="all sizes alike"),
                Call(draw_inputs(draw, words=1, heads=2, d=6, e=3), about="sentences of one word"),
            ],
        ),
        Probe(
            "gradients reach the words and all four weights",
            lambda draw: [
                Call(draw_inputs(draw, words=5, heads=3, d=8, e=4), {}, "gradients", gradients=True)
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Read every string aloud: for every ..., the sum over ... Which of these sentences is not "
        "what attention does?",
        "In one string a letter is summed over that stands in one input only. What is the sum of a "
        "row of weights?",
        "A context mixes the values of the words that are read. Which letter do these have?",
    ),
)


@item.misconception(
    "Your words still take home their own value: what one word says never reaches another.",
    why="The values carry the letter of the readers. So k stands in the weights alone, is summed "
    "over, and a row of weights sums to 1. The gradient of w_q and w_k is zero.",
    hint="Which words hand over values: those that read, or those that are read?",
)
def still_own_value(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhqk,bhqe->bhqe")


@item.misconception(
    "Now all words take home the same: the plain sum of the values.",
    why="The values have got a letter that stands nowhere else. It is summed over alone, and so is "
    "k in the weights: the two never meet.",
    hint="The values belong to words that are read. Those have a letter already.",
)
def a_new_letter(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhqk,bhve->bhqe")


@item.misconception(
    "The weights meet the values now, but rows and columns of the weights are swapped.",
    why="The weights were made as bhqk. Another order of the letters here does not move them, it "
    "only calls readers keys. In self-attention the sizes agree, so there is no error.",
    hint="A tensor keeps its letters: compare this line with the one that made the weights.",
)
def weights_renamed(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhkq,bhke->bhqe")


@item.misconception(
    "You sum over the readers: each word keeps its own value, times how much it is read.",
    why="A context belongs to a reader. What stands behind the arrow is kept, and what is missing "
    "is summed over.",
    hint="Whose axis has to be left in the context: q or k?",
)
def summed_over_readers(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhqk,bhke->bhke")


@item.misconception(
    "The letters meet now, but the context comes out as (b, q, h, e), and the next line expects "
    "(b, h, q, e).",
    why="With as many words as heads there is no error: words are taken for heads.",
    hint="Mend what stands before the arrow, and leave what stands behind.",
)
def context_words_first(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhqk,bhke->bqhe")
