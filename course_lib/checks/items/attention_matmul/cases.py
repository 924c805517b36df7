"""04.cases: One case against five wrong attentions."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from course_lib.checks.items.attention_matmul.scaled_dot_product_attention import item as attention
from course_lib.checks.items.cases import Versions, cases_item
from course_lib.checks.items.tensor_arguments import mask_problem


def _problem(query: Any, key: Any, value: Any, mask: Any = None) -> str:
    """What keeps arguments from being those that the task of the attention names."""
    tensors = (query, key, value)
    if not all(isinstance(x, Tensor) and x.is_floating_point() and x.ndim == 4 for x in tensors):
        return "query, key and value as tensors of floats with the axes (B, H, tokens, E)"
    if not (query.shape[:2] == key.shape[:2] == value.shape[:2] and min(query.shape) > 0):
        return "query, key and value with equally many sentences and heads"
    if query.size(-1) != key.size(-1) or key.size(2) != value.size(2) or not key.size(2):
        return "keys as wide as the queries, and a value for each key"
    return mask_problem(mask, (*query.shape[:3], key.size(2)))


versions = Versions(
    of=attention,
    wrong={
        "divided_by_d_head": "for which d_head are d_head and its root the same?",
        "scaled_by_another_axis": "which sizes in your case are equal to d_head?",
        "softmax_over_queries": "do the columns of your weights sum to one as well?",
        "keys_reshaped": "are swapping two axes and reading in another order the same for your "
        "keys?",
        "hidden_after_softmax": "does a key that is masked leave its weight to the others?",
    },
    problem=_problem,
    most_cases=1,
    most_numbers=40,
)
item = cases_item(
    "04.cases",
    versions,
    hints=(
        "Choose sizes for which no two of the axes are equal, and a d_head with a root that you "
        "know: 4.",
        "With keys that are mostly 0, each score is a single product. Scores of 0 and ln 3 after "
        "scaling give the weights 1/4 and 3/4; what must they be before it?",
        "One sentence, one head, two queries, three keys of width 4, values of width 1, and a mask "
        "with one False. Take 2 ln 3 where you want ln 3 after scaling.",
    ),
)
