"""06.decoder_mask: Mask both."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Item, Probe
from course_lib.model import masks


def _all_but_last(size: int) -> Tensor:
    return (torch.arange(size) < size - 1).long()


item = Item(
    "06.decoder_mask",
    reference=masks.decoder_mask,
    probes=[
        Probe(
            "neither the future nor padding is allowed",
            lambda draw: [
                Call((draw.tokens(3, 5), 0), about="three sentences, padded on the right")
            ],
        ),
        Probe(
            "padding on the left is masked, too",
            lambda draw: [Call((draw.tokens(3, 6, left=True), 0), about="padded on the left")],
        ),
        Probe(
            "it works for any pad_id and any batch size",
            lambda draw: [
                Call((draw.tokens(2, 4, pad_id=2), 2), about="pad_id is 2"),
                Call((draw.tokens(1, 3), 0), about="a batch of one"),
                Call((draw.tokens(4, 4), 0), about="as many sentences as tokens"),
                Call((draw.tokens(3, 5, left=True).flip(0), 0), about="the first one is padded"),
                Call((draw.tokens(3, 5) * _all_but_last(5), 0), about="each sentence has a pad"),
            ],
        ),
    ],
    hints=(
        "You have both parts. When may a query attend to a key: if one mask allows it, or only if "
        "both do?",
        "Combine padding_mask and causal_mask. They broadcast to (batch, 1, seq, seq).",
        "For two boolean tensors, a & b is True where both of them are, and a | b where at least "
        "one of them is. The causal mask needs to know how long the rows are: which size of "
        "tokens is that?",
    ),
)


@item.switchable
def decoder_mask_with(on: frozenset[str]) -> Callable[[Tensor, int], Tensor]:
    """decoder_mask with these misconceptions."""

    def answer(tokens: Tensor, pad_id: int) -> Tensor:
        mask = combined(padding(tokens, pad_id), causal(tokens))
        mask = ~mask if "marks_what_is_hidden" in on else mask
        mask = mask[:, 0] if "no_axis_for_heads" in on else mask
        if on & {"multiplied", "multiplied_floats"}:
            return mask.int() if "multiplied" in on else mask.float()
        if on & {"to_be_added", "a_billion_to_be_added"}:
            lowest = -math.inf if "to_be_added" in on else -1e9
            return torch.zeros(mask.shape).masked_fill(~mask, lowest)
        return mask

    def padding(tokens: Tensor, pad_id: int) -> Tensor:
        real = masks.padding_mask(tokens, 0 if "zero_is_always_the_pad" in on else pad_id)
        if "pads_only_on_the_right" in on:
            real = torch.arange(real.size(-1)) < real.sum(dim=-1, keepdim=True)
        real = ~real if "padding_turned_round" in on else real
        if "pads_as_queries" in on:
            return real.transpose(-2, -1)
        return real & real.transpose(-2, -1) if "pads_as_queries_too" in on else real

    def causal(tokens: Tensor) -> Tensor:
        past = masks.causal_mask(tokens.size(0 if "size_of_the_batch" in on else 1))
        past = past.tril(-1) if "diagonal_hidden" in on else past
        past = past.transpose(-2, -1) if "past_hidden" in on else past
        return ~past if "causal_turned_round" in on else past

    def combined(real: Tensor, past: Tensor) -> Tensor:
        if "only_the_future_hidden" in on:
            return past.expand(len(real), -1, -1, -1)
        if "only_the_future_hidden_once" in on:
            return past
        if "only_pads_hidden" in on:
            return real.expand(-1, -1, real.size(-1), -1)
        if "only_pads_hidden_once" in on:
            return real
        if "either_will_do" in on:
            return real | past
        both = real & past
        return both | torch.eye(both.size(-1), dtype=torch.bool) if "diagonal_open" in on else both

    return answer


item.switch(
    "only_the_future_hidden",
    "Your mask hides the future only: padding isn't masked.",
    why="With padding on the right you won't notice, since it's in the future of every real token. "
    "With padding on the left, every token attends to it.",
    hint="There are two things to mask. Which line masks the padding, and does it reach your "
    "result?",
    spellings=["only_the_future_hidden_once"],
)
item.switch(
    "only_pads_hidden",
    "Your mask hides padding only: the future isn't masked.",
    why="The token to predict is one position ahead. A model that may attend to it copies it and "
    "learns nothing.",
    hint="There are two things to mask. Which line masks the future, and does it reach your "
    "result?",
    spellings=["only_pads_hidden_once"],
)
item.switch(
    "either_will_do",
    "Your mask allows a key if either mask does.",
    why="Then padding in the past is allowed, and so are all real tokens of the future.",
    hint="Do both masks have to allow a key, or is one enough?",
)
item.switch(
    "multiplied",
    "Your mask holds numbers, such as 1 and 0, instead of booleans.",
    why="In this course masks are boolean. masked_fill doesn't accept a mask of numbers, and ~ "
    "doesn't invert one: of floats it's an error, of the integers 1 and 0 it gives -2 and -1.",
    hint="Print the dtype of your result, and of what you combine. Which operator means 'and' for "
    "boolean tensors?",
    spellings=["multiplied_floats"],
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
    "marks_what_is_hidden",
    "Your mask is inverted: it's True for the keys that should be masked.",
    why="In this course, True means that a query may attend to the key. With your mask, a "
    "token sees nothing but padding and its future.",
    hint="Look at row 0 of a sentence without padding. Which key may the first token attend to?",
)
item.switch(
    "padding_turned_round",
    "Your mask allows the padding of the past and hides its real tokens.",
    why="True means that a query may attend to the key. The padding part of your mask is inverted.",
    hint="Print your mask for a sentence without padding. Is any key allowed?",
)
item.switch(
    "causal_turned_round",
    "Your mask allows the future and hides the past and the token itself.",
    why="True means that a query may attend to the key. The causal part of your mask is inverted.",
    hint="Print your mask for three tokens without padding, and look at its first row.",
)
item.switch(
    "past_hidden",
    "Your mask allows the future and hides the past.",
    why="Token t should be predicted from the tokens before it. The triangle of the causal part "
    "is the wrong one.",
    hint="Print your mask for three tokens without padding, and look at its first row.",
)
item.switch(
    "diagonal_hidden",
    "Your mask doesn't let a token attend to itself.",
    why="Then the first token has no key left. A token may attend to itself: the decoder's input "
    "is shifted, so a position never holds the token that it has to predict.",
    hint="Is a token in its own future?",
)
item.switch(
    "diagonal_open",
    "Your mask lets padding attend to itself.",
    why="No query may attend to padding, and padding is no exception. Its row may be fully masked: "
    "masked_softmax can deal with that.",
    hint="Is the diagonal an exception in the task?",
)
item.switch(
    "pads_as_queries",
    "You mask the rows of the padding, not its columns.",
    why="No query may attend to padding, and that's its column. What the row of a padding token "
    "holds doesn't matter.",
    hint="Which axis of your mask are the keys, and along which axis does your code mask padding?",
)
item.switch(
    "pads_as_queries_too",
    "You mask the rows of the padding as well as its columns.",
    why="Only keys have to be masked. What padding attends to doesn't matter, since its output is "
    "never used, and its rows should keep the real tokens of their past.",
    hint="Which axis of the mask are the keys? Padding should make no difference on the other one.",
)
item.switch(
    "pads_only_on_the_right",
    "Your mask allows as many of the first columns as a sentence has tokens, wherever its padding "
    "is.",
    why="With padding on the left, it allows the padding and hides real tokens.",
    hint="Ask of each key whether it is padding, not of each sentence how long it is.",
)
item.switch(
    "zero_is_always_the_pad",
    "Your code always treats 0 as padding, whatever pad_id is.",
    why="pad_id can be any id. Where it isn't 0, your mask should hide other keys than those with "
    "id 0.",
    hint="Does your code use its second argument?",
)
item.switch(
    "size_of_the_batch",
    "Your causal mask is as large as the batch, not as long as the sentences.",
    why="len(tokens) and tokens.size(0) are the number of sentences. For most sizes that's an "
    "error. For one sentence or one token there's none, and the mask is wrong or masks no future.",
    hint="Print tokens.shape. Which axis are the positions?",
)
item.switch(
    "no_axis_for_heads",
    "Your mask has no axis for the heads: (batch, seq, seq).",
    why="Axes are aligned on the right, so the batch axis of your mask lines up with the heads.",
    hint="Scores are (batch, heads, query, key). Where is the axis of size 1 missing?",
)
