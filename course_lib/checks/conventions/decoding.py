"""Decoding: what is returned, in what unit and order, and how a cache is laid out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.conventions.changes import (
    on,
    pair,
    phrases,
    reversed_pair,
    same,
    shapes,
    value,
    words,
)
from course_lib.checks.conventions.convention import Arguments, Convention, Rewrite, Translation

Past = tuple[Tensor, Tensor]


def _column_of_bos(tokens: Tensor, arguments: Arguments) -> Tensor:
    begin = torch.full((tokens.size(0), 1), arguments["bos_id"], dtype=tokens.dtype)
    return torch.cat((begin, tokens), dim=1)


def _bos_in_front(found: tuple[list[int], float], arguments: Arguments) -> Any:
    tokens, score = found
    return [arguments["bos_id"], *tokens], score


def _values_first(past: Past) -> Past:
    keys, values = past
    return values, keys


def _positions_second(past: Past) -> tuple[Tensor, ...]:
    return tuple(x.transpose(1, 2) for x in past)


_AFTER_BOS = (
    "With max_len 1, how many tokens come out?",
    "With max_len 1, how many tokens come out after BOS?",
)
_OLD_KEYS = (
    "key = torch.cat((past[0], key), dim=...)",
    "key = torch.cat((the old keys, key), dim=...)",
)
_ROWS = words({"row": "position", "rows": "positions"})
_ROW_OF_BATCH = re.compile(r"(?<!last )\brow(s?)\b")
# What split_heads gives is no past.
_IN_FORWARD = phrases({"split the heads: (B, 1, H, E)": "split the heads: (B, H, 1, E)"})


def _positions(text: str) -> str:
    """Of rows of a past; a call is described by how many rows a batch has."""
    return text if text.endswith(" new") else _ROWS(text)


def _translations(changes: Mapping[str, str]) -> Rewrite:
    """Phrases; and of translations, since no axis of what is returned has them as rows."""
    other = phrases(changes)
    return lambda text: other(_ROW_OF_BATCH.sub(r"translation\1", text))


def _past_shape(axes: Sequence[str]) -> list[str] | None:
    if len(axes) != 4 or axes[1] != "H":
        return None
    return [axes[0], axes[2], axes[1], axes[3]]


CONVENTIONS = (
    Convention(
        "bos_kept",
        "BOS token",
        "Translations **keep the BOS token** in front. It isn't counted in `max_len` or in a "
        "length.",
        {
            "13.greedy_decode": Translation(
                result=_column_of_bos,
                edits=(
                    (
                        "The BOS token is left out, the EOS token is not.",
                        "The BOS token stays in front, and the EOS token stays, too.",
                    ),
                    ("to translations (B, T)", "to translations (B, 1 + T)"),
                    (
                        "(B, S) to (B, T) with T at most max_len",
                        "(B, S) to (B, 1 + T) with T at most max_len",
                    ),
                    (
                        "T is the length of the longest translation,",
                        "T is the length of the longest translation without BOS,",
                    ),
                    ("return generated without its first column.", "return generated."),
                    (
                        "no row is longer than max_len",
                        "no row has more than max_len tokens after BOS",
                    ),
                    _AFTER_BOS,
                ),
                left_out=("begin_kept",),
            ),
            "13.beam_search": Translation(
                result=_bos_in_front,
                edits=(
                    ("a list without the BOS token", "a list that starts with the BOS token"),
                    ("((5 + len(h[1])) / 6) ** ...)", "((5 + ...) / 6) ** ...)"),
                    _AFTER_BOS,
                ),
                left_out=("begin_kept",),
            ),
        },
    ),
    Convention(
        "time_first",
        "axes",
        "A batch of translations is returned **position first**, (length, batch). The model's own "
        "inputs and outputs stay as they are.",
        {
            "13.greedy_decode": Translation(
                result=value(lambda tokens: tokens.T),
                edits=(
                    (re.compile(r"to translations \(B, ([^)]*)\)"), r"to translations (\1, B)"),
                    (re.compile(r"\(B, S\) to \(B, ([^)]*)\) with"), r"(B, S) to (\1, B) with"),
                ),
            )
        },
        _translations(
            {
                "at the end return generated without its first column.": (
                    "at the end return generated without its first column, with its axes swapped."
                ),
                "at the end return generated.": (
                    "at the end return generated with its axes swapped."
                ),
            }
        ),
    ),
    Convention(
        "scores_in_bits",
        "unit",
        "Scores are computed from **log₂ p**, not ln p.",
        {
            "13.beam_search": Translation(
                result=pair(same, lambda score: score / math.log(2)),
                edits=(
                    ("is ln p / ((5 + n) / 6)", "is log₂ p / ((5 + n) / 6)"),
                    (
                        "log_p = logits.log_softmax(-1).tolist()",
                        "log_p = (logits.log_softmax(-1) / ...).tolist()",
                    ),
                ),
            )
        },
        phrases({"ln p": "log₂ p"}),
    ),
    Convention(
        "score_first",
        "results",
        "The **score comes first**, and then the tokens.",
        {
            "13.beam_search": Translation(
                result=reversed_pair,
                edits=(
                    (
                        "It returns a pair: the tokens of the best hypothesis,",
                        "It returns a pair: the score of the best hypothesis, and its tokens,",
                    ),
                    (", and its score.", "."),
                    ("-> tuple[list[int], float]:", "-> tuple[float, list[int]]:"),
                    (
                        "The tokens of the best hypothesis and its score;",
                        "The score of the best hypothesis and its tokens;",
                    ),
                ),
            )
        },
    ),
    Convention(
        "values_first",
        "order of the past",
        "A past is the pair **(values, keys)**.",
        {
            "13.cached_step": Translation(
                on(past=_values_first),
                on(past=_values_first),
                pair(same, _values_first),
                edits=(
                    _OLD_KEYS,
                    (
                        "the keys and the values of the tokens before",
                        "the values and the keys of the tokens before",
                    ),
                ),
            )
        },
    ),
    Convention(
        "positions_second",
        "axes of the past",
        "Keys and values of a past are **(batch, position, heads, d_head)**.",
        {
            "13.cached_step": Translation(
                on(past=_positions_second),
                on(past=_positions_second),
                pair(same, _positions_second),
                edits=(
                    _OLD_KEYS,
                    (
                        "in which the new token's key and value are the last row,",
                        "in which the new token's key and value are at the last position,",
                    ),
                    ("the past grows by one row at its end", "the past grows by one position"),
                    (
                        "Put the past's keys and values in front of the new ones, attend,",
                        "Put the past's keys and values in front of the new ones, in the same "
                        "order of axes, attend,",
                    ),
                ),
            )
        },
        lambda text: _positions(_IN_FORWARD(shapes(_past_shape)(text))),
    ),
)
