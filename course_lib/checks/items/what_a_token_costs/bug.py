"""18.bug: Keys that turn on and on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.model import attention_matmul, causal_mask
from course_lib.modern import rotate

BUG = """\
def rotary_step(query, key, value, past):
    start = 0 if past is None else past[0].size(2)
    positions = torch.arange(start, start + query.size(2))
    query = rotate(query, positions)
    if past is not None:
        key = torch.cat((past[0], key), dim=2)
        value = torch.cat((past[1], value), dim=2)
    key = rotate(key, torch.arange(key.size(2)))
    mask = causal_mask(query.size(2), key.size(2))
    context, _ = attention_matmul(query, key, value, mask)
    return context, (key, value)
"""
Past = tuple[Tensor, Tensor] | None
Result = tuple[Tensor, tuple[Tensor, Tensor]]


def _step(query: Tensor, key: Tensor, value: Tensor, past: Past) -> Result:
    start = 0 if past is None else past[0].size(2)
    positions = torch.arange(start, start + query.size(2))
    query, key = rotate(query, positions), rotate(key, positions)
    if past is not None:
        key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
    context, _ = attention_matmul(query, key, value, causal_mask(query.size(2), key.size(2)))
    return context, (key, value)


def _call(draw: Draw, new: int, past: int, *, heads: int = 2, d_head: int = 6) -> Call:
    new_ones = [draw.normal(2, heads, new, d_head, std=2.0) for _ in range(3)]
    old = None
    if past:
        old = tuple(draw.normal(2, heads, past, d_head, std=2.0) for _ in range(2))
    about = f"{new} new token{'s' * (new > 1)}, {past or 'none'} in the past"
    return Call((*new_ones, old), about=about)


item = Item(
    "18.bug",
    reference=_step,
    tolerance=1e-4,
    bug=Bug(BUG, line=8),
    probes=[
        Probe(
            "keys that are in the past stay as they are",
            lambda draw: [_call(draw, 1, 4), _call(draw, 1, 1)],
        ),
        Probe(
            "the first tokens begin at position 0",
            lambda draw: [_call(draw, 5, 0), _call(draw, 1, 0, heads=3)],
        ),
        Probe(
            "several new tokens behind a past",
            lambda draw: [_call(draw, 3, 4), _call(draw, 4, 2, d_head=4)],
        ),
        Probe("a long past", lambda draw: [_call(draw, 2, 40, heads=1)]),
    ],
    hints=(
        "Follow the key of the very first token through three steps. How often is it turned, and "
        "by which angle each time?",
        "The first call, without a past, is right, and so is every query. What comes in as past "
        "was returned by the step before: is it turned already?",
        "A list that is doubled and extended in each step, xs = [2 * x for x in xs + [new]], "
        "doubles its old entries again and again. Doubling only what is new would be xs + [2 * "
        "new]. Which rows of the keys are new, and which positions do they have?",
    ),
)


@item.switchable
def step_with(on: frozenset[str]) -> Callable[..., Any]:
    """The fixed step with these misconceptions."""

    def answer(query: Tensor, key: Tensor, value: Tensor, past: Past) -> Result:
        start, new = 0 if past is None else past[0].size(2), query.size(2)
        here = torch.arange(start, start + new)
        of_query, of_key = here, here
        if on & {"from_0_again", "query_from_0_again"}:
            of_query = torch.arange(new)
        if on & {"from_0_again", "new_keys_from_0"}:
            of_key = torch.arange(new)
        if "counted_from_1" in on:
            of_query, of_key = of_query + 1, of_key + 1
        if "keys_counted_from_1" in on:
            of_key = of_key + 1
        if "all_at_the_last" in on:
            of_query = of_key = torch.full((new,), start + new - 1)
        if on & {"all_at_the_first", "all_keys_at_the_first"}:
            of_key = torch.full((new,), start)
            of_query = of_key if "all_at_the_first" in on else here
        if "query_not_turned" not in on:
            query = rotate(query, of_query)
        turned = key if "new_keys_not_turned" in on else rotate(key, of_key)
        turned = turn_back(key, of_key) if "turned_back" in on else turned
        if "still_turned_again" in on and past is not None:
            turned = rotate(torch.cat((past[0], key), dim=2), torch.arange(start + new))
        elif past is not None:
            turned = torch.cat((past[0], turned), dim=2)
        new_values = rotate(value, here) if "values_turned" in on else value
        values = new_values if past is None else torch.cat((past[1], new_values), dim=2)
        if "values_turned_again" in on:
            values = rotate(values, torch.arange(start + new))
        mask = causal_mask(new, turned.size(2))
        context, _ = attention_matmul(query, turned, values, mask)
        if "unturned_keys_kept" in on:
            turned = key if past is None else torch.cat((past[0], key), dim=2)
        return context, (turned, values)

    def turn_back(x: Tensor, positions: Tensor) -> Tensor:
        return rotate(x, -positions)

    return answer


item.switch(
    "still_turned_again",
    "The keys of the past are still turned again in each step.",
    why="They were turned when they were new. After ten more steps, the first key that should be "
    "at position 1 is at position 11: what a query finds depends on how long ago it was.",
    hint="Which rows of the keys may be turned in this step?",
)
item.switch(
    "new_keys_from_0",
    "Now the new keys are turned as if they were the first of the text.",
    why="With a past of 4, the new key has position 4. Turned by 0, it looks four positions nearer "
    "to the start than it is.",
    hint="The function has worked out positions already. What are they for?",
)
item.switch(
    "from_0_again",
    "Your queries are turned as if they were at the start of the text.",
    why="The keys of the past stand at 0, 1, 2 and so on, and a new query goes on from there. "
    "Turned by 0, it looks as if it stood before all of them.",
    hint="At which position does a token stand that comes behind a past of 4?",
    spellings=["query_from_0_again"],
)
item.switch(
    "counted_from_1",
    "Your new positions are one too large.",
    why="The past is counted from 0, so the first token behind 4 others is number 4. The distances "
    "to the past are off by one.",
    hint="Behind a past of 4, is the new token number 4 or number 5, counted from 0?",
    spellings=["keys_counted_from_1"],
)
item.switch(
    "all_at_the_last",
    "The new tokens are turned by one and the same position.",
    why="Then their order is lost. With one new token nothing shows.",
    hint="With three new tokens behind a past of 4, which positions do they have?",
    spellings=["all_at_the_first", "all_keys_at_the_first"],
)
item.switch(
    "new_keys_not_turned",
    "Now no key is turned at all: the new ones come into the past as they are.",
    why="A query at position p meets keys that all stand at position 0.",
    hint="Line 8 was wrong in what it turned. What should it have turned?",
)
item.switch(
    "unturned_keys_kept",
    "The past that you return has keys that are not turned.",
    why="What comes in has turned keys, as the task says. A cache may hold either kind, but not "
    "the one in a row and the other in the next.",
    hint="Compare the last row of the keys that you return with the key that the new query met.",
)
item.switch(
    "query_not_turned",
    "Your queries are no longer turned.",
    why="Only the difference of two rotations is a distance, so both sides need theirs.",
    hint="Line 4 of the given code was right. Do you still have it?",
)
item.switch(
    "values_turned",
    "You turn the values, too.",
    why="Values carry what is passed on. Turned, a mean of them mixes their features by position.",
    hint="In the given code, which tensors are turned?",
    spellings=["values_turned_again"],
)
item.switch(
    "turned_back",
    "You turn the new keys the other way.",
    why="The angle between query and key is then the sum of both positions, and not their "
    "difference.",
    hint="Is the sign of the angle the same for queries and keys?",
)
_KEYS = [
    "still_turned_again",
    "new_keys_not_turned",
    "turned_back",
    "new_keys_from_0",
    "from_0_again",
]
item.apart += [{a, b} for a in _KEYS for b in _KEYS if a < b]
