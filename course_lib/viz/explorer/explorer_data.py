"""What the attention explorer shows: one kind of attention of one sentence, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.viz.explorer.explorer_constants import KINDS, MEAN
from course_lib.viz.plots.attention_summary import as_array, entropy
from course_lib.viz.plots.heatmaps import check_orientation, visible
from course_lib.viz.plots.plot_alignment import Link, alignment_error
from course_lib.wording import well_formed

AttentionKind = Literal["self", "causal", "cross"]
Language = Literal["german", "english"]

SLACK = 1e-5  # how far rounding may carry a weight beyond 0, 1, or the mask


@dataclass(frozen=True, kw_only=True)
class AttentionData:
    """The attention weights of one sentence and all that is known about them, checked when made.

    Args:
        title: what is seen.
        kind: "self", "causal" or "cross".
        weights: (layers, heads, query, key).
        query_tokens: one for each row.
        key_tokens: one for each column.
        mask: True = may attend, broadcastable to (query, key); see ``allowed``.
        scores: query · key before scaling and mask, of the shape of the weights.
        d_head: the scores are divided by its square root.
        queries: (layers, heads, query, d_head); with ``keys``, the scores are their products.
        keys: (layers, heads, key, d_head).
        gold: right links (key index, query index).
        pad: the padding token.
        second_sentence: index of its first token, of two sentences in one sequence.
        languages: of the queries and of the keys, if they are known.
        layer_names: one for each layer, if these are not layers but, say, two versions of one.
        head_names: one for each head.

    Raises:
        CourseError, ValueError, TypeError: the parts do not belong together; see
            `explore_attention`.
    """

    title: str
    kind: AttentionKind
    weights: np.ndarray
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    mask: Tensor | np.ndarray | None = None
    scores: np.ndarray | None = None
    d_head: int | None = None
    queries: np.ndarray | None = None
    keys: np.ndarray | None = None
    gold: tuple[Link, ...] = ()
    pad: str = "<pad>"
    second_sentence: int | None = None
    languages: tuple[Language, Language] | None = None
    layer_names: tuple[str, ...] = ()
    head_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("query_tokens", "key_tokens", "layer_names", "head_names"):
            tokens = tuple(map(well_formed, getattr(self, name)))
            object.__setattr__(self, name, tokens)
        for name in ("title", "pad"):
            object.__setattr__(self, name, well_formed(getattr(self, name)))
        if self.kind not in KINDS:
            raise CourseError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        n_queries, n_keys = len(self.query_tokens), len(self.key_tokens)
        if not (n_queries and n_keys and self.weights.size):
            raise CourseError(
                f"there must be at least one token on both sides, got {n_queries} queries and "
                f"{n_keys} keys with attention of shape {self.weights.shape}"
            )
        for matrix in self.weights.reshape(-1, *self.weights.shape[2:]):
            check_orientation(matrix, n_queries, n_keys)
        if self.kind != "cross" and n_queries != n_keys:
            raise CourseError(
                f"{self.kind} attention stays in its own sentence, so there must be as many keys "
                f"as queries, got {n_queries} queries and {n_keys} keys: is it kind='cross'?"
            )
        self._check_names()
        self._check_weights()
        if self.scores is not None:
            self._check_scores(self.scores)
        self._check_gold()
        self._check_second_sentence()

    @cached_property
    def allowed(self) -> np.ndarray:
        """Where a query may attend, (query, key): by the mask and, if causal, not to the future."""
        shape = (len(self.query_tokens), len(self.key_tokens))
        allowed = ~np.ma.getmaskarray(visible(np.zeros(shape), self.mask))
        return np.tril(allowed) if self.kind == "causal" else allowed

    def tokens_of(self, sentence: str) -> slice:
        """The tokens of sentence "A" or "B"; all of them for any other name."""
        return {
            "A": slice(0, self.second_sentence),
            "B": slice(self.second_sentence, None),
        }.get(sentence, slice(None))

    @cached_property
    def entropies(self) -> np.ndarray:
        """The entropy of each head's rows in nats, averaged over its queries: (layers, heads)."""
        return entropy(self.weights).mean(axis=-1)

    @cached_property
    def alignment_errors(self) -> np.ndarray:
        """The alignment error rate of each head, (layers, heads).

        Raises:
            ValueError: there are no gold links.
        """
        return np.array(
            [[alignment_error(head, self.gold) for head in layer] for layer in self.weights]
        )

    def layer(self, number: int) -> str:
        """The name of a layer, or such as "layer 1"."""
        return self.layer_names[number] if self.layer_names else f"layer {number}"

    def head(self, number: int) -> str:
        """The name of a head, or such as "head 1" or "mean of heads"."""
        if number == MEAN:
            return "mean of heads"
        return self.head_names[number] if self.head_names else f"head {number}"

    def _check_names(self) -> None:
        for axis, what in enumerate(("layer", "head")):
            count, names = self.weights.shape[axis], getattr(self, f"{what}_names")
            if names and len(names) != count:
                raise CourseError(
                    f"{what}_names must name each of the {count} {what}s, got {len(names)} names"
                )
        if self.languages is not None and not (
            len(self.languages) == 2 and set(self.languages) <= set(get_args(Language))
        ):
            raise CourseError(
                "languages must be two, those of the queries and of the keys, each 'german' or "
                f"'english', got {self.languages!r}"
            )

    def _check_weights(self) -> None:
        low, high = self.weights.min(), self.weights.max()
        if not (low >= -SLACK and high <= 1 + SLACK):  # NaN is neither
            raise CourseError(
                f"attention weights lie between 0 and 1, got numbers from {low:.3g} to "
                f"{high:.3g}: are these scores before the softmax?"
            )
        leak = np.where(self.allowed, 0, self.weights)
        if leak.max() > SLACK:
            layer, head, query, key = map(int, np.unravel_index(leak.argmax(), leak.shape))
            raise CourseError(
                f"what the mask hides must have no weight, but in layer {layer}, head {head}, "
                f"{self.query_tokens[query]!r} attends to {self.key_tokens[key]!r} with "
                f"{leak.max():.4f}: does the mask say True where one may attend, and was it given "
                "to the model?"
            )

    def _check_scores(self, scores: np.ndarray) -> None:
        if self.d_head is None or self.d_head < 1:
            raise CourseError(
                f"scores need d_head, by whose square root they are divided, got {self.d_head}: "
                "it is the last axis of query and key"
            )
        if not np.isfinite(scores).all():
            raise CourseError(
                "scores must be finite, got infinite ones or NaN: they are query · key before the "
                "mask, which is given on its own"
            )
        scaled = np.where(self.allowed, scores / math.sqrt(self.d_head), -np.inf)
        top = scaled.max(axis=-1, keepdims=True)
        powers = np.exp(scaled - np.where(np.isfinite(top), top, 0))
        expected = powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-300)
        if (off := float(np.abs(expected - self.weights).max())) > 1e-3:
            raise CourseError(
                f"softmax(scores / √{self.d_head}) with the mask must give the weights, but "
                f"differs by up to {off:.3f}: were the scores scaled already, or is the mask "
                "missing?"
            )

    def _check_gold(self) -> None:
        n_queries, n_keys = len(self.query_tokens), len(self.key_tokens)
        for key, query in self.gold:
            if not (0 <= key < n_keys and 0 <= query < n_queries):
                raise CourseError(
                    f"a gold link is (key index, query index) with {n_keys} keys and {n_queries} "
                    f"queries, got {(key, query)}: are the two swapped, or was <bos> counted?"
                )

    def _check_second_sentence(self) -> None:
        if self.second_sentence is None:
            return
        if self.kind != "self":
            raise CourseError(
                "second_sentence is for two sentences in one sequence, so for kind='self', got "
                f"kind={self.kind!r}: cross-attention has two sequences already, and a causal mask "
                "leaves no weight from the first sentence to the second"
            )
        last = len(self.query_tokens) - 1
        if not (isinstance(self.second_sentence, int) and 1 <= self.second_sentence <= last):
            raise CourseError(
                "second_sentence is the index of that sentence's first token, a whole number from "
                f"1 to {last}, got {self.second_sentence!r}: is it the token after the separator?"
            )


