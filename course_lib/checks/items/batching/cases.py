"""09.cases: One case against five wrong shifts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.items.batching.teacher_forcing import item as teacher_forcing
from course_lib.checks.items.cases import Versions, cases_item


def _problem(target: Any, pad_id: Any) -> str:
    """What keeps arguments from being those that the task of teacher_forcing names."""
    if not isinstance(target, Tensor) or target.dtype != torch.long or target.ndim != 2:
        return "target as a tensor of token ids, whole numbers with the axes (B, T)"
    if target.size(1) < 2 or not len(target):
        return "a target with at least one sentence of two tokens"
    return "" if type(pad_id) is int else "a whole number as pad_id"


versions = Versions(
    of=teacher_forcing,
    wrong={
        "along_the_batch": "which label would come from the sentence below?",
        "rolled_round": "what stands in your last column, and where did it come from?",
        "predicts_bos_after_padding": "on which sides can padding be?",
        "zero_is_always_the_pad": "which number is pad_id in your case?",
        "masks_the_input": "where a label is padding, what does the decoder read there?",
    },
    problem=_problem,
    most_cases=1,
    most_numbers=16,
)
item = cases_item(
    "09.cases",
    versions,
    hints=(
        "Write down a target of one sentence with <bos> and <eos>, and under each token its label. "
        "Then let each version do the same.",
        "One batch can have a sentence with padding on its right and one with padding on its left. "
        "And pad_id need not be 0.",
        "One sentence padded on its right and one on its left, both of five tokens, say, and a "
        "pad id such as 9. Write the labels below the decoder's input: where the next token is "
        "padding or <bos>, there is nothing to predict.",
    ),
)
