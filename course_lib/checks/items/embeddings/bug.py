"""02.bug: Overconfident from the first step."""

from __future__ import annotations

import math

from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.model import positions

BUG = """\
def both_ends(tokens, hidden, table, encodings):
    scale = math.sqrt(table.size(1))
    embedded = table[tokens] * scale
    vectors = embedded + encodings[: tokens.size(1)]
    logits = hidden @ (table * scale).T
    return vectors, logits
"""


Ends = tuple[Tensor, Tensor]


def _both_ends(
    tokens: Tensor,
    hidden: Tensor,
    table: Tensor,
    encodings: Tensor,
    *,
    scale_in: float | None = None,
    scale_out: float = 1.0,
) -> Ends:
    """The input vectors and the output logits, each with a factor of its own."""
    scale = math.sqrt(table.size(1)) if scale_in is None else scale_in
    return table[tokens] * scale + encodings[: tokens.size(1)], hidden @ table.T * scale_out


def _ends(draw: Draw, *shape: int, d_model: int = 8, about: str, gradients: bool = False) -> Call:
    table = draw.normal(20, d_model, std=0.2)
    encodings = positions.sinusoidal_positions(12, d_model)
    hidden = draw.normal(*shape, d_model)
    return Call((draw.ids(*shape), hidden, table, encodings), about=about, gradients=gradients)


item = Item(
    "02.bug",
    reference=_both_ends,
    bug=Bug(BUG, line=5),
    tolerance=1e-4,
    probes=[
        Probe(
            "embeddings and encodings have similar norms, and the logits are small",
            lambda draw: [_ends(draw, 2, 5, about="two sentences of five tokens")],
        ),
        Probe(
            "it works for any d_model, batch size and length",
            lambda draw: [
                _ends(draw, 3, 4, d_model=18, about="another d_model"),
                _ends(draw, 1, 1, d_model=4, about="a single token"),
            ],
        ),
        Probe(
            "the shared table gets gradients from both of its uses",
            lambda draw: [_ends(draw, 2, 6, about="gradients", gradients=True)],
        ),
    ],
    hints=(
        "The function returns two results, and the loss at initialisation is far above ln V. "
        "Which of the two results determines this loss?",
        "Where does the paper multiply by √d_model: at the input, at the output, or at both?",
        "If hidden has the norm √D, the logits should have the standard deviation 0.2. Measure it "
        "at D = 512: it is √512, or 22.6, times as large. Where does this factor come from?",
    ),
)


@item.misconception(
    "The logits are still √d_model times too large.",
    why="Rows with standard deviation 0.2/√d_model give logits with standard deviation 0.2. "
    "Multiplied by √d_model, it's 0.2·√d_model, or 4.5 for d_model = 512: the model makes "
    "confident predictions before it has learnt anything.",
    hint="What is multiplied by √d_model on the way to your logits? The table's standard "
    "deviation was chosen for logits without this factor.",
)
def still_too_sure(tokens: Tensor, hidden: Tensor, table: Tensor, encodings: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, encodings, scale_out=math.sqrt(table.size(1)))


@item.misconception(
    "The factor is gone at both ends, and now the embeddings are too small.",
    why="At the input it was right. Without it, the positional encoding dominates the small "
    "embedding.",
    hint="Only one of the two uses of scale was wrong.",
)
def no_factor_at_all(tokens: Tensor, hidden: Tensor, table: Tensor, encodings: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, encodings, scale_in=1.0)


@item.misconception(
    "You removed the factor at the wrong end: the embeddings are too small, and the logits are "
    "still too large.",
    why="The factor belongs to the input embedding (section 3.4 of the paper), where the "
    "positional encoding is added.",
    hint="Which of the two results includes a positional encoding, and which goes into a softmax?",
)
def the_wrong_end(tokens: Tensor, hidden: Tensor, table: Tensor, encodings: Tensor) -> Ends:
    return _both_ends(
        tokens, hidden, table, encodings, scale_in=1.0, scale_out=table.size(1) ** 0.5
    )


@item.misconception(
    "You divide the logits by √d_model.",
    why="The standard deviation 0.2/√d_model already compensates for the width. If you divide "
    "once more, the logits of a wide model are nearly equal, and the gradient that reaches hidden "
    "is √d_model times smaller.",
    hint="How large are the logits if you use the table as it is stored?",
)
def divided_at_the_output(tokens: Tensor, hidden: Tensor, table: Tensor, encodings: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, encodings, scale_out=table.size(1) ** -0.5)


@item.misconception(
    "No gradient flows from your logits to the table.",
    why="Weight tying means one table with two uses, and it gets gradients from both.",
    hint="Multiply by the table itself, not by a detached copy.",
)
def cut_off(tokens: Tensor, hidden: Tensor, table: Tensor, encodings: Tensor) -> Ends:
    vectors, _ = _both_ends(tokens, hidden, table, encodings)
    return vectors, hidden @ table.detach().T
