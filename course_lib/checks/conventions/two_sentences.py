"""Two sentences: unit and reduction of losses, the axes of logits."""

from __future__ import annotations

import math
from typing import Any

from course_lib.checks.conventions.convention import Arguments, Edits, Translation
from course_lib.checks.conventions.losses_otherwise import in_bits, logits_conventions, summed


def _returned_in_bits(loss: Any, arguments: Arguments) -> Any:
    return None if loss is None else loss / math.log(2)


def _returned_sum(loss: Any, arguments: Arguments) -> Any:
    labels = arguments["batch"].target[:, 1:]
    return None if loss is None else loss * int((labels != arguments["pad_id"]).sum())


def _in_all(entropy: Any, arguments: Arguments) -> Any:
    return entropy * sum(len(pair.target) + 1 for pair in arguments["pairs"])


_STEP: Edits = (
    (
        "loss = masked_cross_entropy(model(…), …);",
        "loss is what the step minimises;",
    ),
    (
        "Use `teacher_forcing(target, pad_id)` of lesson 09 and your `masked_cross_entropy`.",
        "Use `teacher_forcing(target, pad_id)` of lesson 09. What the step minimises is the mean "
        "loss per real token with natural logarithms, whatever your `masked_cross_entropy` "
        "returns: convert where you must.",
    ),
    (
        "`model(source, decoder_input)` gives logits.",
        "`model(source, decoder_input)` gives logits, the batch first and the vocabulary last.",
    ),
)
_HINT = (
    "Sum over the positions with real labels, and divide by how many there are.",
    "Sum over the positions with real labels.",
)
CONVENTIONS = (
    in_bits(
        {"10.masked_cross_entropy": (), "10.target_only_entropy": ()},
        {"10.train_step": Translation(result=_returned_in_bits, edits=_STEP)},
        {
            "10.masked_cross_entropy": ("in_bits",),
            "10.target_only_entropy": ("entropy_in_bits", "perplexity"),
        },
    ),
    summed(
        {
            "10.masked_cross_entropy": (
                (
                    "You take the mean of each sentence, and then the mean of those means.",
                    "You weight the tokens of short sentences more than those of long ones.",
                ),
                ("how many numbers do you average?", "does each of the nine tokens count once?"),
                ("the mean of", "the sum of"),
                ("Mean over the real tokens", "Sum over the real tokens"),
                (" The loss is a mean over tokens.", " The loss is a sum over tokens."),
                _HINT,
                (
                    "Multiply by a mask, sum, and divide by a count that clamp(min=1) keeps away "
                    "from 0.",
                    "Multiply by a mask and sum.",
                ),
            )
        },
        {
            "10.train_step": Translation(
                result=_returned_sum,
                edits=(
                    *_STEP,
                    (
                        "the loss *before* the step, per real token, as",
                        "the loss *before* the step, summed over the real tokens of the batch, as",
                    ),
                    (' per token."""', ', summed over the real tokens."""'),
                ),
                left_out=("divided_by_all_positions", "returns_the_sum", "the_loss_is_a_sum"),
            ),
            "10.target_only_entropy": Translation(
                result=_in_all,
                edits=(
                    ("the lowest loss that", "the lowest loss, summed over all labels, that"),
                    (" per token, if it", ", if it"),
                    ("Lowest loss per token of", "Lowest loss, summed over all labels, of"),
                ),
                left_out=("not_divided", "per_sentence", "counts_bos", "perplexity"),
            ),
        },
        {
            "10.masked_cross_entropy": (
                "a_sum",
                "divided_by_all_positions",
                "divided_by_sentences",
            )
        },
    ),
    *logits_conventions({"10.masked_cross_entropy": ("words_on_the_wrong_axis",)}),
)
