"""Batching: the order of axes, of results and of indices."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from course_lib.checks.conventions.axes_otherwise import Axes, axis_conventions
from course_lib.checks.conventions.changes import as_dict, reversed_pair, value
from course_lib.checks.conventions.convention import Convention, Edits, Rewrite, Translation
from course_lib.checks.conventions.masks_otherwise import ROWS_ARE_COLUMNS

Batches = list[list[int]]
_LISTS = re.compile(r"\[\[.*?\]\]")
_FORMED = (
    "The shortest sentences come first, in a batch and from batch to batch.",
    "Batches are formed from the shortest sentences on.",
    "sentences of similar length share a batch, the shortest first",
    "sentences of similar length share a batch, filled from the shortest on",
    "But this task wants the shortest first, and the batches come out differently.",
    "But in this task the shortest form batches first, and the batches come out differently.",
)
_EQUAL = (
    "equal lengths keep their order; one",
    "equal lengths come in the right order; one",
    "Equal lengths keep their order.",
    "While they are formed, equal lengths keep their order.",
)
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


def _in_columns(items: dict[str, Axes]) -> list[Convention]:
    """The position first: a sentence is a column, except in hints about lists."""

    def rewrite(shapes: Rewrite) -> Rewrite:
        lists = ("list of", "helper for one side")
        return lambda text: shapes(
            text if any(each in text for each in lists) else ROWS_ARE_COLUMNS(text)
        )

    found = axis_conventions(items, ("seq_first",))
    return [replace(each, rewrite=rewrite(each.rewrite)) for each in found]


CONVENTIONS = (
    Convention(
        "second_first",
        "results",
        "Pairs of results come in the **opposite order**: `(target, source)`, `(labels, "
        "decoder_input)`.",
        {
            "09.collate": Translation(
                result=reversed_pair,
                left_out=("swapped",),
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
                left_out=("exchanged",),
                edits=(
                    (_FORCED, "to `(labels, decoder_input)`, each (B, T − 1)."),
                    (
                        "to the decoder's input and the labels,",
                        "to the labels and the decoder's input,",
                    ),
                ),
            ),
        },
    ),
    Convention(
        "dict_results",
        "results",
        "A function returns a **dict** instead of a pair, with the keys `source` and `target`, or "
        "`decoder_input` and `labels`.",
        {
            "09.collate": Translation(
                result=as_dict("source", "target"),
                edits=(
                    (
                        _COLLATED,
                        "to a dict of two tensors of int64, `source` (B, S) and `target` (B, T).",
                    ),
                    (
                        "You return the target first and the source second.",
                        "Your `source` holds the target, and your `target` the source.",
                    ),
                    (
                        "The caller unpacks (source, target). Swapped,",
                        "The caller looks them up by their keys. Swapped,",
                    ),
                    (
                        "In which order does the task name the two tensors?",
                        "Which key belongs to which tensor?",
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
    *_in_columns(
        {
            "09.collate": Axes(
                (),
                edits=(
                    ("Row i is pair i.", "Column i is pair i."),
                    ("Shorter rows are filled", "Shorter columns are filled"),
                    (
                        "How long does each row have to become?",
                        "How long does each list have to become?",
                    ),
                    ("then give each row as many pad ids", "then give each list as many pad ids"),
                    ("how many does this row need?", "how many does this list need?"),
                    ("`fill + row` and `row + fill`", "`fill + ids` and `ids + fill`"),
                    (
                        "An id is a row number, and there is no row 5.0:",
                        "An id is an index, and there is no index 5.0:",
                    ),
                    ("networks needed sorted rows;", "networks needed a sorted batch;"),
                    (
                        "torch.tensor turns integers into int64.",
                        "torch.tensor turns integers into int64, each list into a row; .T swaps "
                        "the axes.",
                    ),
                ),
                left_out={"seq_first": ("length_first",)},
            ),
            "09.teacher_forcing": Axes(
                ("target",),
                left_out={"seq_first": ("along_the_batch",)},
                edits=(
                    (
                        "target[:, :-1] and target[:, 1:], the second with masked_fill(…, pad_id) "
                        "where the first is padding.",
                        "All but the last and all but the first position, the second with "
                        "masked_fill(…, pad_id) where the first is padding.",
                    ),
                ),
            ),
        }
    ),
    _batches(
        "indices_from_one",
        "indices",
        "Indices of sentences **count from 1**.",
        lambda batches: [[i + 1 for i in batch] for batch in batches],
        "integers from 0 to N − 1",
        "integers from 1 to N",
        "sorted(range(len(lengths)), key=…), and for each i: if there is a batch, and (rows "
        "including this one) * lengths[i] is",
        "sorted(range(...), key=…), and for each i: if there is a batch, and (rows including this "
        "one) * lengths[...] is",
        "so looking up pair 0 finds",
        "so looking up pair 1 finds",
        "or the numbers from 0 to N - 1?",
        "or the numbers from 1 to N?",
    ),
    _batches(
        "longest_batch_first",
        "batches",
        "The list of batches is **reversed** at the end: the batch of the longest sentences "
        "comes first. How batches are formed stays the same.",
        lambda batches: batches[::-1],
        *_FORMED,
        "There's an empty batch before a sentence that is too long.",
        "There's an empty batch beside a sentence that is too long.",
        "The last batch is missing.",
        "The batch that was filled last is missing.",
        *_EQUAL,
    ),
    _batches(
        "longest_in_batch_first",
        "rows",
        "Each batch is **reversed** at the end: its longest sentence comes first, and of equally "
        "long ones the last. How batches are formed stays the same.",
        lambda batches: [batch[::-1] for batch in batches],
        *_FORMED,
        *_EQUAL,
    ),
)
