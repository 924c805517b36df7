"""Who may look at whom. In this course a mask is boolean and True means "may attend".

B batch, H heads, S source length, T target length. Every mask broadcasts to the shape of the
scores, (batch, heads, query, key): a query is a row, a key is a column.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def padding_mask(tokens: Int[Tensor, "batch length"], pad_id: int) -> Bool[Tensor, "b 1 1 length"]:
    """True for real tokens: they may be read as keys, by every head and every query.

    It hides key *columns*. Hiding the pads' query rows instead would leave the pads readable.

    Args:
        tokens: token ids, (B, S).
        pad_id: the id that fills up short sentences.
    """
    if tokens.ndim != 2:
        raise ValueError(
            f"tokens must have shape (batch, length), got {tuple(tokens.shape)}: "
            "is a batch dimension missing? use tokens[None]"
        )
    return (tokens != pad_id)[:, None, None, :]


def causal_mask(
    size: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "1 1 size size"]:
    """True on and below the diagonal: query t may read keys 0 … t (section 3.2.3)."""
    return torch.ones(1, 1, size, size, dtype=torch.bool, device=device).tril()


def decoder_mask(tokens: Int[Tensor, "batch length"], pad_id: int) -> Bool[Tensor, "b 1 t t"]:
    """Both at once: a target token reads real tokens that are not in its future."""
    return padding_mask(tokens, pad_id) & causal_mask(tokens.size(1), device=tokens.device)


def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch query key"]:
    """Softmax over the keys that may be attended to; a query with no such key gets a row of zeros.

    Filling with the dtype's smallest number, and clearing afterwards, keeps every step finite in
    every precision: -inf would turn a row with nothing left into NaN, and -1e9 does not fit fp16.

    Args:
        scores: any real numbers, (…, query, key).
        mask: True = may attend, broadcastable to the scores.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not broadcast to the scores.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, tuple(scores.shape))
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def check_mask(mask: Tensor, scores_shape: tuple[int, ...]) -> None:
    """Refuse a mask that is not boolean or does not fit scores of shape (…, query, key).

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not broadcast to the scores.
    """
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be boolean with True = may attend, got {mask.dtype}: "
            "is it an additive or a 0/1 mask? compare it first, as in tokens != pad_id"
        )
    fits = mask.ndim <= len(scores_shape) and all(
        have in (1, want)
        for have, want in zip(reversed(mask.shape), reversed(scores_shape), strict=False)
    )
    if not fits:
        names = "(batch, heads, query, key) = " if len(scores_shape) == 4 else ""
        forgotten = {2: "mask[:, None, None, :]", 3: "mask[:, None]"}.get(mask.ndim)
        cause = f"did you forget {forgotten}?" if forgotten else "which axis is off?"
        raise ValueError(
            f"scores mask must broadcast to {names}{scores_shape}, got {tuple(mask.shape)}: {cause}"
        )


def to_pytorch_mask(mask: Bool[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """The same mask in the convention of ``torch.nn.MultiheadAttention``: True means *hide*.

    This is the only place where the meaning of a mask is turned round. (PyTorch's own
    ``scaled_dot_product_attention`` needs no turning: there True means "takes part".)
    """
    return ~mask
