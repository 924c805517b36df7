"""Heatmaps of matrices. A query is a row, a key is a column; masked cells are hatched, not zero.

Cells that are not finite are hatched too, and the legend and the alt text say so.
"""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from torch import Tensor

from course_lib.viz.alt_text import extremes, set_alt_text, titled, value_range
from course_lib.viz.plots.attention_summary import (
    as_array,
    count_not_finite,
    describe_attention,
    mean_entropy,
)
from course_lib.viz.plots.colour_bars import add_colour_bar, add_words
from course_lib.viz.style import (
    HAIR,
    HATCHED,
    INK,
    PAGE,
    SOFT,
    WIDTH,
    Quantity,
    brightness,
    dress_labels,
    new_axes,
    palette,
    styled,
    written,
)

QUERY_AXIS = "query"
KEY_AXIS = "key"
WEIGHT_LIMITS = (0.0, 1.0)  # at the two ends of the palette
MOST_NUMBERED_CELLS = 144
ALIKE = 1e-3  # the most by which the weights of a uniform row differ
FAINT = 0.3  # a weight on whose colour grey letters can be read
MOST_COLUMNS_OF_TWO_DECIMALS = 10
LINE_HEIGHT = 0.15  # inches that a line of text needs
CHARACTER_WIDTH = 0.09
MOST_WIDTH = 6.4  # inches that cells are widened to, with the words before the rows
WIDEST = 2.0  # times its height is the width of a cell, at most
NEAREST_UPRIGHT = 0.13  # inches between small letters of `plot_heads`
MOST_NAMED_QUERIES = 16  # of `plot_heads`: so many rows are as tall as their words
LONGEST_TOKEN = 40  # characters of a label of `plot_heads`: longer ones would leave no room


