"""06.padding_mask: Hide the pads."""

from __future__ import annotations

from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import masks

item = Item(
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


@item.misconception(
    "Your mask is True at the pads and False at the words.",
    why="In this course True means: may be read. With this mask every word would read the pads.",
    hint="Ask the question the other way round: which tokens are not pads?",
)
def polarity_turned_round(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens == pad_id)[:, None, None, :]


@item.misconception(
    "Your mask hides the pads' rows: shape (B, 1, S, 1).",
    why="A row is a query, who reads; a column is a key, who is read. Pads must not be read. A pad "
    "that reads does no harm, but a row with nothing left to read gives NaN.",
    hint="Which of the last two axes of the scores is the one that softmax runs along?",
)
def rows_instead_of_columns(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :, None]


@item.misconception(
    "Your mask has the shape of the tokens, (B, S).",
    why="It has to broadcast to (batch, heads, query, key). From the right, (B, S) would be read "
    "as (query, key), and the batch would be taken for queries.",
    hint="Where do the axes for heads and queries have to be inserted?",
)
def no_room_for_heads(tokens: Tensor, pad_id: int) -> Tensor:
    return tokens != pad_id


@item.misconception(
    "Your mask has one new axis, (B, 1, S), and needs two.",
    why="Scores have four axes. With three, the batch stands where the heads are.",
    hint="Write down (batch, heads, query, key) and put your axes under it, from the right.",
)
def one_axis_short(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :]


@item.misconception(
    "Your mask always takes 0 for the pad, whatever pad_id is.",
    why="One of the five published systems pads with 1. There, a word would vanish and the pads "
    "would be read.",
    hint="Does your code use its second argument?",
)
def zero_is_always_the_pad(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != 0)[:, None, None, :]


@item.misconception(
    "Your mask hides the right places, but it holds floats, 1.0 and 0.0, not True and False.",
    why="In this course masks are boolean. masked_fill refuses a mask of floats, and so does ~, "
    "which turns a mask round.",
    hint="What type does a comparison give before you convert it?",
)
def numbers_instead_of_booleans(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id).float()[:, None, None, :]


@item.misconception(
    "Your mask crosses rows with columns: a real query may read a real key, (B, 1, S, S).",
    why="It hides the pads' rows as well, which leaves them nothing to read, and it fits only "
    "where queries and keys come from the same sentence. Cross-attention has two lengths.",
    hint="The mask need not know about queries at all: their axis may have size 1.",
)
def rows_and_columns(tokens: Tensor, pad_id: int) -> Tensor:
    real = tokens != pad_id
    return real[:, None, :, None] & real[:, None, None, :]
