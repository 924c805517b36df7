"""Items of lesson 04: who reads what, and how much of it. Those of whole layers: ``multi_head``.

B batch, H heads, Q query length, K key length, D d_model, E d_head.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.multi_head import bug as bug
from course_lib.checks.multi_head import hiding_mask, recent_mask
from course_lib.checks.multi_head import multi_head_attention as multi_head_attention
from course_lib.model import attention
from course_lib.model.masks import masked_softmax

# --- 04.scaled_dot_product_attention -------------------------------------------------------------


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

scaled_dot_product_attention = Item(
    "04.scaled_dot_product_attention",
    reference=attention.attention_matmul,
    probes=ATTENTION_PROBES,
    tolerance=1e-4,
    hints=(
        "Take the four steps of the lesson in order: scores, scale, softmax, mix. Where does the "
        "mask belong, so that what is left still sums to one?",
        "Scores (B, H, Q, K) are query @ key with its last two axes swapped, divided by the root "
        "of the last axis of query. Hide before softmax. Softmax runs along the keys.",
        "scores = query @ key.transpose(...) / math.sqrt(query.size(...))\n"
        "scores = scores.masked_fill(..., -1e9), if there is a mask\n"
        "weights = scores.softmax(dim=...), and return weights @ ..., weights",
    ),
)

Mask = Tensor | None
Pair = tuple[Tensor, Tensor]


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))


def _mix(scores: Tensor, value: Tensor, mask: Tensor | None) -> Pair:
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Your weights equal those of attention scaled by √d_model, H · E, instead of √d_head, E.",
    why="A score adds up the d_head products of one head. The larger divisor makes all scores "
    "small, and every word reads everything almost alike.",
    hint="Along which axis does the dot product run, and how long is it?",
)
def scaled_by_d_model(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    heads = query.size(1)
    return _mix(_scores(query, key) / math.sqrt(heads), value, mask)


@scaled_dot_product_attention.mistake(
    "Your scores are not scaled: your weights equal softmax of query · key itself.",
    why="The spread of a dot product grows with the root of its width. In a wide head softmax "
    "would settle on one key, and pass on almost no gradient.",
    hint="Between the product and softmax there is one more step.",
)
def not_scaled(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(query @ key.transpose(-2, -1), value, mask)


@scaled_dot_product_attention.mistake(
    "Your scores are divided by d_head, not by its root.",
    why="Pluses and minuses cancel in a dot product, so its spread grows with the root only. "
    "Dividing by d_head itself makes every word read everything almost alike.",
    hint="What is the standard deviation of the score in the lesson's example of four coins?",
)
def divided_by_d_head(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(query @ key.transpose(-2, -1) / query.size(-1), value, mask)


@scaled_dot_product_attention.mistake(
    "Your scores are divided by the root of the values' width.",
    why="Scores are made of queries and keys. Values may have another width, and do not take part "
    "in a score.",
    hint="Which two tensors were multiplied to get the scores?",
)
def scaled_by_the_values(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(query @ key.transpose(-2, -1) / math.sqrt(value.size(-1)), value, mask)


@scaled_dot_product_attention.mistake(
    "You scale after softmax: the rows of your weights do not sum to one.",
    why="The scale is there to keep softmax soft, so it has to come before it. Afterwards it only "
    "shrinks the context.",
    hint="In which order do softmax and the root stand in the paper's formula?",
)
def scaled_after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    weights = masked_softmax(query @ key.transpose(-2, -1), mask) / math.sqrt(query.size(-1))
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Your softmax runs over the queries: columns of the weights sum to one, and rows do not.",
    why="Each query has a total of one to give to the keys. A column is a key, and it may be read "
    "by many or by nobody.",
    hint="Which axis of (batch, heads, query, key) are the keys?",
)
def softmax_over_queries(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-2)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Your softmax runs over the heads: with a single head all weights are 1.",
    why="Heads do not compete with each other. Each of them shares out a total of one among the "
    "keys. Softmax without a dim takes axis 1 of four, with a warning.",
    hint="Name the axis that softmax has to run along, in words and as dim.",
)
def softmax_over_heads(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "What the mask allows has the weight 0, and what it hides is read.",
    why="In this course True means: may be read. It is the other scores that have to become very "
    "negative.",
    hint="Which scores are to be replaced: those that may be read, or the others?",
)
def mask_turned_round(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Your mask changes nothing: hidden keys are read like all others.",
    why="Without the mask a word would read pads, and a decoder the very word it has to predict.",
    hint="Is your masked tensor the one that goes on? masked_fill without _ returns a new one.",
)
def mask_ignored(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(_scores(query, key), value, None)


@scaled_dot_product_attention.mistake(
    "You hide weights after softmax: those that are left do not sum to one.",
    why="Softmax has already given a share to the hidden keys. Setting it to 0 loses it.",
    hint="Hide before softmax shares out.",
)
def hidden_after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    weights = _scores(query, key).softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Hidden scores are 0, and 0 is a score like any other: hidden keys keep a share.",
    why="Softmax takes powers, and e to the 0 is 1. Only a very negative score has a weight of 0.",
    hint="By what number do you replace a hidden score?",
)
def hidden_scores_are_zero(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores * mask
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Large scores give NaN: your softmax takes powers of the scores as they are.",
    why="In float32, e to the 89 is infinite and e to the -104 is 0. One divides infinity by "
    "infinity then, or 0 by 0.",
    hint="Softmax stays the same if one number is taken from a whole row. Which one would help?",
)
def softmax_overflows(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    powers = scores.exp()
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Your two results stand in the other order: weights first.",
    why="Whoever calls it unpacks context, weights. Where their shapes agree, nobody would notice.",
    hint="Look at the arrow of the signature.",
)
def weights_first(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(_scores(query, key), value, mask)[::-1]


# --- 04.split_heads ------------------------------------------------------------------------------

split_heads = Item(
    "04.split_heads",
    reference=attention.split_heads,
    probes=[
        Probe(
            "each head holds its own columns of every word",
            lambda draw: [
                Call((draw.normal(2, 5, 12), 3), about="3 heads of 4 numbers, 5 words"),
                Call((draw.normal(2, 6, 4), 2), about="2 heads of 2 numbers, 6 words"),
                Call((draw.ids(3, 4, 10).float(), 5), about="whole numbers, 5 heads of 2"),
            ],
        ),
        Probe(
            "one head and one number a head are heads, too",
            lambda draw: [
                Call((draw.normal(2, 3, 4), 1), about="a single head"),
                Call((draw.normal(2, 3, 4), 4), about="one number a head"),
                Call((draw.normal(1, 1, 6), 2), about="one sentence of one word"),
            ],
        ),
        Probe(
            "sizes that are alike are not mixed up",
            lambda draw: [
                Call((draw.normal(2, 4, 8), 4), about="as many heads as words"),
                Call((draw.normal(3, 3, 9), 3), about="all sizes alike"),
            ],
        ),
        Probe(
            "it works on any memory layout, and gradients pass",
            lambda draw: [
                Call((draw.strided(2, 5, 12), 3), about="a tensor that is not contiguous"),
                Call((draw.normal(2, 5, 6, dtype=torch.float64), 2), about="float64"),
                Call((draw.normal(2, 5, 6), 3), about="gradients", gradients=True),
            ],
        ),
    ],
    hints=(
        "The first head gets the first E numbers of every word. Which axis has to be cut, and "
        "which must stay whole?",
        "Cut the last axis alone: (B, S, D) becomes (B, S, H, E). Then the heads move past the "
        "words.",
        "x.view(batch, length, n_heads, ...).transpose(..., ...)",
    ),
)


@split_heads.mistake(
    "The shape is right, but your first head holds the first words instead of the first columns.",
    why="view and reshape never change the order of the numbers. Cut straight to (B, H, S, E), "
    "they deal out the sentence, and words leak into each other.",
    hint="First cut the last axis and nothing else. Moving the axes is a second step.",
)
def cut_straight_away(x: Tensor, n_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, n_heads, length, d_model // n_heads)


@split_heads.mistake(
    "Words stand before heads in your result: (B, S, H, E).",
    why="matmul multiplies the last two axes, so they would be (H, E): heads would read heads of "
    "the same word.",
    hint="One axis still has to move.",
)
def heads_not_moved(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (n_heads, -1))


@split_heads.mistake(
    "Each of your heads takes every H-th number of a word, not E numbers in a row.",
    why="The columns of the big matrix belong to head 0, then to head 1, and so on. Weights "
    "that somebody else has trained would be read wrongly.",
    hint="In which order do you name the two new axes: heads and numbers, or numbers and heads?",
)
def every_other_column(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (-1, n_heads)).permute(0, 3, 1, 2)


@split_heads.mistake(
    "Your heads are n_heads numbers wide; there should be n_heads of them.",
    why="The second argument says how many heads, not how many numbers each of them has.",
    hint="How wide is a head, if d_model is 12 and n_heads is 3?",
)
def as_wide_as_many(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(2, (-1, n_heads)).transpose(1, 2)


@split_heads.mistake(
    "The heads stand before the sentences: (H, B, S, E).",
    why="Everything else in the course expects the batch first. torch.stack puts its new axis in "
    "front, unless told otherwise.",
    hint="Say where the new axis has to go.",
)
def heads_before_the_batch(x: Tensor, n_heads: int) -> Tensor:
    return torch.stack(x.chunk(n_heads, dim=2))


@split_heads.mistake(
    "The last two axes are swapped: (B, H, E, S).",
    why="A query is a row. That keys have to be turned is the affair of the score product, not of "
    "the cut.",
    hint="Which axis is the last one in (batch, heads, words, numbers)?",
)
def words_last(x: Tensor, n_heads: int) -> Tensor:
    return x.transpose(1, 2).unflatten(1, (n_heads, -1))


# --- 04.merge_heads ------------------------------------------------------------------------------

merge_heads = Item(
    "04.merge_heads",
    reference=attention.merge_heads,
    probes=[
        Probe(
            "a word's numbers of all heads lie side by side",
            lambda draw: [
                Call((draw.normal(2, 3, 5, 4),), about="3 heads, 5 words, 4 numbers"),
                Call((draw.ids(3, 4, 2, 5).float(),), about="4 heads, 2 words, whole numbers"),
            ],
        ),
        Probe(
            "it undoes the cut, whichever way the memory lies",
            lambda draw: [
                Call((attention.split_heads(draw.normal(2, 5, 12), 3),), about="heads just cut"),
                Call((draw.strided(2, 3, 5, 4),), about="a tensor that is not contiguous"),
                Call((draw.normal(2, 3, 5, 4, dtype=torch.float64),), about="float64"),
            ],
        ),
        Probe(
            "sizes of one and sizes that are alike are not mixed up",
            lambda draw: [
                Call((draw.normal(2, 1, 5, 4),), about="a single head"),
                Call((draw.normal(2, 3, 1, 4),), about="sentences of one word"),
                Call((draw.normal(1, 3, 5, 1),), about="one sentence, one number a head"),
                Call((draw.normal(3, 3, 3, 3),), about="all sizes alike"),
            ],
        ),
        Probe(
            "gradients pass",
            lambda draw: [Call((draw.normal(2, 3, 5, 4),), about="gradients", gradients=True)],
        ),
    ],
    hints=(
        "Go back the way you came. Which two axes have to be neighbours before they can be joined?",
        "Swap heads and words: (B, S, H, E). Then join the last two axes; view refuses here, "
        "because the numbers of a word lie apart.",
        "x.transpose(..., ...).reshape(batch, length, ...), or contiguous() and view, or flatten.",
    ),
)


@merge_heads.mistake(
    "The shape is right, but your first rows hold head 0 alone: words and heads are mixed up.",
    why="reshape keeps the order of the numbers. Heads stand before words in it, so the sentence "
    "of head 0 is dealt out to all words.",
    hint="Which axis has to move before you join?",
)
def joined_straight_away(x: Tensor) -> Tensor:
    batch, n_heads, length, d_head = x.shape
    return x.reshape(batch, length, n_heads * d_head)


@merge_heads.mistake(
    "view refuses: after transpose the numbers of a word lie apart in memory.",
    why="transpose swaps strides and moves no number, and no single stride walks over all heads of "
    "a word. It worked on heads that were just cut, since there the swap is undone.",
    hint="The lesson names three ways to copy numbers into reading order.",
)
def viewed_without_a_copy(x: Tensor) -> Tensor:
    batch, n_heads, length, d_head = x.shape
    return x.transpose(1, 2).view(batch, length, n_heads * d_head)


@merge_heads.mistake(
    "The numbers of a word are all there, but heads take turns: h0, h1, h2, h0, h1, h2 and so on.",
    why="Head 0 has to come first with all its numbers, as split_heads cut them and as W_O expects "
    "them.",
    hint="Which of the two axes that you join changes slowly, which fast?",
)
def heads_take_turns(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).flatten(2)


@merge_heads.mistake(
    "Your heads are added up: the result is only d_head wide.",
    why="In the sum nobody can tell what came from which head. They lie side by side here; mixing "
    "them is the work of W_O.",
    hint="No number may get lost: how many are there before, how many after?",
)
def heads_added(x: Tensor) -> Tensor:
    return x.sum(dim=1)


@merge_heads.mistake(
    "Your heads stand one below the other: (B, H · S, E).",
    why="The sentence would have H times as many words. It is the numbers of each word that are "
    "joined.",
    hint="Along which axis do you join?",
)
def one_below_the_other(x: Tensor) -> Tensor:
    return x.flatten(1, 2)


@merge_heads.mistake(
    "Words stand last in your result: (B, D, S).",
    why="Everywhere in the course a word is a row: (batch, words, d_model).",
    hint="Which axis should be the second one?",
)
def words_at_the_end(x: Tensor) -> Tensor:
    return x.transpose(2, 3).flatten(1, 2)
