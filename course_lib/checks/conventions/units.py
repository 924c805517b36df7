"""What numbers mean: units, scales, and what is summed or divided. Each names its items."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from course_lib.checks.conventions.changes import (
    Result,
    on,
    pair,
    same,
    times,
    value,
)
from course_lib.checks.conventions.convention import (
    Arguments,
    Convention,
    Translation,
    touched,
)


def _negative(x: Tensor) -> Tensor:
    return -x


def _bytes(name: str, sentence: str, factor: int) -> Convention:
    return Convention(
        name=name,
        aspect="unit",
        paragraph=f"{sentence} Where the task asks for a number of parameters, give this number of "
        "bytes instead; the 506 of its example are parameters.",
        touched=touched(r"numbers? of parameters|parameters each|\d{2,}|too (?:many|few)|times"),
        items={"08.count_parameters": Translation(result=times(factor))},
    )


def _cache(name: str, aspect: str, *, paragraph: str, words: str, factor: int) -> Convention:
    """The bytes of a cache, multiplied."""
    return Convention(
        name=name,
        aspect=aspect,
        paragraph=paragraph,
        touched=touched(f"{words}|times|too (?:many|few|large)|factor"),
        items={"18.cache_bytes": Translation(result=times(factor))},
    )


def _bits(result: Any, arguments: Arguments) -> Any:
    return None if result is None else result / math.log(2)


def _total(result: Any, arguments: Arguments) -> Any:
    """The mean over real tokens as their sum."""
    return result * (arguments["labels"] != arguments["pad_id"]).sum()


def _total_of_step(loss: Any, arguments: Arguments) -> Any:
    labels = arguments["batch"].target[:, 1:]
    return None if loss is None else loss * int((labels != arguments["pad_id"]).sum())


def _total_of_pairs(entropy: Any, arguments: Arguments) -> Any:
    return entropy * sum(len(pair.target) + 1 for pair in arguments["pairs"])


def _results(**results: Result) -> dict[str, Translation]:
    """Translations of the results of lessons 10 and 11, by the items' names."""
    lessons = {"label_smoothed_loss": "11"}
    return {
        f"{lessons.get(name, '10')}.{name}": Translation(result=result)
        for name, result in results.items()
    }


def _relative(rate: Any, arguments: Arguments) -> Any:
    return rate * math.sqrt(arguments["d_model"] * arguments["warmup"])


def _over_wrong(arguments: Arguments) -> Arguments:
    """Smoothing over all tokens, as the equal smoothing over the wrong ones only."""
    share = 1 - 1 / arguments["logits"].size(-1)
    return {**arguments, "smoothing": arguments["smoothing"] * share}


def _over_all(arguments: Arguments) -> Arguments:
    share = 1 - 1 / arguments["logits"].size(-1)
    return {**arguments, "smoothing": min(1.0, arguments["smoothing"] / share)}


