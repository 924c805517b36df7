"""A small model of today's kind, read rightly or with one bug, and looked at stage by stage.

The bugs are those with which published weights are read: shapes, types and most of the numbers
are right, and the model writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.model import attention_matmul, causal_mask, merge_heads, split_heads
from course_lib.modern import rotary
from course_lib.modern.config import DecoderConfig
from course_lib.modern.norm import rms_norm

CONFIG = DecoderConfig(
    vocab=60,
    d_model=64,
    d_ff=96,
    n_heads=4,
    n_kv_heads=2,
    d_head=16,
    n_layers=2,
    rope_base=100_000.0,
    max_len=256,
)
STAGES = ("embedding", "attention 1", "feed-forward 1", "attention 2", "feed-forward 2")
Weights = dict[str, Tensor]


def draw_weights() -> Weights:
    """By the names of ``DecoderOnly``; queries and keys so large that attention is choosy."""
    c = CONFIG
    queries, keys = c.n_heads * c.resolved_d_head, c.resolved_n_kv_heads * c.resolved_d_head
    shapes = {
        "attention.q_proj": (queries, c.d_model),
        "attention.k_proj": (keys, c.d_model),
        "attention.v_proj": (keys, c.d_model),
        "attention.out_proj": (c.d_model, queries),
        "feed_forward.gate": (c.d_ff, c.d_model),
        "feed_forward.expand": (c.d_ff, c.d_model),
        "feed_forward.contract": (c.d_model, c.d_ff),
    }
    weights = {"tokens.weight": torch.randn(c.vocab, c.d_model)}
    for layer in range(c.n_layers):
        for name, (rows, columns) in shapes.items():
            std = (1.5 if name.endswith(("q_proj", "k_proj")) else 1.0) / math.sqrt(columns)
            weights[f"layers.{layer}.{name}.weight"] = std * torch.randn(rows, columns)
        for norm in ("norm_1", "norm_2"):
            weights[f"layers.{layer}.{norm}.weight"] = 1 + 0.2 * torch.randn(c.d_model)
    return weights


def read(weights: Weights, tokens: Tensor, *, bug: str = "", first: int = 0) -> Tensor:
    """The vectors after each stage, (stage, position, d_model).

    Args:
        weights: from ``draw_weights``.
        tokens: (length,).
        bug: the name of one in ``17.conclude``; "" for none.
        first: the position of the first token.
    """
    positions = torch.arange(first, first + len(tokens)) + (bug == "from_one")
    x = weights["tokens.weight"][tokens][None]
    if bug == "scaled":
        x = x * math.sqrt(CONFIG.d_model)
    stages = [x]
    for layer in range(CONFIG.n_layers):
        own = {
            name.removeprefix(f"layers.{layer}."): weight
            for name, weight in weights.items()
            if name.startswith(f"layers.{layer}.")
        }
        x = x + _attention(rms_norm(x, own["norm_1.weight"]), own, positions, bug=bug)
        stages.append(x)
        x = x + _feed_forward(rms_norm(x, own["norm_2.weight"]), own, bug=bug)
        stages.append(x)
    return torch.cat(stages)


def _attention(x: Tensor, weights: Weights, positions: Tensor, *, bug: str) -> Tensor:
    c = CONFIG
    heads = {"q": c.n_heads, "k": c.resolved_n_kv_heads, "v": c.resolved_n_kv_heads}
    queries, keys, values = (
        split_heads(x @ weights[f"attention.{name}_proj.weight"].T, n) for name, n in heads.items()
    )
    turn = _rotation(positions, bug)
    queries = turn(queries)
    if bug != "keys_not_turned":
        keys = turn(keys)
    if bug == "values_turned":
        values = turn(values)
    times = c.n_heads // c.resolved_n_kv_heads
    if bug == "dealt_out":
        keys, values = keys.repeat(1, times, 1, 1), values.repeat(1, times, 1, 1)
    else:
        keys = keys.repeat_interleave(times, dim=1)
        values = values.repeat_interleave(times, dim=1)
    context, _ = attention_matmul(queries, keys, values, causal_mask(len(positions)))
    return merge_heads(context) @ weights["attention.out_proj.weight"].T


def _rotation(positions: Tensor, bug: str) -> Callable[[Tensor], Tensor]:
    base = 10_000.0 if bug == "base" else CONFIG.rope_base
    turn = rotary.rotate_interleaved if bug == "layout" else rotary.rotate
    return lambda x: turn(x, positions, base=base)


def _feed_forward(x: Tensor, weights: Weights, *, bug: str) -> Tensor:
    gate, expand, contract = (
        weights[f"feed_forward.{name}.weight"] for name in ("gate", "expand", "contract")
    )
    value = x @ expand.T
    if bug == "both_activated":
        value = F.silu(value)
    return (F.silu(x @ gate.T) * value) @ contract.T
