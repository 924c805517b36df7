"""Arguments of attention that cannot be right, and what is wrong with them.

Nothing is computed here: whoever reads how attention works can skip this file.
"""

import torch
from torch import Tensor

from course_lib.model.cache import AttentionCache


def check_mask(mask: Tensor, scores_shape: tuple[int, ...]) -> None:
    """Refuse a mask that does not fit scores of shape (…, query, key).

    Missing axes are refused even where PyTorch would broadcast them: a (batch, key) mask would pass
    for (query, key) whenever a batch happens to have as many rows as there are queries.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not have the axes of the scores, of the same size or 1.
    """
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be boolean with True = may attend, got {mask.dtype}: "
            "is it an additive or a 0/1 mask? compare it first, as in tokens != pad_id"
        )
    shape = tuple(mask.shape)
    if not _fits(shape, scores_shape):
        names = "(batch, heads, query, key) = " if len(scores_shape) == 4 else ""
        raise ValueError(
            f"mask must broadcast axis by axis to the scores, {names}{scores_shape}, got {shape}: "
            f"{_mask_hint(shape, scores_shape)}"
        )


def _fits(shape: tuple[int, ...], scores_shape: tuple[int, ...]) -> bool:
    return len(shape) == len(scores_shape) and all(
        size in (1, wanted) for size, wanted in zip(shape, scores_shape, strict=True)
    )


def _mask_hint(shape: tuple[int, ...], scores_shape: tuple[int, ...]) -> str:
    """What a mask that does not fit may be, and how to give it the axes of the scores."""
    if len(shape) > len(scores_shape):
        return "it has too many axes, remove them as in mask[0]"
    if len(shape) == len(scores_shape):
        return "was it made for other tokens?"
    if len(scores_shape) != 4:
        return "add the missing axes with None, as in mask[None, :]"
    batch, heads, query, key = scores_shape
    meanings = {
        "(key,): mask[None, None, None, :]": (key,),
        "(batch, key), for padding: mask[:, None, None, :]": (batch, key),
        "(query, key), causal: mask[None, None, :, :]": (query, key),
        "(batch, query, key): mask[:, None, :, :]": (batch, query, key),
        "(heads, query, key): mask[None, :, :, :]": (heads, query, key),
    }
    possible = [text for text, meant in meanings.items() if _fits(shape, meant)]
    if not possible:
        return "was it made for other tokens?"
    return "if it is " + " or if it is ".join(possible)


def check_inputs(
    d_model: int,
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    cache: AttentionCache | None,
) -> None:
    """Refuse what ``MultiHeadAttention.forward`` cannot use, by ValueError."""
    holds_memory = cache is not None and cache.holds_memory
    if holds_memory and (key is not None or value is not None):
        raise ValueError(
            "key and value must be left out with a complete cache, which holds the memory's keys "
            "and values: for another memory use a new cache"
        )
    if not holds_memory and (key is None or value is None):
        raise ValueError(
            "key and value may be left out only with a complete cache, got None: "
            "for self-attention pass x as query, key and value"
        )
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x is not None and (x.ndim != 3 or x.size(-1) != d_model):
            raise ValueError(
                f"{name} must have shape (batch, length, d_model={d_model}), got {tuple(x.shape)}"
            )


def check_heads(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse query, key and value that are not split into heads or do not fit, by ValueError."""
    if not query.ndim == key.ndim == value.ndim == 4:
        cause = "did you forget split_heads?"
    elif query.shape[:2] != key.shape[:2] or query.size(3) != key.size(3):
        cause = "query and key must agree in batch, heads and d_head"
    elif key.shape[:3] != value.shape[:3]:
        cause = "each key needs exactly one value"
    else:
        return
    shapes = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
    raise ValueError(
        "attention expects query (batch, heads, query, d_head), key (batch, heads, key, d_head) "
        f"and value alike, got {shapes}: {cause}"
    )


def check_function(attention: object) -> None:
    """Refuse what cannot be called, such as the name of a form of attention, by TypeError."""
    if not callable(attention):
        raise TypeError(
            f"attention must be a function such as attention_matmul, got {attention!r}: "
            "names are for TransformerConfig, which looks them up in attention_forms.ATTENTION"
        )


def check_divisible(x: Tensor, n_heads: int) -> None:
    """Refuse features that cannot be split into heads, by ValueError."""
    if x.ndim != 3 or x.size(2) % n_heads:
        raise ValueError(
            f"x must have shape (batch, length, n_heads={n_heads} · d_head), got {tuple(x.shape)}: "
            "is the last axis a multiple of n_heads?"
        )
