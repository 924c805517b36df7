"""The input of the first block: token embedding plus positional encoding, drawn as a sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.viz.alt_text import set_alt_text
from course_lib.viz.plots.heatmaps import as_matrix, draw_matrix, visible
from course_lib.viz.style import LINES, STYLE, styled

BAR = 0.36  # of a row


@styled
def plot_sum(
    tokens: Sequence[str],
    token_vectors: Tensor | np.ndarray,
    position_vectors: Tensor | np.ndarray,
    *,
    title: str = "Token plus position",
) -> Figure:
    """Both parts and their sum as strips of colour on the same scale, and the norms of the parts.

    Args:
        tokens: one for each row.
        token_vectors: (position, d_model), as they are added: after × √d_model, if used.
        position_vectors: (position, d_model).
        title: what the picture shows.

    Raises:
        ValueError: parts of different shapes, or a number of rows other than that of the tokens.
    """
    token, position = as_matrix(token_vectors), as_matrix(position_vectors)
    if token.shape != position.shape or len(token) != len(tokens):
        raise ValueError(
            f"both parts must have shape ({len(tokens)}, d_model), a row for each token, got "
            f"{token.shape} and {position.shape}: is a batch dimension left, or are there more "
            "positions than tokens?"
        )
    parts = {"token": token, "+ position": position, "= sum": token + position}
    largest = max(float(np.abs(part).max()) for part in parts.values())
    figure = Figure(figsize=(9.6, 2.4 + 0.28 * len(tokens)), layout="constrained")
    *strips, bars = figure.subplots(1, 4, sharey=True, width_ratios=[1, 1, 1, 0.9])
    for ax, (name, part) in zip(strips, parts.items(), strict=True):
        image = draw_matrix(ax, visible(part, None), (-largest, largest))
        ax.set_title(name, fontsize=11)
        ax.tick_params(length=0)
    strips[1].set_xlabel("column (of d_model)")
    strips[0].set_ylabel("token")
    strips[0].set_yticks(range(len(tokens)), tokens)
    figure.colorbar(image, ax=strips, label="value", location="bottom", aspect=50, shrink=0.6)
    addends = {"token": token, "position": position}
    norms = {name: np.linalg.norm(part, axis=1) for name, part in addends.items()}
    _draw_norms(bars, norms)
    # Beside the title, where it costs no room.
    figure.legend(*bars.get_legend_handles_labels(), loc="upper right", ncols=2)
    figure.suptitle(title, x=0.01, ha="left", fontsize=STYLE["axes.titlesize"])
    return set_alt_text(
        figure,
        f"{title}: strips of {len(tokens)} tokens by {token.shape[1]} columns. The norm of a "
        f"token's vector is {norms['token'].mean():.3g} on average, that of a position's "
        f"{norms['position'].mean():.3g}.",
    )


def _draw_norms(ax: Axes, norms: dict[str, np.ndarray]) -> None:
    for i, (name, values) in enumerate(norms.items()):
        rows = np.arange(len(values)) + (i - 0.5) * BAR
        hatch = "////" if i else None  # so that colour is not needed to tell them apart
        ax.barh(rows, values, BAR, color=LINES[i], hatch=hatch, edgecolor="white", label=name)
    ax.set_title("norms", fontsize=11)
    ax.set_xlabel("norm of the vector")
    ax.grid(visible=True, axis="x")
    ax.tick_params(axis="y", length=0)
