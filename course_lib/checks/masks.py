"""Items of lesson 06: who may look at whom."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import masks

# --- 06.padding_mask -----------------------------------------------------------------------------

padding_mask = Item(
    "06.padding_mask",
    reference=masks.padding_mask,
    probes=[
        Probe(
            "real tokens may be read and pads may not",
            lambda draw: [
                Call((draw.tokens(3, 5), 0), about="three sentences, padded on the right")
            ],
        ),
        Probe(
            "pads on the left are hidden just as well",
            lambda draw: [Call((draw.tokens(2, 4, left=True), 0), about="padded on the left")],
        ),
        Probe(
            "it is pad_id that says what a pad is",
            lambda draw: [
                Call((draw.tokens(2, 6, pad_id=3), 3), about="pad_id is 3, and 0 is a word"),
                Call((draw.ids(2, 6), 0), about="a batch without any pads"),
            ],
        ),
        Probe(
            "one sentence and a single token are batches, too",
            lambda draw: [
                Call((draw.tokens(1, 7), 0), about="a batch of one"),
                Call((draw.tokens(4, 1), 0), about="sentences of one token"),
                Call((draw.tokens(5, 5), 0), about="as many sentences as tokens"),
            ],
        ),
    ],
    hints=(
        "A pad is a key that nobody may read. On which axis of (batch, heads, query, key) do keys "
        "stand?",
        "Compare the tokens with pad_id: that gives (B, S), True where the token is real. Then "
        "make room for the axes of heads and queries.",
        "(tokens ... pad_id)[:, None, None, :], with the right comparison in place of the dots.",
    ),
)


@padding_mask.mistake(
    "Your mask is True at the pads and False at the words.",
    why="In this course True means: may be read. With this mask every word would read the pads.",
    hint="Ask the question the other way round: which tokens are not pads?",
)
def polarity_turned_round(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens == pad_id)[:, None, None, :]


@padding_mask.mistake(
    "Your mask hides the pads' rows: shape (B, 1, S, 1).",
    why="A row is a query, who reads; a column is a key, who is read. Pads must not be read. A pad "
    "that reads does no harm, but a row with nothing left to read gives NaN.",
    hint="Which of the last two axes of the scores is the one that softmax runs along?",
)
def rows_instead_of_columns(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :, None]


@padding_mask.mistake(
    "Your mask has the shape of the tokens, (B, S).",
    why="It has to broadcast to (batch, heads, query, key). From the right, (B, S) would be read "
    "as (query, key), and the batch would be taken for queries.",
    hint="Where do the axes for heads and queries have to be inserted?",
)
def no_room_for_heads(tokens: Tensor, pad_id: int) -> Tensor:
    return tokens != pad_id


@padding_mask.mistake(
    "Your mask has one new axis, (B, 1, S), and needs two.",
    why="Scores have four axes. With three, the batch stands where the heads are.",
    hint="Write down (batch, heads, query, key) and put your axes under it, from the right.",
)
def one_axis_short(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :]


@padding_mask.mistake(
    "Your mask always takes 0 for the pad, whatever pad_id is.",
    why="One of the five published systems pads with 1. There, a word would vanish and the pads "
    "would be read.",
    hint="Does your code use its second argument?",
)
def zero_is_always_the_pad(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != 0)[:, None, None, :]


@padding_mask.mistake(
    "Your mask hides the right places, but it holds floats, 1.0 and 0.0, not True and False.",
    why="In this course masks are boolean. masked_fill refuses a mask of floats, and so does ~, "
    "which turns a mask round.",
    hint="What type does a comparison give before you convert it?",
)
def numbers_instead_of_booleans(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id).float()[:, None, None, :]


@padding_mask.mistake(
    "Your mask crosses rows with columns: a real query may read a real key, (B, 1, S, S).",
    why="It hides the pads' rows as well, which leaves them nothing to read, and it fits only "
    "where queries and keys come from the same sentence. Cross-attention has two lengths.",
    hint="The mask need not know about queries at all: their axis may have size 1.",
)
def rows_and_columns(tokens: Tensor, pad_id: int) -> Tensor:
    real = tokens != pad_id
    return real[:, None, :, None] & real[:, None, None, :]


# --- 06.causal_mask ------------------------------------------------------------------------------

causal_mask = Item(
    "06.causal_mask",
    reference=masks.causal_mask,
    probes=[
        Probe("a query reads itself and its past", lambda draw: [Call((4,), about="four tokens")]),
        Probe(
            "it holds for any length",
            lambda draw: [
                Call((1,), about="a single token"),
                Call((2,), about="two tokens"),
                Call((draw.integer(7, 11),), about="a longer sentence"),
            ],
        ),
    ],
    hints=(
        "Draw it for three tokens: row 0 reads only key 0, row 2 reads all three.",
        "A square of True, of which one triangle is kept. Which one, and with the diagonal?",
        "torch.ones(1, 1, size, size, dtype=torch.bool) and then .tril() or .triu().",
    ),
)


@causal_mask.mistake(
    "Your mask lets each query read the future and hides its past.",
    why="Token t is to be predicted from the tokens before it. Here it would see all that comes "
    "after.",
    hint="Look at row 0, the first token: who is there for it to read?",
)
def past_hidden(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).triu()


@causal_mask.mistake(
    "Your mask is True exactly where it should be False: it marks what to hide.",
    why="PyTorch's own modules say True for hide; in this course True means: may be read.",
    hint="The picture is right, its meaning is turned round.",
)
def marks_the_future(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).triu(1)


@causal_mask.mistake(
    "Your mask hides the diagonal: no token may read itself.",
    why="The first token would have nothing left to read. Reading oneself is no cheating: the "
    "decoder's input is shifted, so a position never holds the word it has to predict.",
    hint="Where does the triangle of .tril() begin when you give it a second argument?",
)
def diagonal_hidden(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril(-1)


@causal_mask.mistake(
    "Your mask lets each query read one token of its future.",
    why="The next token is the very word that is to be predicted: the loss would fall to nothing, "
    "and the model would be useless on its own.",
    hint="Count the True values in row 0.",
)
def one_step_ahead(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril(1)


@causal_mask.mistake(
    "Your mask is a plain square, (size, size).",
    why="It would broadcast, but the task asks for the axes of batch and heads: so every mask of "
    "the course has four, and none is mistaken for another.",
    hint="Two axes of size 1 go in front.",
)
def two_axes_short(size: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool).tril()


@causal_mask.mistake(
    "Your mask holds numbers, 1 and 0, where booleans are asked for.",
    why="In this course masks are boolean: True means may be read.",
    hint="torch.ones takes a dtype.",
)
def ones_and_zeros(size: int) -> Tensor:
    return torch.ones(1, 1, size, size).tril()


@causal_mask.mistake(
    "Your mask holds 0 and minus infinity, to be added to the scores.",
    why="That is another convention. Here a mask says who may be read, and masked_softmax does "
    "the rest.",
    hint="Return True and False.",
)
def to_be_added(size: int) -> Tensor:
    return torch.full((1, 1, size, size), -math.inf).triu(1)


# --- 06.decoder_mask -----------------------------------------------------------------------------

decoder_mask = Item(
    "06.decoder_mask",
    reference=masks.decoder_mask,
    probes=[
        Probe(
            "neither the future nor a pad is read",
            lambda draw: [
                Call((draw.tokens(3, 5), 0), about="three sentences, padded on the right")
            ],
        ),
        Probe(
            "pads on the left are hidden, too",
            lambda draw: [Call((draw.tokens(3, 6, left=True), 0), about="padded on the left")],
        ),
        Probe(
            "any pad_id and any size of batch",
            lambda draw: [
                Call((draw.tokens(2, 4, pad_id=2), 2), about="pad_id is 2"),
                Call((draw.tokens(1, 3), 0), about="a batch of one"),
                Call((draw.tokens(4, 4), 0), about="as many sentences as tokens"),
            ],
        ),
    ],
    hints=(
        "You have both parts. When may a key be read: if one mask allows it, or only if both do?",
        "Combine padding_mask and causal_mask; broadcasting makes (B, 1, T, T) of them.",
        "padding_mask(tokens, pad_id) ... causal_mask(tokens.size(1)), with an operator between.",
    ),
)


@decoder_mask.mistake(
    "Your mask is the causal one alone: pads may be read.",
    why="With pads on the right that goes unnoticed, since they are everybody's future. With pads "
    "on the left each word reads them.",
    hint="Two things are to be hidden.",
)
def only_the_future_hidden(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.causal_mask(tokens.size(1)).expand(len(tokens), -1, -1, -1)


@decoder_mask.mistake(
    "Your mask is the padding mask alone: the future may be read.",
    why="The word to be predicted stands one place ahead; a model that may read it learns nothing.",
    hint="Two things are to be hidden.",
)
def only_pads_hidden(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id).expand(-1, -1, tokens.size(1), -1)


@decoder_mask.mistake(
    "Your mask lets a key be read if either mask allows it.",
    why="Then a pad of the past may be read, and so may every real word of the future.",
    hint="Must both masks agree, or is one enough?",
)
def either_will_do(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id) | masks.causal_mask(tokens.size(1))


@decoder_mask.mistake(
    "Your mask hides the right places, but it holds numbers, 1 and 0: a product of numbers.",
    why="In this course masks are boolean. ~ turns a boolean mask round, but of the whole numbers "
    "1 and 0 it makes -2 and -1.",
    hint="There is an operator that says 'and' for booleans.",
)
def multiplied(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id).int() * masks.causal_mask(tokens.size(1)).int()


@decoder_mask.mistake(
    "Your mask hides the pads' rows and not their columns.",
    why="Pads must not be read: that is their column. Their rows may keep what they have.",
    hint="Look at how padding_mask places its axes.",
)
def pads_as_queries(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.causal_mask(tokens.size(1)) & (tokens != pad_id)[:, None, :, None]


# --- 06.masked_softmax ---------------------------------------------------------------------------


def _scores_and_mask(draw: Draw) -> list[Call]:
    return [
        Call(
            (draw.normal(2, 3, 4, 5, spread=2), draw.mask(2, 1, 4, 5)), about="a mask for each row"
        ),
        Call((draw.normal(2, 3, 5, 5, spread=2), draw.mask(2, 1, 1, 5)), about="a padding mask"),
    ]


def _nothing_left(draw: Draw) -> list[Call]:
    mask = draw.mask(2, 1, 3, 4)
    mask[1, 0, 1] = False
    return [Call((draw.normal(2, 2, 3, 4), mask), about="one query has nothing left to read")]


def _extremes(draw: Draw) -> list[Call]:
    mask = draw.mask(2, 1, 3, 4)
    large = draw.normal(2, 2, 3, 4, spread=300.0)
    return [
        Call((large, mask), about="scores in the hundreds"),
        Call((large - 2000.0, mask), about="scores far below zero"),
        Call((draw.normal(2, 2, 3, 4, dtype=torch.float64), mask), about="float64"),
        Call((draw.normal(2, 2, 3, 4, dtype=torch.float16), mask), about="float16"),
    ]


masked_softmax = Item(
    "06.masked_softmax",
    reference=masks.masked_softmax,
    probes=[
        Probe("the weights of what is left sum to one", _scores_and_mask),
        Probe(
            "without a mask it is softmax",
            lambda draw: [Call((draw.normal(2, 2, 3, 4), None), about="mask is None")],
        ),
        Probe("a query with nothing left gets zeros, not NaN", _nothing_left),
        Probe("large, small and half-precision scores keep it finite", _extremes),
        Probe(
            "gradients are finite and leave hidden scores alone",
            lambda draw: [
                Call(call.args, about=call.about, gradients=True)
                for call in (*_scores_and_mask(draw), *_nothing_left(draw))
            ],
        ),
    ],
    tolerance=1e-3,
    hints=(
        "What number, put in place of a hidden score, makes its weight zero after softmax?",
        "Fill hidden scores with the smallest number that the dtype has, softmax over the keys, "
        "then think about the row in which all are hidden.",
        "scores.masked_fill(..., torch.finfo(scores.dtype).min).softmax(dim=...), and once more "
        "masked_fill, with zeros.",
    ),
)


@masked_softmax.mistake(
    "Your softmax hides what the mask allows, and the other way round.",
    why="masked_fill fills where its mask is True; here True means may be read.",
    hint="Which scores have to be filled: those that may be read, or the others?",
)
def fills_what_may_be_read(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-1)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(mask, lowest).softmax(dim=-1).masked_fill(mask, 0.0)


@masked_softmax.mistake(
    "A query with nothing left gets NaN.",
    why="With all its scores at minus infinity, softmax divides 0 by 0. One such row makes the "
    "whole loss NaN, and its gradient spoils every weight.",
    hint="What finite number would do the same work as minus infinity?",
)
def minus_infinity(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


@masked_softmax.mistake(
    "A query with nothing left spreads its weight evenly over what is hidden.",
    why="When all scores are equally low, softmax makes them equally likely. Such a query would "
    "read pads and nothing else.",
    hint="After softmax, one more step brings hidden weights to exactly zero.",
)
def nothing_left_is_uniform(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1)


@masked_softmax.mistake(
    "You hide weights after softmax: those that are left do not sum to one.",
    why="Softmax has already given a share to the hidden keys; setting it to zero loses it.",
    hint="Hide before softmax shares out, not only after.",
)
def hidden_too_late(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = scores.softmax(dim=-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@masked_softmax.mistake(
    "You multiply scores by the mask: hidden scores become 0, and 0 is a score like any other.",
    why="exp(0) is 1, so a hidden key keeps a share, often more than an allowed one.",
    hint="Softmax needs a hidden score to be very low, not zero.",
)
def hidden_scores_are_zero(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    return (scores if mask is None else scores * mask).softmax(dim=-1)


@masked_softmax.mistake(
    "Your softmax runs over the queries: columns sum to one, and rows do not.",
    why="Each query shares out its own attention among the keys, so each row has to sum to one.",
    hint="Which axis of (batch, heads, query, key) are the keys?",
)
def over_the_queries(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-2)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-2).masked_fill(~mask, 0.0)


@masked_softmax.mistake(
    "Your code fills hidden scores with a fixed low number, which float16 cannot hold.",
    why="float16 ends at -65504. Large models are often run in half precision, and there your code "
    "would stop with an error.",
    hint="How low can a number of the scores' own dtype go? torch.finfo knows it.",
)
def a_fixed_low_number(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(dim=-1)
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0)


# --- 06.bug --------------------------------------------------------------------------------------

BUG = """\
def cross_attention_weights(query, key, source, pad_id):
    scores = query @ key.transpose(-2, -1)
    scores = scores / math.sqrt(query.size(-1))
    real = source != pad_id
    scores = scores.masked_fill(~real[:, None, :, None], -1e9)
    return scores.softmax(dim=-1)
