"""09.collate: from pairs of lists to two padded tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from course_lib import data
from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.data import EncodedPair

Ids = list[int]
Pairs = Sequence[EncodedPair]
Tensors = tuple[Tensor, Tensor]


def _use_collate(
    collate: Callable[..., Any],
    pairs: Sequence[tuple[Ids, Ids]],
    pad_id: int,
    *,
    again: Sequence[int] | None = None,
    **kwargs: Any,
) -> Any:
    """Collate pairs, then some of them again: in the next epoch the neighbours are different."""
    encoded = [EncodedPair(*pair) for pair in pairs]
    first = collate(list(encoded), pad_id, **kwargs)
    if again is None:
        return first
    return [first, collate([encoded[i] for i in again], pad_id, **kwargs)]


def _pairs(draw: Draw, *lengths: tuple[int, int]) -> list[tuple[Ids, Ids]]:
    """Pairs of these lengths; their ids go from 4 to 19, so that no small pad_id is among them."""
    return [(draw.ids(s, low=4).tolist(), draw.ids(t, low=4).tolist()) for s, t in lengths]


item = Item(
    "09.collate",
    reference=data.collate,
    use=_use_collate,
    probes=[
        Probe(
            "each side is as long as its own longest sentence, with the padding at the end",
            lambda draw: [
                Call((_pairs(draw, (3, 5), (7, 2), (4, 4)), 0), about="the sources are longer"),
                Call(
                    (_pairs(draw, (2, 3), (3, 9), (1, 6), (3, 7)), 0),
                    about="the targets are longer",
                ),
            ],
        ),
        Probe(
            "with pad_left the padding comes first",
            lambda draw: [
                Call(
                    (_pairs(draw, (3, 8), (6, 2), (5, 4)), 0), {"pad_left": True}, about="pad_left"
                )
            ],
        ),
        Probe(
            "the padding is pad_id",
            lambda draw: [
                Call((_pairs(draw, (2, 4), (5, 3)), 1), about="pad_id is 1"),
                Call((_pairs(draw, (5, 3), (2, 7)), 3), {"pad_left": True}, about="pad_id is 3"),
                Call(
                    ([([7, 0, 5], [0, 9]), ([6], [8, 0, 4, 5])], 1),
                    about="pad_id is 1, and 0 is a real token",
                ),
            ],
        ),
        Probe(
            "one pair, single tokens and equal lengths work, too",
            lambda draw: [
                Call((_pairs(draw, (4, 6)), 0), about="one pair"),
                Call(
                    (_pairs(draw, (1, 1), (1, 2)), 0),
                    {"pad_left": True},
                    about="sentences of one token",
                ),
                Call((_pairs(draw, (3, 5), (3, 5)), 0), about="nothing to pad"),
            ],
        ),
        Probe(
            "the pairs stay as they were, for the next epoch",
            lambda draw: [
                Call(
                    (_pairs(draw, (6, 3), (2, 4), (3, 7)), 0),
                    {"again": [1, 0]},
                    about="first three pairs, then two of them again",
                )
            ],
        ),
    ],
    hints=(
        "Do one side first: a list of lists of ids. How long does each row have to become?",
        "Write a helper for one side: find the longest length, then give each row as many pad ids "
        "as it lacks, before or after it. Call it once for the sources and once for the targets.",
        "[pad_id] * 3 is a list of three pad ids; how many does this row need? If you call them "
        "`fill`, `fill + row` and `row + fill` make new lists. torch.tensor turns integers into "
        "int64.",
    ),
)


@item.switchable
def collate_with(on: frozenset[str]) -> Callable[..., Tensors]:
    """Collate with these misconceptions."""

    def answer(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
        fill = 0 if "always_zero" in on else pad_id
        if on & {"sorted_rows", "shortest_first"}:
            step = 1 if "shortest_first" in on else -1
            pairs = sorted(pairs, key=lambda pair: step * len(pair.source))
        elif on & {"sorted_by_target", "shortest_target_first"}:
            step = 1 if "shortest_target_first" in on else -1
            pairs = sorted(pairs, key=lambda pair: step * len(pair.target))
        sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
        lengths = [max(map(len, rows)) + ("a_column_too_many" in on) for rows in sides]
        if "one_length_for_both" in on:
            lengths = [max(lengths)] * 2
        if "cut_to_the_shortest" in on:
            shortest = [min(map(len, rows)) for rows in sides]
            first, second = shortest
            sides = [row[:first] for row in sides[0]], [row[:second] for row in sides[1]]
            lengths = shortest
        if "pads_the_data" in on:
            for rows, length in zip(sides, lengths, strict=True):
                for row in rows:
                    gap = [fill] * (length - len(row))
                    row[:] = [*gap, *row] if pad_left else [*row, *gap]
        left = [pad_left and "never_left" not in on] * 2
        if "sides_exchanged" in on:
            left = [not pad_left] * 2
        elif "only_the_source_left" in on:
            left[1] = False
        elif "only_the_target_left" in on:
            left[0] = False
        source, target = (
            shaped(rows, fill, side_left, length)
            for rows, side_left, length in zip(sides, left, lengths, strict=True)
        )
        return (target, source) if "swapped" in on else (source, target)

    def shaped(rows: list[Ids], fill: int, left: bool, length: int) -> Tensor:
        rows = [*rows, [fill] * length]  # the last row makes the others this long
        reverse = "reversed_text" in on and left
        x = data.pad_sequences(rows, fill, pad_left=left and not reverse)[:-1]
        x = x.flip(1) if reverse else x
        if "floats" in on:
            x = x.float()
        elif "small_integers" in on:
            x = x.int()
        return x.T if "length_first" in on else x

    return answer


item.switch(
    "one_length_for_both",
    "You pad both sides to one length, the longest of all.",
    why="A source and its target are never in the same tensor. The extra padding on the shorter "
    "side is wasted work.",
    hint="How many maximum lengths does a batch of pairs have?",
)
item.switch(
    "always_zero",
    "You always pad with 0, whatever pad_id is.",
    why="Where another id is the pad token, 0 is a real one. One of the five published systems "
    "padded with 0 while its pad_id was 1: no mask hid the padding, and the loss counted it.",
    hint="Does your code use pad_id everywhere it pads?",
)
item.switch(
    "floats",
    "Your ids aren't int64; they may be floats, or integers of another size.",
    why="An id is a row number, and there is no row 5.0: nn.Embedding rejects it. It takes int64 "
    "and int32 only, and cross-entropy rejects labels of int32.",
    hint="Which of your lines decides the dtype? torch.zeros, for instance, makes floats unless "
    "you give it one.",
)
item.switch(
    "small_integers",
    "Your ids are int32, and the task asks for int64.",
    why="Ids become labels, and PyTorch's cross-entropy rejects labels of int32.",
    hint="Which of your lines chooses the dtype? torch.tensor makes int64 of whole numbers.",
)
item.switch(
    "never_left",
    "You pad on the right even when pad_left is True.",
    why="A caller who asks for left padding needs all rows to end in the same column, to continue "
    "from there.",
    hint="Where does your code use its third argument, and what changes there when it's True?",
)
item.switch(
    "sides_exchanged",
    "You pad on the left without being asked to, and on the right when pad_left is True.",
    why="The name says where the padding goes, not where the sentence goes.",
    hint="Try it on one short row and see where the padding is.",
)
item.switch(
    "reversed_text",
    "With pad_left your sentences are reversed.",
    why="Flipping a padded row moves the padding to the left, but reverses the sentence, too. One "
    "of the five published systems trained its model on reversed text that way.",
    hint="If you flip a row after padding it, in which order does it have to go in?",
)
item.switch(
    "only_the_source_left",
    "You pad the sources on the left but the targets on the right.",
    why="pad_left is meant for both sides. The decoder's rows would still end in different "
    "columns.",
    hint="Where do you make the target, and does that line use pad_left?",
)
item.switch(
    "length_first",
    "Your tensors are (length, batch): each sentence runs down a column.",
    why="In this course the batch comes first. With as many sentences as tokens, the axes would "
    "get mixed up without an error.",
    hint="pad_sequence has an option for that; otherwise ask which axis of your tensor counts the "
    "sentences.",
)
item.switch(
    "pads_the_data",
    "You write the padding into the lists that you were given.",
    why="Now the data contain padding for good: in the next epoch this sentence has other "
    "neighbours, and still has the old padding.",
    hint="append, extend, insert, += and an assignment to a slice change a list; + makes a new "
    "one.",
)
item.switch(
    "sorted_rows",
    "You sort the pairs by length: your rows are in another order than the pairs.",
    why="The caller expects row i to be pair i. Old recurrent networks needed sorted rows; "
    "attention doesn't.",
    hint="In which order do your rows come out?",
    spellings=["shortest_first", "sorted_by_target", "shortest_target_first"],
)
item.switch(
    "cut_to_the_shortest",
    "You truncate all rows to the shortest: there's no padding, and tokens are missing.",
    why="The end of a sentence is part of it, and so is the `<eos>` that says where to stop.",
    hint="What does your code do with a row that is longer than another?",
)
item.switch(
    "only_the_target_left",
    "You pad the targets on the left but the sources on the right.",
    why="pad_left is meant for both sides: a caller who asks for it expects all rows to end in the "
    "same column.",
    hint="Where do you make the source, and does that line use pad_left?",
)
item.switch(
    "swapped",
    "You return the target first and the source second.",
    why="The caller unpacks (source, target). Swapped, the model would be trained to translate "
    "backwards.",
    hint="In which order does the task name the two tensors?",
)
item.switch(
    "a_column_too_many",
    "Your tensors have one column of padding more than they need.",
    why="The longest row needs no padding. A column of padding alone is wasted work in each batch.",
    hint="How much padding does the longest row get?",
)
