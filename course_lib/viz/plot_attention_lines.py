"""Figures 3, 4 and 5 of the paper: attention as lines from word to word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from torch import Tensor

from course_lib.viz.curves import line_look
from course_lib.viz.heatmaps import KEY_AXIS, QUERY_AXIS, check_orientation
from course_lib.viz.attention_summary import as_array
from course_lib.viz.style import new_axes, styled
from course_lib.viz.alt_text import tell

INVISIBLE = 0.5 / 255  # a weight below it would not colour a single pixel
LANES = 0.7  # of a word's width; within it each head has a lane of its own


@styled
def plot_attention_lines(
    weights: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    queries: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    opaque: float = 1.0,
    title: str = "Who reads whom",
    ax: Axes | None = None,
) -> Axes:
    """A line from each query above to each key below: its colour is the head, its opacity the
    weight.

    Figure 3 is one query and all heads; Figure 4 one head in full, then one query and two heads;
    Figure 5 one head in full, twice. A head keeps its colour in all of them, and heads that meet at
    a word stand there in their order, from left to right.

    Args:
        weights: (heads, query, key).
        query_tokens: one for each row of a head.
        key_tokens: one for each column of a head.
        queries: indices of the queries whose lines are drawn; by default all.
        heads: indices of the heads that are drawn; by default all.
        opaque: the weight of a line in full colour. The default keeps pictures comparable; less
            shows more of heads that read widely.
        title: what is seen.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: weights that are not (heads, query, key), a query or a head that they lack, or
            an opaque weight that is not above 0.
    """
    matrices = as_array(weights)
    if matrices.ndim != 3:
        raise ValueError(
            f"weights must have shape (heads, query, key), got {matrices.shape}: "
            "pick one layer and one sentence first, such as attention.encoder[4, 0]"
        )
    if not opaque > 0:
        raise ValueError(
            f"opaque must be a weight above 0, got {opaque}: 1 is the largest there is"
        )
    n_heads, n_queries, n_keys = matrices.shape
    for matrix in matrices:
        check_orientation(matrix, len(query_tokens), len(key_tokens))
    asking = _chosen("queries", queries, n_queries)
    drawn = _chosen("heads", heads, n_heads)
    width = max(n_queries, n_keys)
    above = (np.arange(n_queries) + 0.5) * width / n_queries
    below = (np.arange(n_keys) + 0.5) * width / n_keys
    colours = [line_look(head, n_heads)[0] for head in drawn]
    longest = max(map(len, [*query_tokens, *key_tokens]))
    ax = ax or new_axes(width=max(5.0, 1.6 + 0.36 * width), height=2.9 + 0.16 * longest)
    for i, (head, colour) in enumerate(zip(drawn, colours, strict=True)):
        lane = LANES * ((i + 0.5) / len(drawn) - 0.5)
        lines = [
            (((above[q] + lane, 1.0), (below[k] + lane, 0.0)), float(matrices[head, q, k]))
            for q in asking
            for k in range(n_keys)
            if matrices[head, q, k] / opaque >= INVISIBLE
        ]
        ax.add_collection(
            LineCollection(
                [ends for ends, _ in lines],
                colors=[to_rgba(colour, min(1.0, weight / opaque)) for _, weight in lines],
                linewidths=2.2,
                label=f"head {head}",
            )
        )
    _name_words(ax, above, query_tokens, asking, below=below, keys=key_tokens)
    ax.set(title=title, xlim=(0, width), ylim=(0, 1), xlabel=KEY_AXIS)
    if len(drawn) > 1:
        handles = [
            Line2D([], [], color=colour, linewidth=3, label=f"head {head}")
            for head, colour in zip(drawn, colours, strict=True)
        ]
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return tell(ax, _words(title, matrices, query_tokens, key_tokens, asking, drawn))


def _chosen(name: str, given: Sequence[int] | None, size: int) -> list[int]:
    chosen = list(range(size)) if given is None else list(given)
    if not chosen or not all(0 <= i < size for i in chosen):
        raise ValueError(
            f"{name} must be indices from 0 to {size - 1}, at least one, got {chosen}: "
            "leave them out to draw all"
        )
    return chosen


def _name_words(
    ax: Axes,
    above: np.ndarray,
    queries: Sequence[str],
    asking: Sequence[int],
    *,
    below: np.ndarray,
    keys: Sequence[str],
) -> None:
    """Words upright at both ends of the lines; queries that draw none are pale."""
    ax.set_xticks(below, keys, rotation=90)
    ax.set_yticks([])
    upper = ax.secondary_xaxis("top")
    upper.set_xticks(above, queries, rotation=90)
    upper.set_xlabel(QUERY_AXIS)
    for i, label in enumerate(upper.get_xticklabels()):
        label.set_color("black" if i in asking else "#999999")
    for axes in (ax, upper):
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)


def _words(
    title: str,
    matrices: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    asking: Sequence[int],
    drawn: Sequence[int],
) -> str:
    some = matrices[np.ix_(drawn, asking)].astype(np.float64).round(2)
    h, q, k = np.unravel_index(some.argmax(), some.shape)
    heads = f"head {drawn[0]}" if len(drawn) == 1 else f"{len(drawn)} heads"
    return (
        f"{title}: lines of {heads} from {len(asking)} of {len(queries)} queries to {len(keys)} "
        f"keys. The heaviest, {some[h, q, k]:.2f}, goes from {queries[asking[int(q)]]!r} to "
        f"{keys[int(k)]!r} in head {drawn[int(h)]}."
    )
