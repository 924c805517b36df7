"""Figures 3, 4 and 5 of the paper: attention as lines from word to word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from torch import Tensor

from course_lib.viz.alt_text import set_alt_text, titled
from course_lib.viz.plots.attention_summary import as_array
from course_lib.viz.plots.curves import line_look
from course_lib.viz.plots.heatmaps import KEY_AXIS, QUERY_AXIS, check_orientation
from course_lib.viz.style import INK, SOFT, new_axes, styled

INVISIBLE = 0.5 / 255  # a smaller weight would not change the colour of any pixel
LANES = 0.7  # share of a word's width that is divided into lanes, one for each head


@styled
def plot_attention_lines(
    weights: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    queries: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    title: str = "Which position attends to which",
    ax: Axes | None = None,
) -> Axes:
    """A line from each query above to each key below: its colour is the head, its opacity the
    weight.

    Figure 3 of the paper shows one query and all heads; Figure 4 one head in full, then one query
    and two heads; Figure 5 one head in full, twice. A head keeps its colour in all of them. Lines
    of several heads that end at the same word are ordered by head, from left to right.

    Args:
        weights: (heads, query, key).
        query_tokens: one for each row of a head.
        key_tokens: one for each column of a head.
        queries: indices of the queries whose lines are drawn; by default all.
        heads: indices of the heads that are drawn; by default all.
        title: what the picture shows.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: weights that are not (heads, query, key), or an index of a query or a head that
            is out of range.
    """
    matrices = as_array(weights)
    if matrices.ndim != 3:
        raise ValueError(
            f"weights must have shape (heads, query, key), got {matrices.shape}: "
            "pick one layer and one sentence first, such as attention.encoder[4, 0]"
        )
    n_heads, n_queries, n_keys = matrices.shape
    for matrix in matrices:
        check_orientation(matrix, len(query_tokens), len(key_tokens))
    chosen_queries = _chosen("queries", queries, n_queries)
    chosen_heads = _chosen("heads", heads, n_heads)
    width = max(n_queries, n_keys)
    above = (np.arange(n_queries) + 0.5) * width / n_queries
    below = (np.arange(n_keys) + 0.5) * width / n_keys
    colours = [line_look(head, n_heads)[0] for head in chosen_heads]
    longest = max(map(len, [*query_tokens, *key_tokens]))
    ax = ax or new_axes(width=max(5.0, 1.6 + 0.36 * width), height=2.9 + 0.16 * longest)
    for i, (head, colour) in enumerate(zip(chosen_heads, colours, strict=True)):
        lane = LANES * ((i + 0.5) / len(chosen_heads) - 0.5)
        lines = [
            (((above[q] + lane, 1.0), (below[k] + lane, 0.0)), float(matrices[head, q, k]))
            for q in chosen_queries
            for k in range(n_keys)
            if matrices[head, q, k] >= INVISIBLE
        ]
        ax.add_collection(
            LineCollection(
                [ends for ends, _ in lines],
                colors=[to_rgba(colour, min(1.0, weight)) for _, weight in lines],
                linewidths=2.2,
                label=f"head {head}",
            )
        )
    _label_tokens(ax, above, query_tokens, chosen_queries, below=below, keys=key_tokens)
    ax.set(title=title, xlim=(0, width), ylim=(0, 1), xlabel=KEY_AXIS)
    if len(chosen_heads) > 1:
        handles = [
            Line2D([], [], color=colour, linewidth=3, label=f"head {head}")
            for head, colour in zip(chosen_heads, colours, strict=True)
        ]
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return set_alt_text(
        ax, _alt_text(title, matrices, query_tokens, key_tokens, chosen_queries, chosen_heads)
    )


def _chosen(name: str, given: Sequence[int] | None, size: int) -> list[int]:
    chosen = list(range(size)) if given is None else list(given)
    if not chosen or not all(0 <= i < size for i in chosen):
        raise ValueError(
            f"{name} must be indices from 0 to {size - 1}, at least one, got {chosen}: "
            "leave them out to draw all"
        )
    return chosen


def _label_tokens(
    ax: Axes,
    above: np.ndarray,
    queries: Sequence[str],
    chosen: Sequence[int],
    *,
    below: np.ndarray,
    keys: Sequence[str],
) -> None:
    """Tokens at both ends of the lines, rotated by 90 degrees; queries without lines are grey."""
    ax.set_xticks(below, keys, rotation=90)
    ax.set_yticks([])
    upper = ax.secondary_xaxis("top")
    upper.set_xticks(above, queries, rotation=90)
    upper.set_xlabel(QUERY_AXIS, labelpad=8)
    for i, label in enumerate(upper.get_xticklabels()):
        label.set_color(INK if i in chosen else SOFT)
    ax.tick_params(labelcolor=INK)
    for axes in (ax, upper):
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)


def _alt_text(
    title: str,
    matrices: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    chosen_queries: Sequence[int],
    chosen_heads: Sequence[int],
) -> str:
    weights = matrices[np.ix_(chosen_heads, chosen_queries)].astype(np.float64).round(2)
    h, q, k = np.unravel_index(weights.argmax(), weights.shape)
    several = len(chosen_heads) > 1
    heads = f"{len(chosen_heads)} heads" if several else f"head {chosen_heads[0]}"
    query, key = queries[chosen_queries[int(q)]], keys[int(k)]
    alone = len(chosen_queries) == 1
    start = repr(query) if alone else f"{len(chosen_queries)} queries"
    strongest = f"the strongest ({weights[h, q, k]:.2f})"
    strongest += f" to {key!r}" if alone else f" from {query!r} to {key!r}"
    strongest += f" in head {chosen_heads[int(h)]}" if several else ""
    return titled(title, f"lines of {heads} from {start} to {len(keys)} keys, {strongest}.")
