"""How much of a batch is padding: tokens, and the pads that fill up the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from course_lib.viz.alt_text import set_alt_text, titled
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.plots.attention_summary import as_array
from course_lib.viz.style import HATCHED, PAGE, STYLE, styled

GAP = 2.0  # rows left free between two batches
PAD = HATCHED | {"linewidth": 0.0}
TOKEN = "german"  # the source's colour
Batches = Sequence[Tensor | np.ndarray]


def padding_share(batches: Batches, pad_id: int) -> float:
    """The share of the tokens in all batches that is padding, from 0 to 1.

    Args:
        batches: token ids, (B, S) each.
        pad_id: the id that fills up short sentences.

    Raises:
        ValueError: there is no batch, or one is not (batch, length).
    """
    pads = [as_array(batch) == pad_id for batch in batches]
    for pad in pads:
        if pad.ndim != 2 or 0 in pad.shape:
            raise ValueError(
                f"each batch must be token ids of shape (batch, length), got {pad.shape}: "
                "pass a list of batches, one side of them, such as [b.source for b in batches]"
            )
    if not pads:
        raise ValueError("expected at least one batch, got none: did an iterator run out?")
    return float(sum(pad.sum() for pad in pads) / sum(pad.size for pad in pads))


@styled
def plot_padding(
    orders: Mapping[str, Batches], pad_id: int, *, title: str = "Padding and text"
) -> Figure:
    """The same source sentences batched in several ways, side by side, on the same scale.

    Args:
        orders: name, such as "as they come" or "bucketed" → its batches of token ids (B, S).
        pad_id: the id that fills up short sentences.
        title: what the picture shows.

    Raises:
        ValueError: nothing to draw, or a batch that is not (batch, length).
    """
    if not orders:
        raise ValueError("expected at least one way to batch, got none: pass {name: batches}")
    shares = {name: padding_share(batches, pad_id) for name, batches in orders.items()}
    figure = Figure(figsize=(max(5.0, 0.2 + 3.38 * len(orders)), 4.8), layout="constrained")
    columns = figure.subplots(1, len(orders), squeeze=False, sharex=True, sharey=True)[0]
    width, height = 0.0, 0.0
    for ax, (name, batches) in zip(columns, orders.items(), strict=True):
        n_tokens = sum(as_array(batch).size for batch in batches)
        size = _draw_batches(ax, batches, pad_id)
        width, height = max(width, size[0]), max(height, size[1])
        ax.set_xlabel("position in the row")
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_title(f"{name}\n{n_tokens:,} tokens, {shares[name]:.1%} padding", fontsize=11)
    figure.suptitle(title, x=0.01, ha="left", fontsize=STYLE["axes.titlesize"])
    columns[0].set(xlim=(0, width), ylim=(height, 0))  # shared with the others
    columns[0].set_yticks([])  # rows in the gaps between batches are not sentences
    columns[0].set_ylabel("sentences, batch below batch")
    handles = [Patch(color=COLOURS[TOKEN].light, label="token"), Patch(**PAD, label="pad")]
    figure.legend(handles=handles, loc="outside lower left", ncols=2)
    listed = ", ".join(f"{share:.1%} ({name})" for name, share in shares.items())
    return set_alt_text(figure, titled(title, f"share of the tokens that is padding: {listed}."))


def _draw_batches(ax: Axes, batches: Batches, pad_id: int) -> tuple[float, float]:
    """Each batch as a hatched block with its real tokens drawn on top.

    Returns the width and the height of everything drawn.
    """
    top, width = 0.0, 0.0
    for batch in batches:
        real = as_array(batch) != pad_id
        n_rows, length = real.shape
        ax.add_patch(Rectangle((0, top), length, n_rows, **PAD))
        ax.imshow(
            np.ma.MaskedArray(np.zeros(real.shape), mask=~real),
            cmap=ListedColormap([COLOURS[TOKEN].light], name=TOKEN),
            extent=(0, length, top + n_rows, top),
            aspect="auto",
            interpolation="nearest",
            zorder=2,  # above the block: matplotlib would put images below it
        )
        seams = np.arange(top + 1, top + n_rows)  # between two sentences
        ax.hlines(seams, 0, length, color=PAGE, linewidth=0.8, zorder=3)
        top, width = top + n_rows + GAP, max(width, length)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return width, top - GAP
