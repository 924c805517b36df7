"""14.bug_4: Heads that hardly choose."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
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
    "14.bug_4",
    reference=_self_attention,
    tolerance=1e-4,
    bug=Bug(ROOT, line=4),
    probes=[
        Probe(
            "scores are as wide as they should be, with many heads",
            lambda draw: [
                _layer(draw, 2, 5, 12, 3, about="3 heads of 4, 5 positions"),
                _layer(draw, 2, 3, 16, 8, about="8 heads of 2, 3 positions"),
            ],
        ),
        Probe(
            "any number of heads and of positions",
            lambda draw: [
                _layer(draw, 3, 6, 8, 1, about="a single head"),
                _layer(draw, 1, 4, 16, 4, about="as many heads as positions and numbers a head"),
                _layer(draw, 2, 1, 6, 2, about="sentences of one position"),
                _layer(draw, 2, 7, 6, 6, about="heads of one number"),
            ],
        ),
        Probe(
            "gradients have the right size",
            lambda draw: [_layer(draw, 2, 4, 12, 2, about="gradients", gradients=True)],
        ),
    ],
    hints=(
        "With one head the function is right. What changes with the second?",
        "Each score is a sum of products. Over how many numbers does that sum run?",
        "math.sqrt(...size(-1)), of the tensor that is cut into heads.",
    ),
)


@item.misconception(
    "Scores are still divided by the root of the whole width, d_model.",
    why="A score sums over d_head numbers. Divided by √d_model it is √H too small: all words are "
    "read almost alike. It learns around that, which is why nobody noticed.",
    hint="How long are the vectors that are multiplied in line 3?",
)
def root_of_d_model(x: Tensor, *weights_and_heads: Tensor) -> Tensor:
    return _self_attention(x, *_spread(weights_and_heads), divisor=math.sqrt(x.size(-1)))


@item.misconception(
    "Scores are not divided at all.",
    why="They grow with the width of a head. Softmax gives nearly everything to one word, and its "
    "gradient dies.",
    hint="Mend the line, do not remove it.",
)
def not_divided(x: Tensor, *weights_and_heads: Tensor) -> Tensor:
    return _self_attention(x, *_spread(weights_and_heads), divisor=1.0)


@item.misconception(
    "The width is the right one, d_head, but its root is gone.",
    why="Standard deviations grow with the root. Divided by d_head itself, scores get smaller the "
    "wider the head.",
    hint="Compare with the line as it was: what else did you change?",
)
def no_root(x: Tensor, *weights_and_heads: Tensor) -> Tensor:
    *_, heads = _spread(weights_and_heads)
    return _self_attention(x, *_spread(weights_and_heads), divisor=x.size(-1) / heads)


@item.misconception(
    "Scores are divided by the root of the number of heads.",
    why="How many heads there are is not how wide they are. Your line is right only where "
    "both numbers are the same.",
    hint="Over how many numbers does the sum in line 3 run?",
)
def root_of_the_number_of_heads(x: Tensor, *weights_and_heads: Tensor) -> Tensor:
    *_, heads = _spread(weights_and_heads)
    return _self_attention(x, *_spread(weights_and_heads), divisor=math.sqrt(heads))


@item.misconception(
    "Scores are divided by the root of the number of positions.",
    why="Then the same word reads in another way in a longer sentence.",
    hint="Which axis of (B, H, S, E) does the sum in line 3 run over?",
)
def root_of_the_length(x: Tensor, *weights_and_heads: Tensor) -> Tensor:
    return _self_attention(x, *_spread(weights_and_heads), divisor=math.sqrt(x.size(1)))


def _spread(rest: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """Four weights and the number of heads."""
    w_q, w_k, w_v, w_o, heads = rest
    return w_q, w_k, w_v, w_o, int(heads)
