"""What the attention explorer shows: checked once, then packed into a few bytes for the browser."""

from __future__ import annotations

import json
import math
import re
import struct
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.viz.attention_summary import as_array, entropy
from course_lib.viz.heatmaps import check_orientation, visible
from course_lib.viz.plot_alignment import Link, alignment_error

Kind = Literal["self", "causal", "cross"]

STEPS = 65535  # a number is stored as one of so many steps between two ends: two bytes each
SLACK = 1e-5  # how far rounding may carry a weight beyond 0, 1, or the mask
_SPECIAL = re.compile(r"<[^<>]+>|\[[A-Z]+\]")


@dataclass(frozen=True)
class AttentionData:
    """The weights of one sentence and all that is known about them.

    ``weights`` and ``scores`` are (layers, heads, query, key), ``allowed`` is (query, key) with
    True = may attend, ``gold`` holds (key index, query index), and ``query_words`` and
    ``key_words`` say to which word each token belongs.
    """

    title: str
    kind: Kind
    weights: np.ndarray
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    allowed: np.ndarray
    scores: np.ndarray | None
    d_head: int | None
    gold: tuple[Link, ...]
    pad: str

    @property
    def entropies(self) -> np.ndarray:
        """How widely each head reads, (layers, heads): the mean over its queries, in nats."""
        return entropy(self.weights).mean(axis=-1)

    @property
    def alignment_errors(self) -> np.ndarray:
        """How far each head is from the gold alignment, (layers, heads); NaN without one."""
        n_layers, n_heads = self.weights.shape[:2]
        if not self.gold:
            return np.full((n_layers, n_heads), math.nan)
        heads = self.weights.reshape(-1, *self.weights.shape[2:])
        return np.array([alignment_error(w, self.gold) for w in heads]).reshape(n_layers, n_heads)


def attention_data(
    attention: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str] | None = None,
    *,
    kind: Kind | None = None,
    scores: Tensor | np.ndarray | None = None,
    d_head: int | None = None,
    mask: Tensor | np.ndarray | None = None,
    gold: Collection[Link] = (),
    pad: str = "<pad>",
    title: str = "Attention",
) -> AttentionData:
    """Check everything that `explore_attention` is given; its arguments and errors are described
    there.
    """
    weights = as_array(attention)
    if weights.ndim not in (2, 3, 4):
        raise CourseError(
            "attention must have shape (layers, heads, query, key), (heads, query, key) or "
            f"(query, key), got {weights.shape}: is a batch dimension left? pick one sentence"
        )
    weights = weights.reshape(*(1,) * (4 - weights.ndim), *weights.shape).astype(np.float64)
    kind = kind or ("self" if key_tokens is None else "cross")
    if kind not in get_args(Kind):
        raise CourseError(f"kind must be one of {', '.join(get_args(Kind))}, got {kind!r}")
    queries = tuple(query_tokens)
    keys = queries if key_tokens is None else tuple(key_tokens)
    if not (queries and keys and weights.size):
        raise CourseError(
            f"there must be at least one token on both sides, got {len(queries)} queries and "
            f"{len(keys)} keys with attention of shape {weights.shape}"
        )
    for matrix in weights.reshape(-1, *weights.shape[2:]):
        check_orientation(matrix, len(queries), len(keys))
    allowed = _allowed(kind, mask, (len(queries), len(keys)))
    _check_weights(weights, queries, keys, allowed)
    raw = None if scores is None else _check_scores(scores, d_head, weights, allowed)
    _check_gold(gold, queries, keys)
    links = tuple(sorted((int(key), int(query)) for key, query in gold))
    return AttentionData(title, kind, weights, queries, keys, allowed, raw, d_head, links, pad)


def word_numbers(tokens: Sequence[str]) -> list[int]:
    """To which word each token belongs, counted from 0.

    Understood are "▁der" and "Ġder" (a word begins), "##er" (goes on) and "d@@" (will go on).
    Specials such as <eos> are words of their own. Without any such mark every token is a word.
    """
    special = [_SPECIAL.fullmatch(token) is not None for token in tokens]
    if any(token.startswith(("▁", "Ġ")) for token in tokens):
        begins = [token.startswith(("▁", "Ġ")) for token in tokens]
    elif any(token.startswith("##") for token in tokens):
        begins = [not token.startswith("##") for token in tokens]
    else:
        begins = [True, *(not token.endswith("@@") for token in tokens[:-1])]
    numbers = [0]
    for i in range(1, len(tokens)):
        numbers.append(numbers[-1] + (begins[i] or special[i] or special[i - 1]))
    return numbers


