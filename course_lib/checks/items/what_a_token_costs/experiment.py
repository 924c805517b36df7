"""18.experiment: Which running softmax is this?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Call
from course_lib.checks.engine.call import Answer, ask
from course_lib.checks.items.experiment import BlackBox, experiment_item
from course_lib.checks.items.hidden import SECONDS
from course_lib.checks.items.what_a_token_costs.online_attention import item as online_attention

MOST_SCORE, MOST_VALUE = 20.0, 100.0  # a learner works out exponentials, and no infinities


def _problem(scores: Any, values: Any, block: Any) -> str:
    """What keeps arguments from being those that the task allows."""
    for name, each, most in (("scores", scores, MOST_SCORE), ("values", values, MOST_VALUE)):
        if not isinstance(each, Tensor) or not each.is_floating_point() or each.ndim != 1:
            return f"{name} as a tensor of floats with one axis"
        if not each.numel() or not bool((each.abs() <= most).all()):
            return f"{name} with at least one number, and none beyond {most:g} or −{most:g}"
    if scores.shape != values.shape:
        return "as many values as scores"
    return "" if type(block) is int and block > 0 else "block as a whole number above 0"


@dataclass(frozen=True, kw_only=True)
class OneQuery(BlackBox):
    """Attention of one query whose scores are given, with one number as the value of each key."""

    def subject(self, name: str) -> Callable[..., Any]:
        """The version with this misconception, for one query."""
        attend = super().subject(name)

        def attend_once(scores: Tensor, values: Tensor, block: int) -> Tensor:
            query = scores.new_ones(1, 1, 1, 1)  # d_head is 1, so a score is the key itself
            key, value = (x[None, None, :, None].detach() for x in (scores, values.to(scores)))
            context: Tensor = attend(query, key, value, block)
            return context.reshape(()).float()

        return attend_once

    def answer(self, name: str, arguments: Sequence[Any]) -> Answer:
        """What a version gives: not by the ``use`` of the item, which takes whole tensors."""
        return ask(self.subject(name), Call(tuple(arguments)), seconds=SECONDS)


box = OneQuery(
    of=online_attention,
    wrong={
        "sums_not_rescaled": "when a larger score comes, neither of the two sums is rescaled",
        "summed_not_rescaled": "the sum of exponentials is rescaled, and that of the values isn't",
        "total_not_rescaled": "the sum of the values is rescaled, and that of exponentials isn't",
        "rescaled_the_other_way": "both sums are multiplied by exp(new − old)",
        "rescaled_twice": "both sums are multiplied by exp(old − new) twice",
        "block_maximum": "each block subtracts its own largest score, also where an earlier one "
        "was larger",
        "divides_in_each_block": "the sum of the values is divided after each block, and not once "
        "at the end",
        "mean_of_blocks": "each block attends by itself, and the results are averaged",
        "last_block_left_out": "keys at the end that don't fill a block are left out",
    },
    problem=_problem,
    most_numbers=16,
    most_calls=1,
    digits=2,
    tolerance=0.01,
)
item = experiment_item(
    "18.experiment",
    box,
    hints=(
        "Some errors show when the scores rise from block to block, others when they fall. What "
        "would a call with equal scores show?",
        "Write a function of your own for the right version, one query and a list of scores, and "
        "then change it nine times. Which scores give nine different numbers, that differ by 0.1 "
        "or more?",
        "Five or seven keys in blocks of two are enough: the largest score of the second block "
        "above that of the first, the third below it, and one key left for a block of its own. "
        "Scores that differ by 1 or 2 keep every key in sight, and values such as 1, 5, 2, 9 tell "
        "which keys counted too much.",
    ),
)
