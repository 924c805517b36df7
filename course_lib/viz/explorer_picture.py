"""The attention explorer without a script: one picture and its alt text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from course_lib.viz.attention_summary import describe_attention
from course_lib.viz.display import to_png
from course_lib.viz.explorer_constants import MEAN
from course_lib.viz.explorer_data import AttentionData
from course_lib.viz.heatmaps import plot_attention
from course_lib.viz.style import figure_of

COLOURS = 64  # few colours and few pixels: a notebook stores the picture twice, also in the HTML
DPI = 72


def shown_weights(data: AttentionData, state: Mapping[str, Any]) -> np.ndarray:
    """The weights of the chosen head, or the mean of the layer's heads: (query, key)."""
    heads = data.weights[state["layer"]]
    return np.asarray(heads.mean(axis=0) if state["head"] == MEAN else heads[state["head"]])


def name_of(state: Mapping[str, Any]) -> str:
    """Such as "layer 0, head 3"."""
    head = "mean of heads" if state["head"] == MEAN else f"head {state['head']}"
    return f"layer {state['layer']}, {head}"


def draw(data: AttentionData, state: Mapping[str, Any]) -> Axes:
    """The heatmap of the chosen head, gold links ringed."""
    ax = plot_attention(
        shown_weights(data, state),
        data.query_tokens,
        data.key_tokens,
        mask=data.allowed,
        title=f"{data.title}, {name_of(state)}",
    )
    if data.gold:
        keys, queries = np.array(data.gold).T
        ax.scatter(keys, queries, s=60, facecolors="none", edgecolors="#d55e00", linewidths=1.8)
    return ax


def picture(data: AttentionData, state: Mapping[str, Any]) -> bytes:
    """The heatmap as a small PNG."""
    ax = draw(data, state)
    figure_of(ax).set_dpi(DPI)
    full = Image.open(BytesIO(to_png(ax))).convert("RGB")
    buffer = BytesIO()
    full.quantize(COLOURS, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def describe(data: AttentionData, state: Mapping[str, Any]) -> str:
    """Alt text of the picture: the head that is shown, and what stands out in it."""
    weights = shown_weights(data, state)
    text = (
        f"{data.title}, {name_of(state)}. "
        f"{describe_attention(weights, data.query_tokens, data.key_tokens)}"
    )
    if hidden := int((~data.allowed).sum()):
        text += f" {hidden} of {data.allowed.size} cells are masked."
    return text


def digest(data: AttentionData, state: Mapping[str, Any]) -> str:
    """The alt text, then the mean entropy of each head, one line for each layer."""
    n_layers, n_heads = data.weights.shape[:2]
    lines = [describe(data, state)]
    widest = math.log(len(data.key_tokens))
    if data.gold:
        errors = data.alignment_errors
        layer, head = divmod(int(errors.round(4).argmin()), n_heads)
        lines.append(
            f"Closest to the gold alignment: layer {layer}, head {head}, "
            f"alignment error rate {errors[layer, head]:.2f}."
        )
    lines.append(f"Mean entropy of each head in nats (at most {widest:.2f}):")
    for layer in range(n_layers):
        numbers = " ".join(f"{number + 0.0:.2f}" for number in data.entropies[layer])
        lines.append(f"layer {layer}: {numbers}")
    return "\n".join(lines)
