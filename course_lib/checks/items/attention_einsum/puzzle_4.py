"""05.puzzle_4: The weight on the diagonal."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks.engine import Item
from course_lib.checks.items.attention_einsum.einsum_parts import einsum, puzzle_probes


def _trace(weights: Float[Tensor, "batch heads seq seq"]) -> Float[Tensor, "batch heads"]:
    return torch.einsum("bhss->bh", weights)


item = Item(
    "05.puzzle_4",
    reference=_trace,
    probes=puzzle_probes(
        "the sum is over the diagonal only",
        different=[(2, 3, 5, 5)],
        equal=[(4, 4, 4, 4)],
        ones=[(1, 3, 1, 1)],
    ),
    hints=(
        "On the diagonal, query and key are the same token. How do you write that with letters?",
        "If a letter occurs twice in one input, einsum uses only those elements whose two "
        "indices are equal.",
        'For a single square matrix, "ii->i" is its diagonal, and "ii->" is the sum of its '
        "diagonal. Which letters are kept here?",
    ),
)


item.add(
    einsum("diagonal_kept", "bhss->bhs"),
    "You return the diagonal itself, (B, H, S), not its sum.",
    why="The task asks for one number per head. In einsum, a letter after the arrow is kept.",
    hint="Which letters does a result (B, H) have?",
)
item.add(
    einsum("whole_table", "bhqk->bh"),
    "You sum over the whole matrix, not its diagonal.",
    why="With two letters, q and k, the sum runs over all pairs. Each row of attention "
    "weights sums to 1, so that sum is always S and tells you nothing.",
    hint="The query and the key have to be the same token.",
)
item.add(
    einsum("heads_added_too", "bhss->b"),
    "You sum over the heads, too: one number per sentence.",
    why="The task asks for one number per head. In einsum, a letter that's missing after the "
    "arrow is summed over.",
    hint="Which letters does a result (B, H) have?",
)
item.add(
    einsum("heads_added_up", "bhss->bs"),
    "You sum over the heads and keep the tokens, (B, S): it should be the other way round.",
    why="The task asks for one number per head, the sum over its tokens.",
    hint="Which axis does your sum run over, and which axes should be left?",
)


@item.misconception(
    "You take the diagonal of the first two axes, batch and heads.",
    why="Query and key are the last two axes. torch.diagonal takes axes 0 and 1 unless it's told "
    "which, by dim1 and dim2.",
    hint="Which two axes does your diagonal run through?",
)
def diagonal_of_the_first_axes(weights: Tensor) -> Tensor:
    return weights.diagonal().sum(dim=-1)


@item.misconception(
    "You sum over the other diagonal, on which the first query meets the last key.",
    why="The task asks for the weights of each token on itself: the same index for query and key.",
    hint="Where in your code is an axis reversed?",
)
def the_other_diagonal(weights: Tensor) -> Tensor:
    return weights.flip(-1).diagonal(dim1=-2, dim2=-1).sum(dim=-1)


@item.misconception(
    "You take the mean of the diagonal, not its sum.",
    why="Einsum computes a sum. The mean is smaller by a factor of S.",
    hint="Where does your code divide, or take a mean?",
)
def mean_of_the_diagonal(weights: Tensor) -> Tensor:
    return weights.diagonal(dim1=-2, dim2=-1).mean(dim=-1)


item.add(
    einsum("heads_before_sentences", "bhss->hb"),
    "The two axes of your result are swapped.",
    why="The order of the letters after the arrow is the order of the axes.",
    hint="In which order does the task list the two axes?",
)
