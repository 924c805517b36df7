"""04.multi_head_attention: All heads together."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from course_lib import model
from course_lib.checks.engine import Call, Draw, Item, Probe, variation
from course_lib.checks.engine.adapters import use_module
from course_lib.checks.items.attention_matmul.attention_parts import (
    Layer,
    attending,
    attention_with,
    gradient_calls,
    layer_call,
    masked_layers,
    recent_mask,
    self_attention,
    three,
)
from course_lib.checks.items.attention_matmul.merge_heads import heads_take_turns
from course_lib.checks.items.attention_matmul.split_heads import every_other_column


def _sizes_and_types(draw: Draw) -> list[Call]:
    x, equal, strided = draw.normal(2, 5, 6), draw.normal(2, 4, 8), draw.strided(2, 5, 6)
    doubles = draw.normal(2, 5, 6, dtype=torch.float64)
    return [
        layer_call(draw, x, x, x, heads=1, about="a single head"),
        layer_call(draw, x, x, x, heads=6, about="d_head is 1"),
        layer_call(
            draw, equal, equal, equal, recent_mask(4), heads=4, about="as many heads as tokens"
        ),
        layer_call(
            draw, strided, strided, strided, heads=3, about="a tensor that is not contiguous"
        ),
        layer_call(draw, doubles, doubles, doubles, heads=3, about="float64"),
        layer_call(draw, x, x, x, heads=2, train=True, about="the layer in training mode"),
    ]


item = Item(
    "04.multi_head_attention",
    reference=model.MultiHeadAttention,
    use=use_module,
    constructor_given=True,
    probes=[
        Probe("self-attention", self_attention),
        Probe(
            "queries, keys and values may be three different tensors",
            lambda draw: [
                layer_call(draw, *three(draw), heads=3, about="4 queries, 6 keys, 3 heads"),
                layer_call(draw, *three(draw), heads=4, about="4 queries, 6 keys, 4 heads"),
            ],
        ),
        Probe("masked keys get no weight", masked_layers),
        Probe(
            "it works with any number of heads, any memory layout, float64, and both modes",
            _sizes_and_types,
        ),
        Probe("gradients reach every parameter and every input", gradient_calls),
    ],
    tolerance=1e-4,
    hints=(
        "The layer takes five steps: project, split, attend, merge, and project again. You've "
        "already written functions for three of them. Which ones?",
        "Query, key and value each go through a projection of their own and are then split "
        "into heads. Merge the contexts of the heads, and apply out_proj last. Pass the mask "
        "on as it is.",
        "Build it from the inside out. Each of query, key and value first goes through its "
        "projection, and the result into split_heads, together with self.n_heads. Attention "
        "returns a pair, and context, _ = (1, 2) keeps only the first of a pair. What has to be "
        "undone before out_proj can mix the heads?",
    ),
)


item.add(
    variation(Layer, "ScaledByDModel", attend=attending("scaled_by_d_model")),
    "Your scores are divided by √d_model instead of √d_head.",
    why="After the split, a score is a sum of d_head products. With 8 heads the divisor is too "
    "large by a factor of √8, and the weights are closer to uniform than they should be. A widely "
    "copied implementation has this bug.",
    hint="Which size is under the root in your code? Take d_head from the shape of the queries "
    "after the split.",
)
item.add(
    variation(Layer, "NotScaled", attend=attending("not_scaled")),
    "You don't scale the scores.",
    why="The standard deviation of the scores grows with √d_head, so in a wide head softmax "
    "gives nearly all the weight to one key.",
    hint="Which step comes between the scores and softmax?",
)


@item.misconception(
    "Your output is that of a single head as wide as d_model.",
    why="Without the split there's only one softmax, so each token has a single set of attention "
    "weights. Parameters and shapes are the same, so usually nothing raises an error.",
    hint="Where do you use n_heads? Print the shape of your attention weights.",
)
class OneWideHead(Layer):
    def split(self, x: Tensor) -> Tensor:
        return x[:, None]


@item.spelling("OneWideHead")
class OneWideHeadAndDHead(OneWideHead):
    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return super().attend(query * math.sqrt(self.n_heads), key, value, mask)


@item.misconception(
    "You reshape directly to (batch, heads, seq, d_head), which mixes up tokens before attention.",
    why="view never changes the order of the numbers. It fills head 0 with the first part of the "
    "sentence.",
    hint="Split the last axis first, then swap heads and seq.",
)
class CutStraightAway(Layer):
    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), self.n_heads, x.size(1), -1)


@item.misconception(
    "You merge the contexts without moving the heads back, so tokens and heads are mixed up.",
    why="The shape is right, but token 0 gets the numbers of head 0 for the first few tokens.",
    hint="What is the inverse of split_heads, step by step?",
)
class MergedStraightAway(Layer):
    def merge(self, context: Tensor) -> Tensor:
        return context.reshape(context.size(0), context.size(2), -1)


@item.misconception(
    "Each of your heads takes every n_heads-th column of a projection, not d_head columns in a "
    "row.",
    why="The first d_head columns of a projection belong to head 0, the next to head 1, and so on. "
    "With weights from elsewhere, such as those of this check, your heads get the wrong columns.",
    hint="In which order do n_heads and d_head stand where you split d_model?",
)
class EveryOtherColumn(Layer):
    def split(self, x: Tensor) -> Tensor:
        return every_other_column(x, self.n_heads)


item.spelling_with("EveryOtherColumn", merge=lambda layer, context: heads_take_turns(context))


@item.misconception(
    "You add the query to the output.",
    why="That's the residual connection of the block around attention. This layer returns what is "
    "added there, and nothing else.",
    hint="Does the task ask for a residual connection?",
)
class InputAdded(Layer):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
        return super().forward(query, key, value, mask) + query


@item.misconception(
    "Your tokens don't attend to each other: within each token, heads attend to heads.",
    why="Your scores compare heads with heads: of (batch, seq, heads, d_head), the last two axes "
    "are heads and d_head. No information passes from one token to another.",
    hint="Print the shape of your scores. Are its last two axes queries and keys?",
)
class HeadsReadHeads(Layer):
    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.n_heads, -1))

    def merge(self, context: Tensor) -> Tensor:
        return context.flatten(2)


@item.misconception(
    "You compute keys and values from the query, so every sentence attends to itself.",
    why="In self-attention all three are the same. But in cross-attention a decoder gets the "
    "source through key and value, and would never see it.",
    hint="Does your forward use its second and third arguments?",
)
class ReadsItself(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(query, query, query)


@item.misconception(
    "You compute the values from the key tensor, and don't use the third argument.",
    why="Usually key and value are the same tensor, and you won't notice. In general they may "
    "differ.",
    hint="Look at what goes into v_proj.",
)
class ValuesFromTheKey(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(query, key, key)


@item.misconception(
    "Your keys go through q_proj, and k_proj is never used.",
    why="With one projection for both, a token looks for others exactly as it is found by them. "
    "k_proj would get no gradient.",
    hint="For each of the four projections, find the line that uses it.",
)
class KeysFromQProj(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(query), self.q_proj(key), self.v_proj(value)


@item.misconception(
    "Your values go through k_proj, and v_proj is never used.",
    why="The content that a token passes on would be the same as the key it is found by. v_proj "
    "would get no gradient.",
    hint="For each of the four projections, find the line that uses it.",
)
class ValuesFromKProj(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(query), self.k_proj(key), self.k_proj(value)


@item.misconception(
    "You return the merged context itself: it doesn't go through out_proj.",
    why="So far the heads are only concatenated. out_proj (W_O in the paper) combines them; "
    "without it, each column of the output depends on one head only.",
    hint="The paper's formula has one more matrix.",
)
class NotMixed(Layer):
    def project_out(self, merged: Tensor) -> Tensor:
        return merged


item.add(
    variation(Layer, "MaskLost", attend=attending("mask_ignored")),
    "Your mask has no effect on the output.",
    why="The mask has to reach the softmax. Without it, tokens attend to padding and the future.",
    hint="Follow the variable mask through your forward.",
)
item.add(
    variation(Layer, "MaskTurnedRound", attend=attending("mask_turned_round")),
    "Your mask is inverted: keys with True are masked, keys with False aren't.",
    why="In this course, True means that a query may attend to the key. "
    "scaled_dot_product_attention takes it in the same way; if you call that, pass the "
    "mask on unchanged.",
    hint="Which keys get weight 0 in your code: those with True, or those with False?",
)
item.add(
    variation(Layer, "DividedByDHead", attend=attending("divided_by_d_head")),
    "You divide the scores by d_head, not by its square root.",
    why="The standard deviation of a dot product grows only with √d_head. If you divide by "
    "d_head, the weights are too close to uniform.",
    hint="Does scaled_dot_product_attention pass its check? Do you call it here?",
)
item.add(
    variation(Layer, "SoftmaxOverQueries", attend=attending("softmax_over_queries")),
    "In your layer, the softmax is over the queries instead of the keys.",
    why="Each query distributes a total weight of one among the keys, so each row of the weights "
    "has to sum to one. In yours, the columns do.",
    hint="Does scaled_dot_product_attention pass its check? Do you call it here?",
)
item.add(
    variation(Layer, "HiddenAfterSoftmax", attend=attending("hidden_after_softmax")),
    "In your layer, the mask is applied after softmax.",
    why="Softmax has already given weight to the masked keys. If you set it to 0, it's missing "
    "from the sum, and the context is no longer an average of the values.",
    hint="Does scaled_dot_product_attention pass its check? Do you call it here?",
)
item.add(
    variation(Layer, "MaskWithAnotherAxis", attend=attending("mask_with_another_axis")),
    "You give the mask another axis, but it already has four axes, as the scores have.",
    why="Broadcasting aligns axes on the right. The first of your mask's five axes then has "
    "no partner among the scores', so the scores get a fifth axis, too.",
    hint="Print mask.shape before and after that line. To which shape does the mask broadcast, "
    "according to the task?",
)


@item.misconception(
    "Queries go through k_proj and keys through q_proj: the two are swapped.",
    why="A layer trained that way would work, but weights from elsewhere, such as those of this "
    "check, give another result.",
    hint="For each of the four projections, find the line that uses it.",
)
class QueryAndKeySwapped(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.k_proj(query), self.q_proj(key), self.v_proj(value)


@item.misconception(
    "You split query, key and value as they come, without q_proj, k_proj and v_proj.",
    why="Without projections all heads would have to work on raw columns of the input, and there "
    "would be nothing to learn before out_proj.",
    hint="For each of the four projections, find the line that uses it.",
)
class NotProjected(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return query, key, value


@item.misconception(
    "Your layer leaves out the biases of its projections.",
    why="nn.Linear computes x · Wᵀ + b. If you multiply by .weight yourself, nobody adds the b, "
    "and it would never get a gradient.",
    hint="A layer can be called like a function. Do you do that with all four?",
)
class BiasesLeftOut(Layer):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return (
            query @ self.q_proj.weight.T,
            key @ self.k_proj.weight.T,
            value @ self.v_proj.weight.T,
        )

    def project_out(self, merged: Tensor) -> Tensor:
        return merged @ self.out_proj.weight.T


@item.misconception(
    "You return the weights as well as the output.",
    why="The task asks for one tensor. Layers that come after this one would get a tuple.",
    hint="How many results does the task ask for, and which?",
)
class WeightsReturned(Layer):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
        output = super().forward(query, key, value, mask)
        query, key, value = (self.split(x) for x in self.project(query, key, value))
        return output, attention_with(frozenset())(query, key, value, mask)[1]
