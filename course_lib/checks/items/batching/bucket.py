"""09.bucket: batches of sentences of similar length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from course_lib import data
from course_lib.checks.engine import Call, Draw, Item, Probe

Ids = list[int]


def _lengths(draw: Draw, count: int, low: int = 2, high: int = 12) -> list[int]:
    return draw.ids(count, low=low, high=high).tolist()


item = Item(
    "09.bucket",
    reference=data.bucket,
    probes=[
        Probe(
            "sentences of similar length share a batch, the shortest first",
            lambda draw: [
                Call(([3, 9, 4, 8, 3, 10], 20), about="the lesson's six sentences"),
                Call((_lengths(draw, 14), 30), about="fourteen sentences"),
            ],
        ),
        Probe(
            "rows × longest may reach max_tokens but not exceed it",
            lambda draw: [
                Call(([5, 5, 5, 5, 5, 5, 5], 15), about="three rows of five fill it exactly"),
                Call(([1, 1, 1, 1, 8, 8], 16), about="four short ones beside long ones"),
                Call((_lengths(draw, 20, 1, 30), 40), about="lengths from 1 to 30"),
            ],
        ),
        Probe(
            "a sentence that is too long on its own gets its own batch",
            lambda draw: [
                Call(([4, 25, 3, 30, 4], 10), about="two are longer than max_tokens"),
                Call(([9, 12], 5), about="all are longer"),
            ],
        ),
        Probe(
            "each sentence is in one batch, including the last ones",
            lambda draw: [Call((_lengths(draw, 23, 3, 9), 27), about="23 sentences")],
        ),
        Probe(
            "equal lengths keep their order; one sentence or none works, too",
            lambda draw: [
                Call(([6, 2, 6, 2, 6, 2], 12), about="two lengths alternating"),
                Call(([7], 50), about="one sentence"),
                Call(([], 50), about="no sentence"),
            ],
        ),
    ],
    hints=(
        "Sort the *indices* by the lengths they stand for. What do you then know about the newest "
        "member of a batch?",
        "Go through the sorted indices. In sorted order, the sentence that wants to join would be "
        "the longest of the batch, so you know rows × longest before you add it.",
        "By hand, with lengths 2, 3, 4 and 5 and at most 12 tokens: 2 and 3 are 2 × 3 = 6 tokens, "
        "with 4 there are 3 × 4 = 12, and with 5 there would be 4 × 5 = 20, so 5 starts a new "
        'batch. sorted takes a key: sorted(["ccc", "a", "bb"], key=len) is ["a", "bb", "ccc"]. '
        "What do you sort here, and by what?",
    ),
)


@item.switchable
def bucket_with(on: frozenset[str]) -> Callable[[Sequence[int], int], list[Ids]]:
    """Bucket with these misconceptions."""
    unsorted = on & {"as_they_come", "in_order_by_the_newcomer"}
    falling = on & {"longest_first", "longest_first_by_the_newcomer"}

    def answer(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
        given = lengths
        if "indices_into_the_sorted_list" in on:
            lengths = sorted(lengths)
        batches: list[Ids] = [[]] if "an_empty_batch" in on else []
        for i in in_order(lengths):
            if lengths[i] > max_tokens and "long_ones_dropped" in on:
                continue
            if batches and fits(lengths, batches[-1], i, max_tokens):
                batches[-1].append(i)
            else:
                batches.append([i])
        if not given:
            return [[]] if "empty_without_sentences" in on else []
        if "last_batch_dropped" in on:
            batches = batches[:-1]
        if "lengths_not_indices" in on:
            return [[lengths[i] for i in batch] for batch in batches]
        return batches

    def in_order(lengths: Sequence[int]) -> Ids:
        order = list(range(len(lengths)))
        if unsorted:
            return order
        if "sorted_then_reversed" in on:
            return sorted(order, key=lambda i: lengths[i])[::-1]
        return sorted(order, key=lambda i: -lengths[i] if falling else lengths[i])

    def fits(lengths: Sequence[int], batch: Ids, i: int, max_tokens: int) -> bool:
        rows = len(batch) if "one_row_too_many" in on else len(batch) + 1
        members = [lengths[j] for j in [*batch, i]]
        if "each_alone" in on:
            return False
        if "as_many_rows_everywhere" in on:
            return rows <= max(1, max_tokens // max(lengths))
        longest = lengths[i]
        if "measured_by_the_shortest" in on:
            longest = min(members)
        elif on & {"longest_first", "as_they_come", "sorted_then_reversed"}:
            longest = max(members)
        cells = sum(members) if "padding_not_counted" in on else rows * longest
        return cells < max_tokens if "never_full" in on else cells <= max_tokens

    return answer


item.switch(
    "as_they_come",
    "Your batches take the sentences in their original order, not sorted by length.",
    why="A short sentence next to a long one is mostly padding. Bucketing avoids that by putting "
    "sentences of similar length together.",
    hint="In which order do you go through the sentences?",
    spellings=["in_order_by_the_newcomer"],
)
item.switch(
    "padding_not_counted",
    "You count a batch's real tokens and leave out the padding.",
    why="The tensor is a rectangle, and padding takes as much memory and time as real tokens. Your "
    "batches exceed the budget.",
    hint="Pad rows of 1, 1 and 8 tokens to one length. How many tokens does the tensor hold?",
)
item.switch(
    "never_full",
    "A batch that would use the budget exactly is closed before its last sentence.",
    why="Reaching the budget is allowed. Closed too early, batches of equally long sentences are "
    "smaller than they could be.",
    hint="Three rows of five, and a budget of 15: what does your comparison say?",
)
item.switch(
    "one_row_too_many",
    "You forget to count the sentence that is about to join.",
    why="A full batch then has one row too many, and the budget is what your memory can hold.",
    hint="How many rows are there after the sentence has joined?",
)
item.switch(
    "measured_by_the_shortest",
    "You measure a batch by its shortest sentence.",
    why="All rows are padded to the longest, and in sorted order that's the last one.",
    hint="Which member of the batch decides how wide the tensor is?",
)
item.switch(
    "last_batch_dropped",
    "The last batch is missing.",
    why="The model would never train on its sentences, which are the longest of all.",
    hint="When your loop ends, where is the batch that was being filled?",
)
item.switch(
    "long_ones_dropped",
    "Sentences that are longer than max_tokens are missing.",
    why="The caller asked for batches, not for a selection. A sentence like that gets its own "
    "batch.",
    hint="What happens to a sentence that fits into no batch?",
)
item.switch(
    "an_empty_batch",
    "There's an empty batch before a sentence that is too long.",
    why="A batch is left behind although there's nothing in it. A tensor without rows can't be "
    "padded.",
    hint="What does your code do with the first batch when the very first sentence does not fit "
    "into it?",
)
item.switch(
    "lengths_not_indices",
    "Your batches hold lengths, not indices.",
    why="Two sentences may be equally long: a length doesn't say which one is meant.",
    hint="What do you put into a batch: the lengths, or the numbers from 0 to N - 1?",
)
item.switch(
    "indices_into_the_sorted_list",
    "Your indices point into the sorted list.",
    why="Sorting has moved the sentences, so looking up pair 0 finds a different one.",
    hint="After sorting, do you still know each sentence's original index?",
)
item.switch(
    "longest_first",
    "You start with the longest sentences.",
    why="It wastes about as little padding. But this task wants the shortest first, and the "
    "batches come out differently.",
    hint="In which direction do you sort?",
    spellings=["longest_first_by_the_newcomer", "sorted_then_reversed"],
)
item.switch(
    "as_many_rows_everywhere",
    "All your batches have the same number of rows: the number that fits the longest sentence.",
    why="Nothing exceeds the budget, but batches of short sentences could hold many more rows, so "
    "most of the budget goes unused.",
    hint="May a batch of short sentences have more rows than one of long sentences?",
)
item.switch(
    "empty_without_sentences",
    "Without sentences you return a list with an empty batch, not an empty list.",
    why="A tensor without rows can't be padded.",
    hint="What is left of your loop's variables if the loop never runs?",
)
item.switch(
    "each_alone",
    "Each of your batches has a single sentence.",
    why="Nothing is padded, but the GPU would work on one sentence at a time.",
    hint="When does a sentence join the batch before it?",
)
