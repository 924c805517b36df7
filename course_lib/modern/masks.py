"""Masks of a decoder-only model: a prefix that sees itself, and windows.

As everywhere in the course, True means "may attend", and the axes are (batch, heads, query, key).
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_lib.model import causal_mask
from course_lib.model.masks import resolve_key_length


def prefix_mask(
    lengths: Int[Tensor, " batch"], query_length: int, key_length: int | None = None
) -> Bool[Tensor, "batch 1 query key"]:
    """Causal, except that the first ``lengths`` tokens of each row all see one another.

        prefix_mask(torch.tensor([2]), 4): two tokens of the source, then two of the target
        1 1 0 0
        1 1 0 0
        1 1 1 0
        1 1 1 1

    Any query may attend to a *key* inside the prefix; what comes after it is causal (Raffel et al.
    2020, section 3.2.1). A length of 0 is the causal mask.

    Args:
        lengths: of the prefixes, one a row.
        query_length, key_length: as in ``causal_mask``; the queries are the last of the keys.

    Raises:
        TypeError: lengths are not whole numbers.
        ValueError: lengths are not one number a row, are negative, or exceed the keys.
    """
    causal = causal_mask(query_length, key_length, device=lengths.device)
    _check_lengths(lengths, causal.size(-1))
    keys = torch.arange(causal.size(-1), device=lengths.device)
    inside = keys < lengths[:, None]  # (batch, key)
    return causal | inside[:, None, None, :]


def _check_lengths(lengths: Tensor, key_length: int) -> None:
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise TypeError(
            f"prefix lengths must be whole numbers (torch.int64), got {lengths.dtype}: "
            "is it a mask? count its True with mask.sum(dim=1)"
        )
    if lengths.ndim != 1:
        raise ValueError(
            f"prefix lengths must have shape (batch,), got {tuple(lengths.shape)}: "
            "give one number for each row"
        )
    if lengths.numel() and not 0 <= int(lengths.min()) <= int(lengths.max()) <= key_length:
        raise ValueError(
            f"prefix lengths must lie in 0 … {key_length}, the number of tokens, got "
            f"{int(lengths.min())} … {int(lengths.max())}: were they counted in another batch?"
        )


def window_mask(
    query_length: int,
    key_length: int | None = None,
    *,
    window: int | None,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "1 1 query key"]:
    """True for keys less than ``window`` positions away: a window of 1 is the token itself.

    It says nothing of the future: combine it with a causal mask by ``&``. None means no window.

    Raises:
        ValueError: the window is not positive, or there are more queries than keys.
    """
    if window is not None and window < 1:
        raise ValueError(
            f"window must be at least 1, the token itself, or None for no window, got {window}"
        )
    key_length = resolve_key_length(query_length, key_length)
    keys = torch.arange(key_length, device=device)
    queries = keys[key_length - query_length :]
    distance = (queries[:, None] - keys).abs()  # (query, key)
    near = distance < (key_length if window is None else window)
    return near[None, None]
