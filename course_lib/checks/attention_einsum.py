"""Items of lesson 05: attention with a letter for each axis. The puzzles: ``einsum_puzzles``.

b sentences, h heads, q words that read, k words that are read, s either, d numbers per word,
e numbers per word and head.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.attention_matmul import ATTENTION_PROBES
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.einsum_puzzles import puzzle_1 as puzzle_1
from course_lib.checks.einsum_puzzles import puzzle_2 as puzzle_2
from course_lib.checks.einsum_puzzles import puzzle_3 as puzzle_3
from course_lib.checks.einsum_puzzles import puzzle_4 as puzzle_4
from course_lib.checks.einsum_puzzles import puzzle_5 as puzzle_5
from course_lib.checks.item import Bug, Item, Probe
from course_lib.checks.multi_head import hiding_mask, recent_mask
from course_lib.model import attention
from course_lib.model.masks import masked_softmax

Mask = Tensor | None
Pair = tuple[Tensor, Tensor]

# --- 05.attention_einsum -------------------------------------------------------------------------

attention_einsum = Item(
    "05.attention_einsum",
    reference=attention.attention_einsum,
    probes=ATTENTION_PROBES,
    tolerance=1e-4,
    hints=(
        "Two strings and a softmax. For each string: what goes in step, what is kept, what is "
        "summed over?",
        "Scores: for every b, h, q and k the sum over e. Context: for every b, h, q and e the sum "
        "over k. Scale and mask stand between, as in lesson 04.",
        'scores = torch.einsum("bhqe,...->bhqk", query, key) / math.sqrt(...)\n'
        'context = torch.einsum("bhqk,...->bhqe", weights, value)',
    ),
)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bhqe,bhke->bhqk", query, key) / math.sqrt(query.size(-1))


def _mix(scores: Tensor, value: Tensor, mask: Mask, letters: str = "bhqk,bhke->bhqe") -> Pair:
    weights = masked_softmax(scores, mask)
    return torch.einsum(letters, weights, value), weights


@attention_einsum.mistake(
    "All your readers take home the same: the plain sum of the values.",
    why="The keys have one letter in the weights and another in the values. Those are two loops: "
    "the weights are added up alone, which gives 1, and the values alone.",
    hint="Look for a letter that stands in one input only, and not behind the arrow.",
)
def two_letters_for_the_keys(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(_scores(query, key), value, mask, "bhqk,bhve->bhqe")


@attention_einsum.mistake(
    "In your scores each query meets the sum of the keys of all heads.",
    why="The heads of the key have a letter of their own, and it is missing behind the arrow.",
    hint="Heads go in step. How many letters do they have in your first string?",
)
def heads_have_two_letters(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bgke->bhqk", query, key) / math.sqrt(query.size(-1))
    return _mix(scores, value, mask)


@attention_einsum.mistake(
    "In your scores each sentence reads the keys of all sentences, added up.",
    why="The sentences of the key have a letter of their own, and it is missing behind the arrow.",
    hint="Sentences go in step. How many letters do they have in your first string?",
)
def sentences_have_two_letters(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask = None
) -> Pair:
    scores = torch.einsum("bhqe,ahke->bhqk", query, key) / math.sqrt(query.size(-1))
    return _mix(scores, value, mask)


@attention_einsum.mistake(
    "Without an arrow your first string gives only two axes, keys by queries.",
    why="Then einsum keeps the letters that occur once, in the order of the alphabet: k, q. "
    "Sentences and heads are summed into each other.",
    hint="Write the arrow and what you want behind it.",
)
def no_arrow(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bhke", query, key) / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhqk,bhke->bhqe", weights, value), weights


@attention_einsum.mistake(
    "Your weights are mirrored, (b, h, k, q), and each key shares itself out among the readers.",
    why="The letters behind the first arrow say which axis is last, and softmax runs along the "
    "last. A reader gets more or less than one in sum.",
    hint="In which order do q and k stand behind your first arrow?",
)
def arrow_mirrored(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = torch.einsum("bhqe,bhke->bhkq", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask.transpose(-2, -1), torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhkq,bhke->bhqe", weights, value), weights


@attention_einsum.mistake(
    "Your weights equal those of attention scaled by √d_model, h · e, instead of √e.",
    why="The sum in the first string runs over e alone. The most copied einsum version has this "
    "bug; letters do not help against it.",
    hint="Take the width from the tensor that is multiplied.",
)
def root_of_d_model(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(_scores(query, key) / math.sqrt(query.size(1)), value, mask)


@attention_einsum.mistake(
    "Your scores are not scaled.",
    why="The string adds up the products and nothing else. In a wide head softmax would settle on "
    "one key.",
    hint="What stood between the product and softmax in lesson 04?",
)
def no_scale(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(torch.einsum("bhqe,bhke->bhqk", query, key), value, mask)


@attention_einsum.mistake(
    "Your softmax runs over the readers: columns of the weights sum to one, and rows do not.",
    why="Each reader has a total of one to give to the keys. The order of the letters says which "
    "dim that is.",
    hint="Count along bhqk: which dim is k?",
)
def softmax_over_readers(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    scores = _scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=2)
    return torch.einsum("bhqk,bhke->bhqe", weights, value), weights


@attention_einsum.mistake(
    "What the mask allows has the weight 0, and what it hides is read.",
    why="In this course True means: may be read. It is the other scores that have to become very "
    "negative.",
    hint="Which scores are to be replaced: those that may be read, or the others?",
)
def mask_read_backwards(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(_scores(query, key), value, None if mask is None else ~mask)


@attention_einsum.mistake(
    "Your mask changes nothing: hidden keys are read like all others.",
    why="Without the mask a word would read pads, and a decoder the very word it has to predict.",
    hint="Is your masked tensor the one that goes on? masked_fill without _ returns a new one.",
)
def mask_forgotten(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Pair:
    return _mix(_scores(query, key), value, None)


# --- 05.multi_head_einsum ------------------------------------------------------------------------


def _into_heads(x: Tensor, w: Tensor) -> Tensor:
    return torch.einsum("bsd,dhe->bhse", x, w)


def _out_of_heads(context: Tensor, w_o: Tensor) -> Tensor:
    return torch.einsum("bhqe,hed->bqd", context, w_o)


def _multi_head(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    query, key, value = (_into_heads(x, w) for w in (w_q, w_k, w_v))
    context, weights = attention.attention_einsum(query, key, value, mask)
    return _out_of_heads(context, w_o), weights


def _inputs(
    draw: Draw, *, words: int, heads: int, d: int, e: int, batch: int = 2, double: bool = False
) -> tuple[Tensor, ...]:
    """The words x and the four weights, of a size that keeps scores around 1."""
    dtype = torch.float64 if double else torch.float32
    into = [draw.normal(d, heads, e, spread=d**-0.5, dtype=dtype) for _ in range(3)]
    out_of = draw.normal(heads, e, d, spread=(heads * e) ** -0.5, dtype=dtype)
    return draw.normal(batch, words, d, dtype=dtype), *into, out_of


def _with_masks(draw: Draw, **more: bool) -> list[Call]:
    inputs = _inputs(draw, words=5, heads=3, d=8, e=4)
    return [
        Call((*inputs, recent_mask(5)), {}, "a mask that hides future and far past", **more),
        Call(inputs, {"mask": hiding_mask(draw, 2, 1, 1, 5)}, "a mask that hides keys", **more),
        Call((*inputs, hiding_mask(draw, 2, 3, 5, 5)), {}, "a mask for each head", **more),
    ]


def _sizes(draw: Draw) -> list[Call]:
    _, *weights = _inputs(draw, words=4, heads=2, d=6, e=3)
    strided = draw.strided(2, 4, 6)
    return [
        Call(_inputs(draw, words=4, heads=1, d=5, e=5), about="a single head"),
        Call(_inputs(draw, words=3, heads=4, d=6, e=1), about="one number a head"),
        Call(_inputs(draw, words=1, heads=2, d=3, e=4, batch=1), about="one sentence of one word"),
        Call((strided, *(w.mT.contiguous().mT for w in weights)), about="not contiguous"),
        Call(_inputs(draw, words=4, heads=2, d=6, e=3, double=True), about="float64"),
    ]


multi_head_einsum = Item(
    "05.multi_head_einsum",
    reference=_multi_head,
    probes=[
        Probe(
            "each head projects, reads and writes with its own numbers",
            lambda draw: [
                Call(_inputs(draw, words=5, heads=3, d=8, e=4), about="h · e is not d"),
                Call(_inputs(draw, words=6, heads=2, d=8, e=4), about="h · e is d"),
            ],
        ),
        Probe("what the mask hides is not read", _with_masks),
        Probe(
            "as many words as heads: axes of one size are not mixed up",
            lambda draw: [
                Call((*_inputs(draw, words=4, heads=4, d=8, e=2), recent_mask(4)), about="4 and 4"),
                Call((*_inputs(draw, words=3, heads=3, d=3, e=3), recent_mask(3)), about="all 3"),
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


@multi_head_einsum.mistake(
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


@multi_head_einsum.mistake(
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


@multi_head_einsum.mistake(
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


@multi_head_einsum.mistake(
    "Your scores are not scaled.",
    why="The strings add up products and nothing else. In a wide head softmax would settle on one "
    "key.",
    hint="What stood between the product and softmax in lesson 04?",
)
def scale_forgotten(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q * math.sqrt(w_q.size(2)), w_k, w_v, w_o, mask)


@multi_head_einsum.mistake(
    "Your softmax runs over the readers: columns of the weights sum to one, and rows do not.",
    why="Each reader has a total of one to give. In self-attention both axes have one size, so no "
    "shape tells you.",
    hint="In which place does k stand behind your arrow?",
)
def shared_out_by_the_keys(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    query, key, value = (_into_heads(x, w) for w in (w_q, w_k, w_v))
    context, weights = softmax_over_readers(query, key, value, mask)
    return _out_of_heads(context, w_o), weights


@multi_head_einsum.mistake(
    "Your scores are mirrored: row i holds what all queries ask of word i.",
    why="q and k have the same size here, so swapped letters give no error. It is as if queries "
    "and keys had changed their matrices.",
    hint="In which order do q and k stand behind the arrow of your scores?",
)
def queries_and_keys_swapped(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_k, w_q, w_v, w_o, mask)


@multi_head_einsum.mistake(
    "Your keys are made with w_q: w_k is never used.",
    why="With one matrix for both, looking for something and being found by it are the same, and "
    "the scores are symmetric.",
    hint="Four weights: name the place where each of them is used.",
)
def keys_from_w_q(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q, w_q, w_v, w_o, mask)


@multi_head_einsum.mistake(
    "Your values are made with w_k: w_v is never used.",
    why="What a word hands over would be what it is found by.",
    hint="Four weights: name the place where each of them is used.",
)
def values_from_w_k(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q, w_k, w_k, w_o, mask)


@multi_head_einsum.mistake(
    "Your output is the mean of what the heads write, not the sum.",
    why="Each head adds its part to one common vector. The mean is smaller by the number of heads.",
    hint="A missing letter is summed over. Is there a division too many?",
)
def heads_averaged(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    output, weights = _multi_head(x, w_q, w_k, w_v, w_o, mask)
    return output / w_q.size(1), weights


@multi_head_einsum.mistake(
    "Your weights are right, but the contexts are joined while heads stand before words.",
    why="reshape keeps the order of the numbers: word 0 gets those of head 0 for the first words. "
    "With letters nothing has to be joined.",
    hint="Which letters of the context does w_o share?",
)
def joined_heads_first(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    query, key, value = (_into_heads(x, w) for w in (w_q, w_k, w_v))
    context, weights = attention.attention_einsum(query, key, value, mask)
    return context.reshape(*x.shape[:2], -1) @ w_o.flatten(0, 1), weights


@multi_head_einsum.mistake(
    "Your weights are right, but every reader takes home the same: the plain sum of the values.",
    why="The keys have one letter in the weights and another in the values, so the two never meet.",
    hint="Look for a letter that stands in one input only, and not behind the arrow.",
)
def keys_have_two_letters(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    scores = _scores(_into_heads(x, w_q), _into_heads(x, w_k))
    context, weights = _mix(scores, _into_heads(x, w_v), mask, "bhqk,bhve->bhqe")
    return _out_of_heads(context, w_o), weights


@multi_head_einsum.mistake(
    "Your result is the same with a mask and without.",
    why="The mask has to reach every softmax. A layer that drops it reads pads and the future.",
    hint="Follow the name mask through your function.",
)
def mask_lost(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q, w_k, w_v, w_o)


@multi_head_einsum.mistake(
    "What the mask allows is hidden, and what it hides is read.",
    why="In this course True means: may be read. Your attention takes the mask that way, so hand "
    "it on as it came.",
    hint="Is there one ~ too many, or too few?",
)
def mask_handed_on_backwards(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
) -> Pair:
    return _multi_head(x, w_q, w_k, w_v, w_o, None if mask is None else ~mask)


# --- 05.bug --------------------------------------------------------------------------------------

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
    query, key, value = (_into_heads(x, w) for w in (w_q, w_k, w_v))
    context = torch.einsum(letters, _scores(query, key).softmax(dim=-1), value)
    return _out_of_heads(context, w_o)


def _one_word_changed(draw: Draw) -> list[Call]:
    x, *weights = _inputs(draw, words=5, heads=3, d=8, e=4)
    changed = x.clone()
    changed[:, 2] = draw.normal(2, 8)
    return [
        Call((x, *weights), about="a sentence"),
        Call((changed, *weights), about="one new word"),
    ]


bug = Item(
    "05.bug",
    reference=_self_attention,
    bug=Bug(BUG, line=7),
    probes=[
        Probe("what one word says reaches the others", _one_word_changed),
        Probe(
            "any number of words and heads",
            lambda draw: [
                Call(_inputs(draw, words=4, heads=4, d=8, e=2), about="as many words as heads"),
                Call(_inputs(draw, words=3, heads=3, d=3, e=3), about="all sizes alike"),
                Call(_inputs(draw, words=1, heads=2, d=6, e=3), about="sentences of one word"),
            ],
        ),
        Probe(
            "gradients reach the words and all four weights",
            lambda draw: [
                Call(_inputs(draw, words=5, heads=3, d=8, e=4), {}, "gradients", gradients=True)
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


@bug.mistake(
    "Your words still take home their own value: what one word says never reaches another.",
    why="The values carry the letter of the readers. So k stands in the weights alone, is summed "
    "over, and a row of weights sums to 1. The gradient of w_q and w_k is zero.",
    hint="Which words hand over values: those that read, or those that are read?",
)
def still_own_value(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhqk,bhqe->bhqe")


@bug.mistake(
    "Now all words take home the same: the plain sum of the values.",
    why="The values have got a letter that stands nowhere else. It is summed over alone, and so is "
    "k in the weights: the two never meet.",
    hint="The values belong to words that are read. Those have a letter already.",
)
def a_new_letter(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhqk,bhve->bhqe")


@bug.mistake(
    "The weights meet the values now, but rows and columns of the weights are swapped.",
    why="The weights were made as bhqk. Another order of the letters here does not move them, it "
    "only calls readers keys. In self-attention the sizes agree, so there is no error.",
    hint="A tensor keeps its letters: compare this line with the one that made the weights.",
)
def weights_renamed(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhkq,bhke->bhqe")


@bug.mistake(
    "You sum over the readers: each word keeps its own value, times how much it is read.",
    why="A context belongs to a reader. What stands behind the arrow is kept, and what is missing "
    "is summed over.",
    hint="Whose axis has to be left in the context: q or k?",
)
def summed_over_readers(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhqk,bhke->bhke")


@bug.mistake(
    "The letters meet now, but the context comes out as (b, q, h, e), and the next line expects "
    "(b, h, q, e).",
    why="With as many words as heads there is no error: words are taken for heads.",
    hint="Mend what stands before the arrow, and leave what stands behind.",
)
def context_words_first(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    return _self_attention(x, w_q, w_k, w_v, w_o, "bhqk,bhke->bqhe")
