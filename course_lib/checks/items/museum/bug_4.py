"""15.bug_4: scores divided by √d_model instead of √d_head."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.model import merge_heads, split_heads

ROOT = """\
def self_attention(x, w_q, w_k, w_v, w_o, n_heads):
    query, key, value = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.transpose(-2, -1)
    scores = scores / math.sqrt(x.size(-1))
    weights = scores.softmax(dim=-1)
    return merge_heads(weights @ value) @ w_o
"""


def _self_attention(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    *,
    divisor: float | None = None,
) -> Tensor:
    query, key, value = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.transpose(-2, -1) / (divisor or math.sqrt(query.size(-1)))
    return merge_heads(scores.softmax(dim=-1) @ value) @ w_o


def _layer(
    draw: Draw, batch: int, length: int, d_model: int, heads: int, *, about: str, **how: Any
) -> Call:
    weights = [draw.normal(d_model, d_model, std=d_model**-0.5 * 1.6) for _ in range(4)]
    return Call((draw.normal(batch, length, d_model), *weights, heads), about=about, **how)


item = Item(
    "15.bug_4",
    reference=_self_attention,
    tolerance=1e-4,
    bug=Bug(ROOT, line=4),
    probes=[
        Probe(
            "scores have the right scale with many heads",
            lambda draw: [
                _layer(draw, 2, 5, 12, 3, about="3 heads of 4, 5 positions"),
                _layer(draw, 2, 3, 16, 8, about="8 heads of 2, 3 positions"),
            ],
        ),
        Probe(
            "any number of heads and of positions",
            lambda draw: [
                _layer(draw, 3, 6, 8, 1, about="a single head"),
                _layer(draw, 1, 4, 16, 4, about="4 heads of 4, 4 positions"),
                _layer(draw, 2, 1, 6, 2, about="sentences of one token"),
                _layer(draw, 2, 7, 6, 6, about="6 heads of 1, 7 positions"),
            ],
        ),
        Probe(
            "gradients have the right size",
            lambda draw: [_layer(draw, 2, 4, 12, 2, about="gradients", gradients=True)],
        ),
    ],
    hints=(
        "With one head the function is right. What changes with two?",
        "Each score is a sum of products. How many products are in that sum?",
        "With d_model 8 and 2 heads, a query has 4 numbers in each head, so a score is a sum of 4 "
        "products. Which tensor has 4 as its last size, and which has 8?",
    ),
)


@item.misconception(
    "Scores are still divided by the square root of the whole width, d_model.",
    why="A score is a sum of d_head products. Divided by √d_model, it is too small by a factor of "
    "√H, so attention is too even. No shape is wrong, and a model can make up for it with larger "
    "queries, so nobody notices.",
    hint="How long are the vectors that are multiplied in line 3?",
)
def root_of_d_model(x: Tensor, *weights_and_heads: Any) -> Tensor:
    return _self_attention(x, *weights_and_heads, divisor=math.sqrt(x.size(-1)))


@item.misconception(
    "Scores aren't divided at all.",
    why="Without a root to divide by, scores grow with the width of a head. Softmax then gives "
    "most of the weight to one token, and gradients become uneven: some queries get almost none, "
    "others far more than usual.",
    hint="What are your scores divided by? The line has to be fixed, not removed.",
)
def not_divided(x: Tensor, *weights_and_heads: Any) -> Tensor:
    return _self_attention(x, *weights_and_heads, divisor=1.0)


@item.misconception(
    "Scores are divided by the right width, d_head, but not by its square root.",
    why="Standard deviations grow with the square root. Divided by d_head itself, scores get "
    "smaller as heads get wider.",
    hint="By what is a score divided in your code, in all? Compare that with √d_head.",
)
def no_root(x: Tensor, *weights_and_heads: Any) -> Tensor:
    return _self_attention(x, *weights_and_heads, divisor=x.size(-1) / weights_and_heads[-1])


@item.misconception(
    "Scores are divided by the square root of the number of heads.",
    why="The number of heads isn't their width. Your line is right only where the two happen to be "
    "equal.",
    hint="How many products does each sum in line 3 have?",
)
def root_of_the_number_of_heads(x: Tensor, *weights_and_heads: Any) -> Tensor:
    return _self_attention(x, *weights_and_heads, divisor=math.sqrt(weights_and_heads[-1]))


@item.misconception(
    "Scores are divided by the square root of the number of positions.",
    why="Then the same token attends differently in a longer sentence.",
    hint="Over which axis of (B, H, S, E) does line 3 sum?",
)
def root_of_the_length(x: Tensor, *weights_and_heads: Any) -> Tensor:
    return _self_attention(x, *weights_and_heads, divisor=math.sqrt(x.size(1)))