@styled
def plot_heatmap(
    values: Tensor | np.ndarray,
    *,
    rows: str,
    columns: str,
    title: str,
    value: str = "value",
    quantity: Quantity = "value",
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    mask: Tensor | np.ndarray | None = None,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Any matrix: positional encodings, scores, dot products, norms.

    Zero has the colour of the page. Values on both sides of it get a colour for each side. A few
    labelled cells are numbered, and need no colour bar; equal scales of one figure share theirs.

    Args:
        values: (rows, columns).
        rows: what a row is.
        columns: what a column is.
        title: what the picture shows.
        value: what the colour means, with its unit.
        quantity: what is shown, which has its own colour: "attention" (weights), "similarity",
            "leakage" (what depends on what), "count" (also shares and indices) or any other
            "value".
        row_labels: one for each row; by default the indices.
        column_labels: one for each column; by default the indices.
        mask: True = drawn, False = hatched; broadcastable to the values.
        limits: the values at the two ends of the palette; by default zero and the farthest value.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: not a matrix, or labels or a mask that do not fit it.
        TypeError: a mask that is not boolean.
    """
    matrix = as_matrix(values)
    allowed = visible(matrix, mask)
    shown, not_finite = finite_only(allowed)
    labels = (row_labels, column_labels)
    for name, given, size in zip((rows, columns), labels, matrix.shape, strict=True):
        if given is not None and len(given) != size:
            raise ValueError(
                f"expected {size} labels for the axis {name!r} of values with shape "
                f"{matrix.shape}, got {len(given)}: is the matrix transposed?"
            )
    labelled = row_labels is not None or column_labels is not None
    cell = cell_size(matrix.shape)
    wide = cell if ax else _room_for_words(cell, row_labels or (), column_labels or ())
    if ax is None and labelled:
        ax = new_axes(
            width=max(4.6, wide * matrix.shape[1] + 2.6),
            height=max(2.6, cell * len(matrix) + 1.6),
        )
    ax = ax or new_axes()
    image = draw_matrix(ax, shown, limits, quantity=quantity)
    ax.set_aspect(cell / wide if labelled else "auto")
    ax.set(title=title, xlabel=columns, ylabel=rows)
    dress_labels(ax)
    _label_axes(ax, row_labels, column_labels, cell=(cell, wide))
    reasons = hatching(masked=bool(np.ma.is_masked(allowed)), not_finite=not_finite > 0)
    if labelled and matrix.size <= MOST_NUMBERED_CELLS:
        _write_numbers(ax, image, shown, uniform=quantity == "attention")
        add_words(ax, f"{value} ({reasons})" if reasons else value)
    else:
        add_colour_bar(ax, image, f"{value}\n({reasons})" if reasons else value)
    axes = f"{rows} ({len(matrix)} rows) and {columns} ({matrix.shape[1]} columns)"
    drawn = shown.compressed()
    ends = np.array([drawn.min(), drawn.max()]) if drawn.size else drawn
    words = f"{value} by {axes}: {value_range(ends)}.{count_not_finite(not_finite)}"
    return set_alt_text(ax, titled(title, words))


@styled
def plot_attention(
    weights: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    mask: Tensor | np.ndarray | None = None,
    title: str = "Attention weights",
    ax: Axes | None = None,
) -> Axes:
    """One head's weights: each row shows which keys one query attends to, and sums to one.

    A weight has the same colour in all pictures, so that they can be compared.

    Args:
        weights: (query, key).
        query_tokens: one for each row.
        key_tokens: one for each column.
        mask: True = may attend, broadcastable to (query, key); leading axes of size 1 are
            dropped, so the model's own masks fit.
        title: which head it is.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: weights that are not (query, key), or that are transposed.
    """
    matrix = as_matrix(weights)
    check_orientation(matrix, len(query_tokens), len(key_tokens))
    ax = plot_heatmap(
        matrix,
        rows=QUERY_AXIS,
        columns=KEY_AXIS,
        title=title,
        value="weight",
        quantity="attention",
        row_labels=query_tokens,
        column_labels=key_tokens,
        mask=mask,
        limits=WEIGHT_LIMITS,
        ax=ax,
    )
    return set_alt_text(ax, describe_attention(matrix, query_tokens, key_tokens))


@styled
def plot_heads(
    weights: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    mask: Tensor | np.ndarray | None = None,
    names: Sequence[str] | None = None,
    title: str = "Attention weights of every head",
) -> Figure:
    """All heads of a layer, small, on the same scale. Heads count from 0, as in ``weights[head]``.

    Rows that attend to all keys alike are faded.

    Args:
        weights: (heads, query, key).
        query_tokens: one for each row.
        key_tokens: one for each column.
        mask: True = may attend, the same for every head, as in `plot_attention`.
        names: one for each head, such as its question; by default "head 0", …
        title: which layer it is.

    Raises:
        ValueError: weights that are not (heads, query, key) or are transposed, or not one name
            for each head.
    """
    heads = as_array(weights)
    if heads.ndim != 3:
        raise ValueError(
            f"weights must have shape (heads, query, key), got {heads.shape}: "
            "pick one layer and one sentence first"
        )
    n_heads, n_queries, n_keys = heads.shape
    names = [f"head {head}" for head in range(n_heads)] if names is None else names
    if len(names) != n_heads:
        raise ValueError(f"expected a name for each of the {n_heads} heads, got {len(names)}")
    n_rows = math.ceil(n_heads / 4)
    n_columns = math.ceil(n_heads / n_rows)
    query_tokens, key_tokens = map(_shortened, (query_tokens, key_tokens))
    longest = max(len(token) for token in [*query_tokens, *key_tokens])
    # Room for tokens, head titles and axis labels, then cells as square as possible.
    cell = (WIDTH - 1.8 - 0.075 * longest) / (n_columns * n_keys)
    tall = max(cell, LINE_HEIGHT) if n_queries <= MOST_NAMED_QUERIES else cell
    height = n_rows * (tall * n_queries + 0.35) + 1.0 + 0.075 * longest
    figure = Figure(figsize=(WIDTH, max(2.4, height)), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
    for ax in grid.flat[n_heads:]:
        ax.set_axis_off()
    not_finite = 0
    for head, (ax, matrix) in enumerate(zip(grid.flat, heads, strict=False)):
        check_orientation(matrix, len(query_tokens), len(key_tokens))
        shown, count = finite_only(visible(matrix, mask))
        not_finite += count
        image = draw_matrix(ax, shown, WEIGHT_LIMITS, quantity="attention")
        _fade_uniform_rows(ax, shown)
        ax.set_title(names[head], fontsize=10, pad=4)
        dress_labels(ax)
        near = NEAREST_UPRIGHT <= cell < LINE_HEIGHT
        _label_axes(ax, query_tokens, key_tokens, cell=(tall, LINE_HEIGHT if near else cell))
        ax.tick_params(axis="x", labelsize=9 if near else 10)
        # The lowest head of each column of the grid carries the token labels.
        ax.tick_params(labelbottom=head + n_columns >= n_heads)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13)
    figure.supxlabel(KEY_AXIS, fontsize=11, color=SOFT)
    figure.supylabel(QUERY_AXIS, fontsize=11, color=SOFT)
    reasons = hatching(masked=mask is not None, not_finite=not_finite > 0)
    meaning = f"weight ({reasons})" if reasons else "weight"
    figure.colorbar(image, ax=grid, label=meaning, aspect=30, pad=0.02)
    entropies = {f"head {i}": mean_entropy(matrix) for i, matrix in enumerate(heads)}
    known = {name: number for name, number in entropies.items() if not math.isnan(number)}
    ends = extremes(known, 2) if known else "without a value"
    words = f"mean entropy in nats by head, of {n_heads}: {ends}.{count_not_finite(not_finite)}"
    return set_alt_text(figure, titled(title, words))


def as_matrix(values: Tensor | np.ndarray) -> np.ndarray:
    """Values with exactly two axes.

    Raises:
        ValueError: more or fewer axes.
    """
    matrix = as_array(values)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"a heatmap needs values with shape (rows, columns), got {matrix.shape}: "
            "pick one sentence and one head first, such as weights[0, 0]"
        )
    return matrix


def check_orientation(weights: np.ndarray, n_queries: int, n_keys: int) -> None:
    """Refuse transposed weights: a picture of them would show the opposite.

    Raises:
        ValueError: the shape is not (query, key), or the columns sum to one and the rows do not.
    """
    if weights.shape != (n_queries, n_keys):
        transposed = weights.shape == (n_keys, n_queries)
        cause = "are they transposed?" if transposed else "do the tokens belong to these weights?"
        raise ValueError(
            f"weights must have shape (query, key) = ({n_queries}, {n_keys}), "
            f"got {weights.shape}: {cause}"
        )
    if not _sum_to_one(weights, axis=1) and _sum_to_one(weights, axis=0):
        raise ValueError(
            "each row of the weights (a query) must sum to one, but here each column does: "
            "are they transposed, or was the softmax taken over the queries?"
        )


def visible(matrix: np.ndarray, mask: Tensor | np.ndarray | None) -> np.ma.MaskedArray:
    """The matrix with cells hidden where the mask is False (where NumPy's own masks are True).

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not broadcast to the matrix.
    """
    if mask is None:
        return np.ma.MaskedArray(matrix)
    allowed = as_array(mask)
    if allowed.dtype != np.bool_:
        raise TypeError(
            f"the mask must be boolean with True = may attend, got {allowed.dtype}: "
            "is it an additive mask? use mask == 0"
        )
    try:
        allowed = np.broadcast_to(allowed.reshape(allowed.shape[-2:]), matrix.shape)
    except ValueError:
        raise ValueError(
            f"the mask must broadcast to shape {matrix.shape}, got {allowed.shape}: "
            "does it still have a batch dimension? pick one sentence, such as mask[0]"
        ) from None
    return np.ma.MaskedArray(matrix, mask=~allowed)


def finite_only(shown: np.ma.MaskedArray) -> tuple[np.ma.MaskedArray, int]:
    """The matrix with the cells hidden that are not finite, and how many the mask had left."""
    finite = np.ma.masked_invalid(shown)
    return finite, int(np.ma.count_masked(finite) - np.ma.count_masked(shown))


def hatching(*, masked: bool, not_finite: bool) -> str:
    """What hatched cells mean, for the legend: "hatched: masked"; empty if there are none."""
    reasons = ["masked"] * masked + ["not finite"] * not_finite
    return f"hatched: {' or '.join(reasons)}" if reasons else ""


def draw_matrix(
    ax: Axes,
    shown: np.ma.MaskedArray,
    limits: tuple[float, float] | None,
    *,
    quantity: Quantity = "value",
) -> AxesImage:
    """The colours only: row 0 on top; cells that are hidden or not finite are hatched."""
    drawn = finite_only(shown)[0].compressed()
    ends = (float(drawn.min()), float(drawn.max())) if drawn.size else (0.0, 0.0)
    low, high = limits or (min(0.0, ends[0]), ends[1])
    signed = low < 0
    if signed:
        high = max(-low, high)
        low = -high
    if low == high:
        high = low + 1
    # Hidden cells are left out of the image, so the hatched background of the axes shows there.
    ax.patch.set(**(HATCHED if np.ma.is_masked(shown) else {}), linewidth=0)
    ax.spines[:].set(visible=True, color=HAIR, linewidth=0.8)  # zero is the page: say where it ends
    colours = palette(quantity, signed=signed)
    return ax.imshow(
        shown, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="nearest"
    )


def _sum_to_one(weights: np.ndarray, *, axis: int) -> bool:
    """True for a softmax along the axis; a fully masked row or column sums to zero."""
    sums = weights.sum(axis=axis)
    return bool(np.all(np.isclose(sums, 1, atol=1e-2) | np.isclose(sums, 0, atol=1e-6)))


def cell_size(shape: tuple[int, ...]) -> float:
    """Edge of a square cell in inches, such that the whole matrix fits the width of a notebook."""
    n_rows, n_columns = shape
    return min(0.55, 5.4 / n_columns, 7.4 / n_rows)


def _fade_uniform_rows(ax: Axes, shown: np.ma.MaskedArray) -> None:
    """Lay the page's colour over the rows that attend to all keys alike, which say nothing."""
    ranges = np.ma.filled(np.ma.ptp(shown, axis=1), np.inf)
    for row, (width, keys) in enumerate(zip(ranges, shown.count(axis=1), strict=True)):
        if width < ALIKE and keys > 1:
            ax.axhspan(row - 0.5, row + 0.5, facecolor=PAGE, alpha=0.6, linewidth=0)


def _shortened(tokens: Sequence[str]) -> list[str]:
    cut = LONGEST_TOKEN - 1
    return [t if len(t) <= LONGEST_TOKEN else f"{t[:cut]}…" for t in tokens]


def _room_for_words(cell: float, rows: Sequence[str], columns: Sequence[str]) -> float:
    """The width of a cell in inches: more than its height, where words then stand horizontally."""
    longest = max((len(label) + label.isdigit() for label in columns), default=0)
    wide = CHARACTER_WIDTH * longest + 0.05
    left = CHARACTER_WIDTH * max(map(len, rows), default=0)
    fits = wide * len(columns) + left <= MOST_WIDTH and wide <= WIDEST * cell
    return max(cell, wide) if fits else cell


def _label_axes(
    ax: Axes,
    row_labels: Sequence[str] | None,
    column_labels: Sequence[str] | None,
    *,
    cell: tuple[float, float],
) -> None:
    """Label the axes; long labels are rotated, and where cells are tiny some are left out.

    Args:
        ax: where.
        row_labels, column_labels: the labels.
        cell: height and width of a cell, in inches.
    """
    row_step, column_step = (math.ceil(LINE_HEIGHT / side) for side in cell)
    if row_labels is not None:
        ax.set_yticks(range(0, len(row_labels), row_step), row_labels[::row_step])
    if column_labels is not None:
        ax.set_xticks(range(0, len(column_labels), column_step), column_labels[::column_step])
        # Without a blank between them, neighbouring numbers read as one.
        longest = max(len(label) + label.isdigit() for label in column_labels)
        if longest * CHARACTER_WIDTH > cell[1] * column_step:
            ax.tick_params(axis="x", labelrotation=90)
    ax.tick_params(length=0)


def _write_numbers(ax: Axes, image: AxesImage, shown: np.ma.MaskedArray, *, uniform: bool) -> None:
    """Each number in its cell, but those that would be written as zero.

    Args:
        ax, image: where, and on which colours.
        shown: the numbers.
        uniform: numbers no larger than the mean of their row, 1 / K of weights, are muted.
    """
    decimals = 1 if shown.shape[1] > MOST_COLUMNS_OF_TWO_DECIMALS else 2
    keys = np.maximum(shown.count(axis=1), 1)
    for (row, column), number in np.ma.ndenumerate(shown):
        text = written(number.item(), f".{decimals}f" if shown.dtype.kind == "f" else "d")
        if not text:
            continue
        dark = brightness(image.cmap(image.norm(number))) < 0.55
        muted = uniform and number < min(FAINT, 1.01 / keys[row])
        colour = PAGE if dark else SOFT if muted else INK
        ax.text(column, row, text, ha="center", va="center", fontsize=9, color=colour)
