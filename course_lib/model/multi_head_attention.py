"""Multi-head attention: project, split into heads, attend in each, merge (section 3.2.2)."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from course_lib.model.attention import Context, Key, Query, Value, attention_matmul
from course_lib.model.attention_checks import check_inputs
from course_lib.model.attention_forms import choose_attention
from course_lib.model.cache import AttentionCache
from course_lib.model.config import AttentionForm, require_choice, require_dropout, resolve_d_head
from course_lib.model.masks import AttentionMask


def split_heads(
    x: Float[Tensor, "batch length d_inner"], n_heads: int
) -> Float[Tensor, "batch {n_heads} length d_head"]:
    """Each head gets its own slice of d_head features; d_inner = n_heads · d_head."""
    if x.ndim != 3 or x.size(2) % n_heads:
        raise ValueError(
            f"x must have shape (batch, length, n_heads={n_heads} · d_head), got {tuple(x.shape)}: "
            "is the last axis a multiple of n_heads?"
        )
    return x.unflatten(2, (n_heads, -1)).transpose(1, 2)


def merge_heads(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch length heads*d_head"]:
    """The inverse of ``split_heads``: the heads side by side."""
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """Project, split into heads, attend in each, merge (section 3.2.2).

    Parameters: ``q_proj``, ``k_proj``, ``v_proj`` (n_heads · d_head, d_model) and ``out_proj``
    (d_model, n_heads · d_head), with biases unless ``bias=False``.

    Args:
        d_head: by default d_model / n_heads.
        dropout: of the attention weights, while training.
        attention: which form computes it, see ``choose_attention``; all give the same result.

    Raises:
        ValueError: a size, the dropout or the form is not possible.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_head: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        attention: AttentionForm = "auto",
    ) -> None:
        super().__init__()
        d_inner = n_heads * resolve_d_head(d_model, n_heads, d_head)
        require_dropout("dropout", dropout)
        require_choice("attention", attention, AttentionForm)
        self.d_model, self.n_heads = d_model, n_heads
        self.dropout, self.attention = dropout, attention
        self.q_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.k_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.v_proj = nn.Linear(d_model, d_inner, bias=bias)
        self.out_proj = nn.Linear(d_inner, d_model, bias=bias)
        self.on_weights: Callable[[Tensor], None] | None = None  # set by record_attention

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch length d_model"] | None = None,
        value: Float[Tensor, "batch length d_model"] | None = None,
        mask: AttentionMask | None = None,
        *,
        cache: AttentionCache | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Each query position attends to the key positions.

        Args:
            query, key, value: x, x, x in self-attention; x, memory, memory in cross-attention,
                or x alone once the cache holds the keys and values of the memory.
            mask: True = may attend; its key axis includes the cached positions.
            cache: keys and values of earlier calls, to attend to as well.

        Raises:
            TypeError: the mask is not boolean.
            ValueError: shapes do not fit together; key or value is missing, or is already cached.
        """
        check_inputs(self.d_model, query, key, value, cache)
        queries = split_heads(self.q_proj(query), self.n_heads)  # (batch, heads, query, d_head)
        keys, values = self._keys_and_values(key, value, cache)  # (batch, heads, key, d_head)
        context = self._attend(queries, keys, values, mask)  # (batch, heads, query, d_head)
        return self.out_proj(merge_heads(context))  # (batch, query, d_model)

    def _keys_and_values(
        self, key: Tensor | None, value: Tensor | None, cache: AttentionCache | None
    ) -> tuple[Key, Value]:
        """Project and split key and value; with a cache, add them to it and return all it holds."""
        if cache is not None and cache.is_complete:
            return cache.read()
        keys = split_heads(self.k_proj(key), self.n_heads)
        values = split_heads(self.v_proj(value), self.n_heads)
        return (keys, values) if cache is None else cache.extend(keys, values)

    def _attend(
        self, queries: Query, keys: Key, values: Value, mask: AttentionMask | None
    ) -> Context:
        """Attend in the chosen form; hand the weights to ``record_attention`` if it listens."""
        dropout = self.dropout if self.training else 0.0
        if self.on_weights is not None:  # the fused kernel has no weights to record
            context, weights = attention_matmul(queries, keys, values, mask, dropout=dropout)
            self.on_weights(weights)
            return context
        attend = choose_attention(self.attention, queries, keys.size(2))
        return attend(queries, keys, values, mask, dropout=dropout)[0]
