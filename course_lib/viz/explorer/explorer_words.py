"""The attention explorer in words: its alt text, and numbers for stored outputs to compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.viz.explorer.explorer_constants import ALL, KINDS, MEAN, SENTENCES
from course_lib.viz.explorer.explorer_data import AttentionData, Language
from course_lib.viz.plots.attention_summary import describe_attention, largest_weight
from course_lib.viz.plots.plot_alignment import Link


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is seen of one head: all of it or, of two sentences, the queries of one and the keys of
    one.

    Attributes:
        weights: (query, key), not renormalised.
        query_tokens: one for each row.
        key_tokens: one for each column.
        allowed: where a query may attend, (query, key).
        gold: right links (key index, query index).
        languages: of the queries and of the keys; empty where they are not known.
        notes: which tokens are sentences A and B, and what is left out.
    """

    weights: np.ndarray
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    allowed: np.ndarray
    gold: tuple[Link, ...]
    languages: tuple[Language, ...]
    notes: tuple[str, ...]


def shown_part(data: AttentionData, state: Mapping[str, Any]) -> Shown:
    """The chosen head, or the mean of the layer's heads."""
    heads = data.weights[state["layer"]]
    weights = np.asarray(heads.mean(axis=0) if state["head"] == MEAN else heads[state["head"]])
    chosen = state.get("sentences", ALL)
    sides = (ALL, ALL) if chosen == ALL else chosen
    rows, columns = map(data.tokens_of, sides)
    first_row, first_column = rows.start or 0, columns.start or 0
    inside = weights[rows, columns]
    moved = ((key - first_column, query - first_row) for key, query in data.gold)
    notes = []
    if (second := data.second_sentence) is not None:
        last = len(data.key_tokens) - 1
        notes += [f"sentence A: tokens 0 to {second - 1}, B: tokens {second} to {last}"]
        notes += ["part of each row, not renormalised"] if chosen != ALL else []
    return Shown(
        weights=inside,
        query_tokens=data.query_tokens[rows],
        key_tokens=data.key_tokens[columns],
        allowed=data.allowed[rows, columns],
        gold=tuple(
            (key, query)
            for key, query in moved
            if 0 <= query < inside.shape[0] and 0 <= key < inside.shape[1]
        ),
        languages=data.languages or (),
        notes=tuple(notes),
    )


def heading(shown: Mapping[str, AttentionData], state: Mapping[str, Any]) -> str:
    """Such as "Title, layer 0, head 3"; of several kinds of attention, it says which."""
    data = shown[state["kind"]]
    kind = [KINDS[data.kind]] if len(shown) > 1 else []
    where = [data.layer(state["layer"]), data.head(state["head"])]
    if data.head_names and len(data.weights) == 1:
        del where[0]
    chosen = state.get("sentences", ALL)
    sentences = [] if chosen == ALL else [SENTENCES[chosen]]
    return ", ".join([data.title, *kind, *where, *sentences])


def describe(shown: Mapping[str, AttentionData], state: Mapping[str, Any]) -> str:
    """Alt text of the picture: the head that is shown, and what stands out in it."""
    part = shown_part(shown[state["kind"]], state)
    tokens = part.query_tokens, part.key_tokens
    if state.get("sentences", ALL) == ALL:
        words = describe_attention(part.weights, *tokens)
    else:
        words = (
            f"Heatmap of {len(tokens[0])} queries by {len(tokens[1])} keys, on which "
            f"{part.weights.sum(axis=1).mean():.2f} of a row's weight lies on average. "
            f"{largest_weight(part.weights, *tokens)}"
        )
    text = f"{heading(shown, state)}. {words}"
    if hidden := int((~part.allowed).sum()):
        text += f" {hidden} of {part.allowed.size} cells are masked."
    if part.notes:
        text += f" Here, {'; '.join(part.notes)}."
    return text


def digest(shown: Mapping[str, AttentionData], state: Mapping[str, Any]) -> str:
    """The alt text, then the mean entropy of each head, one line for each layer."""
    lines = [describe(shown, state)]
    for data in shown.values():
        which = f" of the {KINDS[data.kind]}" if len(shown) > 1 else ""
        if data.gold:
            errors = data.alignment_errors
            layer, head = divmod(int(errors.round(4).argmin()), data.weights.shape[1])
            lines.append(
                f"Closest to the gold alignment: {data.layer(layer)}, {data.head(head)}, "
                f"alignment error rate {errors[layer, head]:.2f}."
            )
        widest = math.log(len(data.key_tokens))
        lines.append(f"Mean entropy of each head{which} in nats (at most {widest:.2f}):")
        for layer, heads in enumerate(data.entropies):
            lines.append(
                f"{data.layer(layer)}: " + " ".join(f"{number + 0.0:.2f}" for number in heads)
            )
    return "\n".join(lines)
