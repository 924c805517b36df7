"""Attention masks: which keys a query may attend to (section 3.2.3 of the paper).

A mask is boolean, and True means "may attend". It has the axes of the scores, (batch, heads, query,
key), each of the scores' size or 1. ``masked_softmax`` in ``attention`` applies it.

| attention | mask |
|---|---|
| encoder | ``padding_mask(source, pad_id)`` |
| decoder, to itself | ``decoder_mask(target, pad_id)`` |
| decoder, to the encoder's memory | ``padding_mask(source, pad_id)`` |
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

AttentionMask = Bool[Tensor, "#batch #heads #query #key"]  # "#": this size, or 1


def padding_mask(tokens: Int[Tensor, "batch key"], pad_id: int) -> Bool[Tensor, "batch 1 1 key"]:
    """True for real tokens: no query attends to padding.

    It hides key *columns*. Hiding the query rows of the padding instead would leave the padding
    visible to all others.
    """
    if tokens.ndim != 2:
        raise ValueError(
            f"tokens must have shape (batch, length), got {tuple(tokens.shape)}: "
            "is a batch dimension missing? use tokens[None]"
        )
    return (tokens != pad_id)[:, None, None, :]


def causal_mask(
    query_length: int, key_length: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "1 1 query key"]:
    """True up to a query's own position: it attends to itself and to what comes before it.

        causal_mask(3)     causal_mask(1, 3): the last of three positions, decoded with a cache
        1 0 0              1 1 1
        1 1 0
        1 1 1

    The queries are the last of ``key_length`` positions; by default they are all of them.

    Raises:
        ValueError: there are more queries than keys.
    """
    key_length = resolve_key_length(query_length, key_length)
    ones = torch.ones(1, 1, query_length, key_length, dtype=torch.bool, device=device)
    return ones.tril(diagonal=key_length - query_length)


def resolve_key_length(query_length: int, key_length: int | None) -> int:
    """``key_length``, or query_length if that is None.

    Raises:
        ValueError: there are more queries than keys.
    """
    key_length = query_length if key_length is None else key_length
    if query_length > key_length:
        raise ValueError(
            f"key_length must be at least query_length={query_length}, got {key_length}: "
            "each query is also a key; did you swap the two?"
        )
    return key_length


def decoder_mask(
    tokens: Int[Tensor, "batch key"], pad_id: int, *, query_length: int | None = None
) -> Bool[Tensor, "batch 1 query key"]:
    """Both at once: a target position attends to the real tokens up to and including itself.

        decoder_mask of "a", "b", PAD: the row of the padding is never used
        1 0 0
        1 1 0
        1 1 0

    Args:
        tokens: the whole target, cached tokens included.
        pad_id: the id of padding.
        query_length: how many of the last tokens are queries; by default all.
    """
    padding = padding_mask(tokens, pad_id)  # (batch, 1, 1, key)
    key_length = tokens.size(1)
    query_length = key_length if query_length is None else query_length
    return padding & causal_mask(query_length, key_length, device=tokens.device)


def to_pytorch_mask(mask: Bool[Tensor, "*axes"]) -> Bool[Tensor, "*axes"]:
    """The same mask for ``torch.nn.MultiheadAttention``, where True means *hide*.

    No other mask of the course has that meaning. (PyTorch's ``scaled_dot_product_attention`` needs
    no inversion: there True means "takes part".)
    """
    return ~mask
