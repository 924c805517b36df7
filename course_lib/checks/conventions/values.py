"""What numbers and results mean: units, scales, indices, and the order of arguments and results.

Little of this can be told from an item's signature, so most conventions name their items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

import torch
from torch import Tensor

from course_lib.checks.conventions.axes import annotations_of, axes_in
from course_lib.checks.conventions.changes import (
    Function,
    Result,
    as_dict,
    exchanged,
    on,
    pair,
    reversed_pair,
    same,
    times,
    value,
)
from course_lib.checks.conventions.convention import (
    Arguments,
    Convention,
    Translation,
    only,
    touched,
)
from course_lib.checks.engine.item import Item

Batches = list[list[int]]


def _negative(x: Tensor) -> Tensor:
    return -x


_LAYER_NORM = (
    Convention(
        name="weight_from_one",
        aspect="weight",
        paragraph="`weight` is stored as its **difference from one**: multiply by 1 + `weight`, so "
        "that zeros change nothing. Where the task multiplies by `weight`, multiply by 1 + "
        "`weight`.",
        touched=touched("weights?|scaled?"),
        taken=only(
            {
                "03.layer_norm": Translation(
                    given=on(weight=lambda w: w - 1), understood=on(weight=lambda w: w + 1)
                )
            }
        ),
        lessons=("03",),
    ),
    Convention(
        name="bias_subtracted",
        aspect="bias",
        paragraph="`bias` is **subtracted**, where the task adds it.",
        touched=touched("bias|shift(?:s|ed)?"),
        taken=only(
            {"03.layer_norm": Translation(given=on(bias=_negative), understood=on(bias=_negative))}
        ),
        lessons=("03",),
    ),
)


def _weights_first(item: Item) -> Translation | None:
    """For what returns a pair of which the second is attention weights."""
    _, result = annotations_of(item.reference)
    entries = [axes_in(entry) for entry in get_args(result)]
    is_pair = len(entries) == 2 and entries[1][-2:] == ("query", "key")
    return Translation(result=reversed_pair) if is_pair else None


_ATTENTION = (
    Convention(
        name="weights_first",
        aspect="results",
        paragraph="Attention returns **the weights first**, and then the context or output, where "
        "the task says the opposite.",
        touched=touched("first|second|order|returns?|unpacks?|pair", also=", weights|weights, "),
        taken=_weights_first,
        lessons=("04", "05"),
    ),
)


def _tying(name: str, paragraph: str, written: Mapping[str, Any]) -> Convention:
    back = {value: word for word, value in written.items()}
    listed = ", ".join(f'`{value!r}` where it has `"{word}"`' for word, value in written.items())
    kind = type(written["none"]).__name__
    return Convention(
        name=name,
        aspect="tying",
        paragraph=f"{paragraph} Where the task lists the values of `tying`, read {listed}; it is "
        f"of type `{kind}`.",
        touched=touched("tying", also=r"[\"'](?:none|output|all)[\"']"),
        taken=only(
            {
                "08.tie": Translation(
                    given=on(tying=lambda word: written[word]),
                    understood=on(tying=lambda value: back[value]),
                )
            }
        ),
        lessons=("08",),
    )


def _bytes(name: str, sentence: str, factor: int) -> Convention:
    return Convention(
        name=name,
        aspect="unit",
        paragraph=f"{sentence} Where the task asks for a number of parameters, give this number of "
        "bytes instead; the 506 of its example are parameters.",
        touched=touched(r"numbers? of parameters|parameters each|\d{2,}|too (?:many|few)|times"),
        taken=only({"08.count_parameters": Translation(result=times(factor))}),
        lessons=("08",),
    )


_FULL_MODEL = (
    _tying(
        "tying_counts",
        "`tying` is the **number of tables that are one**.",
        {"none": 1, "output": 2, "all": 3},
    ),
    _tying(
        "tying_names_sides",
        "`tying` names the parts that share **the target's embedding**, joined by a plus.",
        {"none": "", "output": "output", "all": "output+source"},
    ),
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
)


def _batches(
    name: str, aspect: str, *, paragraph: str, words: str, change: Callable[[Batches], Batches]
) -> Convention:
    """Batches of indices otherwise."""
    example = change([[0, 4, 2], [3, 1], [5]])
    return Convention(
        name=name,
        aspect=aspect,
        paragraph=f"{paragraph} Taken by itself, this makes the task's example `{example}`.",
        touched=touched(words, also=r"\["),
        taken=only({"09.bucket": Translation(result=value(change))}),
        lessons=("09",),
    )


_ORDER = "first|last|before|after|order|sorted|shortest|longest"
_BATCHING = (
    Convention(
        name="second_first",
        aspect="results",
        paragraph="Pairs of results come in the **opposite order** of the task's: `(target, "
        "source)` and `(labels, decoder_input)`.",
        touched=touched("first|second|order|unpacks?|swapped|pair|exchanged"),
        taken=only(
            {
                "09.collate": Translation(result=reversed_pair),
                "09.teacher_forcing": Translation(result=reversed_pair),
            }
        ),
        lessons=("09",),
    ),
    Convention(
        name="dict_results",
        aspect="results",
        paragraph="A function returns a **dict**, where the task says a pair of results, with the "
        "keys `source` and `target`, or `decoder_input` and `labels`. In the first line of your "
        "cell, `-> tuple[Tensor, Tensor]` is the lesson's, too: replace it by "
        "`-> dict[str, Tensor]`.",
        touched=touched("first|second|order|unpacks?|swapped|tuple|exchanged"),
        taken=only(
            {
                "09.collate": Translation(result=as_dict("source", "target")),
                "09.teacher_forcing": Translation(result=as_dict("decoder_input", "labels")),
            }
        ),
        lessons=("09",),
    ),
    _batches(
        "indices_from_one",
        "indices",
        paragraph="Indices of sentences **count from 1**: they run from 1 to N, where the task has "
        "0 to N − 1.",
        words="index|indices|from 0|numbers?|pair 0|range",
        change=lambda batches: [[i + 1 for i in batch] for batch in batches],
    ),
    _batches(
        "longest_batch_first",
        "batches",
        paragraph="The list of batches is **reversed** at the end: the batch of the longest "
        "sentences comes first. Until then, batches are formed as the task says, from the "
        "shortest sentences on.",
        words=_ORDER,
        change=lambda batches: batches[::-1],
    ),
    _batches(
        "longest_in_batch_first",
        "rows",
        paragraph="Each batch is **reversed** at the end: its longest sentence comes first, and of "
        "equally long ones the last. Until then, batches are formed as the task says, from the "
        "shortest sentences on.",
        words=_ORDER,
        change=lambda batches: [batch[::-1] for batch in batches],
    ),
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


_STEP = (
    "A training step still minimises the lesson's loss, the mean in nats, whatever your own "
    "`masked_cross_entropy` takes and returns: translate where you must. Only the loss that it "
)
_LOSSES = (
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
        taken=only(
            _results(
                masked_cross_entropy=_bits,
                train_step=_bits,
                target_only_entropy=_bits,
                label_smoothed_loss=_bits,
            )
        ),
        lessons=("10", "11"),
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
        taken=only(
            _results(
                masked_cross_entropy=_total,
                train_step=_total_of_step,
                target_only_entropy=_total_of_pairs,
                label_smoothed_loss=_total,
            )
        ),
        lessons=("10", "11"),
    ),
)


def _relative(rate: Any, arguments: Arguments) -> Any:
    return rate * math.sqrt(arguments["d_model"] * arguments["warmup"])


def _over_wrong(arguments: Arguments) -> Arguments:
    """Smoothing over all tokens, as the equal smoothing over the wrong ones only."""
    share = 1 - 1 / arguments["logits"].size(-1)
    return {**arguments, "smoothing": arguments["smoothing"] * share}


def _over_all(arguments: Arguments) -> Arguments:
    share = 1 - 1 / arguments["logits"].size(-1)
    return {**arguments, "smoothing": min(1.0, arguments["smoothing"] / share)}


_RATE = "11.inverse_sqrt_lr"
_OVER_WRONG = Convention(
    name="smoothing_over_wrong",
    aspect="smoothing",
    paragraph="The share `smoothing` is divided among the **wrong tokens only**: each of the "
    "V − 1 others gets the same part of it, the pad token too, and the right one keeps "
    "1 − `smoothing` and no more. Where the task divides it among all V tokens, leave the "
    "right one out.",
    touched=touched(
        "smoothing|shares?|V|all tokens|all words|equally|divided|parts?|annotated|others"
    ),
    taken=only(
        {
            "11.label_smoothed_loss": Translation(given=_over_wrong, understood=_over_all),
        }
    ),
    lessons=("11",),
)
_TRAINING = (
    Convention(
        name="steps_from_zero",
        aspect="steps",
        paragraph="Steps **count from 0**, as in PyTorch's schedulers: the first step is number 0 "
        "and has the rate of the paper's step 1. Where the task and equation (3) say step, read "
        "step + 1.",
        touched=touched("steps?|counts?|zero|peak|warmup", also="√step"),
        taken=only(
            {
                _RATE: Translation(
                    given=on(steps=lambda steps: [step - 1 for step in steps]),
                    understood=on(step=lambda step: step + 1),
                )
            }
        ),
        lessons=("11",),
    ),
    Convention(
        name="relative_to_peak",
        aspect="scale",
        paragraph="The rate is given as a **multiple of its peak**, so that it is 1 where it is "
        "highest, whatever the width and the warm-up: divide the task's rate by its highest value, "
        "1 / √(d_model · warmup).",
        touched=touched("width|wide|wider|d_model|peaks?|high|too far|to one|1", also=r"√|\^|\*\*"),
        taken=only({_RATE: Translation(result=_relative)}),
        lessons=("11",),
    ),
    Convention(
        name="width_last",
        aspect="parameters",
        paragraph="The width comes **after the warm-up**: `inverse_sqrt_lr(step, warmup, "
        "d_model)`. The task and the first line of your cell have the two the other way round: "
        "exchange them there. The check passes them by position.",
        touched=touched("arguments?|parameters?|second|third|order"),
        taken=only(
            {
                _RATE: replace(
                    exchanged("d_model", "warmup"),
                    shown={"d_model": "warmup", "warmup": "d_model"},
                )
            }
        ),
        lessons=("11",),
    ),
    Convention(
        name="percent",
        aspect="percent",
        paragraph="Accuracy is **in percent**: a number from 0 to 100, where the task has one from "
        "0 to 1.",
        touched=touched("shares?|cent|percent|1|0|count|sum", also="100"),
        taken=only({"11.masked_accuracy": Translation(result=times(100))}),
        lessons=("11",),
    ),
)
_HONEST_NUMBERS = (
    Convention(
        name="bleu_to_one",
        aspect="scale of BLEU",
        paragraph="BLEU runs **from 0 to 1**, where the task and sacrebleu have 0 to 100: return a "
        "hundredth of sacrebleu's score.",
        touched=touched("100|0|1|to one|hundred|per cent|sacrebleu"),
        taken=only({"12.bleu": Translation(result=times(0.01))}),
        lessons=("12",),
    ),
    Convention(
        name="references_first",
        aspect="order of the sides",
        paragraph="The references come **before** the translations: `bleu(references, hypotheses, "
        "max_n=4)`. The task and the first line of your cell have the two the other way round: "
        "exchange them there. The check passes them by position.",
        touched=touched("arguments?|order|first|second|swapped"),
        taken=only({"12.bleu": exchanged("hypotheses", "references")}),
        lessons=("12",),
    ),
    Convention(
        name="first_wins",
        aspect="direction",
        paragraph="The result is the share of the samples that the **first** system wins: where "
        "the task says that the second one wins, or is higher, read the first.",
        touched=touched("first|second|higher|better|wins?|won", also="[<>]"),
        taken=only({"12.paired_bootstrap": exchanged("first", "second")}),
        lessons=("12",),
    ),
    Convention(
        name="wins_in_percent",
        aspect="scale of the share",
        paragraph="The result is a **percentage**, from 0 to 100, where the task has a share from "
        "0 to 1: a sample counts 100, 50 or 0, and the result is their mean.",
        touched=touched("shares?|cent|percent|0|1|½|counts?|half", also=r"100|item\("),
        taken=only({"12.paired_bootstrap": Translation(result=times(100))}),
        lessons=("12",),
    ),
)


def _column_of_bos(tokens: Tensor, arguments: Arguments) -> Tensor:
    begin = torch.full((tokens.size(0), 1), arguments["bos_id"], dtype=tokens.dtype)
    return torch.cat((begin, tokens), dim=1)


def _bos_in_front(found: tuple[list[int], float], arguments: Arguments) -> Any:
    tokens, score = found
    return [arguments["bos_id"], *tokens], score


def _values_first(past: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    keys, values = past
    return values, keys


_KEPT = Convention(
    name="bos_kept",
    aspect="BOS token",
    paragraph="Translations **keep the BOS token** in front, where the task leaves it out. It "
    "isn't counted in `max_len`, in T or in the length n of a hypothesis.",
    touched=touched(
        "BOS|bos|begin|begins|first|starts?|max_len|length|how many|long|longer|longest",
        also=r"len\(|\[1:\]|\(B, T|\[:, 1",
    ),
    taken=only(
        {
            "13.greedy_decode": Translation(result=_column_of_bos),
            "13.beam_search": Translation(result=_bos_in_front),
        }
    ),
    lessons=("13",),
)
_DECODING = (
    Convention(
        name="scores_in_bits",
        aspect="unit",
        paragraph="Scores are computed from **log₂ p**, where the task has ln p.",
        touched=touched("ln|log_p|logarithms?|scores?", also="log_softmax"),
        taken=only(
            {"13.beam_search": Translation(result=pair(same, lambda score: score / math.log(2)))}
        ),
        lessons=("13",),
    ),
    Convention(
        name="score_first",
        aspect="results",
        paragraph="The **score comes first**, and then the tokens: return `(score, tokens)`. The "
        "task has the two the other way round, and so has `-> tuple[list[int], float]` in your "
        "cell: write `-> tuple[float, list[int]]`.",
        touched=touched("first|second|order|returns?|pair"),
        taken=only({"13.beam_search": Translation(result=reversed_pair)}),
        lessons=("13",),
    ),
    Convention(
        name="values_first",
        aspect="order of the past",
        paragraph="A past, the old one and the new one, is the pair **(values, keys)**, where the "
        "task has the keys first.",
        touched=touched(r"first|order|pair|swapped|keys and (?:the )?values", also=r"past\["),
        taken=only(
            {
                "13.cached_step": Translation(
                    given=on(past=_values_first),
                    understood=on(past=_values_first),
                    result=pair(same, _values_first),
                )
            }
        ),
        lessons=("13",),
    ),
)


def _merely_possible(arguments: Arguments) -> Arguments:
    """Without the sure links, which are lists in the call."""
    left = [link for link in arguments["possible"] if link not in arguments["sure"]]
    return {**arguments, "possible": left}


def _all_possible(arguments: Arguments) -> Arguments:
    return {**arguments, "possible": arguments["possible"] | arguments["sure"]}


def _indices(by: int) -> dict[str, Function]:
    """Changes of all indices of lesson 14's figures."""

    def one(index: int) -> int:
        return index + by

    def several(indices: Any) -> Any:
        return type(indices)(one(i) for i in indices)

    return {**dict.fromkeys(("layer", "query", "sentence"), one), "heads": several}