def pack(data: AttentionData) -> bytes:
    """Everything that the browser needs, deflated: a header in JSON, then the numbers.

    Each number becomes two bytes, and all high bytes stand before all low ones, which deflate
    likes better. The largest error of a weight is half a step, 7.6e-6.
    """
    header: dict[str, Any] = {
        "title": data.title,
        "kind": data.kind,
        "shape": data.weights.shape,
        "queries": data.query_tokens,
        "keys": data.key_tokens,
        "queryWords": word_numbers(data.query_tokens),
        "keyWords": word_numbers(data.key_tokens),
        "hidden": "".join("01"[int(cell)] for cell in ~data.allowed.ravel())
        if not data.allowed.all()
        else "",
        "gold": data.gold,
        "pad": data.pad,
        "dHead": data.d_head,
    }
    planes = _planes(np.rint(data.weights.clip(0, 1) * STEPS))
    if data.scores is not None:
        low, high = float(data.scores.min()), float(data.scores.max())
        header |= {"low": low, "high": high}
        planes += _planes(np.rint((data.scores - low) / ((high - low) or 1) * STEPS))
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode("utf-8")
    return zlib.compress(struct.pack("<I", len(text)) + text + planes, 9)


def _planes(steps: np.ndarray) -> bytes:
    numbers = steps.astype("<u2").ravel()
    return (numbers >> 8).astype(np.uint8).tobytes() + (numbers & 255).astype(np.uint8).tobytes()


def _allowed(kind: Kind, mask: Tensor | np.ndarray | None, shape: tuple[int, int]) -> np.ndarray:
    n_queries, n_keys = shape
    if kind != "cross" and n_queries != n_keys:
        raise CourseError(
            f"{kind} attention reads its own sentence, so there must be as many keys as queries, "
            f"got {n_queries} queries and {n_keys} keys: is it kind='cross'?"
        )
    allowed = ~np.ma.getmaskarray(visible(np.zeros(shape), mask))
    return np.tril(allowed) if kind == "causal" else allowed


def _check_weights(
    weights: np.ndarray, queries: Sequence[str], keys: Sequence[str], allowed: np.ndarray
) -> None:
    low, high = weights.min(), weights.max()
    if not (low >= -SLACK and high <= 1 + SLACK):  # NaN is neither
        raise CourseError(
            f"attention weights lie between 0 and 1, got numbers from {low:.3g} to {high:.3g}: "
            "are these scores before the softmax?"
        )
    leak = np.where(allowed, 0, weights)
    if leak.max() > SLACK:
        layer, head, query, key = map(int, np.unravel_index(leak.argmax(), leak.shape))
        raise CourseError(
            f"what the mask hides must have no weight, but in layer {layer}, head {head}, "
            f"{queries[query]!r} reads {keys[key]!r} with {leak.max():.4f}: does the mask say "
            "True where one may attend, and was it given to the model?"
        )


def _check_scores(
    scores: Tensor | np.ndarray, d_head: int | None, weights: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    raw = as_array(scores).astype(np.float64)
    if raw.shape[-2:] != weights.shape[-2:] or raw.size != weights.size:
        raise CourseError(
            f"scores must have the shape of the attention, {weights.shape}, got {raw.shape}: "
            "do they belong to the same layers and heads?"
        )
    raw = raw.reshape(weights.shape)
    if d_head is None or d_head < 1:
        raise CourseError(
            f"scores need d_head, by whose square root they are divided, got {d_head}: "
            "it is the last axis of query and key"
        )
    if not np.isfinite(raw).all():
        raise CourseError(
            "scores must be finite, got infinite ones or NaN: they are query · key before the "
            "mask, which is given on its own"
        )
    scaled = np.where(allowed, raw / math.sqrt(d_head), -np.inf)
    top = scaled.max(axis=-1, keepdims=True)
    powers = np.exp(scaled - np.where(np.isfinite(top), top, 0))
    expected = powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-300)
    if (off := float(np.abs(expected - weights).max())) > 1e-3:
        raise CourseError(
            f"softmax(scores / √{d_head}) with the mask must give the weights, but differs by up "
            f"to {off:.3f}: were the scores scaled already, or is the mask missing?"
        )
    return raw


def _check_gold(gold: Collection[Link], queries: Sequence[str], keys: Sequence[str]) -> None:
    for key, query in gold:
        if not (0 <= key < len(keys) and 0 <= query < len(queries)):
            raise CourseError(
                f"a gold link is (key index, query index) with {len(keys)} keys and "
                f"{len(queries)} queries, got {(key, query)}: are the two turned around, or was "
                "<bos> counted?"
            )
