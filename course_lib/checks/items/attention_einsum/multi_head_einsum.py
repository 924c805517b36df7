"""05.multi_head_einsum: All heads in six einsums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib import model
from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.attention_einsum.einsum_parts import (
    Mask,
    draw_inputs,
    into_heads,
    out_of_heads,
)
from course_lib.checks.items.attention_matmul.attention_parts import (
    attention_with,
    hiding_mask,
    recent_mask,
)


def _multi_head(
    x: Float[Tensor, "batch query d_model"],
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    mask: Bool[Tensor, "#batch #heads #query #key"] | None = None,
) -> tuple[Float[Tensor, "batch query d_model"], Float[Tensor, "batch heads query key"]]:
    query, key, value = (into_heads(x, w) for w in (w_q, w_k, w_v))
    context, weights = model.attention_einsum(query, key, value, mask)
    return out_of_heads(context, w_o), weights


def _with_masks(draw: Draw, **more: bool) -> list[Call]:
    inputs = draw_inputs(draw, length=5, heads=3, d=8, e=4)
    return [
        Call(
            (*inputs, recent_mask(5)),
            {},
            about="a mask that hides the future and the distant past",
            **more,
        ),
        Call(
            inputs, {"mask": hiding_mask(draw, 2, 1, 1, 5)}, about="a mask that hides keys", **more
        ),
        Call(
            (*inputs, hiding_mask(draw, 2, 3, 5, 5)),
            {},
            about="a different mask for each head",
            **more,
        ),
    ]


def _sizes(draw: Draw) -> list[Call]:
    _, *weights = draw_inputs(draw, length=4, heads=2, d=6, e=3)
    strided = draw.strided(2, 4, 6)
    return [
        Call(draw_inputs(draw, length=4, heads=1, d=5, e=5), about="a single head"),
        Call(draw_inputs(draw, length=3, heads=4, d=6, e=1), about="d_head is 1"),
        Call(
            draw_inputs(draw, length=1, heads=2, d=3, e=4, batch=1),
            about="one sentence of one token",
        ),
        Call(
            (strided, *(w.mT.contiguous().mT for w in weights)),
            about="tensors that are not contiguous",
        ),
        Call(draw_inputs(draw, length=4, heads=2, d=6, e=3, double=True), about="float64"),
    ]


def _large_scores(draw: Draw) -> list[Call]:
    shapes = [tuple(x.shape) for x in draw_inputs(draw, length=5, heads=3, d=8, e=4)]
    integers = tuple(draw.ids(*shape, low=-3, high=3).float() for shape in shapes)
    return [Call(integers, about="scores in the hundreds")]  # sums of integers are exact


item = Item(
    "05.multi_head_einsum",
    reference=_multi_head,
    probes=[
        Probe(
            "each head uses its own part of all four weights",
            lambda draw: [
                Call(
                    draw_inputs(draw, length=5, heads=3, d=8, e=4),
                    about="heads · d_head is not d_model",
                ),
                Call(
                    draw_inputs(draw, length=6, heads=2, d=8, e=4),
                    about="heads · d_head is d_model",
                ),
            ],
        ),
        Probe("masked keys get no weight", _with_masks),
        Probe(
            "axes of the same size are not confused",
            lambda draw: [
                Call(
                    (*draw_inputs(draw, length=4, heads=4, d=8, e=2), recent_mask(4)),
                    about="4 tokens and 4 heads",
                ),
                Call(
                    (*draw_inputs(draw, length=3, heads=3, d=3, e=3), recent_mask(3)),
                    about="length, heads, d_model and d_head are all 3",
                ),
            ],
        ),
        Probe("it works with axes of size 1, any memory layout, and float64", _sizes),
        Probe("the result is finite for large scores", _large_scores),
        Probe(
            "gradients reach x and all four weights",
            lambda draw: _with_masks(draw, gradients=True),
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Q5b writes this layer with six einsums, one division and one softmax. Your "
        "attention_einsum already contains the division, the softmax and two of the einsums. "
        "Which four are left?",
        "On the way into the heads, you sum over d for every b, h, s and e. On the way out, "
        "you sum over h and e for every b, q and d. You don't need to concatenate anything.",
        'For a single head of a single sentence, the strings are "sd,de->se" on the way in and '
        '"qe,ed->qd" on the way out. With several heads, each matrix has one more axis. The '
        "output of the layer has none for the heads: what does einsum do with a letter that is "
        "missing after the arrow?",
    ),
)


ATTENTION = {  # misconceptions about one head: those of lesson 04
    "scale_forgotten": "not_scaled",
    "divided_by_d_head": "divided_by_d_head",
    "shared_out_by_the_keys": "softmax_over_queries",
    "hidden_after_softmax": "hidden_after_softmax",
    "mask_lost": "mask_ignored",
    "mask_handed_on_backwards": "mask_turned_round",
}


@item.switchable
def _variant(on: frozenset[str]) -> Callable[..., Any]:
    beside = on & {"words_come_first", "mask_meets_the_heads"}  # the mask meets heads, not queries
    scores = "bqhk" if beside else "bhqk"
    values = "bhve" if "keys_have_two_letters" in on else "bhke"
    attend = attention_with(
        frozenset(name for mine, name in ATTENTION.items() if mine in on),
        lambda query, key: torch.einsum(f"bhqe,bhke->{scores}", query, key),
        lambda weights, value: torch.einsum(f"{scores},{values}->bhqe", weights, value),
    )

    def answer(
        x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, mask: Mask = None
    ) -> Any:
        key_weight = w_q if "keys_from_w_q" in on else w_k
        value_weight = w_k if "values_from_w_k" in on else w_v
        query, key, value = (cut(x, w) for w in (w_q, key_weight, value_weight))
        if "queries_and_keys_swapped" in on:
            query, key = key, query
        if "mask_transposed" in on and mask is not None:
            mask = mask.mT
        if "root_of_the_word" in on:
            query = query * math.sqrt(query.size(-1) / x.size(-1))
        context, weights = attend(query, key, value, mask)
        if "heads_attend_to_heads" in on:
            context = context.transpose(1, 2)
        if "mask_meets_the_heads" in on:
            weights = weights.transpose(1, 2)
        if "weights_averaged" in on:
            weights = weights.mean(dim=1)
        output = joined(x, context, w_o)
        if "only_the_output" in on:
            return output
        return (weights, output) if "weights_first" in on else (output, weights)

    def cut(x: Tensor, w: Tensor) -> Tensor:
        heads = into_heads(x, w)  # (B, H, S, E)
        if "heads_attend_to_heads" in on:
            return heads.transpose(1, 2)
        if "cut_straight_away" in on:
            return heads.transpose(1, 2).reshape(heads.shape)
        return heads

    def joined(x: Tensor, context: Tensor, w_o: Tensor) -> Tensor:
        if "context_returned" in on:
            return context
        if "joined_heads_first" in on:
            return context.reshape(*x.shape[:2], -1) @ w_o.flatten(0, 1)
        output = out_of_heads(context, w_o)
        if "heads_averaged" in on:
            output = output / w_o.size(0)
        return output + x if "input_added" in on else output

    return answer


item.switch(
    "words_come_first",
    "In your weights, the axes of queries and heads are swapped.",
    why="Masks, plots and slices expect the order of the task. With yours, a mask for queries and "
    "keys is broadcast against heads and keys.",
    hint="After the arrow you can write any order.",
)
item.switch(
    "mask_meets_the_heads",
    "Your mask is broadcast against the heads. With 5 tokens and 3 heads that's an error. "
    "With as many tokens as heads it isn't, and tokens attend to the future.",
    why="Broadcasting matches axes by position, from the right, so scores and mask need their "
    "axes in the same order. A published implementation has this bug.",
    hint="Write down the axes of the scores, and below them those of the mask, aligned on the "
    "right.",
)
item.switch(
    "root_of_the_word",
    "In effect, your scores are divided by √d_model instead of √d_head.",
    why="A score is a sum over e, the d_head numbers of one head. The most widely copied einsum "
    "implementation has this bug, and its weights are closer to uniform than they should be.",
    hint="Which sizes are under a root in your code, of the scores or of a factor before them?",
)
item.switch(
    "scale_forgotten",
    "You don't scale the scores.",
    why="Einsum computes sums of products and nothing else. In a wide head, softmax then "
    "gives nearly all the weight to one key.",
    hint="Which step came between the product and softmax in lesson 04?",
)
item.switch(
    "shared_out_by_the_keys",
    "Your softmax is over the queries: the columns of your weights sum to one, not the rows.",
    why="Each query distributes a total weight of one among the keys. In self-attention both axes "
    "have the same size, so the shape doesn't show the bug.",
    hint="Which axis of your scores are the keys, and which dim does your softmax have?",
)
item.switch(
    "queries_and_keys_swapped",
    "Your scores are transposed: row i holds the scores of all queries with key i.",
    why="Queries and keys have the same size here, so there's no error, whether you swap their "
    "letters or w_q and w_k: the effect is the same.",
    hint="In which order are q and k in your scores, and which weight makes which of them?",
)
item.switch(
    "keys_from_w_q",
    "You compute the keys with w_q, and w_k is never used.",
    why="With one matrix for both, the scores are symmetric: a token looks for others exactly as "
    "it is found by them.",
    hint="For each of the four weights, find the line that uses it.",
)
item.switch(
    "values_from_w_k",
    "You compute the values with w_k, and w_v is never used.",
    why="The content that a token passes on would be the same as the key it is found by.",
    hint="For each of the four weights, find the line that uses it.",
)
item.switch(
    "heads_averaged",
    "Your output is the mean over the heads, not the sum.",
    why="The outputs of all heads are added up. The mean is smaller by a factor of n_heads.",
    hint="A letter that is missing after the arrow is summed over. Where does your code divide, "
    "or take a mean?",
)
item.switch(
    "joined_heads_first",
    "Your weights are right, but you join the heads while they still come before the tokens.",
    why="reshape keeps the order of the numbers, so token 0 gets those of head 0 for the first few "
    "tokens. With einsum you don't have to join anything.",
    hint="Which letters do the context and w_o share?",
)
item.switch(
    "keys_have_two_letters",
    "Your weights are right, but the context is the same for every query: the sum of the values.",
    why="A value should be multiplied by the weight of its key before you sum. If the keys have "
    "one letter in the weights and another in the values, the two are summed separately.",
    hint="Look for a letter that occurs in one input only, and not after the arrow.",
)
item.switch(
    "mask_lost",
    "Your mask has no effect on the output.",
    why="The mask has to reach the softmax. Without it, tokens attend to padding and the future.",
    hint="Follow the variable mask through your function.",
)
item.switch(
    "mask_handed_on_backwards",
    "Your mask is inverted: keys with True are masked, keys with False aren't.",
    why="In this course, True means that a query may attend to the key. attention_einsum "
    "takes the mask in the same way, so pass it on unchanged.",
    hint="Which keys get weight 0 in your code: those with True, or those with False?",
)
item.switch(
    "weights_first",
    "You return the two results in the wrong order: weights first.",
    why="Callers unpack `output, weights`, and would mix them up.",
    hint="In which order does the task list the two results?",
)
item.switch(
    "only_the_output",
    "You return the output alone.",
    why="Callers unpack `output, weights`. Without the weights, nobody can see what a head attends "
    "to.",
    hint="How many results does the task ask for?",
)
item.switch(
    "context_returned",
    "You return the context of the heads: w_o is never used.",
    why="The context still has an axis for the heads. w_o combines them and brings the result back "
    "to d_model numbers per token.",
    hint="Which einsum leads out of the heads?",
)
item.switch(
    "divided_by_d_head",
    "You divide the scores by d_head, not by its square root.",
    why="The standard deviation of a dot product grows only with √d_head. If you divide by "
    "d_head, the weights are too close to uniform.",
    hint="The task names the scale. Do you divide by a root twice, here and in attention_einsum?",
)
item.switch(
    "hidden_after_softmax",
    "You apply the mask after softmax, so the remaining weights don't sum to one.",
    why="Softmax has already given weight to the masked keys. If you set it to 0, it's missing "
    "from the sum.",
    hint="Does your attention_einsum pass its check? Do you call it here?",
)
item.switch(
    "cut_straight_away",
    "You split the heads with a single reshape, which mixes up different tokens.",
    why="reshape never changes the order of the numbers, so your first head holds the first tokens "
    "and not a part of each token. With einsum no reshape is needed.",
    hint="Write the axes of the projected x after an arrow, in the order that you want.",
)
item.switch(
    "heads_attend_to_heads",
    "In your code the heads of a token attend to each other, and no token attends to another.",
    why="In your product the heads stand where the tokens should, so your weights have two axes of "
    "heads, one for queries and one for keys.",
    hint="Which two letters should the scores of one head have, and which do yours have?",
)
item.switch(
    "mask_transposed",
    "Your mask is transposed: its queries and keys are swapped.",
    why="Rows of a mask are queries, columns are keys, as in the scores. A transposed causal mask "
    "lets each token attend to the future and hides the past.",
    hint="Follow the mask's axes of queries and keys through your code.",
)
item.switch(
    "weights_averaged",
    "You return the mean of the heads' weights.",
    why="Each head has a pattern of its own, and a mean shows none of them. The task asks for the "
    "weights of each head.",
    hint="Which axis do you take a mean or a sum over?",
)
item.switch(
    "input_added",
    "You add x to the output.",
    why="That's the residual connection of the block around attention. This function returns what "
    "is added there, and nothing else.",
    hint="Does the task ask for a residual connection?",
)
