"""Training: schedules, losses and accuracy otherwise."""

from __future__ import annotations

import math
import re
from typing import Any

from course_lib.checks.conventions.changes import exchanged, on, phrases, times
from course_lib.checks.conventions.convention import Arguments, Convention, Edits, Translation
from course_lib.checks.conventions.losses_otherwise import in_bits, logits_conventions, summed


def _relative(rate: Any, arguments: Arguments) -> Any:
    return rate * math.sqrt(arguments["d_model"] * arguments["warmup"])


def _over_wrong(arguments: Arguments) -> Arguments:
    """Smoothing over all tokens, as the equal smoothing over the wrong ones only."""
    share = 1 - 1 / arguments["logits"].size(-1)
    return {**arguments, "smoothing": arguments["smoothing"] * share}


def _over_all(arguments: Arguments) -> Arguments:
    share = 1 - 1 / arguments["logits"].size(-1)
    return {**arguments, "smoothing": min(1.0, arguments["smoothing"] / share)}


_SHARES: Edits = (
    ("smoothing 0 and 1,", "smoothing 0 and nearly 1,"),
    (
        "Compute two numbers for each position: the surprisal of the right token, and the mean "
        "surprisal of all tokens.",
        "Compute two numbers for each position: the surprisal of the right token, and the mean "
        "surprisal of the others.",
    ),
    (
        "and take the mean over V for the second.",
        "and take the mean of the V − 1 others for the second.",
    ),
    (
        "is divided equally among all V tokens, including the right one and the pad token.",
        "is divided equally among the V − 1 wrong tokens, including the pad token.",
    ),
    (
        "With smoothing 1, all tokens should be equally right.",
        "With smoothing 1, how much should be left for the right token?",
    ),
    ("is divided equally among all V tokens", "is divided equally among the V − 1 wrong tokens"),
)
_HINT = (
    " keep the real positions, divide by how many there are.",
    " keep the real positions, and sum.",
)
CONVENTIONS = (
    Convention(
        "steps_from_zero",
        "steps",
        "Steps **count from 0**, as in PyTorch's schedulers: the first step is number 0, with the "
        "rate of the paper's step 1.",
        {
            "11.inverse_sqrt_lr": Translation(
                on(steps=lambda steps: [step - 1 for step in steps]),
                on(step=lambda step: step + 1),
                edits=(
                    ("`step` counts from 1", "`step` counts from 0"),
                    (
                        "Equation (3) of the paper:",
                        "Equation (3) of the paper, where steps count from 1:",
                    ),
                    ("the peak is at step warmup,", "the peak is at step warmup - 1,"),
                    (
                        "It rises in proportion to the step for",
                        "It rises in proportion to step + 1 for",
                    ),
                    ("then it falls with 1/√step;", "then it falls with 1/√(step + 1);"),
                    (
                        "rises in proportion to the step during",
                        "rises in proportion to step + 1 during",
                    ),
                    ("Put in step 1:", "Put in the first step:"),
                    ("be at step 4 · warmup?", "be at step 4 · warmup - 1?"),
                    (
                        "Your rising curve is step / warmup:",
                        "Your rising curve is (step + 1) / warmup:",
                    ),
                    (
                        "Your rising curve is step / √warmup, and meets the falling curve long "
                        "before step warmup.",
                        "Your rising curve is (step + 1) / √warmup, and meets the falling curve "
                        "long before step warmup - 1.",
                    ),
                    ("have to meet at step warmup,", "have to meet at step warmup - 1,"),
                    ("equal at step = warmup?", "equal at step + 1 = warmup?"),
                    ("curves at step warmup?", "curves at step warmup - 1?"),
                    (
                        "Your rate falls with 1 / step after the peak, not with 1 / √step.",
                        "Your rate falls with 1 / (step + 1) after the peak, not with "
                        "1 / √(step + 1).",
                    ),
                ),
                left_out=("counts_from_zero",),
            )
        },
        phrases(
            {"min(step ** ..., step * warmup ** ...)": ("min((...) ** ..., (...) * warmup ** ...)")}
        ),
    ),
    Convention(
        "relative_to_peak",
        "scale",
        "The rate is given as a **multiple of its peak**, so that it is 1 where it is highest.",
        {
            "11.inverse_sqrt_lr": Translation(
                result=_relative,
                edits=(
                    (
                        "the paper's learning rate (equation 3) as a number.",
                        "the paper's learning rate (equation 3) divided by its peak, as a number.",
                    ),
                    (
                        "a wider model gets a smaller rate.",
                        "the width of the model has no effect.",
                    ),
                    ("1 / √(d_model · warmup) at its highest", "1 at its highest"),
                    ("and is 1 / √(d_model · warmup)", "and is 1"),
                    ("four times the width halves the rate", "the width has no effect"),
                    ("You divide by d_model, not by its square root.", "You divide by √d_model."),
                    (
                        "Which power of d_model does equation (3) have?",
                        "What is left of the width in a multiple of the peak?",
                    ),
                    (
                        re.compile(r"d_model \*\* \.\.\. \* (min\(.*\))"),
                        r"\1, divided by its largest value",
                    ),
                ),
                left_out=(  # they are about the height of the peak
                    "any_width",
                    "grows_with_the_width",
                    "rises_to_one",
                    "rises_too_far",
                    "falls_from_the_peak_on",
                    "same_peak_for_any_warm_up",
                ),
            )
        },
    ),
    Convention(
        "width_last",
        "parameters",
        "The width comes **after the warm-up**: `inverse_sqrt_lr(step, warmup, d_model)`.",
        {
            "11.inverse_sqrt_lr": Translation(
                exchanged("d_model", "warmup"),
                exchanged("d_model", "warmup"),
                shown={"d_model": "warmup", "warmup": "d_model"},
                edits=(
                    (
                        "inverse_sqrt_lr(step, d_model, warmup)",
                        "inverse_sqrt_lr(step, warmup, d_model)",
                    ),
                    (
                        "step: int, d_model: int, warmup: int",
                        "step: int, warmup: int, d_model: int",
                    ),
                ),
            )
        },
    ),
    in_bits(
        {
            "11.label_smoothed_loss": (
                ("Nats per token:", "Bits per token:"),
                (
                    "ln p is negative. Training minimises",
                    "Logarithms of probabilities are negative. Training minimises",
                ),
                ("What is ln 0.5?", "What is log₂ 0.5?"),
            )
        },
        {},
        {"11.label_smoothed_loss": ("in_bits",)},
    ),
    summed(
        {
            "11.label_smoothed_loss": (
                (
                    "The loss is the mean cross-entropy over",
                    "The loss is the sum of the cross-entropy over",
                ),
                (
                    "Mean cross-entropy per real token with",
                    "Summed cross-entropy of real tokens with",
                ),
                (" per token. Each", ", summed over the real tokens. Each"),
                _HINT,
                ("mixed[real].sum() / real.sum().clamp(min=...)", "mixed[...].sum()"),
                ("padding isn't counted, in the sum or in the divisor", "padding isn't counted"),
                (
                    "The mean then falls with the amount of padding and says",
                    "The sum then depends on the amount of padding and says",
                ),
            )
        },
        {},
        {
            "11.label_smoothed_loss": (
                "divides_by_all_positions",
                "mean_of_sentences",
                "not_divided",
                "divided_by_sentences",
                "nothing_by_nothing",
            )
        },
    ),
    Convention(
        "smoothing_over_wrong",
        "smoothing",
        "The share `smoothing` is divided among the **wrong tokens only**: each of the V − 1 "
        "others gets the same part of it, and the right one keeps 1 − `smoothing`.",
        {
            "11.label_smoothed_loss": Translation(
                _over_wrong,
                _over_all,
                edits=_SHARES,
                left_out=(
                    "shared_by_the_others",
                    "no_share_for_the_pad",
                    "a_share_for_each",
                    "nothing_taken_from_the_label",
                    "parts_exchanged",
                    "as_in_the_annotated_transformer",
                ),
            ),
        },
        # The numbers in descriptions of calls are shares of all tokens.
        lambda text: re.sub(
            r", smoothing 0\.[1-9]\d*$", "", text.replace("smoothing 1.0", "smoothing nearly 1")
        ),
    ),
    Convention(
        "percent",
        "percent",
        "Accuracy is **in percent**, from 0 to 100.",
        {
            "11.masked_accuracy": Translation(
                result=times(100),
                edits=(
                    (
                        "to a number from 0 to 1, the share",
                        "to a number from 0 to 100, the percentage",
                    ),
                    (
                        "The share of real tokens that are right",
                        "The percentage of real tokens that are right",
                    ),
                    (
                        "without padding it is the share of tokens",
                        "without padding it is the percentage of tokens",
                    ),
                    ("It can get above 1.", "It can get above 100."),
                    (
                        "right.sum() / real.sum().clamp(min=...)",
                        "... * right.sum() / real.sum().clamp(min=...)",
                    ),
                    (
                        "Almost every share lies between 0 and 1,",
                        "Almost every share is a fraction,",
                    ),
                ),
                left_out=("in_per_cent", "a_count"),
            )
        },
    ),
    *logits_conventions(
        {"11.label_smoothed_loss": ("words_on_the_wrong_axis",), "11.masked_accuracy": ()}
    ),
)
