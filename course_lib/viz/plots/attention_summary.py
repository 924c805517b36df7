"""Attention weights summarised for alt texts and captions: entropy, and the strongest keys."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor


def as_array(values: Tensor | ArrayLike) -> np.ndarray:
    """A NumPy array from a tensor of any device and precision, with or without a gradient."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        return (values.float() if values.is_floating_point() else values).numpy()
    return np.asarray(values)


def entropy(weights: Tensor | np.ndarray) -> np.ndarray:
    """Entropy of each query's weights in nats: 0 for a single key, ln n for n equal weights.

    Args:
        weights: (…, query, key), rows that sum to one; a fully masked row gives 0.

    Returns:
        (…, query).
    """
    rows = as_array(weights).astype(np.float64)
    return -(rows * np.log(np.where(rows > 0, rows, 1.0))).sum(axis=-1) + 0.0


def top_keys(row: Tensor | np.ndarray, key_tokens: Sequence[str], *, count: int = 3) -> str:
    """The keys that one query attends to most, such as ``'Hund' 0.71, 'der' 0.20, '.' 0.05``.

    Keys whose weights agree to two decimals keep the order of the sentence.

    Args:
        row: (key,), the weights of one query.
        key_tokens: one for each weight.
        count: how many keys are listed.
    """
    rounded = as_array(row).astype(np.float64).round(2)
    order = np.argsort(-rounded, kind="stable")[:count]
    return ", ".join(f"{key_tokens[int(i)]!r} {rounded[i]:.2f}" for i in order)


def describe_attention(
    weights: Tensor | np.ndarray, query_tokens: Sequence[str], key_tokens: Sequence[str]
) -> str:
    """Alt text of a heatmap: its size, its mean entropy, and its largest weight.

    Weights that are not finite are counted, and left out of the rest.

    Args:
        weights: (query, key).
        query_tokens: one for each row.
        key_tokens: one for each column.
    """
    mean = mean_entropy(weights)
    rows = "no row of finite weights" if np.isnan(mean) else f"mean entropy {mean:.2f} nats"
    words = (
        f"Heatmap of {len(query_tokens)} queries by {len(key_tokens)} keys, {rows}. "
        f"{largest_weight(weights, query_tokens, key_tokens)}"
    )
    return words + count_not_finite(int((~np.isfinite(as_array(weights))).sum()))


def mean_entropy(weights: Tensor | np.ndarray) -> float:
    """The mean entropy of the rows of finite weights, in nats; NaN if there is none.

    Args:
        weights: (query, key).
    """
    finite = np.isfinite(as_array(weights)).all(axis=-1)
    with np.errstate(invalid="ignore"):  # in the rows that are left out
        rows = entropy(weights)[finite]
    return float(rows.mean()) if rows.size else float("nan")


def count_not_finite(count: int) -> str:
    """A sentence such as " 2 cells are not finite." at the end of an alt text; empty for 0."""
    if not count:
        return ""
    return f" {count} cell{' is' if count == 1 else 's are'} not finite."


def largest_weight(
    weights: Tensor | np.ndarray, query_tokens: Sequence[str], key_tokens: Sequence[str]
) -> str:
    """One sentence, such as "The largest weight is 0.71: 'dog' attends to 'Hund'." in an alt text.

    Weights that are not finite are left out.

    Args:
        weights: (query, key).
        query_tokens: one for each row.
        key_tokens: one for each column.
    """
    matrix = as_array(weights)
    finite = np.isfinite(matrix)
    if not finite.any():
        return "No weight is finite."
    rounded = np.where(finite, matrix.astype(np.float64).round(2), -np.inf)
    query, key = np.unravel_index(rounded.argmax(), matrix.shape)
    return (
        f"The largest weight is {matrix[query, key]:.2f}: {query_tokens[int(query)]!r} attends to "
        f"{key_tokens[int(key)]!r}."
    )
