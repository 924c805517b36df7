"""06.decoder_mask: Mask both."""

from __future__ import annotations

from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Item, Probe
from course_lib.model import masks

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
            ],
        ),
    ],
    hints=(
        "You have both parts. When may a query attend to a key: if one mask allows it, or only if "
        "both do?",
        "Combine padding_mask and causal_mask. They broadcast to (batch, 1, seq, seq).",
        "padding_mask(tokens, pad_id) ... causal_mask(tokens.size(1)), with an operator in place "
        "of the dots.",
    ),
)


@item.misconception(
    "You return only the causal mask, so padding isn't masked.",
    why="With padding on the right you won't notice, since it's in the future of every real token. "
    "With padding on the left, every token attends to it.",
    hint="There are two things to mask.",
)
def only_the_future_hidden(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.causal_mask(tokens.size(1)).expand(len(tokens), -1, -1, -1)


@item.misconception(
    "You return only the padding mask, so the future isn't masked.",
    why="The token to predict is one position ahead. A model that may attend to it copies it and "
    "learns nothing.",
    hint="There are two things to mask.",
)
def only_pads_hidden(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id).expand(-1, -1, tokens.size(1), -1)


@item.misconception(
    "Your mask allows a key if either mask does.",
    why="Then padding in the past is allowed, and so are all real tokens of the future.",
    hint="Do both masks have to allow a key, or is one enough?",
)
def either_will_do(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id) | masks.causal_mask(tokens.size(1))


@item.misconception(
    "Your mask is right, except that it holds the integers 1 and 0 instead of booleans.",
    why="In this course masks are boolean. ~ inverts a boolean mask, but it turns the integers 1 "
    "and 0 into -2 and -1.",
    hint="Which operator means 'and' for boolean tensors?",
)
def multiplied(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id).int() * masks.causal_mask(tokens.size(1)).int()


@item.misconception(
    "You mask the rows of the padding, not its columns.",
    why="No query may attend to padding, and that's its column. What the row of a padding token "
    "holds doesn't matter.",
    hint="Look at the axes of padding_mask.",
)
def pads_as_queries(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.causal_mask(tokens.size(1)) & (tokens != pad_id)[:, None, :, None]
