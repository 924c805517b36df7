"""12.cached_step: one step of self-attention with a key/value cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.adapters import load_weights
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.model import MultiHeadAttention, attention_matmul, merge_heads, split_heads

Past = tuple[Tensor, Tensor] | None


Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def _use(
    step: Callable[..., Any],
    x: Tensor,
    past: Past,
    *,
    init: Mapping[str, Any],
    weights: Mapping[str, Tensor],
) -> Any:
    """Make an attention layer and feed it the tokens of x (B, T, D) one at a time.

    Returns:
        The outputs (B, T, D) and the last past.
    """
    attention = MultiHeadAttention(**init).eval()
    load_weights(attention, weights)
    outputs = []
    for t in range(x.size(1)):
        output, past = step(attention, x[:, t : t + 1], past)
        outputs.append(output)
    return torch.cat(outputs, dim=1), past


def _attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return attention_matmul(query, key, value)[0]


def _append(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat((old, new), dim=2)


def _step(
    attention: MultiHeadAttention,
    x: Tensor,
    past: Past,
    *,
    attend: Attend = _attend,
    append: Callable[[Tensor, Tensor], Tensor] = _append,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """A correct cached step, unless a part is replaced."""
    query, key, value = (
        split_heads(project(x), attention.n_heads)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    if past is not None:
        key, value = append(past[0], key), append(past[1], value)
    context = attend(query, key, value)
    return attention.out_proj(merge_heads(context)), (key, value)


def _cached_step(
    attention: MultiHeadAttention, x: Tensor, past: Past
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    return _step(attention, x, past)


def _tokens(
    draw: Draw,
    batch: int,
    length: int,
    *,
    heads: int,
    width: int,
    past: int = 0,
    d_head: int | None = None,
    dtype: torch.dtype = torch.float32,
    gradients: bool = False,
) -> Call:
    """``length`` new tokens of ``width`` numbers, after ``past`` earlier ones."""
    init: dict[str, Any] = {"d_model": width, "n_heads": heads, "d_head": d_head}
    weights = {name: w.to(dtype) for name, w in draw.weights(MultiHeadAttention(**init)).items()}
    x = draw.normal(batch, length, width, dtype=dtype)
    shape = batch, heads, past, d_head or width // heads
    old = (draw.normal(*shape, dtype=dtype), draw.normal(*shape, dtype=dtype)) if past else None
    about = f"{batch} rows, {heads} heads, {past} tokens in the past, {length} new"
    return Call((x, old), {"init": init, "weights": weights}, about, gradients=gradients)


item = Item(
    "12.cached_step",
    reference=_cached_step,
    use=_use,
    tolerance=1e-4,
    probes=[
        Probe(
            "the first token has no past, and attends to itself",
            lambda draw: [_tokens(draw, 2, 1, heads=3, width=12)],
        ),
        Probe(
            "step by step it gives the same as one pass with the causal mask",
            lambda draw: [
                _tokens(draw, 2, 5, heads=3, width=12),
                _tokens(draw, 3, 4, heads=4, width=8),
            ],
        ),
        Probe(
            "the past grows by one row at its end, and the old one is left as it was",
            lambda draw: [
                _tokens(draw, 2, 1, heads=3, width=12, past=4),
                _tokens(draw, 2, 2, heads=2, width=10, past=1),
            ],
        ),
        Probe(
            "any sizes, and float64",
            lambda draw: [
                _tokens(draw, 1, 3, heads=1, width=4, past=2),
                _tokens(draw, 4, 2, heads=4, width=16, past=4),
                _tokens(draw, 2, 3, heads=2, width=6, d_head=5),
                _tokens(draw, 2, 2, heads=3, width=6, past=3, dtype=torch.float64),
            ],
        ),
        Probe(
            "gradients reach the new token and the past",
            lambda draw: [
                _tokens(draw, 2, 1, heads=3, width=12, past=4, gradients=True),
                _tokens(draw, 2, 3, heads=2, width=8, gradients=True),
            ],
        ),
    ],
    hints=(
        "Of query, key and value, which one do you need for the new token only, and which for all "
        "tokens so far?",
        "Project x three times and split the heads: (B, H, 1, E) each. Put the past's keys and "
        "values in front of the new ones, attend, merge the heads, project. No mask is needed.",
        "query, key, value = (split_heads(project(x), attention.n_heads) for project in ...)\n"
        "if past is not None: key = torch.cat((past[0], key), dim=...), same for value\n"
        "context, _ = attention_matmul(...)\n"
        "return attention.out_proj(merge_heads(context)), (..., ...)",
    ),
)


Result = tuple[Tensor, tuple[Tensor, Tensor]]


@item.misconception(
    "Your new token attends only to itself, and to nothing in its past.",
    why="The past is passed on but never used. Every token is generated as if it were the first.",
    hint="Which keys is the query compared with?",
)
def past_not_read(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    return _step(attention, x, past, attend=lambda q, k, v: _attend(q, k[:, :, -1:], v[:, :, -1:]))


@item.misconception(
    "Your new past contains only the new token.",
    why="The next step needs all keys and values so far. Here it finds one of each.",
    hint="What do you have to return: the new rows, or the old ones with the new?",
)
def past_forgotten(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    output, (key, value) = _step(attention, x, past)
    return output, (key[:, :, -1:], value[:, :, -1:])


@item.misconception(
    "Your new past is the old one: the new token's key and value are not in it.",
    why="The next token can't attend to this one.",
    hint="What has grown by one row, and is it what you return?",
)
def past_never_grows(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    output, grown = _step(attention, x, past)
    return output, grown if past is None else past


@item.misconception(
    "Your new row comes before the past, not after it.",
    why="The output is the same, since attention doesn't depend on the order of keys. But row t of "
    "the past should belong to token t: code that reorders or truncates the cache would take the "
    "wrong row.",
    hint="In which order does torch.cat join them?",
)
def new_row_first(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    return _step(attention, x, past, append=lambda old, new: torch.cat((new, old), dim=2))


@item.misconception(
    "Your past comes out with keys and values swapped.",
    why="At the next step, values are used as keys. The shapes fit, so there's no error.",
    hint="In which order did the past come in?",
)
def keys_and_values_exchanged(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    output, (key, value) = _step(attention, x, past)
    return output, (value, key)


@item.misconception(
    "Your new token attends to the very first token and to no other.",
    why="A causal mask for one query and t keys allows only key 0, as if the query were the first "
    "token. But it's the last.",
    hint="Everything in the cache is in the past. Do you need a mask?",
)
def masked_as_the_first(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    return _step(attention, x, past, attend=lambda q, k, v: _attend(q, k[:, :, :1], v[:, :, :1]))


@item.misconception(
    "Your output isn't projected: out_proj is missing.",
    why="Without it, the heads are only concatenated and never mixed.",
    hint="The layer has four projections. How many did you use?",
)
def heads_never_mixed(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    query = split_heads(attention.q_proj(x), attention.n_heads)
    _, (key, value) = _step(attention, x, past)
    return merge_heads(_attend(query, key, value)), (key, value)


@item.misconception(
    "Your scores are divided by √d_model, not by √d_head.",
    why="A score is a sum of d_head products of one head, with or without a cache.",
    hint="How long is a query of one head?",
)
def scaled_by_the_width(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    scale = x.size(-1) ** -0.5
    return _step(
        attention,
        x,
        past,
        attend=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=scale),
    )


@item.misconception(
    "Your scores aren't scaled at all.",
    why="Large scores make softmax almost one-hot: the token attends to one other token only.",
    hint="Equation (1) has a square root in it.",
)
def not_scaled(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    return _step(
        attention,
        x,
        past,
        attend=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=1.0),
    )
