"""06.cases: Two cases against five wrong softmaxes."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from course_lib.checks.items.cases import Versions, cases_item
from course_lib.checks.items.masks.masked_softmax import item as masked_softmax
from course_lib.checks.items.tensor_arguments import mask_problem


def _problem(scores: Any, mask: Any = None) -> str:
    """What keeps arguments from being those that the task of masked_softmax names."""
    if not isinstance(scores, Tensor) or not scores.is_floating_point() or scores.ndim < 2:
        return "scores as a tensor of floats with the axes (…, query, key)"
    return mask_problem(mask, scores.shape)


versions = Versions(
    of=masked_softmax,
    wrong={
        "over_the_queries": "are queries and keys different in your cases?",
        "nothing_left_is_uniform": "what should a query get that has nothing to attend to?",
        "hidden_scores_are_zero": "which scores would show whether a masked key counts?",
        "renormalised": "could a masked score be so high that nothing is left of the others?",
        "a_fixed_number_not_low_enough": "how low may a score be that is not masked?",
    },
    problem=_problem,
    most_cases=2,
    most_numbers=24,
)
item = cases_item(
    "06.cases",
    versions,
    hints=(
        "Call each version on a small input whose weights you know. Where do two of them differ?",
        "Look at the edges that the task of masked_softmax names: a row with nothing left, and "
        "scores of any size. For weights that you can work out by hand, take scores such as 0 and "
        "ln 3, whose powers are 1 and 3.",
        "One case with a row that is partly masked and one that is masked whole; and one in which "
        "the scores that are left are lower than -100,000, and the masked one is not.",
    ),
)
