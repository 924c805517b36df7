"""04.bug: Right shapes, wrong numbers."""

from __future__ import annotations

import math

from torch import Tensor

from course_lib.checks.engine import Bug, Item, Probe
from course_lib.checks.engine.adapters import use_module
from course_lib.checks.items.attention_matmul.attention_parts import (
    Layer,
    gradient_calls,
    layer_call,
    masked_layers,
    self_attention,
    three,
)
from course_lib.model.attention import masked_softmax

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


class _Fixed(Layer):
    """The same in steps; ``transposed`` makes (batch, heads, d_head, keys) of projected keys."""

    def transposed(self, key: Tensor) -> Tensor:
        return self.split(key).transpose(-2, -1)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        query, key, value = self.project(query, key, value)
        query, value = self.split(query), self.split(value)
        scores = query @ self.transposed(key) / math.sqrt(query.size(-1))
        return self.project_out(self.merge(masked_softmax(scores, mask) @ value))


item = Item(
    "04.bug",
    reference=_Fixed,
    use=use_module,
    constructor_given=True,
    bug=Bug(BUG, line=14),
    probes=[
        Probe(
            "each token's key holds its own numbers",
            lambda draw: [
                layer_call(draw, *three(draw), heads=3, about="4 queries, 6 keys, 3 heads of 4"),
                layer_call(
                    draw,
                    *three(draw),
                    heads=2,
                    about="6 keys, 2 heads of 6: as many keys as d_head",
                ),
            ],
        ),
        Probe("self-attention", self_attention),
        Probe("masked keys get no weight", masked_layers),
        Probe("gradients reach every parameter and every input", gradient_calls),
    ],
    tolerance=1e-4,
    hints=(
        "All shapes are right. For each line, ask which number ends up where, not how many there "
        "are.",
        "view never changes the order of the numbers in memory. One line needs a different order.",
        "Split the keys like the queries and values, and only then move the axes. permute lists "
        "the old axes in their new order: for an x of shape (5, 3, 4), x.permute(2, 0, 1) has the "
        "shape (4, 5, 3).",
    ),
)


@item.misconception(
    "The keys still mix up the numbers of different tokens: view or reshape alone can't transpose.",
    why="In memory the numbers of one token are neighbours. A view or reshape to (batch, heads, "
    "d_head, keys) treats neighbouring numbers as if they belonged to different tokens.",
    hint="Look for the line that gives a tensor a new shape and moves no axis.",
)
class StillViewedOnly(_Fixed):
    def transposed(self, key: Tensor) -> Tensor:
        return key.reshape(key.size(0), self.n_heads, key.size(2) // self.n_heads, -1)


@item.misconception(
    "You transpose the keys now, but you view or reshape them as (batch, heads, keys, d_head) "
    "first, and that mixes up tokens.",
    why="That fills head 0 with the first part of the sentence. A transpose afterwards can't "
    "repair it.",
    hint="Which axis can you split without mixing up tokens?",
)
class CutStraightAndTurned(_Fixed):
    def transposed(self, key: Tensor) -> Tensor:
        return key.reshape(key.size(0), self.n_heads, key.size(1), -1).transpose(-2, -1)


@item.misconception(
    "A head of the keys takes every n_heads-th number, but a head of the queries takes d_head "
    "consecutive numbers.",
    why="Then a head multiplies its queries by numbers of the key that belong to other heads.",
    hint="Which numbers of a token does head 0 of the queries get? Does head 0 of the keys get "
    "the same ones?",
)
class KeysTakeTurns(_Fixed):
    def transposed(self, key: Tensor) -> Tensor:
        return key.unflatten(2, (-1, self.n_heads)).permute(0, 3, 2, 1)


@item.misconception(
    "You split the keys but don't transpose them: they are (batch, heads, keys, d_head), and the "
    "next product needs (batch, heads, d_head, keys).",
    why="That raises an error, unless the number of keys equals d_head. Then it runs and is wrong.",
    hint="query @ key sums over the last axis of query. Over which axis of key?",
)
class CutAndNotTurned(_Fixed):
    def transposed(self, key: Tensor) -> Tensor:
        return self.split(key)


@item.misconception(
    "Now you split queries and values the wrong way, too: all three agree, and all are wrong.",
    why="In all three, numbers of one token end up with another. The line that differed from the "
    "others was the wrong one.",
    hint="Try all three lines on numbers that encode their own position, as in the lesson.",
)
class AllCutStraightAway(_Fixed):
    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), self.n_heads, x.size(1), -1)
