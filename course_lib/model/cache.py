"""The KV cache: keys and values computed in earlier decoding steps, so that none is computed twice.

A decoder's self-attention attends only to the past, so the keys and values of a token never change
once they are computed; those of the memory do not change at all. The decoding loops that use the
cache are not here but in ``course_lib.decoding``; what it refuses is in ``cache_arguments``.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.model.cache_arguments import check_new_tokens, check_source

Keys = Float[Tensor, "batch heads length d_head"]
Values = Float[Tensor, "batch heads length d_value"]


class AttentionCache:
    """The keys and values of one attention layer.

    Args:
        grows: True in self-attention, where each step adds its tokens; False in cross-attention,
            where the first step adds the whole memory.
    """

    def __init__(self, *, grows: bool) -> None:
        self.grows = grows
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    @property
    def holds_memory(self) -> bool:
        """Whether it holds the keys and values of the memory; never in self-attention."""
        return not self.grows and self.keys is not None

    def extend(self, keys: Keys, values: Values) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new positions; return those of all positions."""
        # Heads arrive as views, which each product would have to copy: copy them once.
        keys, values = keys.contiguous(), values.contiguous()
        if self.keys is not None and self.values is not None:
            keys = torch.cat((self.keys, keys), dim=2)
            values = torch.cat((self.values, values), dim=2)
        self.keys, self.values = keys, values
        return keys, values

    def read(self) -> tuple[Tensor, Tensor]:
        """All keys and values so far.

        Raises:
            ValueError: nothing has been stored yet.
        """
        if self.keys is None or self.values is None:
            raise ValueError("the cache is empty: extend it before reading")
        return self.keys, self.values

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these batch rows, in this order."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]


class KeyValueCache:
    """The caches of a decoder with ``n_layers`` blocks, and the target so far."""

    def __init__(self, n_layers: int) -> None:
        self.self_attention = [AttentionCache(grows=True) for _ in range(n_layers)]
        self.cross_attention = [AttentionCache(grows=False) for _ in range(n_layers)]
        self.target: Tensor | None = None  # (batch, prefix)
        self.source: Tensor | None = None  # (batch, source), whose memory the cache holds

    def append(
        self, tokens: Int[Tensor, "batch new"], source: Int[Tensor, "batch source"] | None = None
    ) -> Int[Tensor, "batch prefix"]:
        """Append new target tokens; return the whole target so far.

        Raises:
            ValueError: the batch has another size than before, or ``source`` is another.
        """
        check_new_tokens(self.target, tokens)
        if source is not None:
            check_source(self.source, source)
            self.source = source  # this object, which the next step need not compare
        self.target = tokens if self.target is None else torch.cat((self.target, tokens), dim=1)
        return self.target

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these batch rows, in this order: drop finished sentences, or follow a beam."""
        self.reorder(rows)
        if self.source is not None:
            self.source = self.source[rows]
        for layer in self.cross_attention:
            layer.select(rows)

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """``select``, if each row replaces a row with the same source, as in beam search: the
        memory's keys and values, the larger part, can stay where they are.
        """
        if self.target is not None:
            self.target = self.target[rows]
        for layer in self.self_attention:
            layer.select(rows)