"""


def _cross_attention_weights(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return masks.masked_softmax(scores, masks.padding_mask(source, pad_id))


def _cross(draw: Draw, target: int, source: int, pad_id: int = 0) -> Call:
    query, key = draw.normal(2, 3, target, 4), draw.normal(2, 3, source, 4)
    tokens = draw.tokens(2, source, pad_id=pad_id)
    about = f"{target} queries, {source} keys, pad_id {pad_id}"
    return Call((query, key, tokens, pad_id), about=about)


bug = Item(
    "06.bug",
    reference=_cross_attention_weights,
    bug=Bug(BUG, line=5),
    probes=[
        Probe("source and target of unlike lengths", lambda draw: [_cross(draw, 3, 5)]),
        Probe("source and target of one length", lambda draw: [_cross(draw, 4, 4)]),
        Probe("any pad_id", lambda draw: [_cross(draw, 2, 6, pad_id=7)]),
    ],
    hints=(
        "Say for each line which shape comes out of it.",
        "scores are (batch, heads, query, key). Which of these axes belongs to the source?",
        "real[...] has to stand where the keys stand.",
    ),
)


@bug.mistake(
    "The source's pads still hide rows, the queries, which are the target's.",
    why="A pad of the source is a key. With equal lengths the code runs, and is wrong in silence.",
    hint="The two None and the two colons of one line: are they in the right order?",
)
def still_rows(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill(~(source != pad_id)[:, None, :, None], -1e9).softmax(dim=-1)


@bug.mistake(
    "Pads and words are mixed up: the words of the source are hidden and its pads are read.",
    why="`real` is True for words, and masked_fill fills where its mask is True.",
    hint="You found the axes. What does the ~ do there?",
)
def words_hidden(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill((source != pad_id)[:, None, None, :], -1e9).softmax(dim=-1)


@bug.mistake(
    "The mask is gone: the source's pads are read like words.",
    why="Without a mask the code fits every shape, but each query gives a share to pads.",
    hint="Mend the line, do not remove it.",
)
def mask_removed(query: Tensor, key: Tensor, source: Tensor, pad_id: int) -> Tensor:
    return (query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))).softmax(dim=-1)
