"""Attention compared with gold word links."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from course_lib.alignment_error_rate import alignment_error_rate
from course_lib.viz.alt_text import set_alt_text, titled
from course_lib.viz.plots.heatmaps import as_matrix, plot_attention
from course_lib.viz.style import ACCENT, INK, figure_of, styled

Link = tuple[int, int]  # source index, target index
ROOM_FOR_WORDS = 1.0  # inches


def strongest_links(
    weights: Tensor | np.ndarray, targets: Collection[int], *, offset: int = 0
) -> set[Link]:
    """For each of these target words, the source word that its row attends to most.

    Args:
        weights: cross-attention (query, key).
        targets: indices of the target words, only those that have a gold link.
        offset: the row of target word t is t + offset; see `plot_alignment`.
    """
    strongest = as_matrix(weights).argmax(axis=1)
    return {(int(strongest[target + offset]), target) for target in targets}


def alignment_error(
    weights: Tensor | np.ndarray, gold: Collection[Link], *, offset: int = 0
) -> float:
    """Alignment error rate of one head on one sentence: 0 if its strongest links are the gold ones,
    1 if none is (Och and Ney 2003, with all gold links sure).

    Args:
        weights: cross-attention (query, key).
        gold: (source index, target index).
        offset: the row of target word t is t + offset; see `plot_alignment`.

    Raises:
        ValueError: there is no gold link.
    """
    found = strongest_links(weights, {target for _, target in gold}, offset=offset)
    return alignment_error_rate(found, gold)


@styled
def plot_alignment(
    weights: Tensor | np.ndarray,
    target_tokens: Sequence[str],
    source_tokens: Sequence[str],
    gold: Collection[Link],
    *,
    offset: int = 0,
    title: str = "Cross-attention and the gold alignment",
) -> Axes:
    """One head's cross-attention, the gold links framed, the error rate in the title.

    A decoder that reads ``<bos> the dog`` predicts ``the dog <eos>``: the row that *reads* a word
    looks for the source of the *next* one. So row t belongs to target word t, which it predicts,
    and should be labelled with that word. If you take the row that reads the word instead, you are
    off by one: ``offset=1`` shows this, with arrows to the cells that are right.

    Args:
        weights: (query, key), a row for each token of the decoder's input, from ``<bos>`` on.
        target_tokens: the word that each row predicts, ``<eos>`` included, if there is one.
        source_tokens: one for each column.
        gold: (source index, target index), without ``<bos>``, as in a pair's ``alignment``.
        offset: how many rows below its own a target word is looked up.
        title: which head it is.

    Raises:
        ValueError: weights that are not (query, key), no gold link, or one outside the weights.
    """
    matrix = as_matrix(weights)
    _check_gold(gold, matrix.shape, offset)
    right = alignment_error(matrix, gold)
    rate = alignment_error(matrix, gold, offset=offset)
    summary = f"alignment error rate {rate:.2f}"
    if offset:
        summary += f", {right:.2f} without the shift"
    ax = plot_attention(matrix, target_tokens, source_tokens, title=f"{title}\n{summary}")
    # Without room for the second line of the title and the legend, the cells would shrink.
    figure_of(ax).set_figheight(figure_of(ax).get_figheight() + ROOM_FOR_WORDS)
    if offset:
        handles = [_frame(ax, gold, offset, ink=INK, label=f"row that is compared ({offset:+d})")]
        handles.append(_frame(ax, gold, 0, ink=ACCENT, label="gold link"))
        _point(ax, gold, offset)
        figure_of(ax).legend(handles=handles, loc="outside lower left", ncols=2)
    else:
        _frame(ax, gold, 0, ink=ACCENT, label="gold link")
    return set_alt_text(
        ax,
        titled(
            title,
            f"heatmap of {matrix.shape[0]} queries by {matrix.shape[1]} keys with "
            f"{len(set(gold))} gold links framed, and the head's {summary}.",
        ),
    )


def _frame(ax: Axes, gold: Collection[Link], offset: int, *, ink: str, label: str) -> Patch:
    """Frame each link, a little inside its cell; returns the entry for the legend."""
    look: dict[str, Any] = {"fill": False, "linewidth": 2.5, "edgecolor": ink}
    for source, target in sorted(gold):
        corner = (source - 0.46, target + offset - 0.46)
        ax.add_patch(Rectangle(corner, 0.92, 0.92, **look, label=label))
    return Patch(**look, label=label)


def _point(ax: Axes, gold: Collection[Link], offset: int) -> None:
    """An arrow from each row that is compared to the right one."""
    towards = 1 if offset > 0 else -1
    for source, target in sorted(gold):
        below = target + offset - 0.22 * towards  # its number is not covered
        tip = target + 0.46 * towards
        arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 1, "linewidth": 1.6}
        ax.annotate("", (source, tip), xytext=(source, below), arrowprops=arrow)


def _check_gold(gold: Collection[Link], shape: tuple[int, ...], offset: int) -> None:
    n_queries, n_keys = shape
    if not gold:
        raise ValueError(
            "an alignment needs at least one gold link, got none: does this sentence have any?"
        )
    for source, target in gold:
        rows = (target, target + offset)
        if not (0 <= source < n_keys and all(0 <= row < n_queries for row in rows)):
            raise ValueError(
                f"a gold link must be (source index, target index) within {n_keys} keys and "
                f"{n_queries} queries, got {(source, target)} with offset {offset}: "
                "are the two indices swapped, or is the row of <eos> missing?"
            )
