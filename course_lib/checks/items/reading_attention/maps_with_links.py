"""The maps of two heads with gold links, for working out an error rate by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from course_lib.checks.items.reading_attention.rates_with_errors import Links, Sentence
from course_lib.viz import plot_heatmap
from course_lib.viz.alt_text import set_alt_text
from course_lib.viz.style import ACCENT, styled

SURE, POSSIBLE = "-", (0, (1, 1.2))  # line styles


@styled
def draw_maps(sentences: Mapping[str, Sentence], *, number: int) -> Axes:
    """One map for each head. Nothing is computed from them: that is for the learner to do.

    Args:
        sentences: of each head, by its name.
        number: of the sentence, in the table.
    """
    figure = Figure(figsize=(8.4, 4.6), layout="constrained")
    axes = figure.subplots(1, len(sentences), squeeze=False)[0]
    for ax, (name, sentence) in zip(axes, sentences.items(), strict=True):
        words = [str(n) for n in range(sentence.weights.shape[1])]
        plot_heatmap(
            sentence.weights,
            rows="target word that the row predicts",
            columns="source word",
            title=f"{name}, sentence {number}",
            value="weight",
            quantity="attention",
            row_labels=[*words, "<eos>"],
            column_labels=words,
            limits=(0.0, 1.0),
            ax=ax,
        )
        _frame(ax, sentence.sure, SURE)
        _frame(ax, sentence.possible - sentence.sure, POSSIBLE)
    names = (("sure link", SURE), ("link that is only possible", POSSIBLE))
    handles = [Patch(**_look(style), label=label) for label, style in names]
    figure.legend(handles=handles, loc="outside lower left", ncols=2)
    listed = " and ".join(sentences)
    alt = (
        f"Attention of {listed} in sentence {number}: a row for each word that is predicted, the "
        "last one for <eos>, and a column for each source word. The gold links are framed, "
        "those that are only possible with dots."
    )
    set_alt_text(figure, alt)
    first: Axes = axes[0]
    return first


def _look(style: Any) -> dict[str, Any]:
    return {"fill": False, "linewidth": 2.5, "edgecolor": ACCENT, "linestyle": style}


def _frame(ax: Axes, links: Links, style: Any) -> None:
    """Frame the cell of each link, a little inside."""
    for source, target in sorted(links):
        corner = (source - 0.45, target - 0.45)
        ax.add_patch(Rectangle(corner, 0.9, 0.9, **_look(style)))
