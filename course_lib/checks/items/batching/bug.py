"""09.bug: A sentence without an end."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn.utils.rnn import pad_sequence

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.checks.items.batching.shared import Ids, Tensors

BUG = """\
def decoder_batch(targets, max_len, pad_id, sos_id, eos_id):
    rows = [[sos_id, *words, eos_id][:max_len] for words in targets]
    longest = max(len(row) for row in rows)
    batch = torch.full((len(rows), longest), pad_id)
    for cells, row in zip(batch, rows):
        cells[: len(row)] = torch.tensor(row)
    return batch[:, :-1], batch[:, 1:]
"""


def _decoder_batch(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    rows = [[sos_id, *words[: max_len - 2], eos_id] for words in targets]
    return _shifted(rows, pad_id)


def _shifted(rows: Sequence[Ids], pad_id: int) -> Tensors:
    batch = pad_sequence([torch.tensor(row) for row in rows], True, pad_id)
    return batch[:, :-1], batch[:, 1:]


def _sentences(draw: Draw, *lengths: int) -> list[Ids]:
    return [draw.ids(n, low=4).tolist() for n in lengths]


item = Item(
    "09.bug",
    reference=_decoder_batch,
    bug=Bug(BUG, line=2),
    probes=[
        Probe(
            "a sentence that is cut still ends with <eos>",
            lambda draw: [
                Call((_sentences(draw, 9, 3, 7), 6, 0, 1, 2), about="two of three are too long")
            ],
        ),
        Probe(
            "a sentence that fits loses nothing",
            lambda draw: [
                Call((_sentences(draw, 4, 2, 1), 6, 0, 1, 2), about="max_len is just enough"),
                Call((_sentences(draw, 5, 2, 3), 6, 0, 1, 2), about="one is a word too long"),
                Call((_sentences(draw, 3, 5), 50, 0, 1, 2), about="max_len is far away"),
            ],
        ),
        Probe(
            "ids and limits may be others",
            lambda draw: [
                Call((_sentences(draw, 8, 5, 1), 4, 3, 2, 0), about="pad 3, sos 2, eos 0"),
                Call((_sentences(draw, 2, 1), 3, 0, 1, 2), about="a single word is left"),
            ],
        ),
    ],
    hints=(
        "Try two targets of 3 and 9 words with max_len 6, and print what comes out. What ought to "
        "stand at the end of each row?",
        "Count the labels that are <eos>. How many sentences are there?",
        "The words have to be cut, not the row with its specials. How many words is there room "
        "for in max_len tokens?",
    ),
)


@item.misconception(
    "A sentence that is cut still loses its `<eos>`.",
    why="The model is never asked to stop a long sentence, so it will not stop one by itself. No "
    "error, and no loss, tells you.",
    hint="What is the last label of a sentence that is too long?",
)
def still_cut_off(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words, eos_id][:max_len] for words in targets], pad_id)


@item.misconception(
    "You cut the words to max_len: with their specials the rows have two tokens more.",
    why="max_len is what the model can hold, the specials counted. A model with learned positions "
    "would fail here.",
    hint="You cut in the right place. How much room do the specials need?",
)
def specials_not_counted(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words[:max_len], eos_id] for words in targets], pad_id)


@item.misconception(
    "You leave room for one special: cut rows are one token too long.",
    why="Two specials stand around the words, and both are counted in max_len.",
    hint="You cut in the right place. Count the tokens of a cut row.",
)
def one_special_counted(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words[: max_len - 1], eos_id] for words in targets], pad_id)


@item.misconception(
    "Each row gets an `<eos>` at its end, and those that were not cut now have two.",
    why="A sentence that fits would be taught to say `<eos>` after `<eos>`.",
    hint="Mend it so that a sentence that fits comes out as before.",
)
def ends_twice(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    rows = [[*[sos_id, *words, eos_id][: max_len - 1], eos_id] for words in targets]
    return _shifted(rows, pad_id)


@item.misconception(
    "Nothing is cut any more.",
    why="The `<eos>` is back, and the rows are longer than max_len, which is what the model holds.",
    hint="Too long a sentence shall still be cut, and end properly.",
)
def not_cut_at_all(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words, eos_id] for words in targets], pad_id)


@item.misconception(
    "You cut from the front: the first words are gone, and the end is kept.",
    why="The decoder would learn to begin in the middle of a sentence.",
    hint="Which words shall a cut sentence keep: its first or its last?",
)
def keeps_the_end(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words[-(max_len - 2) :], eos_id] for words in targets], pad_id)
