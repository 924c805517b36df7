"""04.bug: Right shapes, wrong words."""

from __future__ import annotations

import math

from torch import Tensor

from course_lib.checks.adapters import use_module
from course_lib.checks.item import Bug, Item, Probe
from course_lib.checks.items.attention_matmul.attention_parts import (
    Layer,
    layer_call,
    learning,
    masked_layers,
    self_attention,
    three,
)
from course_lib.model.masks import masked_softmax

BUG = """\
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        batch, length, d_model = query.shape
        cut = (batch, -1, self.n_heads, self.d_head)
        query = self.q_proj(query).view(cut).transpose(1, 2)  # (B, H, Q, E)
        key = self.k_proj(key).view(batch, self.n_heads, self.d_head, -1)  # (B, H, E, K)
        value = self.v_proj(value).view(cut).transpose(1, 2)  # (B, H, K, E)
        scores = query @ key / math.sqrt(self.d_head)  # (B, H, Q, K)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        context = scores.softmax(dim=-1) @ value  # (B, H, Q, E)
        return self.out_proj(context.transpose(1, 2).reshape(batch, length, d_model))
"""


class _Mended(Layer):
    """The same in steps; ``turned`` makes (B, H, E, K) of projected keys (B, K, D)."""

    def turned(self, key: Tensor) -> Tensor:
        return self.split(key).transpose(-2, -1)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        query, key, value = self.project(query, key, value)
        query, value = self.split(query), self.split(value)
        scores = query @ self.turned(key) / math.sqrt(query.size(-1))
        return self.mix(self.merge(masked_softmax(scores, mask) @ value))


item = Item(
    "04.bug",
    reference=_Mended,
    use=use_module,
    bug=Bug(BUG, line=14),
    probes=[
        Probe(
            "each word is found by its own key",
            lambda draw: [
                layer_call(draw, *three(draw), heads=3, about="4 queries, 6 keys, 3 heads of 4"),
                layer_call(draw, *three(draw), heads=2, about="as many keys as numbers a head"),
            ],
        ),
        Probe("a sentence reads itself", self_attention),
        Probe("what the mask hides is not read", masked_layers),
        Probe("gradients reach every parameter and every input", learning),
    ],
    tolerance=1e-4,
    hints=(
        "All shapes are right. Ask of each line which numbers stand where, not how many there are.",
        "view never changes the order of the numbers in memory. One line needs another order than "
        "the one it has.",
        "The keys have to be cut as queries and values are, and only then be turned: "
        ".view(cut).permute(0, ..., ..., ...).",
    ),
)


@item.misconception(
    "The keys still hold numbers of other words: view alone cannot bring D in front of the words.",
    why="In memory the numbers of one word are neighbours. view(B, H, E, K) takes K neighbours for "
    "one number of K words.",
    hint="Look for the one view that is not followed by a transpose.",
)
class StillViewedOnly(_Mended):
    def turned(self, key: Tensor) -> Tensor:
        return key.reshape(key.size(0), self.n_heads, key.size(2) // self.n_heads, -1)


@item.misconception(
    "The keys are turned now, but they were cut straight to (B, H, K, E) before: words are mixed.",
    why="view(B, H, K, E) fills head 0 with the first part of the sentence. What follows cannot "
    "repair it.",
    hint="Which axis may a view cut without harm?",
)
class CutStraightAndTurned(_Mended):
    def turned(self, key: Tensor) -> Tensor:
        return key.reshape(key.size(0), self.n_heads, key.size(1), -1).transpose(-2, -1)


@item.misconception(
    "The keys' heads take every H-th number, and the queries' heads take E numbers in a row.",
    why="Then the first number of a query meets a number of a key that belongs to another head.",
    hint="In which order does `cut` name heads and numbers?",
)
class KeysTakeTurns(_Mended):
    def turned(self, key: Tensor) -> Tensor:
        return key.unflatten(2, (-1, self.n_heads)).permute(0, 3, 2, 1)


@item.misconception(
    "Your keys are cut, but not turned: (B, H, K, E), and the next product wants (B, H, E, K).",
    why="That is an error, unless there are as many keys as numbers a head. Then it runs, and is "
    "wrong in silence.",
    hint="query @ key sums over the last axis of query. Which axis of key does it meet?",
)
class CutAndNotTurned(_Mended):
    def turned(self, key: Tensor) -> Tensor:
        return self.split(key)


@item.misconception(
    "Now queries and values are cut straight away, too: all agree, and all of them are wrong.",
    why="Words leak into each other in all three. The line that differed was the wrong one, but "
    "it was not to be made the pattern.",
    hint="Try all three cuts on numbers that carry their place, as in the lesson.",
)
class AllCutStraightAway(_Mended):
    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), self.n_heads, x.size(1), -1)
