"""09.collate: Into one rectangle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from course_lib import data
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.batching.shared import Ids, Tensors, padded
from course_lib.data import EncodedPair

Pairs = Sequence[EncodedPair]


def _use_collate(
    collate: Callable[..., Any],
    pairs: Sequence[tuple[Ids, Ids]],
    pad_id: int,
    *,
    again: Sequence[int] | None = None,
    **kwargs: Any,
) -> Any:
    """Collate pairs, and then some of the same pairs again: the next epoch has other neighbours."""
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
            "each side is as long as its own longest, the pads behind the words",
            lambda draw: [
                Call((_pairs(draw, (3, 5), (7, 2), (4, 4)), 0), about="sources longer"),
                Call((_pairs(draw, (2, 3), (3, 9), (1, 6), (3, 7)), 0), about="targets longer"),
            ],
        ),
        Probe(
            "with pad_left the pads stand before the words",
            lambda draw: [
                Call(
                    (_pairs(draw, (3, 8), (6, 2), (5, 4)), 0), {"pad_left": True}, about="pad_left"
                )
            ],
        ),
        Probe(
            "it is pad_id that fills",
            lambda draw: [
                Call((_pairs(draw, (2, 4), (5, 3)), 1), about="pad_id is 1"),
                Call((_pairs(draw, (5, 3), (2, 7)), 3), {"pad_left": True}, about="pad_id is 3"),
            ],
        ),
        Probe(
            "one pair, single words and equal lengths are batches, too",
            lambda draw: [
                Call((_pairs(draw, (4, 6)), 0), about="one pair"),
                Call((_pairs(draw, (1, 1), (1, 2)), 0), {"pad_left": True}, about="single words"),
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
        "Do one side first: a list of lists of ids. How long must each row become?",
        "Write a helper for one side: the longest length, then for each row as many pads as it "
        "lacks, before it or behind it. Call it once for the sources and once for the targets.",
        "[pad_id] * 3 is a list of three pads; how many does this row need? With `fill` for them, "
        "`fill + row` and `row + fill` make new lists. torch.tensor makes int64 of whole numbers.",
    ),
)


def _sides(pairs: Pairs) -> tuple[list[Ids], list[Ids]]:
    return [list(pair.source) for pair in pairs], [list(pair.target) for pair in pairs]


@item.misconception(
    "You pad both sides to one length, the longest of all.",
    why="A source and its target never stand in one tensor. What the shorter side gets too much "
    "is work for nothing.",
    hint="How many 'longest' does a batch of pairs have?",
)
def one_length_for_both(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    longest = max(len(row) for row in sources + targets)
    return (
        padded(sources, pad_id, left=pad_left, length=longest),
        padded(targets, pad_id, left=pad_left, length=longest),
    )


@item.misconception(
    "You always fill up with 0, whatever pad_id is.",
    why="Where another id is the pad, 0 is a word. One of the five published systems filled with 0 "
    "while its pad was 1: no mask hid the filling, and the loss counted it.",
    hint="Does your code use pad_id in every place that it fills?",
)
def always_zero(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    return padded(sources, 0, left=pad_left), padded(targets, 0, left=pad_left)


@item.misconception(
    "Your ids are right, but they are floats.",
    why="An id is a row number, and there is no row 5.0: nn.Embedding refuses it.",
    hint="Which of your lines makes floats? torch.zeros does, unless it is told a dtype.",
)
def floats(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    source, target = (padded(side, pad_id, left=pad_left) for side in (sources, targets))
    return source.float(), target.float()


@item.misconception(
    "You pad on the right even when pad_left is True.",
    why="Whoever asks for it needs all rows to end in one column, to go on from there.",
    hint="Does your code use its third argument?",
)
def never_left(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    return padded(sources, pad_id), padded(targets, pad_id)


@item.misconception(
    "You pad on the left without being asked, and on the right when pad_left is True.",
    why="The name says where the pads go, not where the words go.",
    hint="Try it on one short row and look where the pads stand.",
)
def sides_exchanged(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    left = not pad_left
    return padded(sources, pad_id, left=left), padded(targets, pad_id, left=left)


@item.misconception(
    "With pad_left your sentences run backwards.",
    why="Turning a padded row round moves the pads to the left, and turns the words round, too. "
    "One of the five published systems fed its model reversed text that way.",
    hint="If you turn a row round after padding, in which order must it go in?",
)
def reversed_text(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    source, target = padded(sources, pad_id), padded(targets, pad_id)
    return (source.flip(1), target.flip(1)) if pad_left else (source, target)


@item.misconception(
    "You pad the sources on the left and leave the targets' pads on the right.",
    why="pad_left is meant for both sides. The decoder's rows would still end at unlike places.",
    hint="Where do you make the target, and does that place know of pad_left?",
)
def only_the_source_left(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    return padded(sources, pad_id, left=pad_left), padded(targets, pad_id)


@item.misconception(
    "Your tensors are (length, batch): a sentence runs down a column.",
    why="The course has the batch first. With as many sentences as words the axes would be mixed "
    "up without any error.",
    hint="pad_sequence has a setting for that; otherwise look at what you stack along which axis.",
)
def length_first(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    source, target = (padded(side, pad_id, left=pad_left) for side in (sources, targets))
    return source.T, target.T


@item.misconception(
    "You write the pads into the lists that you were given.",
    why="The data now hold pads for ever: in the next epoch this sentence has other neighbours, "
    "and drags the pads along.",
    hint="append, extend, insert and += change a list; + makes a new one.",
)
def pads_the_data(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    for rows in ([pair.source for pair in pairs], [pair.target for pair in pairs]):
        longest = max(len(row) for row in rows)
        for row in rows:
            fill = [pad_id] * (longest - len(row))
            row[:] = [*fill, *row] if pad_left else [*row, *fill]
    return (
        torch.tensor([pair.source for pair in pairs]),
        torch.tensor([pair.target for pair in pairs]),
    )


@item.misconception(
    "You sort the pairs by the length of their source, longest first.",
    why="Whoever hands over pairs expects row i to be pair i. Old recurrent networks wanted sorted "
    "rows; attention does not care.",
    hint="In which order do your rows come out?",
)
def sorted_rows(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(sorted(pairs, key=lambda pair: -len(pair.source)))
    return padded(sources, pad_id, left=pad_left), padded(targets, pad_id, left=pad_left)


@item.misconception(
    "You cut all rows to the shortest: there are no pads, and words are missing.",
    why="The end of a sentence belongs to it, and with it the `<eos>` that says where to stop.",
    hint="What does your code do with a row that is longer than another?",
)
def cut_to_the_shortest(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    source, target = (
        torch.tensor([row[: min(map(len, side))] for row in side]) for side in (sources, targets)
    )
    return source, target
