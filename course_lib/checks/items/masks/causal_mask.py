"""06.causal_mask: Mask the future."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Item, Probe
from course_lib.model import masks

item = Item(
    "06.causal_mask",
    reference=masks.causal_mask,
    probes=[
        Probe(
            "a query may attend to itself and to its past",
            lambda draw: [
                Call((4,), about="four tokens"),
                Call((draw.integer(5, 30),), about="some more tokens"),
            ],
        ),
        Probe(
            "it works for any length",
            lambda draw: [
                Call((1,), about="a single token"),
                Call((2,), about="two tokens"),
                Call((draw.integer(31, 70),), about="a longer sentence"),
                Call((draw.integer(100, 300),), about="a paragraph"),
            ],
        ),
    ],
    hints=(
        "Draw the mask for three tokens: row 0 is True for key 0 only, and row 2 for all "
        "three keys.",
        "Start with a square of True and keep one of its two triangles. Which one? And what "
        "did you draw on the diagonal?",
        "torch.ones(3, 3).tril() keeps the ones on and below the diagonal and sets the others to "
        "0; triu() keeps those on and above it. With dtype=torch.bool, the ones are True and the "
        "zeros False. Compare both with your drawing.",
    ),
)


@item.switchable
def causal_mask_with(on: frozenset[str]) -> Callable[[int], Tensor]:
    """causal_mask with these misconceptions."""

    def answer(size: int) -> Tensor:
        shift = {"diagonal_hidden": -1, "one_step_ahead": 1}
        diagonal = next((step for name, step in shift.items() if name in on), 0)
        mask = torch.ones(size, size, dtype=torch.bool).tril(diagonal)
        mask = mask.T if "past_hidden" in on else mask
        mask = ~mask if "marks_the_future" in on else mask
        if "two_axes_short" not in on:
            mask = mask[None] if "one_axis_short" in on else mask[None, None]
        if on & {"ones_and_zeros", "integers"}:
            return mask.float() if "ones_and_zeros" in on else mask.long()
        if on & {"to_be_added", "a_billion_to_be_added"}:
            lowest = -math.inf if "to_be_added" in on else -1e9
            return torch.zeros(mask.shape).masked_fill(~mask, lowest)
        return mask

    return answer


item.switch(
    "past_hidden",
    "Your mask allows the future and masks the past.",
    why="Token t should be predicted from the tokens before it. Here it would see all the tokens "
    "after it.",
    hint="Look at row 0, the first token. Which keys should it attend to?",
)
item.switch(
    "marks_the_future",
    "Your mask is inverted: it's True for the keys that should be masked.",
    why="In nn.MultiheadAttention, True means that a key is hidden. In this course, True "
    "means that a query may attend to it.",
    hint="Look at row 0. May the first token attend to itself, and what does your mask say?",
)
item.switch(
    "diagonal_hidden",
    "Your mask is False on the diagonal, so no token may attend to itself.",
    why="Then the first token has no key left. A token may attend to itself: the decoder's input "
    "is shifted, so a position never holds the token that it has to predict.",
    hint="Look at row 0: may the first token attend to itself? What decides is whether a "
    "comparison includes equal positions, at which diagonal .tril() or .triu() starts, or "
    "where a range ends.",
)
item.switch(
    "one_step_ahead",
    "Your mask lets a query attend to one token of its future, the next one.",
    why="The next token is exactly the one to predict. The training loss would fall to nearly "
    "zero, and the model would be useless in decoding.",
    hint="Count the True values in row 0.",
)
item.switch(
    "two_axes_short",
    "Your mask has only two axes, (size, size).",
    why="It would broadcast, but the task asks for axes for batch and heads, too. All masks of the "
    "course have four axes, so that you can't confuse them.",
    hint="Add two axes of size 1 in front.",
)
item.switch(
    "one_axis_short",
    "Your mask has only three axes, (1, size, size).",
    why="It would broadcast, but the task asks for axes for batch and heads, too. All masks of the "
    "course have four axes, so that you can't confuse them.",
    hint="Scores are (batch, heads, query, key). How many axes of size 1 are needed?",
)
item.switch(
    "ones_and_zeros",
    "Your mask holds numbers, such as 1 and 0, instead of booleans.",
    why="In this course masks are boolean, and True means that a query may attend to the key.",
    hint="Which of your lines decides the dtype of the mask? torch.ones, for instance, makes "
    "floats unless you give it one.",
    spellings=["integers"],
)
item.switch(
    "to_be_added",
    "Your mask holds 0 and a very low number, to be added to the scores.",
    why="That's another convention, the additive mask. Here a mask is boolean, and masked_softmax "
    "applies it.",
    hint="Return True and False.",
    spellings=["a_billion_to_be_added"],
)
item.apart.append({"past_hidden", "one_step_ahead"})
