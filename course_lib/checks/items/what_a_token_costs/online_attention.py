"""18.online_attention: attend to the keys block by block, without a matrix of scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.what_a_token_costs.largest_result import NoTensorOf
from course_lib.modern import online_attention


def _use(attend: Callable[..., Any], query: Tensor, key: Tensor, value: Tensor, block: int) -> Any:
    """Attend, and make no tensor with a number for each query and key of several heads."""
    batch, heads, queries, _ = query.shape
    keys = key.size(2)
    if block >= keys or block == 1:  # blocks of one key have as many maxima as there are scores
        watched: Any = nullcontext()
    else:
        scores = {heads * queries * keys, batch * heads * queries * keys}
        says = (
            f"expected at most block = {block} keys at a time, got a tensor with a number for each "
            f"query and key of all heads, ({queries}, {keys})"
        )
        watched = NoTensorOf(lambda x: keys in x.shape and x.numel() in scores, says)
    with watched:
        return attend(query, key, value, block)


def _online(query: Tensor, key: Tensor, value: Tensor, block: int) -> Tensor:
    return online_attention(query, key, value, block=block)


def _call(
    draw: Draw,
    queries: int,
    keys: int,
    block: int,
    *,
    heads: tuple[int, int] = (2, 3),
    widths: tuple[int, int] = (5, 6),
    far: float = 0.0,
    about: str = "",
    dtype: torch.dtype = torch.float32,
    gradients: bool = False,
) -> Call:
    """``heads`` are batch and heads, ``widths`` those of keys and values; ``far`` adds to all
    scores of a query what a softmax doesn't see, if it is right.
    """
    d_head, d_value = widths
    query = draw.normal(*heads, queries, d_head, std=2.0, dtype=dtype)
    key = draw.normal(*heads, keys, d_head, dtype=dtype)
    if far:  # the last number of each query is 1, and that of each key is the same
        query[..., -1], key[..., -1] = 1.0, far * math.sqrt(d_head)
    sizes = f"{queries} quer{'y' if queries == 1 else 'ies'}, {keys} keys, block {block}"
    value = draw.normal(*heads, keys, d_value, dtype=dtype)
    about = f"{sizes}, {about}" if about else sizes
    return Call((query, key, value, block), about=about, gradients=gradients)


def _rising(draw: Draw, *, falls: bool = False) -> Call:
    """Each block has a key that scores far higher than all before it, or far lower."""
    (query, key, value, block), about = _call(draw, 1, 13, 4).args, "rises"
    steps = torch.arange(13) // 4 * 6.0 * math.sqrt(5)
    query[..., -1], key[..., -1] = 1.0, -steps if falls else steps
    about = (
        "the scores fall from block to block" if falls else "the scores rise from block to block"
    )
    return Call((query, key, value, block), about=f"1 query, 13 keys, block 4, {about}")


def _large_future(draw: Draw) -> Call:
    """The later a key, the higher its score, by 150 each: only those that are hidden count."""
    query, key, value, block = _call(draw, 7, 7, 3).args
    query[..., -1], key[..., -1] = 1.0, torch.arange(7) * 150.0 * math.sqrt(5)
    about = "7 queries, 7 keys, block 3, hidden keys score higher by hundreds"
    return Call((query, key, value, block), about=about)


def _large_head(draw: Draw) -> Call:
    """The scores of each head are higher than those of the one before, by 150."""
    query, key, value, block = _call(draw, 1, 9, 4).args
    query[..., -1], key[..., -1] = 1.0, torch.arange(3.0)[:, None] * 150.0 * math.sqrt(5)
    about = "1 query, 9 keys, block 4, scores of one head are higher by hundreds"
    return Call((query, key, value, block), about=about)


# Sizes such that nothing else has K along an axis and as many numbers as the scores.
item = Item(
    "18.online_attention",
    reference=_online,
    use=_use,
    tolerance=1e-4,
    probes=[
        Probe(
            "one query has the same context as with all scores at once",
            lambda draw: [
                _call(draw, 1, 12, 4),
                _call(draw, 1, 41, 8, heads=(1, 2), widths=(2, 3)),
            ],
        ),
        Probe(
            "what an earlier block left behind is put right when a larger score comes",
            lambda draw: [_rising(draw), _rising(draw, falls=True)],
        ),
        Probe(
            "the last block may be shorter than the others, and all keys may fit into one",
            lambda draw: [
                _call(draw, 1, 11, 4),
                _call(draw, 1, 7, 9),
                _call(draw, 1, 8, 1),
            ],
        ),
        Probe(
            "no query sees a later key, and the queries are the last of the keys",
            lambda draw: [_call(draw, 11, 11, 4), _call(draw, 4, 13, 3), _large_future(draw)],
        ),
        Probe(
            "scores far from 0 lose nothing",
            lambda draw: [
                _call(draw, 1, 9, 4, far=-200.0, about="all scores near -200"),
                _call(draw, 1, 9, 4, far=200.0, about="all scores near 200"),
                _call(draw, 7, 13, 4, far=-200.0, about="all scores near -200"),
                _call(
                    draw,
                    *(7, 13, 4),
                    far=-20_000.0,
                    about="all scores near -20,000",
                    dtype=torch.float64,
                ),
                _large_head(draw),
            ],
        ),
        Probe("float64", lambda draw: [_call(draw, 4, 11, 3, dtype=torch.float64)]),
        Probe(
            "gradients reach queries, keys and values",
            lambda draw: [_call(draw, 4, 11, 3, gradients=True)],
        ),
    ],
    hints=(
        "Take one query and two blocks. A softmax needs the largest score and the sum of all "
        "exponentials. What do you know of both after the first block?",
        "Keep three things for each query: the largest score so far, the sum of exp(score − "
        "largest), and the sum of the values with these weights. If a new block has a larger "
        "score, both sums were made with the wrong largest one. By which factor are they off? "
        "Divide once, when all blocks have been read.",
        "By hand, for the scores 1, 3 and values a, b: after the first, largest 1, sum 1, values "
        "1 · a. With the second, the largest is 3; what was there counts exp(1 − 3) times as much, "
        "so the sum is exp(−2) + 1. With tensors, begin with a largest of -math.inf and both sums "
        "at 0, and fill hidden scores with -math.inf before the largest is taken.",
    ),
)


SUMS_OF_MEANS = {"divides_each_block_by_its_sum", "sum_of_blocks"}
State = tuple[Tensor, Tensor, Tensor]  # the largest score, and the two sums


@item.switchable
def attention_with(on: frozenset[str]) -> Callable[..., Any]:
    """``online_attention`` with these misconceptions."""

    def answer(query: Tensor, key: Tensor, value: Tensor, block: int) -> Any:
        n_keys, width = key.size(2), query.size(-1)
        if "scaled_by_the_block" in on:
            width = block
        query = query if "not_scaled" in on else query / math.sqrt(width)
        allowed = mask(query.size(2), n_keys)
        if on & {"all_scores_at_once", "all_keys_at_once"}:
            rows = block if "all_keys_at_once" in on else query.size(2)
            parts = zip(query.split(rows, 2), allowed.split(rows, 0), strict=True)
            weights = [(q @ key.mT).masked_fill(~seen, -math.inf).softmax(-1) for q, seen in parts]
            return torch.cat([each @ value for each in weights], dim=2)
        state = begin(query, value)
        for start in range(0, n_keys, block):
            part = slice(start, start + block)
            values = value[:, :, part]
            if (start and "first_block_alone" in on) or left_out(values, block, start):
                break
            scores = query @ key[:, :, part].transpose(-2, -1)
            state = after(state, scores, allowed[..., part], values)
        _, total, summed = state
        if on & {"not_divided", "divides_in_each_block", *SUMS_OF_MEANS}:
            return summed
        return summed / total

    def left_out(values: Tensor, block: int, start: int) -> bool:
        wanted = ("last_block_left_out" in on and start) or "last_block_never_read" in on
        return bool(wanted) and values.size(2) < block

    def begin(query: Tensor, value: Tensor) -> State:
        zero = query.new_zeros((*query.shape[:3], 1))
        largest = zero if "starts_at_0" in on else zero - math.inf
        if "starts_at_minus_100" in on:
            largest = zero - 100.0
        return largest, zero, zero.expand(*query.shape[:3], value.size(-1))

    def after(state: State, scores: Tensor, seen: Tensor, values: Tensor) -> State:
        """What a query keeps once these keys have been read."""
        largest, total, summed = state
        hidden = scores.masked_fill(~seen, -math.inf)
        highest = scores if "mask_after_the_maximum" in on else hidden
        highest = highest.amax(dim=-1, keepdim=True)
        if "one_maximum_for_all" in on:
            highest = highest.amax().expand_as(largest)
        new = torch.maximum(largest, highest)
        if on & {"largest_of_the_block_alone", "largest_of_the_block_subtracted"}:
            new = highest
        if "no_maximum" in on:
            new = torch.zeros_like(new)
        own = highest if "block_maximum" in on else new
        if "largest_of_the_block_subtracted" not in on:
            own = own.masked_fill(own.isinf(), 0.0)
        weights = torch.exp(hidden - own)
        if "hidden_scores_are_zero" in on:
            weights = torch.exp(scores.masked_fill(~seen, 0.0) - new)
        total_factor, summed_factor = factors(largest, new)
        added, context = weights.sum(dim=-1, keepdim=True), weights @ values
        if on & {"mean_of_blocks", "mean_of_all_blocks", *SUMS_OF_MEANS}:
            context = context / torch.where(added == 0, 1.0, added)
        if on & {"mean_of_blocks", "mean_of_all_blocks", "sum_of_blocks"}:
            counts = (added > 0) if "mean_of_blocks" in on else 1.0
            return new, total + counts, summed + context
        total, summed = total * total_factor + added, summed * summed_factor + context
        if on & {"divides_in_each_block", "divides_in_each_block_and_at_the_end"}:
            summed = summed / total
        return new, total, summed

    def factors(largest: Tensor, new: Tensor) -> tuple[Tensor | float, Tensor | float]:
        """By what the sum of exponentials and that of values are multiplied."""
        factor: Tensor | float = torch.exp(largest - new)
        if "rescaled_the_other_way" in on:
            factor = torch.exp((new - largest).masked_fill(largest.isinf(), 0.0))
        if "rescaled_twice" in on:
            factor = torch.exp(2 * (largest - new))
        if on & {"sums_not_rescaled", "no_maximum"}:
            factor = 1.0
        return (
            1.0 if "total_not_rescaled" in on else factor,
            1.0 if "summed_not_rescaled" in on else factor,
        )

    def mask(n_queries: int, n_keys: int) -> Tensor:
        keys, back = torch.arange(n_keys), n_keys - n_queries
        queries = torch.arange(n_queries)[:, None]
        if "no_mask" in on:
            return torch.ones(n_queries, n_keys, dtype=torch.bool)
        if "itself_left_out" in on:
            return (keys < queries + back) | (keys == 0)
        return keys <= queries + (0 if "masked_as_the_first" in on else back)

    return answer


item.switch(
    "sums_not_rescaled",
    "You go on with the new largest score, and leave both sums as the old one made them.",
    why="What was added before counts exp(old − new) times too much. As long as the largest score "
    "is in the first block nothing shows, so the mean error is small and single errors are large.",
    hint="If the largest score grows from 1 to 3, by which factor are the exponentials that you "
    "have added up already too large?",
)
item.switch(
    "summed_not_rescaled",
    "You rescale the sum of exponentials, and not the sum of the weighted values.",
    why="Both were made with the same largest score, and their quotient is the context.",
    hint="Which of the things that you keep were computed with the old largest score?",
)
item.switch(
    "total_not_rescaled",
    "You rescale the sum of the weighted values, and not the sum of exponentials.",
    why="Both were made with the same largest score, and their quotient is the context.",
    hint="Which of the things that you keep were computed with the old largest score?",
)
item.switch(
    "rescaled_the_other_way",
    "You multiply the old sums by exp(new − old), which is the inverse of what they need.",
    why="A larger maximum makes each exponential smaller, so what was added before has to shrink.",
    hint="The sums hold exp(s − old) and should hold exp(s − new). What is the second divided by "
    "the first?",
)
item.switch(
    "rescaled_twice",
    "You rescale the old sums twice.",
    why="One factor, exp(old − new), changes the largest score that they were made with.",
    hint="How often is that factor applied in one block? Try the scores 1 and 3 by hand.",
)
item.switch(
    "block_maximum",
    "You subtract the largest score of the block, and keep the largest of all.",
    why="Where the block's is smaller, its exponentials are too large beside the earlier ones.",
    hint="With the scores 3 and 1 in two blocks, what does your code subtract from 1?",
)
item.switch(
    "divides_in_each_block",
    "You divide in each block, and should divide once, at the end.",
    why="Once the sum of values is divided, the next block adds values that aren't to it. A sum "
    "can be rescaled; a mean of what was read so far no longer tells how much that was.",
    hint="What would your code give if all scores were equal, for two blocks?",
    spellings=["divides_each_block_by_its_sum", "divides_in_each_block_and_at_the_end"],
)
item.switch(
    "mean_of_blocks",
    "You attend within each block, and add the results up or take their mean.",
    why="A block whose scores are low would count as much as any other.",
    hint="If all scores of the second block are far below those of the first, how much should it "
    "count?",
    spellings=["mean_of_all_blocks", "sum_of_blocks"],
)
item.switch(
    "not_divided",
    "You return the sum of weighted values, and don't divide it by the sum of the weights.",
    why="Weights of a mean sum to one, and exponentials don't.",
    hint="You keep a sum of exponentials. What is it for?",
)
item.switch(
    "starts_at_0",
    "Your largest score starts at a fixed number, and scores far below it lose everything.",
    why="exp(−200) is 0 in float32, so both sums are 0, and 0 / 0 is NaN.",
    hint="Which number is below every score? Use it before the first block is read.",
    spellings=["starts_at_minus_100"],
)
item.switch(
    "largest_of_the_block_alone",
    "A block of which a query sees no key makes its result NaN.",
    why="The largest score of such a block alone is −∞. Then −∞ − (−∞) is NaN, and exp(3 − (−∞)) "
    "is ∞, which turns into NaN later. With the largest score so far, its exponentials are 0.",
    hint="A query reads blocks with the largest scores 3 and −∞. Which one should it keep?",
    spellings=["largest_of_the_block_subtracted"],
)
item.switch(
    "no_maximum",
    "You take the exponential of the scores as they are, and large ones overflow.",
    why="In float32 e⁸⁹ is infinite, and e⁻¹⁰⁴ is 0. A softmax subtracts the largest score first.",
    hint="What is exp(200)? And exp(200 − 200)?",
)
item.switch(
    "one_maximum_for_all",
    "You subtract one largest score from those of all queries, heads and texts.",
    why="A query whose own scores are far lower gets exponentials of 0 and nothing else.",
    hint="Over which axis do you take the maximum, and which axes are left?",
)
item.switch(
    "mask_after_the_maximum",
    "You take the largest score before you hide the later keys.",
    why="If a hidden key scores higher by hundreds, all exponentials that are left are 0, and "
    "0 / 0 is NaN.",
    hint="Which scores may take part in the maximum? In which order do you mask and compare?",
)
item.switch(
    "hidden_scores_are_zero",
    "Hidden scores become 0 in your code, and exp(0 − largest) is not 0.",
    why="A hidden key has to get no weight at all, whatever the others score.",
    hint="Which score has the exponential 0?",
)
item.switch(
    "last_block_left_out",
    "You leave out the last keys if they don't fill a block.",
    why="For 11 keys in blocks of 4, the last block has three.",
    hint="How many keys does your loop read of 11, with blocks of 4?",
    spellings=["last_block_never_read"],
)
item.switch(
    "first_block_alone",
    "You read the first block and no other.",
    why="All keys count, block after block.",
    hint="How often does your loop run for 12 keys in blocks of 4?",
)
item.switch(
    "all_scores_at_once",
    "Your code makes all scores at once, and the task asks for block after block.",
    why="The numbers are right. But for 100,000 tokens the scores of one head would take 40 GB in "
    "float32, and that is what the blocks are for.",
    hint="What is the largest tensor that you make, and does it grow with queries times keys?",
    spellings=["all_keys_at_once"],
)
item.switch(
    "no_mask",
    "Your queries see later keys.",
    why="The task is causal: the queries are the last of the keys, and none sees what comes after "
    "it.",
    hint="Of seven queries and seven keys, which keys may the first query attend to?",
)
item.switch(
    "masked_as_the_first",
    "Your mask takes the queries for the first positions of the text.",
    why="They are the last of the keys: with 4 queries and 13 keys, the first query has the "
    "position 9 and may read ten keys.",
    hint="How many keys may a single query read that comes with 12 keys?",
)
item.switch(
    "itself_left_out",
    "Your queries don't attend to their own position.",
    why="A causal mask allows a token and all before it.",
    hint="Is it < or ≤ that compares the position of a key with that of the query?",
)
item.switch(
    "not_scaled",
    "Your scores are not divided by √E.",
    why="Blocks change how a softmax is computed, and not what of.",
    hint="What comes between the product of queries and keys and the softmax?",
)
item.switch(
    "scaled_by_the_block",
    "Your scores are divided by the root of the block's length.",
    why="A score is a sum of E products, however many keys are read at a time.",
    hint="Which size is under the root in your code?",
)
_FACTORS = [
    "sums_not_rescaled",
    "summed_not_rescaled",
    "total_not_rescaled",
    "rescaled_the_other_way",
    "rescaled_twice",
    "mean_of_blocks",
    "no_maximum",
]
_DIVISIONS = ["divides_in_each_block", "mean_of_blocks", "not_divided"]
for _names in (_FACTORS, _DIVISIONS):
    item.apart += [{a, b} for a in _names for b in _names if a < b]
item.apart += [
    {"all_scores_at_once", each.name}
    for each in item.misconceptions
    if each.name != "all_scores_at_once"
]
item.apart += [
    {"largest_of_the_block_alone", each}
    for each in (*_FACTORS, "block_maximum", "one_maximum_for_all", "starts_at_0")
]
item.apart += [{"first_block_alone", each} for each in (*_FACTORS, "last_block_left_out")]