def as_weights(attention: Tensor | np.ndarray) -> np.ndarray:
    """Attention weights as (layers, heads, query, key); missing leading axes become 1.

    Raises:
        CourseError: there are fewer than two axes, or more than four.
    """
    weights = as_array(attention)
    if weights.ndim not in (2, 3, 4):
        raise CourseError(
            "attention must have shape (layers, heads, query, key), (heads, query, key) or "
            f"(query, key), got {weights.shape}: is a batch dimension left? pick one sentence"
        )
    return weights.reshape(*(1,) * (4 - weights.ndim), *weights.shape).astype(np.float64)


def as_scores(scores: Tensor | np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scores in the shape of the weights.

    Raises:
        CourseError: they belong to other layers, heads or tokens.
    """
    raw = as_array(scores).astype(np.float64)
    if raw.shape[-2:] != weights.shape[-2:] or raw.size != weights.size:
        raise CourseError(
            f"scores must have the shape of the attention, {weights.shape}, got {raw.shape}: "
            "do they belong to the same layers and heads?"
        )
    return raw.reshape(weights.shape)


def as_vectors(
    queries: Tensor | np.ndarray, keys: Tensor | np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Queries as (layers, heads, query, d_head), and keys as (layers, heads, key, d_head).

    Raises:
        CourseError: they belong to other layers, heads or tokens, or to each other's.
    """
    n_layers, n_heads, n_queries, n_keys = weights.shape
    pair = as_array(queries).astype(np.float64), as_array(keys).astype(np.float64)
    d_head = pair[0].shape[-1] if pair[0].ndim else 0
    expected = [(n_layers, n_heads, n, d_head) for n in (n_queries, n_keys)]
    for name, vectors, shape in zip(("queries", "keys"), pair, expected, strict=True):
        if vectors.size != math.prod(shape) or vectors.shape[-2:] != shape[-2:]:
            raise CourseError(
                f"{name} must have shape (layers, heads, tokens, d_head) = {shape}, got "
                f"{vectors.shape}: do they belong to this attention, split into its heads?"
            )
    return pair[0].reshape(expected[0]), pair[1].reshape(expected[1])
