"""13.cached_step: one step of self-attention with a key/value cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult, load_weights
from course_lib.checks.items.attention_matmul.merge_heads import heads_take_turns
from course_lib.checks.items.attention_matmul.split_heads import every_other_column
from course_lib.model import MultiHeadAttention, attention_matmul, merge_heads, split_heads

Past = tuple[Tensor, Tensor] | None
Result = tuple[Tensor, tuple[Tensor, Tensor]]


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

    Raises:
        WrongResult: a step doesn't return a tensor and a pair of tensors.
    """
    attention = MultiHeadAttention(**init).eval()
    load_weights(attention, weights)
    outputs = []
    for t in range(x.size(1)):
        output, past = _parts(step(attention, x[:, t : t + 1], past))
        outputs.append(output)
    return torch.cat(outputs, dim=1), past


def _parts(result: Any) -> tuple[Tensor, Past]:
    """The output and the past, which must be of these types."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise WrongResult(f"expected a pair, the output and the new past, got {_described(result)}")
    output, past = result
    if not isinstance(output, Tensor):
        raise WrongResult(f"expected an output that is a tensor, got {_described(output)}")
    pair = isinstance(past, (tuple, list)) and len(past) == 2
    if past is not None and not (pair and all(isinstance(x, Tensor) for x in past)):
        raise WrongResult(f"expected a past that is a pair of tensors, got {_described(past)}")
    return output, past if past is None else tuple(past)


def _described(x: Any) -> str:
    if isinstance(x, Tensor):
        return f"a tensor of shape {tuple(x.shape)}"
    if isinstance(x, (tuple, list)):
        kinds = ", ".join(type(each).__name__ for each in x)
        return f"a {type(x).__name__} of {len(x)} ({kinds})"
    return "None" if x is None else f"a value of type {type(x).__name__}"


def _cached_step(attention: MultiHeadAttention, x: Tensor, past: Past) -> Result:
    query, key, value = (
        split_heads(project(x), attention.n_heads)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    if past is not None:
        key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
    context, _ = attention_matmul(query, key, value)
    return attention.out_proj(merge_heads(context)), (key, value)


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
    about = f"batch {batch}, n_heads {heads}, tokens: {past} in the past and {length} new"
    about += ", one a step" if length > 1 else ""
    return Call((x, old), {"init": init, "weights": weights}, about=about, gradients=gradients)


item = Item(
    "13.cached_step",
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
        "Project x three times and split the heads, which gives (B, H, 1, E) each time. Put the "
        "keys and values of the past in front of the new ones. Then attend, merge the heads, and "
        "project the result. No mask is needed.",
        "If x has the shape (2, 4) and y (2, 1), torch.cat((x, y), dim=1) has (2, 5), with y at "
        "the end. Which axis of (B, H, t, E) counts the tokens? And which keys and values does "
        "the next step need: those of the new token, or those of all tokens so far?",
    ),
)


@item.switchable
def step_with(on: frozenset[str]) -> Callable[..., tuple[Tensor, Past]]:
    """``cached_step`` with these misconceptions."""
    by_columns = on & {"every_other_column", "every_other_column_merged_alike"}

    def answer(attention: MultiHeadAttention, x: Tensor, past: Past) -> tuple[Tensor, Past]:
        with torch.set_grad_enabled("no_gradients" not in on):
            return step(attention, x, past)

    def step(attention: MultiHeadAttention, x: Tensor, past: Past) -> tuple[Tensor, Past]:
        key_proj = attention.q_proj if "keys_from_q_proj" in on else attention.k_proj
        value_proj = attention.k_proj if "values_from_k_proj" in on else attention.v_proj
        split = every_other_column if by_columns else split_heads
        query, new_key, new_value = (
            split(project(x), attention.n_heads)
            for project in (attention.q_proj, key_proj, value_proj)
        )
        if "scaled_by_the_width" in on:
            query = query * math.sqrt(query.size(-1) / x.size(-1))
        if "scaled_by_a_share_of_the_width" in on:
            query = query * math.sqrt(query.size(-1) / (x.size(-1) // attention.n_heads))
        key = append(None if past is None else past[0], new_key)
        value = append(None if past is None else past[1], new_value)
        if any(name.startswith("values_not_appended") for name in on):
            value = new_value
        if "past_not_read" in on:
            context = attend(query, new_key, new_value)
        elif "itself_left_out" in on and past is not None:
            context = attend(query, *past)
        elif "masked_as_the_first" in on:
            context = attend(query, key[:, :, :1], value[:, :, :1])
        else:
            context = attend(query, key, value)
        output = merge_heads(context)
        if "every_other_column_merged_alike" in on:
            output = heads_take_turns(context)
        if "heads_never_mixed" not in on:
            output = attention.out_proj(output)
        if "past_returned_as_it_came" in on or ("past_never_grows" in on and past is not None):
            return output, past
        if "past_forgotten" in on:
            key, value = new_key, new_value
        if "past_detached" in on:
            key, value = key.detach(), value.detach()
        return output, (value, key) if "keys_and_values_exchanged" in on else (key, value)

    def append(old: Tensor | None, new: Tensor) -> Tensor:
        if old is None:
            return new
        if "old_past_detached" in on:
            old = old.detach()
        return torch.cat((new, old) if "new_row_first" in on else (old, new), dim=2)

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if "values_not_appended" in on:
            return attention_matmul(query, key, value)[0]
        if "values_not_appended_and_fused" in on:
            return F.scaled_dot_product_attention(query, key, value)
        width = query.size(-1)
        if "scaled_by_all_heads" in on:
            width *= query.size(1)
        if "scaled_by_the_length" in on:
            width = key.size(2)
        scores = query @ key.transpose(-2, -1) / (1.0 if "not_scaled" in on else math.sqrt(width))
        axis = -1
        if "softmax_over_the_query" in on:
            axis = -2
        if "softmax_over_the_heads" in on:
            axis = 1
        return (scores if "no_softmax" in on else scores.softmax(dim=axis)) @ value

    return answer


item.switch(
    "past_not_read",
    "Your new token attends only to itself, and to nothing in its past.",
    why="The past is passed on but never used. Every token is generated as if it were the first.",
    hint="Which keys is the query compared with?",
)
item.switch(
    "itself_left_out",
    "Your new token attends to its past, but not to itself.",
    why="A causal mask allows every token to attend to itself. Its own key and value belong to "
    "what it attends to.",
    hint="Is the new token's key among those that its query is compared with? Mind when you "
    "append, and what a mask hides.",
)
item.switch(
    "past_forgotten",
    "Your new past contains only the new token.",
    why="The next step needs all keys and values so far. Here it finds one of each.",
    hint="What do you have to return: the new rows, or the old ones with the new?",
)
item.switch(
    "past_never_grows",
    "Where there is a past, you return it as it came: the new token's key and value are not in it.",
    why="The next token can't attend to this one.",
    hint="What has grown by one row, and is it what you return?",
    spellings=["past_returned_as_it_came"],
)
item.switch(
    "values_not_appended",
    "You append the keys to the past, but not the values.",
    why="Every key needs its value. As soon as there is a past, there are more weights than "
    "values, and attention fails.",
    hint="How many rows do key and value have when you attend?",
    spellings=["values_not_appended_by_hand", "values_not_appended_and_fused"],
)
item.switch(
    "new_row_first",
    "Your new row comes before the past, not after it.",
    why="The output is the same, since attention doesn't depend on the order of keys. But row t of "
    "the past should belong to token t: code that reorders or truncates the cache would take the "
    "wrong row.",
    hint="In which order do you join the old rows and the new one?",
)
item.switch(
    "keys_and_values_exchanged",
    "Your past comes out with keys and values swapped.",
    why="At the next step, values are used as keys. The shapes fit, so there's no error.",
    hint="In which order did the past come in?",
)
item.switch(
    "masked_as_the_first",
    "Your new token attends to the very first token and to no other.",
    why="The new token is the last one, and may attend to the whole past. A causal mask for one "
    "query and t keys (is_causal=True, too) allows only key 0, as if the query were the first.",
    hint="Everything in the cache is in the past. Do you need a mask?",
)
item.switch(
    "softmax_over_the_query",
    "Your softmax doesn't run over the keys.",
    why="The weights of the keys should sum to one. There's only one query, so a softmax over "
    "queries gives every key the weight 1, and a softmax over heads compares heads.",
    hint="Which axis of your scores belongs to the keys, and over which one do your weights sum "
    "to one?",
    spellings=["softmax_over_the_heads"],
)
item.switch(
    "no_softmax",
    "You use the scores as weights: softmax is missing.",
    why="Scores can be negative, and don't sum to one. The output would be no mean of the values.",
    hint="Which step comes between the scores and the values?",
)
item.switch(
    "keys_from_q_proj",
    "Your keys go through q_proj, and k_proj has no effect.",
    why="A token's key would equal its query: what it looks for would also be what it is found by.",
    hint="For each of the four projections, find the line that uses it, and what becomes of its "
    "result.",
)
item.switch(
    "values_from_k_proj",
    "Your values go through k_proj, and v_proj has no effect.",
    why="What a token passes on would be the same as the key it is found by.",
    hint="For each of the four projections, find the line that uses it, and what becomes of its "
    "result.",
)
item.switch(
    "heads_never_mixed",
    "Your output isn't projected: out_proj is missing.",
    why="Without it, the heads are only concatenated and never mixed.",
    hint="The layer has four projections. How many did you use?",
)
item.switch(
    "every_other_column",
    "Each of your heads takes every n_heads-th column of a projection, not d_head "
    "neighbouring columns.",
    why="The first d_head columns of a projection belong to head 0, the next to head 1, and so on. "
    "The layer was trained that way, and its past comes in that order.",
    hint="In which order do n_heads and d_head stand where you split the last axis?",
    spellings=["every_other_column_merged_alike"],
)
item.switch(
    "scaled_by_the_width",
    "Your scores are divided by the square root of the whole width, not of a head's width, "
    "√d_head.",
    why="A score is a sum of d_head products of one head, with or without a cache.",
    hint="How long is a query of one head?",
    spellings=["scaled_by_all_heads"],
)
item.switch(
    "scaled_by_a_share_of_the_width",
    "Your scores are divided by √(d_model / n_heads), whatever the width of a head is.",
    why="A score is a sum of d_head products, and a layer can be made with another d_head than "
    "d_model / n_heads.",
    hint="Which size is under the root in your code, and how long is a query of one head?",
)
item.switch(
    "scaled_by_the_length",
    "Your scores are divided by the square root of the number of keys.",
    why="That number grows with each step, so the same two tokens would get a different score "
    "later on.",
    hint="How many products does a score add up?",
)
item.switch(
    "not_scaled",
    "Your scores aren't scaled at all.",
    why="Without the scale, the scores grow with the width of a head. Softmax then gives most of "
    "the weight to one token, and chance decides which.",
    hint="Equation (1) of the paper has a square root in it.",
)
item.switch(
    "past_detached",
    "Keys and values of your past are detached, so gradients are missing.",
    why="At inference that would be fine. Here the task asks for gradients, so that a cached step "
    "can also be trained.",
    hint="Look for detach, .data and torch.no_grad.",
    spellings=["old_past_detached"],
)
item.switch(
    "no_gradients",
    "No gradients flow through your step.",
    why="At inference that would be fine. Here the task asks for gradients, so that a cached step "
    "can also be trained.",
    hint="Who should decide whether gradients are recorded: this function, or its caller?",
)
