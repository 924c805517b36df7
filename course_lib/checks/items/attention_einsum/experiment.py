"""05.experiment: Which attention is this?"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.items.attention_einsum.attention_einsum import item as attention_einsum
from course_lib.checks.items.experiment import BlackBox, experiment_item


def _problem(query: Any, key: Any, value: Any, mask: Any = None) -> str:
    """What keeps arguments from being those of self-attention, as the task names them."""
    tensors = (query, key, value)
    if not all(isinstance(each, Tensor) and each.is_floating_point() for each in tensors):
        return "query, key and value as tensors of floats"
    if not query.dtype == key.dtype == value.dtype:
        return "query, key and value of one dtype, such as float32"
    if query.ndim != 4 or not query.numel() or key.shape != query.shape:
        return "query and key with the same axes, (B, H, S, E)"
    if value.ndim != 4 or not value.numel() or value.shape[:3] != query.shape[:3]:
        return "value with the axes (B, H, S, V), the first three as in query and key"
    if mask is None:
        return ""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        return "mask None, or a boolean tensor"
    wanted = (*query.shape[:3], query.size(2))
    try:
        allowed = mask.expand(wanted)
    except RuntimeError:
        return f"a mask that broadcasts to (B, H, S, S), here {wanted}"
    return "" if allowed.any(-1).all() else "a mask that leaves each query at least one key"


box = BlackBox(
    of=attention_einsum,
    wrong={
        "heads_have_two_letters": "the scores are `bhqe,bgke->bhqk`",
        "sentences_have_two_letters": "the scores are `bhqe,ahke->bhqk`",
        "arrow_mirrored": "the scores are `bhqe,bhke->bhkq`",
        "two_letters_for_the_keys": "the context is `bhqk,bhve->bhqe`",
        "values_of_the_queries": "the context is `bhqk,bhqe->bhqe`",
        "context_queries_first": "the context is `bhqk,bhke->bqhe`",
        "scaled_by_d_model": "the scores are divided by the root of H · E",
        "softmax_over_queries": "the softmax runs over q",
        "hidden_after_softmax": "the mask sets weights to 0, after the softmax",
    },
    problem=_problem,
    most_numbers=80,
    most_calls=1,
)
item = experiment_item(
    "05.experiment",
    box,
    hints=(
        "Read each string aloud, and say which axis is summed over that should not be. Which sizes "
        "must be larger than 1 for the sum to show?",
        "Two sentences, two heads and two words are enough. Use few numbers that are not 0, so "
        "that you can work out a row of weights by hand: which score has a query of the second "
        "head, or of the second sentence, with the key that you gave it?",
        "With E = 1, take two different queries from 1 to 3 in each sentence and head, keys from 0 "
        "to 3 whose difference is another one in each sentence and head, since a softmax sees only "
        "differences, values that all differ, and a mask that is False once in each sentence and "
        "head, and not on the diagonal. First look at the shapes, then at the sums of the rows of "
        "weights, then at one row.",
    ),
)
