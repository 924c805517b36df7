"""09.bucket: batches of sentences of similar length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from course_lib import data
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.batching.padded_rows import Ids


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
        "sorted(range(len(lengths)), key=…), and for each i: if there is a batch, and (rows "
        "including this one) * lengths[i] is within the budget, append it; otherwise start a new "
        "batch [i].",
    ),
)


Fits = Callable[[Ids, int], bool]


def _in_batches(order: Sequence[int], fits: Fits) -> list[Ids]:
    """Indices in batches: each joins the last one if it fits."""
    batches: list[Ids] = []
    for i in order:
        if batches and fits(batches[-1], i):
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def _sorted(lengths: Sequence[int]) -> Ids:
    return sorted(range(len(lengths)), key=lambda i: lengths[i])


@item.misconception(
    "Your batches take the sentences in their original order: nothing is sorted.",
    why="A short sentence next to a long one is mostly padding. Choosing neighbours of similar "
    "length is the whole point.",
    hint="In which order do you go through the sentences?",
)
def as_they_come(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _in_batches(
        range(len(lengths)),
        lambda batch, i: (len(batch) + 1) * max(lengths[j] for j in [*batch, i]) <= max_tokens,
    )


@item.misconception(
    "You count a batch's real tokens and leave out the padding.",
    why="The tensor is a rectangle, and padding takes as much memory and time as real tokens. Your "
    "batches exceed the budget.",
    hint="Pad rows of 1, 1 and 8 tokens to one length. How many tokens does the tensor hold?",
)
def padding_not_counted(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _in_batches(
        _sorted(lengths),
        lambda batch, i: sum(lengths[j] for j in [*batch, i]) <= max_tokens,
    )


@item.misconception(
    "A batch that would use the budget exactly is closed before its last sentence.",
    why="Reaching the budget is allowed. Closed too early, batches of equally long sentences are "
    "smaller than they could be.",
    hint="Three rows of five, and a budget of 15: what does your comparison say?",
)
def never_full(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _in_batches(
        _sorted(lengths), lambda batch, i: (len(batch) + 1) * lengths[i] < max_tokens
    )


@item.misconception(
    "You forget to count the sentence that is about to join.",
    why="Each batch gets one row too many, and the budget is what your memory can hold.",
    hint="How many rows are there after the sentence has joined?",
)
def one_row_too_many(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _in_batches(_sorted(lengths), lambda batch, i: len(batch) * lengths[i] <= max_tokens)


@item.misconception(
    "You measure a batch by its shortest sentence.",
    why="All rows are padded to the longest, and in sorted order that's the last one.",
    hint="Which member of the batch decides how wide the tensor is?",
)
def measured_by_the_shortest(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _in_batches(
        _sorted(lengths), lambda batch, i: (len(batch) + 1) * lengths[batch[0]] <= max_tokens
    )


@item.misconception(
    "The last batch is missing.",
    why="The model would never train on its sentences, which are the longest of all.",
    hint="When your loop ends, where is the batch that was being filled?",
)
def last_batch_dropped(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return data.bucket(lengths, max_tokens)[:-1]


@item.misconception(
    "Sentences that are longer than max_tokens are missing.",
    why="The caller asked for batches, not for a selection. A sentence like that gets its own "
    "batch.",
    hint="What happens to a sentence that fits into no batch?",
)
def long_ones_dropped(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    short = [i for i in _sorted(lengths) if lengths[i] <= max_tokens]
    return _in_batches(short, lambda batch, i: (len(batch) + 1) * lengths[i] <= max_tokens)


@item.misconception(
    "There's an empty batch before a sentence that is too long.",
    why="You close the batch although there's nothing in it. A tensor without rows can't be "
    "padded.",
    hint="Which batch do you close when the very first sentence does not fit?",
)
def an_empty_batch(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    batches: list[Ids] = [[]]
    for i in _sorted(lengths):
        if (len(batches[-1]) + 1) * lengths[i] > max_tokens:
            batches.append([])
        batches[-1].append(i)
    return batches if lengths else []


@item.misconception(
    "Your batches hold lengths, not indices.",
    why="Two sentences may be equally long: a length doesn't say which one is meant.",
    hint="What do you sort: the lengths, or the numbers from 0 to N - 1?",
)
def lengths_not_indices(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return [[lengths[i] for i in batch] for batch in data.bucket(lengths, max_tokens)]


@item.misconception(
    "Your indices point into the sorted list.",
    why="Sorting has moved the sentences, so looking up pair 0 finds a different one.",
    hint="After sorting, do you still know each sentence's original index?",
)
def indices_into_the_sorted_list(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return data.bucket(sorted(lengths), max_tokens)


@item.misconception(
    "You start with the longest sentences.",
    why="It wastes about as little padding. But this task wants the shortest first, and the "
    "batches come out differently.",
    hint="In which direction do you sort?",
)
def longest_first(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return _in_batches(order, lambda batch, i: (len(batch) + 1) * lengths[batch[0]] <= max_tokens)


@item.misconception(
    "All your batches have the same number of rows: the number that fits the longest sentence.",
    why="Nothing exceeds the budget, but batches of short sentences could hold many more rows, so "
    "most of the budget goes unused.",
    hint="May a batch of short sentences have more rows than one of long sentences?",
)
def as_many_rows_everywhere(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    rows = max(1, max_tokens // max(lengths, default=1))
    return _in_batches(_sorted(lengths), lambda batch, i: len(batch) < rows)
