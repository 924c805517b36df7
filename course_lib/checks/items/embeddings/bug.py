"""02.bug: Sure from the first step."""

from __future__ import annotations

import math

from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import positions

BUG = """\
def both_ends(tokens, hidden, table, code):
    scale = math.sqrt(table.size(1))
    words = table[tokens] * scale
    vectors = words + code[: tokens.size(1)]
    logits = hidden @ (table * scale).T
    return vectors, logits
"""


Ends = tuple[Tensor, Tensor]


def _both_ends(
    tokens: Tensor,
    hidden: Tensor,
    table: Tensor,
    code: Tensor,
    *,
    scale_in: float | None = None,
    scale_out: float = 1.0,
) -> Ends:
    """The vectors that enter and the logits that leave, each with a factor of its own."""
    scale = math.sqrt(table.size(1)) if scale_in is None else scale_in
    return table[tokens] * scale + code[: tokens.size(1)], hidden @ table.T * scale_out


def _ends(draw: Draw, *shape: int, d_model: int = 8, about: str, gradients: bool = False) -> Call:
    table = draw.normal(20, d_model, std=0.2)
    code = positions.sinusoidal_positions(12, d_model)
    hidden = draw.normal(*shape, d_model)
    return Call((draw.ids(*shape), hidden, table, code), about=about, gradients=gradients)


item = Item(
    "02.bug",
    reference=_both_ends,
    bug=Bug(BUG, line=5),
    tolerance=1e-4,
    probes=[
        Probe(
            "words enter as loud as places, and logits leave small",
            lambda draw: [_ends(draw, 2, 5, about="two sentences of five tokens")],
        ),
        Probe(
            "any width, any batch, any length",
            lambda draw: [
                _ends(draw, 3, 4, d_model=18, about="another width"),
                _ends(draw, 1, 1, d_model=4, about="a single token"),
            ],
        ),
        Probe(
            "the one table learns from both of its uses",
            lambda draw: [_ends(draw, 2, 6, about="gradients", gradients=True)],
        ),
    ],
    hints=(
        "The loss starts far above ln V. Which of the two results decides about that?",
        "Where does the paper multiply by √D, at the input, at the output, or at both?",
        "logits = hidden @ ..., with the table as it is stored.",
    ),
)


@item.misconception(
    "The logits are still √D times too large.",
    why="A row of spread 0.2/√D gives logits of spread 0.2. Times √D they have spread 0.2 √D, "
    "which is 4.5 at D = 512: the model is sure before it knows anything.",
    hint="Which spread did embedding_std choose, and for which logits?",
)
def still_too_sure(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, code, scale_out=math.sqrt(table.size(1)))


@item.misconception(
    "The factor is gone at both ends: now the words are too quiet.",
    why="At the input it was right. A small row without it is drowned by the code of its place.",
    hint="Only one of the two uses of scale was wrong.",
)
def no_factor_at_all(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, code, scale_in=1.0)


@item.misconception(
    "You took the factor from the wrong end: words enter too quiet, and logits leave too large.",
    why="The factor belongs to the embedding (section 3.4 of the paper), where word and place are "
    "added.",
    hint="Which of the two results is compared with a code, and which goes into a softmax?",
)
def the_wrong_end(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, code, scale_in=1.0, scale_out=table.size(1) ** 0.5)


@item.misconception(
    "You divide the logits by √D.",
    why="The spread 0.2/√D already makes up for the width. Divided once more, the logits of a wide "
    "model are nearly equal and its gradients nearly zero.",
    hint="How large are the logits of the table as it is stored?",
)
def divided_at_the_output(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, code, scale_out=table.size(1) ** -0.5)


@item.misconception(
    "Your output layer no longer learns: the table was cut off from the gradient there.",
    why="Tied means one table with two uses, and it learns from both.",
    hint="The logits are a product with the table itself, not with a copy.",
)
def cut_off(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    vectors, _ = _both_ends(tokens, hidden, table, code)
    return vectors, hidden @ table.detach().T
