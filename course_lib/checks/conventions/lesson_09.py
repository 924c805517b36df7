"""Batching: the order of axes, of results and of indices."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from course_lib.checks.conventions.axes_otherwise import Axes, axis_conventions
from course_lib.checks.conventions.changes import as_dict, reversed_pair, value
from course_lib.checks.conventions.convention import Convention, Edits, Translation

Batches = list[list[int]]
_LISTS = re.compile(r"\[\[.*?\]\]")
_COLLATED = "to `(source, target)`, two tensors of int64, (B, S) and (B, T)."
_FORCED = "to `(decoder_input, labels)`, each (B, T − 1)."
_RETURNS_PAIR = "-> tuple[Tensor, Tensor]:"


def _batches(
    name: str, aspect: str, sentence: str, change: Callable[[Batches], Batches], *edits: str
) -> Convention:
    """Batches of indices otherwise; the example in the task changes with them."""

    def example(text: str) -> str:
        return _LISTS.sub(lambda found: str(change(ast.literal_eval(found[0]))), text)

    old_and_new: Edits = tuple(zip(edits[::2], edits[1::2], strict=True))
    items = {"09.bucket": Translation(result=value(change), edits=old_and_new)}
    return Convention(name, aspect, sentence, items, example)


CONVENTIONS = (
    Convention(
        "second_first",
        "results",
        "Pairs of results come in the **opposite order**: `(target, source)`, `(labels, "
        "decoder_input)`.",
        {
            "09.collate": Translation(
                result=reversed_pair,
                forgotten=("swapped",),
                edits=(
                    (
                        _COLLATED,
                        "to `(target, source)`, two tensors of int64: the target is (B, T), the "
                        "source (B, S).",
                    ),
                    (
                        "Encoded pairs to source (B, S) and target (B, T).",
                        "Encoded pairs to target (B, T) and source (B, S).",
                    ),
                ),
            ),
            "09.teacher_forcing": Translation(
                result=reversed_pair,
                forgotten=("exchanged",),
                edits=(
                    (_FORCED, "to `(labels, decoder_input)`, each (B, T − 1)."),
                    (
                        re.compile("to what is read and what (.*?),"),
                        r"to what \1 and what is read,",
                    ),
                ),
            ),
        },
    ),
    Convention(
        "dict_results",
        "results",
        "What a function returns is a **dict** and no pair, with the keys `source` and `target`, "
        "or `decoder_input` and `labels`, in this order.",
        {
            "09.collate": Translation(
                result=as_dict("source", "target"),
                edits=(
                    (
                        _COLLATED,
                        "to a dict of two tensors of int64, `source` (B, S) and `target` (B, T).",
                    ),
                    (_RETURNS_PAIR, "-> dict[str, Tensor]:"),
                ),
            ),
            "09.teacher_forcing": Translation(
                result=as_dict("decoder_input", "labels"),
                edits=(
                    (_FORCED, "to a dict of `decoder_input` and `labels`, each (B, T − 1)."),
                    (_RETURNS_PAIR, "-> dict[str, Tensor]:"),
                ),
            ),
        },
    ),
    *axis_conventions(
        {
            "09.collate": Axes(
                (),
                edits=(("Row i is pair i.", "Column i is pair i."),),
                forgotten={"seq_first": ("length_first",)},
            ),
            "09.teacher_forcing": Axes(
                ("target",),
                forgotten={"seq_first": ("along_the_batch",)},
                edits=(
                    (
                        "target[:, :-1] and target[:, 1:], the second with masked_fill(…, pad_id) "
                        "where the first is padding.",
                        "All but the last and all but the first position, the second with "
                        "masked_fill(…, pad_id) where the first is padding.",
                    ),
                ),
            ),
        },
        ("seq_first",),
    ),
    _batches(
        "indices_from_one",
        "indices",
        "Indices of sentences **count from 1**.",
        lambda batches: [[i + 1 for i in batch] for batch in batches],
        "whole numbers from 0 to N − 1",
        "whole numbers from 1 to N",
    ),
    _batches(
        "longest_batch_first",
        "batches",
        "The list of batches is **turned round** at the end: the batch of the longest sentences "
        "comes first. How batches are formed stays the same.",
        lambda batches: batches[::-1],
        "The shortest sentences come first, in a batch and from batch to batch.",
        "Batches are formed from the shortest sentences on.",
    ),
    _batches(
        "longest_in_batch_first",
        "rows",
        "Each batch is **turned round** at the end: its longest sentence comes first, and of "
        "equally long ones the last. How batches are formed stays the same.",
        lambda batches: [batch[::-1] for batch in batches],
        "The shortest sentences come first, in a batch and from batch to batch.",
        "Batches are formed from the shortest sentences on.",
        "Equal lengths keep their order.",
        "While they are formed, equal lengths keep their order.",
    ),
)
