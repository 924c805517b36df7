"""05.puzzle_1: Token by token."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks.engine import Item
from course_lib.checks.items.attention_einsum.einsum_parts import einsum, puzzle_probes


def _token_by_token(
    a: Float[Tensor, "batch seq d_head"], b: Float[Tensor, "batch seq d_head"]
) -> Float[Tensor, "batch seq"]:
    return torch.einsum("bse,bse->bs", a, b)


item = Item(
    "05.puzzle_1",
    reference=_token_by_token,
    probes=puzzle_probes(
        "each token of a is paired with the same token of b, and with no other",
        different=[(2, 3, 5), (2, 3, 5)],
        equal=[(3, 3, 3), (3, 3, 3)],
        ones=[(1, 4, 1), (1, 4, 1)],
    ),
    hints=(
        "Which axes do the two inputs share? A shared axis has the same letter in both.",
        "The inputs share all three axes. You sum over one of them, so its letter is missing after "
        "the arrow.",
        'For two matrices, "ij,ij->i" multiplies number by number and sums each row. Your tensors '
        "have one axis more.",
    ),
)


item.add(
    einsum("all_pairs", "bqe,bke->bqk"),
    "Your result pairs every token of a with every token of b: (B, S, S).",
    why="Two different letters for the tokens mean two loops, so all pairs occur. These are "
    "attention scores, and the task asks only for their diagonal.",
    hint="Which tokens of b should a token of a meet? In einsum, count the letters that you use "
    "for the tokens.",
)
item.add(
    einsum("products_kept", "bse,bse->bse"),
    "You don't sum over anything: your result holds the products themselves, (B, S, E).",
    why="A letter after the arrow is kept. A dot product is a sum over the numbers of a token.",
    hint="Which axis does a dot product sum over? In einsum, its letter is missing after the "
    "arrow.",
)
item.add(
    einsum("summed_over_words", "bse,bse->be"),
    "You sum over the tokens and keep e: (B, E).",
    why="The task asks for one number per token, so you have to sum over the numbers of a token.",
    hint="Which of s and e does the result need?",
)
item.add(
    einsum("one_for_each_sentence", "bse,bse->b"),
    "You sum over s and e, which gives one number per sentence.",
    why="The task asks for one number per token. In einsum, a letter that's missing after the "
    "arrow is summed over.",
    hint="The result should have two axes.",
)
item.add(
    einsum("lonely_numbers", "bse,bsf->bs"),
    "You multiply the sum of a token of a by the sum of the same token of b.",
    why="A dot product multiplies first and sums afterwards. If the axis of the numbers "
    "has different letters in the two inputs, each of them is summed over separately.",
    hint="Do you sum before you multiply? In einsum, look for a letter that occurs in one input "
    "only, and not after the arrow.",
)


@item.misconception(
    "You take the mean over e, not the sum.",
    why="A dot product is a sum. The mean is smaller by a factor of E.",
    hint="Where does your code divide, or take a mean?",
)
def mean_of_products(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).mean(dim=-1)
