"""06.padding_mask: Mask the padding."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Item, Probe
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
        "Compare the tokens with pad_id. That gives (batch, seq), True where the token is "
        "real. Then insert axes for heads and queries.",
        "None in an index inserts an axis of size 1: if t has the shape (3,), then t[None, :] has "
        "(1, 3), and t[:, None] has (3, 1). And t != 7 is True wherever t isn't 7.",
    ),
)


@item.switchable
def padding_mask_with(on: frozenset[str]) -> Callable[[Tensor, int], Tensor]:
    """padding_mask with these misconceptions."""

    def answer(tokens: Tensor, pad_id: int) -> Tensor:
        real = shaped(is_real(tokens, 0 if "zero_is_always_the_pad" in on else pad_id))
        real = ~real if "polarity_turned_round" in on else real
        for name, dtype in (
            ("numbers_instead_of_booleans", torch.float32),
            ("integers_instead_of_booleans", torch.int64),
            ("small_integers_instead_of_booleans", torch.int32),
        ):
            if name in on:
                return real.to(dtype)
        if "to_be_added" in on or "a_billion_to_be_added" in on:
            lowest = -math.inf if "to_be_added" in on else -1e9
            return torch.zeros(real.shape).masked_fill(~real, lowest)
        return real

    def is_real(tokens: Tensor, pad_id: int) -> Tensor:
        if "pads_are_the_lowest" in on:
            return tokens > pad_id
        real = tokens != pad_id
        if "pads_only_on_the_right" in on:
            return torch.arange(tokens.size(1)) < real.sum(dim=1, keepdim=True)
        return real

    def shaped(real: Tensor) -> Tensor:
        rows, columns = real[:, None, :, None], real[:, None, None, :]
        shapes = {
            "rows_instead_of_columns": rows,
            "no_room_for_heads": real,
            "one_axis_short": real[:, None, :],
            "axes_behind": real[:, :, None, None],
            "axes_in_front": real[None, None],
            "rows_and_columns": rows & columns,
            "a_row_for_each_query": columns.expand(-1, -1, real.size(1), -1),
        }
        return next((shape for name, shape in shapes.items() if name in on), columns)

    return answer


item.switch(
    "polarity_turned_round",
    "Your mask is inverted: True at the padding and False at the real tokens.",
    why="In this course, True means that a query may attend to the key. With your mask, all "
    "tokens attend to the padding.",
    hint="Ask it the other way round: which tokens are not padding?",
)
item.switch(
    "rows_instead_of_columns",
    "You mask the rows of the padding: shape (batch, 1, seq, 1).",
    why="A row is a query, a column is a key, and no query may attend to padding as a key. What "
    "padding attends to doesn't matter, but a fully masked row can give NaN.",
    hint="Over which of the last two axes of the scores does softmax run?",
)
item.switch(
    "no_room_for_heads",
    "Your mask has the shape of the tokens, (batch, seq).",
    why="It has to broadcast to (batch, heads, query, key). Broadcasting aligns axes on the right, "
    "so your batch axis would be treated as queries.",
    hint="Where do you have to insert the axes for heads and queries?",
)
item.switch(
    "one_axis_short",
    "Your mask has one new axis, (batch, 1, seq), but it needs two.",
    why="Scores have four axes. With three, your batch axis lines up with the heads.",
    hint="Write down (batch, heads, query, key), and your axes below it, aligned on the right.",
)
item.switch(
    "axes_behind",
    "Your new axes come last: (batch, seq, 1, 1).",
    why="Axes are matched by position. Where you have the tokens, the scores have the heads.",
    hint="Write down (batch, heads, query, key), and your axes below it. Which of them should "
    "your seq be below?",
)
item.switch(
    "axes_in_front",
    "Your new axes come first: (1, 1, batch, seq).",
    why="Axes are matched by position. Your first axis should be the batch, and your batch axis "
    "lines up with the queries.",
    hint="Write down (batch, heads, query, key). Which of them have size 1 in your mask?",
)
item.switch(
    "zero_is_always_the_pad",
    "Your code always treats 0 as padding, whatever pad_id is.",
    why="pad_id can be any id. Where it isn't 0, your mask hides the tokens with id 0 and allows "
    "the padding.",
    hint="Does your code use its second argument?",
)
item.switch(
    "pads_are_the_lowest",
    "You treat all ids up to pad_id as padding.",
    why="Padding has one id, and any other token may have a lower one. Your mask is right only "
    "while no id is lower than pad_id.",
    hint="Real tokens are those that are not equal to pad_id, larger or smaller.",
)
item.switch(
    "pads_only_on_the_right",
    "Your mask allows as many keys as there are real tokens, but always the first ones.",
    why="With padding on the left, your mask allows the padding and hides as many real tokens.",
    hint="Decide for each token on its own: how many real ones there are doesn't matter.",
)
item.switch(
    "numbers_instead_of_booleans",
    "Your mask holds numbers, such as 1 and 0, instead of booleans.",
    why="In this course masks are boolean. masked_fill doesn't accept a mask of numbers, and ~ "
    "doesn't invert one.",
    hint="What is the dtype of your mask, and what is that of a comparison?",
    spellings=["integers_instead_of_booleans", "small_integers_instead_of_booleans"],
)
item.switch(
    "to_be_added",
    "Your mask holds 0 and a very low number, to be added to the scores.",
    why="That's another convention, the additive mask. Here a mask is boolean, and masked_softmax "
    "applies it.",
    hint="Return True and False.",
    spellings=["a_billion_to_be_added"],
)
item.switch(
    "rows_and_columns",
    "You mask both the rows and the columns of the padding: (batch, 1, seq, seq).",
    why="Then the rows of the padding are fully masked. And the mask only works if queries and "
    "keys come from the same sentence; in cross-attention there are two lengths.",
    hint="The mask doesn't depend on the query at all, so that axis can have size 1.",
)
item.switch(
    "a_row_for_each_query",
    "Your mask repeats its row for each query: (batch, 1, seq, seq).",
    why="It only works if queries and keys come from the same sentence; in cross-attention there "
    "are two lengths.",
    hint="The mask doesn't depend on the query at all, so that axis can have size 1.",
)
