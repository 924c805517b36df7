"""06.padding_mask: Mask the padding."""

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
            "real tokens are allowed and padding is masked",
            lambda draw: [
                Call((draw.tokens(3, 5), 0), about="three sentences, padded on the right")
            ],
        ),
        Probe(
            "padding on the left is masked, too",
            lambda draw: [Call((draw.tokens(2, 4, left=True), 0), about="padded on the left")],
        ),
        Probe(
            "pad_id determines what counts as padding",
            lambda draw: [
                Call((draw.tokens(2, 6, pad_id=3), 3), about="pad_id is 3, and 0 is a real token"),
                Call((draw.ids(2, 6), 0), about="a batch without padding"),
            ],
        ),
        Probe(
            "it works for one sentence and for a single token",
            lambda draw: [
                Call((draw.tokens(1, 7), 0), about="a batch of one"),
                Call((draw.tokens(4, 1), 0), about="sentences of one token"),
                Call((draw.tokens(5, 5), 0), about="as many sentences as tokens"),
            ],
        ),
    ],
    hints=(
        "Padding is a key that no query may attend to. Which axis of (batch, heads, query, key) "
        "are the keys?",
        "Compare the tokens with pad_id: that gives (batch, seq), True where the token is real. "
        "Then insert axes for heads and queries.",
        "(tokens ... pad_id)[:, None, None, :], with the right comparison in place of the dots.",
    ),
)


@item.misconception(
    "Your mask is inverted: True at the padding and False at the real tokens.",
    why="In this course True means: may attend. With your mask, all tokens attend to the padding.",
    hint="Ask it the other way round: which tokens are not padding?",
)
def polarity_turned_round(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens == pad_id)[:, None, None, :]


@item.misconception(
    "You mask the rows of the padding: shape (batch, 1, seq, 1).",
    why="A row is a query, a column is a key, and no query may attend to padding as a key. What "
    "padding attends to doesn't matter, but a fully masked row can give NaN.",
    hint="Over which of the last two axes of the scores does softmax run?",
)
def rows_instead_of_columns(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :, None]


@item.misconception(
    "Your mask has the shape of the tokens, (batch, seq).",
    why="It has to broadcast to (batch, heads, query, key). Broadcasting aligns axes on the right, "
    "so your batch axis would be treated as queries.",
    hint="Where do you have to insert the axes for heads and queries?",
)
def no_room_for_heads(tokens: Tensor, pad_id: int) -> Tensor:
    return tokens != pad_id


@item.misconception(
    "Your mask has one new axis, (batch, 1, seq), but it needs two.",
    why="Scores have four axes. With three, your batch axis lines up with the heads.",
    hint="Write down (batch, heads, query, key), and your axes below it, aligned on the right.",
)
def one_axis_short(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :]


@item.misconception(
    "Your code always treats 0 as padding, whatever pad_id is.",
    why="One of the five published systems pads with 1. There, your mask would hide a real token "
    "and allow the padding.",
    hint="Does your code use its second argument?",
)
def zero_is_always_the_pad(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != 0)[:, None, None, :]


@item.misconception(
    "Your mask is right, except that it holds floats, 1.0 and 0.0, instead of booleans.",
    why="In this course masks are boolean. masked_fill doesn't accept a mask of floats, and "
    "neither does ~, which inverts a mask.",
    hint="What is the dtype of a comparison before you convert it?",
)
def numbers_instead_of_booleans(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id).float()[:, None, None, :]


@item.misconception(
    "You mask both the rows and the columns of the padding: (batch, 1, seq, seq).",
    why="Then the rows of the padding are fully masked. And the mask only works if queries and "
    "keys come from the same sentence; in cross-attention there are two lengths.",
    hint="The mask doesn't depend on the query at all, so that axis can have size 1.",
)
def rows_and_columns(tokens: Tensor, pad_id: int) -> Tensor:
    real = tokens != pad_id
    return real[:, None, :, None] & real[:, None, None, :]