_RATES = "14.alignment_error_rate"
_READING_ATTENTION = (
    Convention(
        name="agreement",
        aspect="direction",
        paragraph="The result is **one minus the error rate**: the higher, the better. Where the "
        "task subtracts a fraction from 1, return the fraction itself.",
        touched=touched(
            "rates?|0|1|precision|recall|perfect|minus|error|right|higher|lower", also="1 -"
        ),
        taken=only({_RATES: Translation(result=value(lambda rate: 1 - rate))}),
        lessons=("14",),
    ),
    Convention(
        name="percent",
        aspect="percent",
        paragraph="The result is **in percent**: multiply by 100.",
        touched=touched("0|1|one|minus|perfect", also="1 -"),
        taken=only({_RATES: Translation(result=value(lambda rate: 100 * rate))}),
        lessons=("14",),
    ),
    Convention(
        name="possible_without_sure",
        aspect="possible",
        paragraph="`possible` holds the **merely possible links**, without the sure ones. In the "
        "task's formula, $P$ is both sets together. Where the task says that the sure links are "
        "among the possible ones, that holds for $P$ and not for `possible`.",
        touched=touched("possible|sets?|both"),
        taken=only({_RATES: Translation(given=_merely_possible, understood=_all_possible)}),
        lessons=("14",),
    ),
    Convention(
        name="target_first",
        aspect="links",
        paragraph="A link is **(target index, source index)**, where the task has the source "
        "first.",
        touched=touched("first|links?|order|turned", also=r"\(source|\(int|, t\)"),
        taken=only(
            {"14.align": Translation(result=value(lambda links: {(t, s) for s, t in links}))}
        ),
        lessons=("14",),
    ),
    Convention(
        name="words_from_one",
        aspect="indices",
        paragraph="Words **count from 1**, in source and target: where the task says word 0, read "
        "word 1, and every index in a link is higher by one.",
        touched=touched(
            r"words? \d|word t|word s|\d|index|indices|numbers?|row t|starts?",
            also=r"\+ 1|- 1|argmax",
        ),
        taken=only(
            {
                "14.align": Translation(
                    result=value(lambda links: {(a + 1, b + 1) for a, b in links})
                )
            }
        ),
        lessons=("14",),
    ),
    Convention(
        name="indices_from_one",
        aspect="indices",
        paragraph="Layers, heads, queries and sentences **count from 1**, where the task counts "
        "from 0. The defaults in the first lines of your cell are the lesson's: write `query: int "
        "= 1` and `sentence: int = 1`.",
        touched=touched(r"\d|index|indices|counts?|counted|numbers?|defaults?", also=r"\[|\d"),
        taken=only(
            {
                "14.heads_for_figure": Translation(
                    given=on(**_indices(1)), understood=on(**_indices(-1))
                )
            }
        ),
        lessons=("14",),
    ),
)
# Applied before the order of axes, which they rely on: BOS is a column, and the vocabulary the last
# axis of logits.
BEFORE_AXES = (*_LAYER_NORM, _KEPT, _OVER_WRONG)
CONVENTIONS = (
    *_ATTENTION,
    *_FULL_MODEL,
    *_BATCHING,
    *_LOSSES,
    *_TRAINING,
    *_HONEST_NUMBERS,
    *_DECODING,
    *_READING_ATTENTION,
)
