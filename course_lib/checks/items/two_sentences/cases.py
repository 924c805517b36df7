"""10.cases: Two cases against five wrong losses."""

from __future__ import annotations

from typing import Any

from course_lib.checks.items.cases import Versions, cases_item
from course_lib.checks.items.tensor_arguments import logits_problem
from course_lib.checks.items.two_sentences.masked_cross_entropy import item as masked_cross_entropy


def _problem(logits: Any, labels: Any, pad_id: Any) -> str:
    """What keeps arguments from being those that the task of masked_cross_entropy names."""
    if problem := logits_problem(logits, labels):
        return problem
    return "" if type(pad_id) is int else "a whole number as pad_id"


versions = Versions(
    of=masked_cross_entropy,
    wrong={
        "mean_of_sentence_means": "do your sentences have equally many tokens?",
        "divided_by_all_positions": "is there padding in your cases?",
        "in_bits": "what is the loss of a model that gives each of V words the same probability?",
        "softmax_over_positions": "would softmax over the positions give other probabilities?",
        "zero_is_always_the_pad": "which number is pad_id in your cases?",
    },
    problem=_problem,
    most_cases=2,
    most_numbers=32,
)
item = cases_item(
    "10.cases",
    versions,
    hints=(
        "Logits that are all 0 give each word the same probability. Which of the versions does "
        "such a case find, and which can it never find?",
        "Choose logits whose probabilities you know: ln 3 and 0 stand for 3/4 and 1/4. Two "
        "sentences of different lengths, with costs that differ, show how the mean is taken.",
        "B = 2, T = 2, V = 2, pad_id = 1 is large enough: one sentence of two tokens, one of one "
        "token and a pad, and no symmetry between positions and words. The loss is "
        "(a + b + c) / 3, each of them −ln p.",
    ),
)
