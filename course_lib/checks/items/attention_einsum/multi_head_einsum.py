"""05.multi_head_einsum: All heads in six strings."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.attention_einsum.attention_einsum import softmax_over_readers
from course_lib.checks.items.attention_einsum.einsum_parts import (
    Mask,
    Pair,
    draw_inputs,
    into_heads,
    mix,
    out_of_heads,
    scaled_scores,
)
from course_lib.checks.items.attention_matmul.attention_parts import (
    hiding_mask,
    recent_mask,
)
from course_lib.model import attention


def _multi_head(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    query, key, value = (into_heads(x, w) for w in (w_q, w_k, w_v))
    context, weights = attention.attention_einsum(query, key, value, mask)
    return out_of_heads(context, w_o), weights


def _with_masks(draw: Draw, **more: bool) -> list[Call]:
    inputs = draw_inputs(draw, words=5, heads=3, d=8, e=4)
    return [
        Call((*inputs, recent_mask(5)), {}, "a mask that hides future and far past", **more),
        Call(inputs, {"mask": hiding_mask(draw, 2, 1, 1, 5)}, "a mask that hides keys", **more),
        Call((*inputs, hiding_mask(draw, 2, 3, 5, 5)), {}, "a mask for each head", **more),
    ]


def _sizes(draw: Draw) -> list[Call]:
    _, *weights = draw_inputs(draw, words=4, heads=2, d=6, e=3)
    strided = draw.strided(2, 4, 6)
    return [
        Call(draw_inputs(draw, words=4, heads=1, d=5, e=5), about="a single head"),
        Call(draw_inputs(draw, words=3, heads=4, d=6, e=1), about="one number a head"),
        Call(
            draw_inputs(draw, words=1, heads=2, d=3, e=4, batch=1), about="one sentence of one word"
        ),
        Call((strided, *(w.mT.contiguous().mT for w in weights)), about="not contiguous"),
        Call(draw_inputs(draw, words=4, heads=2, d=6, e=3, double=True), about="float64"),
    ]


item = Item(
    "05.multi_head_einsum",
    reference=_multi_head,
    probes=[
        Probe(
            "each head projects, reads and writes with its own numbers",
            lambda draw: [
                Call(draw_inputs(draw, words=5, heads=3, d=8, e=4), about="h · e is not d"),
                Call(draw_inputs(draw, words=6, heads=2, d=8, e=4), about="h · e is d"),
            ],
        ),
        Probe("what the mask hides is not read", _with_masks),
        Probe(
            "as many words as heads: axes of one size are not mixed up",
            lambda draw: [
                Call(
                    (*draw_inputs(draw, words=4, heads=4, d=8, e=2), recent_mask(4)),
                    about="4 and 4",
                ),
                Call(
                    (*draw_inputs(draw, words=3, heads=3, d=3, e=3), recent_mask(3)), about="all 3"
                ),
            ],
        ),
        Probe("sizes of one, any memory layout, float64", _sizes),
        Probe(
            "gradients reach the words and all four weights",
            lambda draw: _with_masks(draw, gradients=True),
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Six products and a softmax. Two of the products and the softmax you have written already.",
        "Into heads: for every b, h, s and e the sum over d. Out of heads: for every b, q and d "
        "the sum over h and e; nothing is laid side by side.",
        'query = torch.einsum("bsd,...->bhse", x, w_q), and so on\n'
        'output = torch.einsum("bhqe,...->bqd", context, w_o)',
    ),
)


@item.misconception(
    "Your weights have the axes (b, q, h, k): words before heads.",
    why="It is the order in which they come, and costs nothing. But masks, plots and slices expect "
    "(b, h, q, k): a mask (1, 1, q, k) meets the heads there.",
    hint="Behind the arrow you may ask for any order.",
)
def words_come_first(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    output, weights = mask_meets_the_heads(x, w_q, w_k, w_v, w_o, mask)
    return output, weights.transpose(1, 2)


@item.misconception(
    "Your mask meets the heads: with 5 words and 3 heads an error, with as many words as heads "
    "none, and the future is read.",
    why="Your scores are (b, q, h, k) when the mask comes, and broadcasting matches axes by their "
    "place. A published version has this bug.",
    hint="Write down the axes of the scores, and under them those of the mask, from the right.",
)
def mask_meets_the_heads(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    query, key, value = (torch.einsum("bsd,dhe->bshe", x, w) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bqhe,bkhe->bqhk", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    context = torch.einsum("bqhk,bkhe->bqhe", weights, value)
    return torch.einsum("bqhe,hed->bqd", context, w_o), weights.transpose(1, 2)


@item.misconception(
    "Your weights equal those of attention scaled by √d, the width of a word, instead of √e.",
    why="A score is a sum over the numbers of one head. The most copied einsum version has this "
    "bug, and all its maps are pale.",
    hint="Take the width from the tensor that is multiplied.",
)
def root_of_the_word(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    factor = math.sqrt(w_q.size(2) / x.size(2))
    return _multi_head(x, w_q * factor, w_k, w_v, w_o, mask)


@item.misconception(
    "Your scores are not scaled.",
    why="The strings add up products and nothing else. In a wide head softmax would settle on one "
    "key.",
    hint="What stood between the product and softmax in lesson 04?",
)
def scale_forgotten(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q * math.sqrt(w_q.size(2)), w_k, w_v, w_o, mask)


@item.misconception(
    "Your softmax runs over the readers: columns of the weights sum to one, and rows do not.",
    why="Each reader has a total of one to give. In self-attention both axes have one size, so no "
    "shape tells you.",
    hint="In which place does k stand behind your arrow?",
)
def shared_out_by_the_keys(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    query, key, value = (into_heads(x, w) for w in (w_q, w_k, w_v))
    context, weights = softmax_over_readers(query, key, value, mask)
    return out_of_heads(context, w_o), weights


@item.misconception(
    "Your scores are mirrored: row i holds what all queries ask of word i.",
    why="q and k have the same size here, so swapped letters give no error. It is as if queries "
    "and keys had changed their matrices.",
    hint="In which order do q and k stand behind the arrow of your scores?",
)
def queries_and_keys_swapped(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_k, w_q, w_v, w_o, mask)


@item.misconception(
    "Your keys are made with w_q: w_k is never used.",
    why="With one matrix for both, looking for something and being found by it are the same, and "
    "the scores are symmetric.",
    hint="Four weights: name the place where each of them is used.",
)
def keys_from_w_q(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q, w_q, w_v, w_o, mask)


@item.misconception(
    "Your values are made with w_k: w_v is never used.",
    why="What a word hands over would be what it is found by.",
    hint="Four weights: name the place where each of them is used.",
)
def values_from_w_k(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q, w_k, w_k, w_o, mask)


@item.misconception(
    "Your output is the mean of what the heads write, not the sum.",
    why="Each head adds its part to one common vector. The mean is smaller by the number of heads.",
    hint="A missing letter is summed over. Is there a division too many?",
)
def heads_averaged(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    output, weights = _multi_head(x, w_q, w_k, w_v, w_o, mask)
    return output / w_q.size(1), weights


@item.misconception(
    "Your weights are right, but the contexts are joined while heads stand before words.",
    why="reshape keeps the order of the numbers: word 0 gets those of head 0 for the first words. "
    "With letters nothing has to be joined.",
    hint="Which letters of the context does w_o share?",
)
def joined_heads_first(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    query, key, value = (into_heads(x, w) for w in (w_q, w_k, w_v))
    context, weights = attention.attention_einsum(query, key, value, mask)
    return context.reshape(*x.shape[:2], -1) @ w_o.flatten(0, 1), weights


@item.misconception(
    "Your weights are right, but every reader takes home the same: the plain sum of the values.",
    why="The keys have one letter in the weights and another in the values, so the two never meet.",
    hint="Look for a letter that stands in one input only, and not behind the arrow.",
)
def keys_have_two_letters(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    scores = scaled_scores(into_heads(x, w_q), into_heads(x, w_k))
    context, weights = mix(scores, into_heads(x, w_v), mask, "bhqk,bhve->bhqe")
    return out_of_heads(context, w_o), weights


@item.misconception(
    "Your result is the same with a mask and without.",
    why="The mask has to reach every softmax. A layer that drops it reads pads and the future.",
    hint="Follow the name mask through your function.",
)
def mask_lost(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q, w_k, w_v, w_o)


@item.misconception(
    "What the mask allows is hidden, and what it hides is read.",
    why="In this course True means: may be read. Your attention takes the mask that way, so hand "
    "it on as it came.",
    hint="Is there one ~ too many, or too few?",
)
def mask_handed_on_backwards(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q, w_k, w_v, w_o, None if mask is None else ~mask)