_STEP = (
    "A training step still minimises the lesson's loss, the mean in nats, whatever your own loss "
    "function takes and returns: translate where you must. Only the loss that it "
)
_RATE = "11.inverse_sqrt_lr"
_RATES = "14.alignment_error_rate"
# Applied before the order of axes, which they rely on: the vocabulary is the last axis of logits.
BEFORE_AXES = (
    Convention(
        name="weight_from_one",
        aspect="weight",
        paragraph="`weight` is stored as its **difference from one**: multiply by 1 + `weight`, so "
        "that zeros change nothing. Where the task multiplies by `weight`, multiply by 1 + "
        "`weight`.",
        touched=touched("weights?|scaled?"),
        items=dict.fromkeys(
            ("03.layer_norm", "17.rms_norm"),
            Translation(given=on(weight=lambda w: w - 1), understood=on(weight=lambda w: w + 1)),
        ),
    ),
    Convention(
        name="bias_subtracted",
        aspect="bias",
        paragraph="`bias` is **subtracted**, where the task adds it.",
        touched=touched("bias|shift(?:s|ed)?"),
        items={
            "03.layer_norm": Translation(given=on(bias=_negative), understood=on(bias=_negative))
        },
    ),
    Convention(
        name="smoothing_over_wrong",
        aspect="smoothing",
        paragraph="The share `smoothing` is divided among the **wrong tokens only**: each of the "
        "V − 1 others gets the same part of it, the pad token too, and the right one keeps "
        "1 − `smoothing` and no more. Where the task divides it among all V tokens, leave the "
        "right one out.",
        touched=touched(
            "smoothing|shares?|V|all tokens|all words|equally|divided|parts?|annotated|others"
        ),
        items={
            "11.label_smoothed_loss": Translation(given=_over_wrong, understood=_over_all),
        },
    ),
)
CONVENTIONS = (
    _bytes(
        "bytes_float32",
        "What is asked for is the **memory of the parameters in float32**: four bytes each.",
        4,
    ),
    _bytes(
        "bytes_bfloat16",
        "What is asked for is the **memory of the parameters in bfloat16**: two bytes each.",
        2,
    ),
    _bytes(
        "bytes_adam",
        "What is asked for is the **memory of training with Adam in float32**: parameter, "
        "gradient and two moments, four bytes each, for every parameter.",
        16,
    ),
    _cache(
        "cache_in_bits",
        "unit",
        paragraph="The result is **in bits**, where the task has bytes; `bytes_per_number` stays "
        "in bytes.",
        words="bytes?|bits?",
        factor=8,
    ),
    _cache(
        "beam_of_four",
        "texts",
        paragraph="Each text is continued by a **beam search of width 4**, and each of its four "
        "hypotheses has a cache of its own, as long as the text. `batch` still counts texts.",
        words="texts?|batch|one of|once|twice",
        factor=4,
    ),
    Convention(
        name="bits",
        aspect="unit",
        paragraph="Losses and entropies are **in bits**: where the task has nats or ln, take "
        f"logarithms to the base 2. Numbers in its examples are in nats. {_STEP}returns is in "
        "bits.",
        touched=touched(
            "bits?|nats?|ln|log|log_softmax|logarithms?|perplexity|entropy|masked_cross_entropy",
            also="log2|log_softmax|−ln",
        ),
        items=_results(
            masked_cross_entropy=_bits,
            train_step=_bits,
            target_only_entropy=_bits,
            label_smoothed_loss=_bits,
        ),
    ),
    Convention(
        name="sum",
        aspect="reduction",
        paragraph="Losses are **sums over the real tokens**: where the task takes a mean, or "
        "counts per token, nothing is divided by a number of tokens. The target-only baseline is "
        "the lowest sum over all labels of all pairs, ends of sentences included. Numbers in the "
        f"task's examples are means. {_STEP}returns is the sum.",
        touched=touched(
            r"sums?|summed|means?|averages?|divid\w+|divisor|per token|total|counts?|"
            r"how many|equally|weight|masked_cross_entropy",
            also=r"\.sum|\.mean|clamp| / ",
        ),
        items=_results(
            masked_cross_entropy=_total,
            train_step=_total_of_step,
            target_only_entropy=_total_of_pairs,
            label_smoothed_loss=_total,
        ),
    ),
    Convention(
        name="relative_to_peak",
        aspect="scale",
        paragraph="The rate is given as a **multiple of its peak**, so that it is 1 where it is "
        "highest, whatever the width and the warm-up: divide the task's rate by its highest value, "
        "1 / √(d_model · warmup).",
        touched=touched("width|wide|wider|d_model|peaks?|high|too far|to one|1", also=r"√|\^|\*\*"),
        items={_RATE: Translation(result=_relative)},
    ),
    Convention(
        name="bleu_to_one",
        aspect="scale of BLEU",
        paragraph="BLEU runs **from 0 to 1**, where the task and sacrebleu have 0 to 100: return a "
        "hundredth of sacrebleu's score.",
        touched=touched("100|1|to one|hundred|per cent|sacrebleu"),
        items={"12.bleu": Translation(result=times(0.01))},
    ),
    Convention(
        name="wins_in_percent",
        aspect="scale of the share",
        paragraph="The result is a **percentage**, from 0 to 100, where the task has a share from "
        "0 to 1: a sample counts 100, 50 or 0, and the result is their mean.",
        touched=touched("shares?|cent|percent|1|½|counts?|half", also=r"100|item\("),
        items={"12.paired_bootstrap": Translation(result=times(100))},
    ),
    Convention(
        name="scores_in_bits",
        aspect="unit",
        paragraph="Scores are computed from **log₂ p**, where the task has ln p.",
        touched=touched("ln|log_p|logarithms?|scores?", also="log_softmax"),
        items={"13.beam_search": Translation(result=pair(same, lambda score: score / math.log(2)))},
    ),
    Convention(
        name="agreement",
        aspect="direction",
        paragraph="The result is **one minus the error rate**: the higher, the better. Where the "
        "task subtracts a fraction from 1, return the fraction itself.",
        touched=touched(
            "rates?|0|1|precision|recall|perfect|minus|error|right|higher|lower", also="1 -"
        ),
        items={_RATES: Translation(result=value(lambda rate: 1 - rate))},
    ),
    Convention(
        name="percent",
        aspect="percent",
        paragraph="The result is **in percent**: multiply by 100.",
        touched=touched("1|one|minus|perfect", also="1 -"),
        items={_RATES: Translation(result=value(lambda rate: 100 * rate))},
    ),
)
