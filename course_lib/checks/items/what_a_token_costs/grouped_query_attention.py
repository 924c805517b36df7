"""18.grouped_query_attention: new tokens attend with fewer heads of keys than of queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.model import attention_matmul, causal_mask
from course_lib.modern import repeat_heads, window_mask

Past = tuple[Tensor, Tensor]
Result = tuple[Tensor, Past]


def _grouped(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    past: Past | None = None,
    window: int | None = None,
) -> Result:
    if past is not None:
        key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
    sizes = query.size(2), key.size(2)
    mask = causal_mask(*sizes) & window_mask(*sizes, window=window)
    many_keys, many_values = (repeat_heads(x, query.size(1)) for x in (key, value))
    return attention_matmul(query, many_keys, many_values, mask)[0], (key, value)


def _call(
    draw: Draw,
    heads: int,
    kv_heads: int,
    new: int,
    *,
    past: int = 0,
    window: int | None = None,
    batch: int = 2,
    widths: tuple[int, int] = (4, 5),
    dtype: torch.dtype = torch.float32,
    gradients: bool = False,
) -> Call:
    """``new`` tokens behind ``past`` earlier ones; ``widths`` are those of keys and values."""
    d_head, d_value = widths
    old = None
    if past:
        old = tuple(draw.normal(batch, kv_heads, past, width, dtype=dtype) for width in widths)
    about = f"{heads} head{'s' * (heads > 1)} of queries, {kv_heads} of keys, {new} new"
    about += f" behind {past} in the past" * bool(past)
    about += f", window {window}" * (window is not None)
    arguments = (
        draw.normal(batch, heads, new, d_head, std=2.0, dtype=dtype),
        draw.normal(batch, kv_heads, new, d_head, dtype=dtype),
        draw.normal(batch, kv_heads, new, d_value, dtype=dtype),
        old,
        window,
    )
    return Call(arguments, about=about, gradients=gradients)


item = Item(
    "18.grouped_query_attention",
    reference=_grouped,
    tolerance=1e-4,
    probes=[
        Probe(
            "neighbouring heads of queries share one head of keys and values",
            lambda draw: [_call(draw, 6, 2, 3), _call(draw, 8, 4, 3, batch=3)],
        ),
        Probe(
            "with as many heads of keys as of queries it is multi-head attention, and with one, "
            "multi-query attention",
            lambda draw: [_call(draw, 3, 3, 4), _call(draw, 4, 1, 4)],
        ),
        Probe(
            "the past keeps each key once, and the new ones stand at its end",
            lambda draw: [
                _call(draw, 6, 2, 1, past=4),
                _call(draw, 4, 2, 3, past=2),
                _call(draw, 3, 1, 2, past=5, batch=1),
            ],
        ),
        Probe(
            "a window of w leaves a token itself and the w − 1 before it",
            lambda draw: [
                _call(draw, 4, 2, 6, window=3),
                _call(draw, 4, 2, 2, past=5, window=4),
                _call(draw, 4, 2, 1, past=4, window=3),
                _call(draw, 2, 1, 1, past=3, window=2),
                _call(draw, 6, 3, 3, past=2, window=1),
                _call(draw, 2, 1, 4, past=1, window=50),
            ],
        ),
        Probe(
            "any sizes, and float64",
            lambda draw: [
                _call(draw, 1, 1, 1, batch=1, widths=(2, 2)),
                _call(draw, 4, 2, 4, past=4, widths=(4, 4)),
                _call(draw, 6, 2, 3, past=2, dtype=torch.float64),
            ],
        ),
        Probe(
            "gradients reach queries, keys, values and the past",
            lambda draw: [_call(draw, 6, 2, 3, past=2, gradients=True)],
        ),
    ],
    hints=(
        "With six heads of queries and two of keys, which heads of queries belong together? And "
        "which of the two should be in the cache: two heads of keys, or six?",
        "Append first, so that what you return has G heads. Then give each head of queries its "
        "keys and values, and attend as in lesson 04, with a mask for what comes later and for "
        "what lies too far back. The new tokens are the last of all keys.",
        "For x with the values 10 and 20, torch.repeat_interleave(x, 2) is 10, 10, 20, 20, and "
        "x.repeat(2) is 10, 20, 10, 20: which of them has neighbours that share? And of five keys, "
        "the second of two new tokens is number 4, so with a window of 2 it may read 3 and 4.",
    ),
)


@item.switchable
def attention_with(on: frozenset[str]) -> Callable[..., Any]:
    """``grouped_query_attention`` with these misconceptions."""

    def answer(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        past: Past | None = None,
        window: int | None = None,
    ) -> Any:
        heads, kept = query.size(1), None
        seen = 0 if past is None else past[0].size(2)
        new = key, value
        if "repeated_before_they_are_appended" in on:
            key, value = many(key, heads), many(value, heads)
        if past is not None and "past_not_read" not in on:
            key, value = append(past[0], key), append(past[1], value)
        if "queries_averaged" in on:
            query = query.unflatten(1, (key.size(1), -1)).mean(dim=2)
        if "first_heads_of_queries" in on:
            query = query[:, : key.size(1)]
        many_keys, many_values = many(key, heads), many(value, heads)
        if "values_in_turn" in on:
            many_values = value.repeat(1, heads // value.size(1), 1, 1)
        if on & {"queries_averaged", "first_heads_of_queries"}:
            many_keys, many_values = key, value
        context = attend(query, many_keys, many_values, seen, window)
        if "repeated_heads_kept" in on:
            kept = many_keys, many_values
        elif "only_new_kept" in on:
            kept = new
        elif "past_never_grows" in on and past is not None:
            kept = past
        elif "past_cut_to_the_window" in on and window is not None:
            kept = key[:, :, -window:], value[:, :, -window:]
        elif "keys_and_values_exchanged" in on:
            kept = value, key
        elif "past_not_read" in on and past is not None:
            kept = append(past[0], key), append(past[1], value)
        else:
            kept = key, value
        if "past_detached" in on:
            kept = kept[0].detach(), kept[1].detach()
        return context if "context_alone" in on else (context, kept)

    def append(old: Tensor, new: Tensor) -> Tensor:
        return torch.cat((new, old) if "new_rows_first" in on else (old, new), dim=2)

    def many(x: Tensor, heads: int) -> Tensor:
        times = heads // x.size(1)
        if on & {"heads_in_turn", "heads_in_turn_by_index"}:
            return x.repeat(1, times, 1, 1)
        return x.repeat_interleave(times, dim=1)

    def attend(query: Tensor, key: Tensor, value: Tensor, seen: int, window: int | None) -> Tensor:
        width = query.size(-1)
        if "scaled_by_all_heads" in on:
            width *= query.size(1)
        scores = query @ key.transpose(-2, -1)
        if "not_scaled" not in on:
            scores = scores / math.sqrt(width)
        allowed = mask(query.size(2), key.size(2), seen, window)
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        axis = 1 if "softmax_over_heads" in on else -2 if "softmax_over_queries" in on else -1
        weights = scores.softmax(dim=axis)
        return (weights * allowed if "window_of_the_last_token" in on else weights) @ value

    def mask(n: int, total: int, seen: int, window: int | None) -> Tensor:
        if "past_not_read" in on or "masked_as_the_first" in on:
            seen = 0
        if "window_left_out" in on:
            window = None
        keys, queries = torch.arange(total), torch.arange(n)[:, None] + seen
        back = queries - keys
        if "no_mask" in on:
            past_only = torch.ones(n, total, dtype=torch.bool)
        elif "itself_left_out" in on:
            past_only = (back > 0) | (queries == 0) & (keys == 0)
        else:
            past_only = back >= 0
        if window is None:
            return past_only
        if "window_one_too_wide" in on:
            return past_only & (back <= window)
        if "window_one_too_narrow" in on:
            return past_only & (back < max(1, window - 1))
        if on & {"window_of_the_last_token", "window_of_the_last_token_or_none"}:
            return past_only & (keys >= total - window)
        if "window_of_the_first_keys" in on:
            return past_only & ((keys < window) | (back == 0))
        if "window_into_the_future" in on:
            return back.abs() < window
        if "window_without_causal" in on:
            return back < window
        return past_only & (back < window)

    return answer


item.switch(
    "heads_in_turn",
    "You deal the heads of keys out in turn: query heads 0, 1, 2, 3 get the keys 0, 1, 0, 1.",
    why="In every published model neighbours share: 0, 0, 1, 1. Trained weights read through the "
    "other order give a plausible shape and a useless model.",
    hint="Which keys does query head 1 get? Try the operation that you repeat with on the numbers "
    "10 and 20.",
)
item.switch(
    "values_in_turn",
    "Your keys are shared by neighbours, but your values are dealt out in turn.",
    why="A weight belongs to a key, and its value has to come from the same head.",
    hint="Compare what you do with the keys to what you do with the values.",
)
item.switch(
    "queries_averaged",
    "You make the heads of queries as few as those of keys, by averaging them.",
    why="Each head of queries asks its own question, and only the keys are shared. You return "
    "fewer heads than came in.",
    hint="How many heads must the context have? Which of the tensors has to grow?",
    spellings=["first_heads_of_queries"],
)
item.switch(
    "repeated_heads_kept",
    "Your past has a copy of the keys for each head of queries.",
    why="Then nothing is saved: the cache is as large as that of multi-head attention. The copies "
    "are made anew in each step.",
    hint="How many heads does the past have that you get, and how many the one that you return? "
    "In which order do you append and repeat?",
    spellings=["repeated_before_they_are_appended"],
)
item.switch(
    "only_new_kept",
    "Your new past has only the new tokens.",
    why="The next step needs the keys and values of all tokens so far.",
    hint="How many rows should the new past have: n, or t + n?",
)
item.switch(
    "past_never_grows",
    "You return the past as it came: the new tokens are not in it.",
    why="The next token couldn't attend to these.",
    hint="How many rows should the new past have: t, or t + n?",
)
item.switch(
    "past_cut_to_the_window",
    "You cut the past that you return to the window.",
    why="That saves memory, and a layer may do it. But here the whole past is asked for, since "
    "what calls you decides what is thrown away.",
    hint="How many rows does the task ask of the new past?",
)
item.switch(
    "keys_and_values_exchanged",
    "Your past comes out with keys and values exchanged.",
    why="The next step would compare its queries with values.",
    hint="In which order does the past come in?",
)
item.switch(
    "context_alone",
    "You return the context, and no past.",
    why="Without the keys and values of this step, the next one has to compute them again.",
    hint="The result is a pair. What is its second part?",
)
item.switch(
    "past_detached",
    "No gradient gets through the past that you return.",
    why="In training over several parts of a text, later tokens have to reach earlier ones.",
    hint="Do you detach the keys and values, or put copies of them into the past?",
)
item.switch(
    "past_not_read",
    "Your new tokens attend to one another, and to nothing in the past.",
    why="The past is passed on but never used, so each step begins a new text.",
    hint="Which keys are the queries compared with: the new ones, or all of them?",
)
item.switch(
    "new_rows_first",
    "Your new rows come before the past.",
    why="A row's index is its position: the mask, and the next step, take the last rows for the "
    "newest tokens.",
    hint="In which order do you join the old rows and the new ones?",
)
item.switch(
    "masked_as_the_first",
    "Your mask takes the new tokens for the first ones of the text.",
    why="Behind t tokens, new token 0 has the position t, so it may read t + 1 keys. Your mask "
    "lets it read the first key alone.",
    hint="Write the mask for two new tokens behind three: how many keys may each read?",
)
item.switch(
    "no_mask",
    "Your new tokens see those that come after them.",
    why="With several new tokens at once, as in the first pass over a prompt, the first of them "
    "would read what it is to predict.",
    hint="Of three new tokens, what may the first one attend to?",
)
item.switch(
    "itself_left_out",
    "Your tokens don't attend to themselves.",
    why="A causal mask allows a token and all before it, and so does a window.",
    hint="Is it < or ≤ that compares the position of a key with that of the query?",
)
item.switch(
    "window_left_out",
    "Your tokens attend to keys that lie before their window.",
    why="A layer with a window reads the last tokens alone; what it was trained with must hold "
    "when it is used.",
    hint="Does your code use its argument window where it makes the mask, with a past and without "
    "one?",
)
item.switch(
    "window_one_too_wide",
    "Your window is one token too wide.",
    why="A window of w has w tokens, and the token itself is one of them.",
    hint="With a window of 1, which keys does a token attend to?",
)
item.switch(
    "window_one_too_narrow",
    "Your window is one token too narrow.",
    why="A window of w is the token itself and w − 1 before it.",
    hint="With a window of 2, which keys does a token attend to?",
)
item.switch(
    "window_of_the_first_keys",
    "Your window keeps the first keys of the text, and should keep the last ones before the query.",
    why="A window moves along with the query: what is far back drops out of it.",
    hint="Which keys may the last token attend to, with a window of 2?",
)
item.switch(
    "window_of_the_last_token",
    "You take the window of the last new token for all of them.",
    why="Each new token has a window of its own, which ends with itself. With one new token "
    "nothing shows.",
    hint="Of six new tokens and a window of 3, which keys may token 2 attend to?",
    spellings=["window_of_the_last_token_or_none"],
)
item.switch(
    "window_into_the_future",
    "With a window, your tokens see later ones that are near.",
    why="The distance alone doesn't tell past from future. The causal mask holds with a window, "
    "too.",
    hint="Of six new tokens and a window of 3, may token 2 attend to token 3?",
    spellings=["window_without_causal"],
)
item.switch(
    "scaled_by_all_heads",
    "Your scores are divided by the root of the width of all heads together.",
    why="A score is a sum of E products of one head.",
    hint="How long is a query of one head?",
)
item.switch(
    "not_scaled",
    "Your scores are not divided by √E.",
    why="Sharing keys changes nothing in a score: it still is a sum of E products.",
    hint="What comes between the product of queries and keys and the softmax?",
)
item.switch(
    "softmax_over_heads",
    "Your softmax doesn't run over the keys.",
    why="The weights of one query's keys must sum to one.",
    hint="Which axis of (B, H, n, t + n) has the keys?",
    spellings=["softmax_over_queries"],
)
_WINDOWS = [
    "window_left_out",
    "window_one_too_wide",
    "window_one_too_narrow",
    "window_of_the_first_keys",
    "window_of_the_last_token",
    "window_into_the_future",
]
_KEPT = [
    "repeated_heads_kept",
    "only_new_kept",
    "past_never_grows",
    "past_cut_to_the_window",
    "keys_and_values_exchanged",
    "context_alone",
]
for _names in (_WINDOWS, _KEPT):
    item.apart += [{a, b} for a in _names for b in _names if a < b]
