"""What results and arguments look like: which comes first, from where one counts, what is left out.

Little of this can be told from an item's signature, so most conventions name their items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

import torch
from torch import Tensor

from course_lib.checks.conventions.changes import (
    as_dict,
    exchanged,
    on,
    pair,
    reversed_pair,
    same,
    value,
)
from course_lib.checks.conventions.convention import (
    Arguments,
    Convention,
    Translation,
    touched,
)
from course_lib.checks.conventions.reordering import annotations_of, axes_in
from course_lib.checks.engine.item import Item

Batches = list[list[int]]


def _weights_first(item: Item) -> Translation | None:
    """For what returns a pair of which the second is attention weights."""
    _, result = annotations_of(item.reference)
    entries = [axes_in(entry) for entry in get_args(result)]
    is_pair = len(entries) == 2 and entries[1][-2:] == ("query", "key")
    return Translation(result=reversed_pair) if is_pair else None


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
        items={
            "08.tie": Translation(
                given=on(tying=lambda word: written[word]),
                understood=on(tying=lambda value: back[value]),
            )
        },
    )


def _batches(
    name: str, aspect: str, *, paragraph: str, words: str, change: Callable[[Batches], Batches]
) -> Convention:
    """Batches of indices otherwise."""
    example = change([[0, 4, 2], [3, 1], [5]])
    return Convention(
        name=name,
        aspect=aspect,
        paragraph=f"{paragraph} By itself, this turns the task's example into `{example}`.",
        touched=touched(words, also=r"\["),
        items={"09.bucket": Translation(result=value(change))},
    )


def _column_of_bos(tokens: Tensor, arguments: Arguments) -> Tensor:
    begin = torch.full((tokens.size(0), 1), arguments["bos_id"], dtype=tokens.dtype)
    return torch.cat((begin, tokens), dim=1)


def _bos_in_front(found: tuple[list[int], float], arguments: Arguments) -> Any:
    tokens, score = found
    return [arguments["bos_id"], *tokens], score


_EXCHANGE_THEM = (
    "The task and the first line of your cell have the two the other way round: exchange them "
    "there. The check passes them by position."
)


def _prefix_and_bos(joined: tuple[Tensor, Tensor, Tensor], arguments: Arguments) -> Any:
    tokens, prefix, labels = joined
    return tokens, prefix + 1, labels


def _with_what_was_given(new: Tensor, arguments: Arguments) -> Tensor:
    return torch.cat((arguments["tokens"], new), dim=1)


def _values_first(past: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    keys, values = past
    return values, keys


def _merely_possible(arguments: Arguments) -> Arguments:
    """Without the sure links, which are lists in the call."""
    left = [link for link in arguments["possible"] if link not in arguments["sure"]]
    return {**arguments, "possible": left}


def _all_possible(arguments: Arguments) -> Arguments:
    return {**arguments, "possible": arguments["possible"] | arguments["sure"]}


_ORDER = "first|last|before|after|order|sorted|shortest|longest"
_RATE = "11.inverse_sqrt_lr"
_RATES = "14.alignment_error_rate"
# Applied before the order of axes: BOS is a column of a batch that is not yet turned.
BEFORE_AXES = (
    Convention(
        name="bos_kept",
        aspect="BOS token",
        paragraph="Translations **keep the BOS token** in front, where the task leaves it out. It "
        "isn't counted in `max_len`, in T or in the length n of a hypothesis; so a batch of "
        "translations has T + 1 positions.",
        touched=touched(
            "BOS|bos|begin|begins|first|starts?|max_len|length|how many|long|longer|longest",
            also=r"len\(|\[1:\]|\(B, T|\[:, 1",
        ),
        items={
            "13.greedy_decode": Translation(result=_column_of_bos),
            "13.beam_search": Translation(result=_bos_in_front),
        },
    ),
)
CONVENTIONS = (
    Convention(
        name="weights_first",
        aspect="results",
        paragraph="Attention returns **the weights first**, and then the context or output, where "
        "the task says the opposite.",
        touched=touched("first|second|order|returns?|unpacks?|pair", also=", weights|weights, "),
        derived=_weights_first,
        lessons=("04", "05"),
    ),
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
    Convention(
        name="second_first",
        aspect="results",
        paragraph="Pairs of results come in the **opposite order** of the task's: `(target, "
        "source)` and `(labels, decoder_input)`.",
        touched=touched("first|second|order|unpacks?|swapped|pair|exchanged"),
        items={
            "09.collate": Translation(result=reversed_pair),
            "09.teacher_forcing": Translation(result=reversed_pair),
        },
    ),
    Convention(
        name="dict_results",
        aspect="results",
        paragraph="A function returns a **dict**, where the task says a pair of results, with the "
        "keys `source` and `target`, or `decoder_input` and `labels`. In the first line of your "
        "cell, `-> tuple[Tensor, Tensor]` is the lesson's, too: replace it by "
        "`-> dict[str, Tensor]`.",
        touched=touched("first|second|order|unpacks?|swapped|tuple|exchanged"),
        items={
            "09.collate": Translation(result=as_dict("source", "target")),
            "09.teacher_forcing": Translation(result=as_dict("decoder_input", "labels")),
        },
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
    Convention(
        name="steps_from_zero",
        aspect="steps",
        paragraph="Steps **count from 0**, as in PyTorch's schedulers: the first step is number 0 "
        "and has the rate of the paper's step 1. Where the task and equation (3) say step, read "
        "step + 1.",
        touched=touched("steps?|counts?|zero|peak|warmup", also="√step"),
        items={
            _RATE: Translation(
                given=on(steps=lambda steps: [step - 1 for step in steps]),
                understood=on(step=lambda step: step + 1),
            )
        },
    ),
    Convention(
        name="width_last",
        aspect="parameters",
        paragraph="The width comes **after the warm-up**: `inverse_sqrt_lr(step, warmup, "
        f"d_model)`. {_EXCHANGE_THEM}",
        touched=touched("arguments?|parameters?|second|third|order"),
        items={
            _RATE: replace(
                exchanged("d_model", "warmup"),
                shown={"d_model": "warmup", "warmup": "d_model"},
            )
        },
    ),
    Convention(
        name="references_first",
        aspect="order of the sides",
        paragraph="The references come **before** the translations: `bleu(references, hypotheses, "
        f"max_n=4)`. {_EXCHANGE_THEM}",
        touched=touched("arguments?|order|first|second|swapped"),
        items={"12.bleu": exchanged("hypotheses", "references")},
    ),
    Convention(
        name="first_wins",
        aspect="direction",
        paragraph="The result is the share of the samples that the **first** system wins: where "
        "the task says that the second one wins, or is higher, read the first.",
        touched=touched("first|second|higher|better|wins?|won", also="[<>]"),
        items={"12.paired_bootstrap": exchanged("first", "second")},
    ),
    Convention(
        name="score_first",
        aspect="results",
        paragraph="The **score comes first**, and then the tokens: return `(score, tokens)`. The "
        "task has the two the other way round, and so has `-> tuple[list[int], float]` in your "
        "cell: write `-> tuple[float, list[int]]`.",
        touched=touched("first|second|order|returns?|pair"),
        items={"13.beam_search": Translation(result=reversed_pair)},
    ),
    Convention(
        name="values_first",
        aspect="order of the past",
        paragraph="A past, the old one and the new one, is the pair **(values, keys)**, where the "
        "task has the keys first.",
        touched=touched(r"first|order|pair|swapped|keys and (?:the )?values", also=r"past\["),
        items=dict.fromkeys(
            ("13.cached_step", "18.grouped_query_attention"),
            Translation(
                given=on(past=_values_first),
                understood=on(past=_values_first),
                result=pair(same, _values_first),
            ),
        ),
    ),
    Convention(
        name="v_up_first",
        aspect="order of the matrices",
        paragraph="The matrix of the values comes **before** that of the keys: "
        f"`latent_absorbed(query, latent, v_up, k_up)`. {_EXCHANGE_THEM}",
        touched=touched("arguments?|order|first|second|swapped|exchanged|other way round"),
        items={"18.latent_absorbed": exchanged("k_up", "v_up")},
    ),
    Convention(
        name="value_before_key",
        aspect="order of keys and values",
        paragraph="The values come **before** the keys: `online_attention(query, value, key, "
        f"block)`. {_EXCHANGE_THEM}",
        touched=touched("arguments?|order|second|swapped|exchanged"),
        items={"18.online_attention": exchanged("key", "value")},
    ),
    Convention(
        name="possible_without_sure",
        aspect="possible",
        paragraph="`possible` holds the **merely possible links**, without the sure ones. In the "
        "task's formula, $P$ is both sets together. Where the task says that the sure links are "
        "among the possible ones, that holds for $P$ and not for `possible`.",
        touched=touched("possible|sets?|both"),
        items={_RATES: Translation(given=_merely_possible, understood=_all_possible)},
    ),
    Convention(
        name="target_first",
        aspect="links",
        paragraph="A link is **(target index, source index)**, where the task has the source "
        "first.",
        touched=touched("first|links?|order|turned", also=r"\(source|\(int|, t\)"),
        items={"14.align": Translation(result=value(lambda links: {(t, s) for s, t in links}))},
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
        items={
            "14.align": Translation(result=value(lambda links: {(a + 1, b + 1) for a, b in links}))
        },
    ),
    Convention(
        name="prefix_counts_bos",
        aspect="prefix",
        paragraph="`prefix` counts **BOS as well**: it is the number of source tokens plus 1. The "
        "rows and their labels are the task's.",
        touched=touched(
            r"prefix(?:es)?|BOS|sources?|lengths?|longer|longest|shorter|how (?:many|long)|parts?",
            also=r"len\(",
        ),
        items={"16.join_pairs": Translation(result=_prefix_and_bos)},
    ),
    Convention(
        name="dict_of_rows",
        aspect="results",
        paragraph="The three tensors come back as a **dict** with the keys `tokens`, `prefix` and "
        "`labels`, where the task says a tuple. In the first line of your cell, `-> tuple[Tensor, "
        "Tensor, Tensor]` is the lesson's, too: replace it by `-> dict[str, Tensor]`.",
        touched=touched("order|tuple|second|last line"),
        items={"16.join_pairs": Translation(result=as_dict("tokens", "prefix", "labels"))},
    ),
    Convention(
        name="given_tokens_kept",
        aspect="results",
        paragraph="The result **keeps the tokens that were given** in front of the new ones: (B, L "
        "+ n), where the task asks for the new tokens alone.",
        touched=touched(
            r"new|alone|given|results?|begins?|columns?|leaves out|how many|come out|continuation",
            also=r"\(B, n",
        ),
        items={"16.continue_greedily": Translation(result=_with_what_was_given)},
    ),
)
