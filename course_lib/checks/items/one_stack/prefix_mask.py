"""16.prefix_mask: the source sees all of itself, what follows is causal."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib import modern
from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.model import causal_mask


def _call(lengths: list[int], length: int, about: str) -> Call:
    return Call((torch.tensor(lengths), length), about=about)


def _drawn(draw: Draw) -> Call:
    """Four prefixes, all different."""
    lengths = [draw.integer(1, 2), 3, draw.integer(4, 5), 6]
    return _call(lengths, 8, "prefixes of four different lengths")


item = Item(
    "16.prefix_mask",
    reference=modern.prefix_mask,
    probes=[
        Probe(
            "the tokens of the prefix all see one another, and what follows is causal",
            lambda draw: [
                _call([draw.integer(2, 4)], 6, "a few tokens of the source, and of the target"),
                _call([draw.integer(2, 3)] * 2, 5, "two rows with prefixes of one length"),
            ],
        ),
        Probe(
            "each row has a prefix of its own",
            lambda draw: [
                _drawn(draw),
                _call([4, draw.integer(1, 3)], 5, "the longest prefix comes first"),
                _call([2, 3, 2], 3, "as many rows as tokens"),
            ],
        ),
        Probe(
            "a prefix of 0 or 1 tokens leaves the mask causal",
            lambda draw: [_call([0, 1, 3], 4, "prefixes of 0, 1 and 3 tokens")],
        ),
        Probe(
            "if the whole row is the prefix, all see all",
            lambda draw: [
                _call([4, 4], 4, "the prefix is the whole row, twice"),
                _call([1], 1, "a row of one token"),
            ],
        ),
    ],
    hints=(
        "A query may attend to a key for one of two reasons. The first is that the key isn't in "
        "its future. What is the second, and does it depend on the query at all?",
        "Number the keys from 0 on. For each row of the batch, say which keys are inside its "
        "prefix: that is (batch, key). Give it the axes that it lacks, and combine it with "
        "the causal mask, which has the shape (1, 1, query, key).",
        "Comparing a row of numbers with a column gives a table: torch.arange(3) > "
        "torch.tensor([[0], [1]]) has the rows False True True and False False True. In "
        "t[:, None], None is a new axis of size 1. And a | b is True where at least one of them "
        "is.",
    ),
)


@item.switchable
def prefix_mask_with(on: frozenset[str]) -> Callable[[Tensor, int], Tensor]:
    """prefix_mask with these misconceptions."""

    def answer(lengths: Tensor, length: int) -> Tensor:
        mask = combined(inside(lengths, length), causal(length))
        if on & {"triangle_shifted", "triangle_shifted_by_one_less"}:
            mask = shifted(lengths, length)
        if not on & {"causal_everywhere_once", "source_alone_once"}:
            mask = mask.expand(1 if "one_for_the_batch" in on else len(lengths), 1, -1, -1)
        mask = ~mask if "marks_what_is_hidden" in on else mask
        mask = mask[:, 0] if "no_axis_for_heads" in on else mask
        mask = mask.transpose(0, 1) if "batch_on_the_axis_of_heads" in on else mask
        if on & {"ones_and_zeros", "floats"}:
            return mask.int() if "ones_and_zeros" in on else mask.float()
        if on & {"to_be_added", "a_billion_to_be_added"}:
            lowest = -math.inf if "to_be_added" in on else -1e9
            return torch.zeros(mask.shape).masked_fill(~mask, lowest)
        return mask

    def inside(lengths: Tensor, length: int) -> Tensor:
        """Which keys are inside the prefix, (batch, 1, 1, key)."""
        if on & {"longest_for_all", "one_for_the_batch"}:
            lengths = lengths.max()[None]
        if on & {"shortest_for_all", "first_for_all"}:
            lengths = lengths.min()[None] if "shortest_for_all" in on else lengths[:1]
        lengths = lengths + int("one_too_long" in on) - int("one_short" in on)
        at = torch.arange(length)
        at = at.flip(0) if "prefix_at_the_end" in on else at
        return (at < lengths[:, None])[:, None, None, :]

    def shifted(lengths: Tensor, length: int) -> Tensor:
        """A triangle with so many diagonals more, for each row."""
        less = int("triangle_shifted_by_one_less" in on)
        square = torch.ones(length, length, dtype=torch.bool)
        return torch.stack([square.tril(n - less) for n in lengths.tolist()])[:, None]

    def causal(length: int) -> Tensor:
        past = causal_mask(length)
        past = past.tril(-1) if "diagonal_hidden" in on else past
        past = past.transpose(-2, -1) if "past_hidden" in on else past
        return ~past if "causal_turned_round" in on else past

    def combined(keys: Tensor, past: Tensor) -> Tensor:
        queries = keys.transpose(-2, -1)
        if on & {"causal_everywhere", "causal_everywhere_once"}:
            return past
        if "all_see_all" in on:
            return torch.ones_like(past)
        if "asks_the_query" in on:
            return queries | past
        if "either_is_inside" in on:
            return queries | keys | past
        if "source_alone_once" in on:
            return keys
        if "source_alone" in on:
            return keys | torch.zeros_like(past)
        if "both_must_hold" in on:
            return keys & past
        if "target_without_source" in on:
            return (keys & queries) | (~keys & ~queries & past)
        if on & {"opens_the_rest", "opens_the_rest_but_one"}:
            return past | (~keys if "opens_the_rest" in on else ~keys & ~keys.roll(1, -1))
        if "target_sees_all" in on:
            return keys | ~queries
        if "target_sees_all_and_source_is_causal" in on:
            return past | ~queries
        return keys | past

    return answer


item.switch(
    "causal_everywhere",
    "Your mask is causal everywhere: inside the prefix, too, no token sees a later one.",
    why="Nobody has to predict the source, so it needn't be hidden from itself. With your mask its "
    "first word is read without knowing the second, which an encoder would let it see.",
    hint="Does your result depend on lengths at all? Compare row 0 of two masks with different "
    "lengths.",
    spellings=["causal_everywhere_once"],
)
item.switch(
    "all_see_all",
    "Your mask hides nothing: the target sees its own future.",
    why="The token to predict is one position ahead. A model that may look there copies it, its "
    "loss goes to 0, and it has learned nothing.",
    hint="Which keys may the first token after the prefix attend to?",
)
item.switch(
    "asks_the_query",
    "In your mask the tokens of the prefix see the whole row, the target included.",
    why="In the next layer a target token could read its own future from the source. That a "
    "*query* is in the prefix is no reason to allow a key: the key has to be in it.",
    hint="Along which axis of your mask do the keys run, and along which does your comparison?",
    spellings=["either_is_inside"],
)
item.switch(
    "source_alone",
    "Your mask allows the prefix and nothing else: no target token sees the target before it.",
    why="A translation is written word by word, and each word has to fit those before it. Your "
    "mask hides them, even the token itself.",
    hint="The prefix is one of two reasons to allow a key. Where is the other one?",
    spellings=["source_alone_once"],
)
item.switch(
    "both_must_hold",
    "Your mask allows a key only if it is in the prefix *and* not in the future.",
    why="Then the source is causal, and a target token sees no token of the target. Either reason "
    "alone should be enough.",
    hint="Do both reasons have to hold, or is one enough? Which operator says that?",
)
item.switch(
    "target_without_source",
    "In your mask source and target see themselves alone: the target can't see the source.",
    why="There is no cross-attention here. What a target token learns of the source comes through "
    "this mask or not at all.",
    hint="Look at the row of the first target token. Which keys of the source does it see?",
)
item.switch(
    "target_sees_all",
    "In your mask each token of the target sees the whole target.",
    why="The token to predict is one position ahead, in plain sight. The loss goes to 0, and "
    "nothing is learned.",
    hint="What should be False in the last columns of your mask?",
    spellings=["target_sees_all_and_source_is_causal"],
)
item.switch(
    "one_short",
    "Your prefix is one token too short: the last token of the source is causal.",
    why="The other source tokens can't see it. A length of 3 means the keys 0, 1 and 2.",
    hint="Keys count from 0. With a length of 1, which keys are inside the prefix?",
)
item.switch(
    "one_too_long",
    "Your prefix is one token too long: it takes in the first token after it.",
    why="A length of 3 means the keys 0, 1 and 2. Key 3 is the first one that isn't the "
    "source's, and the source mustn't see it.",
    hint="Keys count from 0. With a length of 0, is any key inside the prefix?",
)
item.switch(
    "longest_for_all",
    "You use the longest prefix for every row.",
    why="In a row with a shorter source the prefix then reaches into its target, which is seen "
    "before it is predicted.",
    hint="Print your mask for the lengths 1 and 3. Are its two rows the same?",
    spellings=["one_for_the_batch"],
)
item.switch(
    "shortest_for_all",
    "You use one prefix length for every row, though each row has its own.",
    why="Where the source is longer than that, its end is causal; where it is shorter, the target "
    "is seen too early.",
    hint="Print your mask for the lengths 1 and 3. Are its two rows the same?",
    spellings=["first_for_all"],
)
item.switch(
    "prefix_at_the_end",
    "You count the prefix from the end of the row.",
    why="The source stands at the start. Your mask opens the last columns, and that's the target.",
    hint="Which columns of your mask are all True?",
)
item.switch(
    "past_hidden",
    "After the prefix your mask is the wrong way round: it allows the future and hides the past.",
    why="Token t should be predicted from what stands before it. The triangle of the causal part "
    "is the wrong one.",
    hint="Print your mask with lengths of 0, and look at its first row.",
)
item.switch(
    "causal_turned_round",
    "After the prefix your mask allows the future, and hides the past and the token itself.",
    why="True means that a query may attend to the key. The causal part of your mask is inverted.",
    hint="Print your mask with lengths of 0, and look at its first row.",
)
item.switch(
    "diagonal_hidden",
    "After the prefix, no token sees itself in your mask.",
    why="A token is not in its own future: what has to be predicted there is the next one. "
    "Without a prefix, the first token would have nothing left to attend to.",
    hint="Is a token in its own future?",
)
item.switch(
    "marks_what_is_hidden",
    "Your mask is inverted: it's True where nothing may be seen.",
    why="In this course, True means that a query may attend to the key. With your mask a token "
    "sees its future and nothing else.",
    hint="Print your mask for a prefix of 2 of 4 tokens. Which keys may the last token attend to?",
)
item.switch(
    "ones_and_zeros",
    "Your mask holds numbers, such as 1 and 0, instead of booleans.",
    why="In this course masks are boolean. masked_fill doesn't accept a mask of numbers, and ~ "
    "doesn't invert one.",
    hint="Print the dtype of your result, and of what you combine.",
    spellings=["floats"],
)
item.switch(
    "to_be_added",
    "Your mask holds 0 and a very low number, to be added to the scores.",
    why="That's another convention, the additive mask. Here a mask is boolean, and the attention "
    "applies it.",
    hint="Return True and False.",
    spellings=["a_billion_to_be_added"],
)
item.switch(
    "no_axis_for_heads",
    "Your mask has no axis for the heads: (batch, query, key).",
    why="Axes are aligned on the right, so the batch axis of your mask lines up with the heads.",
    hint="Scores are (batch, heads, query, key). Where is the axis of size 1 missing?",
)
item.switch(
    "batch_on_the_axis_of_heads",
    "Batch and heads are swapped in your mask: (1, batch, query, key).",
    why="The rows of the batch would be taken for heads. With as many heads as rows there is no "
    "error at all.",
    hint="Scores are (batch, heads, query, key). Which axis has size 1 in your result?",
)
item.switch(
    "triangle_shifted",
    "Your triangle is shifted by the length of the prefix: each token sees that many tokens of its "
    "future, behind the source, too.",
    why="A target token would see those that it should predict. The prefix opens its own columns, "
    "and all others stay causal.",
    hint="With a prefix of 2 of 6 tokens, may token 3 attend to token 5?",
    spellings=["triangle_shifted_by_one_less"],
)
item.switch(
    "opens_the_rest",
    "Your mask opens the keys *after* the prefix to all queries.",
    why="That is the target, which the source mustn't see and the target only as far as it is "
    "written. Your comparison is the wrong way round.",
    hint="With a length of 2, for which of the keys 0, 1, 2, 3 is your comparison True?",
    spellings=["opens_the_rest_but_one"],
)
