"""06.decoder_mask: Hide both."""

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


@item.misconception(
    "Your mask is the causal one alone: pads may be read.",
    why="With pads on the right that goes unnoticed, since they are everybody's future. With pads "
    "on the left each word reads them.",
    hint="Two things are to be hidden.",
)
def only_the_future_hidden(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.causal_mask(tokens.size(1)).expand(len(tokens), -1, -1, -1)


@item.misconception(
    "Your mask is the padding mask alone: the future may be read.",
    why="The word to be predicted stands one place ahead; a model that may read it learns nothing.",
    hint="Two things are to be hidden.",
)
def only_pads_hidden(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id).expand(-1, -1, tokens.size(1), -1)


@item.misconception(
    "Your mask lets a key be read if either mask allows it.",
    why="Then a pad of the past may be read, and so may every real word of the future.",
    hint="Must both masks agree, or is one enough?",
)
def either_will_do(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id) | masks.causal_mask(tokens.size(1))


@item.misconception(
    "Your mask hides the right places, but it holds numbers, 1 and 0: a product of numbers.",
    why="In this course masks are boolean. ~ turns a boolean mask round, but of the whole numbers "
    "1 and 0 it makes -2 and -1.",
    hint="There is an operator that says 'and' for booleans.",
)
def multiplied(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.padding_mask(tokens, pad_id).int() * masks.causal_mask(tokens.size(1)).int()


@item.misconception(
    "Your mask hides the pads' rows and not their columns.",
    why="Pads must not be read: that is their column. Their rows may keep what they have.",
    hint="Look at how padding_mask places its axes.",
)
def pads_as_queries(tokens: Tensor, pad_id: int) -> Tensor:
    return masks.causal_mask(tokens.size(1)) & (tokens != pad_id)[:, None, :, None]
