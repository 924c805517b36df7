"""Lesson 02: token embedding plus positional encoding."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional as F

from course_lib.errors import CourseError
from course_lib.model import TransformerEmbedding
from course_lib.viz.plots.heatmaps import draw_matrix
from course_lib.viz.style import LINES, STYLE, styled
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

LAST_POSITION = 50  # of the slider, at most
BAR = 0.36  # of the height of a strip


def embedding_widget(
    embedding: TransformerEmbedding, tokens: Mapping[str, int]
) -> InteractiveFigure:
    """Pick a token and a position; see both vectors, their sum, and their norms.

    Args:
        embedding: that of a model, trained or not.
        tokens: token → id, for the tokens to choose from.

    Raises:
        CourseError: there are no tokens, or an id is outside the vocabulary.
    """
    table = embedding.tokens.weight.detach().cpu()
    encodings = embedding.positions.table.detach().cpu()
    if not tokens or not 0 <= min(tokens.values()) <= max(tokens.values()) < len(table):
        raise CourseError(
            f"tokens must map at least one token to an id from 0 to {len(table) - 1}, got "
            f"{dict(tokens)}: do tokenizer and embedding belong together?"
        )
    root = table.size(1) ** 0.5

    def draw(token: str, position: int = 3, times_root_d: bool = True) -> DrawnFigure:
        vector = table[tokens[token]] * (root if times_root_d else 1.0)  # (D,)
        encoding = encodings[position]
        scale = f" × {root:.1f}" if times_root_d else ""
        title = f"{token!r}{scale} at position {position}"
        cosine = F.cosine_similarity(vector, vector + encoding, dim=0)
        return _draw_sum(token, vector, encoding, title=title), (
            f"{title}: the norm of the token's vector is {vector.norm():.1f}, that of the "
            f"position's {encoding.norm():.1f}, that of the sum {(vector + encoding).norm():.1f}. "
            f"The cosine similarity of token and sum is {cosine:.2f}."
        )

    last = min(LAST_POSITION, len(encodings) - 1)
    return interact(draw, token=list(tokens), position=(0, last), times_root_d=True)


@styled
def _draw_sum(token: str, vector: Tensor, encoding: Tensor, *, title: str) -> Figure:
    """Both vectors and their sum as strips of colour on the same scale, and the norms of the two.

    Args:
        token: labels the strips.
        vector: that of the token, (D,), as it is added: after × √d_model, if used.
        encoding: that of the position, (D,).
        title: what the picture shows.
    """
    parts = {"token": vector, "+ position": encoding, "= sum": vector + encoding}
    largest = max(float(part.abs().max()) for part in parts.values())
    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    *strips, bars = figure.subplots(1, 4, sharey=True, width_ratios=[1, 1, 1, 0.9])
    for ax, (name, part) in zip(strips, parts.items(), strict=True):
        image = draw_matrix(ax, np.ma.MaskedArray(part[None].numpy()), (-largest, largest))
        ax.set_title(name, fontsize=11)
        ax.tick_params(length=0)
    strips[1].set_xlabel("column (of d_model)")
    strips[0].set_ylabel("token")
    strips[0].set_yticks([0], [token])
    figure.colorbar(image, ax=strips, label="value", location="bottom", aspect=50, shrink=0.6)
    for i, (name, part) in enumerate({"token": vector, "position": encoding}.items()):
        hatch = "////" if i else None  # so that colour is not needed to tell them apart
        look = {"color": LINES[i], "hatch": hatch, "edgecolor": "white"}
        bars.barh((i - 0.5) * BAR, float(part.norm()), BAR, label=name, **look)
    bars.set_title("norms", fontsize=11)
    bars.set_xlabel("norm of the vector")
    bars.grid(visible=True, axis="x")
    bars.tick_params(axis="y", length=0)
    # Beside the title, where it costs no room.
    figure.legend(*bars.get_legend_handles_labels(), loc="upper right", ncols=2)
    figure.suptitle(title, x=0.01, ha="left", fontsize=STYLE["axes.titlesize"])
    return figure
