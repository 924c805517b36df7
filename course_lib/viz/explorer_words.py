"""The attention explorer in words: its alt text, and numbers for stored outputs to compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from course_lib.viz.attention_summary import describe_attention
from course_lib.viz.explorer_constants import KINDS, MEAN
from course_lib.viz.explorer_data import AttentionData


def shown_weights(data: AttentionData, state: Mapping[str, Any]) -> np.ndarray:
    """The weights of the chosen head, or the mean of the layer's heads: (query, key)."""
    heads = data.weights[state["layer"]]
    return np.asarray(heads.mean(axis=0) if state["head"] == MEAN else heads[state["head"]])


def heading(shown: Mapping[str, AttentionData], state: Mapping[str, Any]) -> str:
    """Such as "Title, layer 0, head 3"; of several kinds of attention, it says which."""
    data = shown[state["kind"]]
    head = "mean of heads" if state["head"] == MEAN else f"head {state['head']}"
    kind = [KINDS[data.kind]] if len(shown) > 1 else []
    return ", ".join([data.title, *kind, f"layer {state['layer']}", head])


def describe(shown: Mapping[str, AttentionData], state: Mapping[str, Any]) -> str:
    """Alt text of the picture: the head that is shown, and what stands out in it."""
    data = shown[state["kind"]]
    words = describe_attention(shown_weights(data, state), data.query_tokens, data.key_tokens)
    text = f"{heading(shown, state)}. {words}"
    if hidden := int((~data.allowed).sum()):
        text += f" {hidden} of {data.allowed.size} cells are masked."
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
                f"Closest to the gold alignment: layer {layer}, head {head}, "
                f"alignment error rate {errors[layer, head]:.2f}."
            )
        widest = math.log(len(data.key_tokens))
        lines.append(f"Mean entropy of each head{which} in nats (at most {widest:.2f}):")
        for layer, heads in enumerate(data.entropies):
            lines.append(f"layer {layer}: " + " ".join(f"{number + 0.0:.2f}" for number in heads))
    return "\n".join(lines)
