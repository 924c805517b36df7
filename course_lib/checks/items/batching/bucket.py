"""09.bucket: Neighbours of like length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from course_lib import data
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.batching.shared import Ids


def _lengths(draw: Draw, count: int, low: int = 2, high: int = 12) -> list[int]:
    return draw.ids(count, low=low, high=high).tolist()


item = Item(
    "09.bucket",
    reference=data.bucket,
    probes=[
        Probe(
            "neighbours are of like lengths, the shortest first",
            lambda draw: [
                Call(([3, 9, 4, 8, 3, 10], 20), about="the lesson's six sentences"),
                Call((_lengths(draw, 14), 30), about="fourteen sentences"),
            ],
        ),
        Probe(
            "rows × longest may reach max_tokens and not exceed it",
            lambda draw: [
                Call(([5, 5, 5, 5, 5, 5, 5], 15), about="three rows of five fill it exactly"),
                Call(([1, 1, 1, 1, 8, 8], 16), about="four short ones beside long ones"),
                Call((_lengths(draw, 20, 1, 30), 40), about="lengths from 1 to 30"),
            ],
        ),
        Probe(
            "a sentence that is too long by itself gets a batch of its own",
            lambda draw: [
                Call(([4, 25, 3, 30, 4], 10), about="two are longer than max_tokens"),
                Call(([9, 12], 5), about="all are longer"),
            ],
        ),
        Probe(
            "each sentence is in one batch, the last ones too",
            lambda draw: [Call((_lengths(draw, 23, 3, 9), 27), about="23 sentences")],
        ),
        Probe(
            "equal lengths keep their order; few and none will do",
            lambda draw: [
                Call(([6, 2, 6, 2, 6, 2], 12), about="two lengths in turn"),
                Call(([7], 50), about="one sentence"),
                Call(([], 50), about="no sentence"),
            ],
        ),
    ],
    hints=(
        "Sort the *indices*, by the lengths that they stand for. What is then known of the newest "
        "member of a batch?",
        "Go through the sorted indices. In a sorted row the sentence that wants to join would be "
        "the longest of the batch, so you know rows × longest before you let it in.",
        "sorted(range(len(lengths)), key=…), and for each i: if there is a batch and "
        "(rows with it) * lengths[i] is within the budget, append; otherwise a new batch [i].",
    ),
)


Fits = Callable[[Ids, int], bool]


def _cut(order: Sequence[int], fits: Fits) -> list[Ids]:
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
    "Your batches hold the sentences as they come: nothing is sorted.",
    why="A short sentence beside a long one is mostly pads. To choose the neighbours is the point.",
    hint="In which order do you go through the sentences?",
)
def as_they_come(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(
        range(len(lengths)),
        lambda batch, i: (len(batch) + 1) * max(lengths[j] for j in [*batch, i]) <= max_tokens,
    )


@item.misconception(
    "You count the words of a batch, not its cells.",
    why="The tensor is a rectangle, and pads take as much memory and work as words. Yours grows "
    "beyond the budget.",
    hint="Pad rows of 1, 1 and 8 words to one length. How many cells do they fill?",
)
def words_not_cells(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(
        _sorted(lengths),
        lambda batch, i: sum(lengths[j] for j in [*batch, i]) <= max_tokens,
    )


@item.misconception(
    "A batch that would fill the budget exactly is cut before its last sentence.",
    why="The budget may be reached. Cut too early, all sentences of one length make smaller "
    "batches than they could.",
    hint="Three rows of five, and a budget of 15: what does your comparison say?",
)
def never_full(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(_sorted(lengths), lambda batch, i: (len(batch) + 1) * lengths[i] < max_tokens)


@item.misconception(
    "You forget to count the sentence that is about to join.",
    why="Each batch gets one row too many, and the budget is what your memory can hold.",
    hint="How many rows are there after the sentence has joined?",
)
def one_row_too_many(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(_sorted(lengths), lambda batch, i: len(batch) * lengths[i] <= max_tokens)


@item.misconception(
    "You measure a batch by its shortest sentence.",
    why="All rows are padded to the longest, which in a sorted row is the one that comes last.",
    hint="Which member of the batch decides how wide the rectangle is?",
)
def measured_by_the_shortest(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(
        _sorted(lengths), lambda batch, i: (len(batch) + 1) * lengths[batch[0]] <= max_tokens
    )


@item.misconception(
    "The last batch is missing.",
    why="Its sentences, the longest of all, would never be learnt from.",
    hint="When your loop ends, where is the batch that was being filled?",
)
def last_batch_dropped(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return data.bucket(lengths, max_tokens)[:-1]


@item.misconception(
    "Sentences that are longer than max_tokens are missing.",
    why="Whoever asks for batches did not ask for a choice. Such a sentence goes alone.",
    hint="What becomes of a sentence that fits into no batch?",
)
def long_ones_dropped(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    short = [i for i in _sorted(lengths) if lengths[i] <= max_tokens]
    return _cut(short, lambda batch, i: (len(batch) + 1) * lengths[i] <= max_tokens)


@item.misconception(
    "There is an empty batch before a sentence that is too long.",
    why="You close the batch although nobody is in it. A tensor of no rows cannot be padded.",
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
    why="Two sentences may be equally long: a length does not say which one is meant.",
    hint="What do you sort: the lengths, or the numbers from 0 to N - 1?",
)
def lengths_not_indices(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return [[lengths[i] for i in batch] for batch in data.bucket(lengths, max_tokens)]


@item.misconception(
    "Your indices are places in the sorted row.",
    why="Sorting has given the sentences new places, and a look-up of pair 0 finds another one.",
    hint="After sorting, do you still know where a sentence came from?",
)
def places_in_the_sorted_row(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return data.bucket(sorted(lengths), max_tokens)


@item.misconception(
    "You begin with the longest sentences.",
    why="It wastes about as little. But here the shortest come first, and the cuts fall elsewhere.",
    hint="Which way round does your sorting go?",
)
def longest_first(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return _cut(order, lambda batch, i: (len(batch) + 1) * lengths[batch[0]] <= max_tokens)


@item.misconception(
    "All your batches have the same number of rows, the one that fits the longest sentence.",
    why="Nothing overflows, but batches of short sentences could hold many more rows: most of the "
    "budget stays empty.",
    hint="May a batch of short sentences have more rows than one of long ones?",
)
def as_many_rows_everywhere(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    rows = max(1, max_tokens // max(lengths, default=1))
    return _cut(_sorted(lengths), lambda batch, i: len(batch) < rows)
