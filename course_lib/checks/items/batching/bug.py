"""09.bug: A sentence without an end."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from course_lib import data
from course_lib.checks.engine import Bug, Call, Draw, Item, Probe

BUG = """\
def decoder_batch(targets, max_len, pad_id, bos_id, eos_id):
    rows = [[bos_id, *words, eos_id][:max_len] for words in targets]
    longest = max(len(row) for row in rows)
    batch = torch.full((len(rows), longest), pad_id)
    for padded, row in zip(batch, rows):
        padded[: len(row)] = torch.tensor(row)
    return batch[:, :-1], batch[:, 1:]
"""
Ids = list[int]
Tensors = tuple[Tensor, Tensor]


def _decoder_batch(
    targets: Sequence[Ids], max_len: int, pad_id: int, bos_id: int, eos_id: int
) -> Tensors:
    rows = [[bos_id, *tokens[: max_len - 2], eos_id] for tokens in targets]
    return _shifted(rows, pad_id)


def _shifted(rows: Sequence[Ids], pad_id: int) -> Tensors:
    batch = data.pad_sequences(rows, pad_id)
    return batch[:, :-1], batch[:, 1:]


def _sentences(draw: Draw, *lengths: int) -> list[Ids]:
    return [draw.ids(n, low=4).tolist() for n in lengths]


item = Item(
    "09.bug",
    reference=_decoder_batch,
    bug=Bug(BUG, line=2),
    probes=[
        Probe(
            "a truncated sentence still ends with <eos>",
            lambda draw: [
                Call((_sentences(draw, 9, 3, 7), 6, 0, 1, 2), about="two of three are too long")
            ],
        ),
        Probe(
            "a sentence that fits loses nothing",
            lambda draw: [
                Call((_sentences(draw, 4, 2, 1), 6, 0, 1, 2), about="max_len is just large enough"),
                Call((_sentences(draw, 5, 2, 3), 6, 0, 1, 2), about="one is a token too long"),
                Call((_sentences(draw, 3, 5), 50, 0, 1, 2), about="max_len is 50"),
            ],
        ),
        Probe(
            "it works for other ids and limits",
            lambda draw: [
                Call((_sentences(draw, 8, 5, 1), 4, 3, 2, 0), about="pad 3, BOS 2, EOS 0"),
                Call((_sentences(draw, 2, 1), 3, 0, 1, 2), about="only one token is left"),
            ],
        ),
    ],
    hints=(
        "Try two targets of 3 and 9 tokens with max_len 6, and print the result. What should be at "
        "the end of each row?",
        "Count the labels that are <eos>. How many sentences are there?",
        "Truncate the sentence, not the row with its special tokens. How many of the sentence's "
        "own tokens fit into max_len?",
    ),
)


@item.misconception(
    "A truncated sentence still loses its `<eos>`.",
    why="The model is never trained to end a long sentence, so it won't end one by itself. No "
    "error or loss will tell you.",
    hint="What is the last label of a sentence that is too long?",
)
def still_cut_off(
    targets: Sequence[Ids], max_len: int, pad_id: int, bos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[bos_id, *tokens, eos_id][:max_len] for tokens in targets], pad_id)


@item.misconception(
    "You keep up to max_len tokens of a sentence: with its special tokens, a truncated row is two "
    "tokens too long.",
    why="max_len is what the model can hold, special tokens included. A model with learned "
    "positions would fail here.",
    hint="Truncating the sentence itself is right. How many positions do the special tokens need?",
)
def specials_not_counted(
    targets: Sequence[Ids], max_len: int, pad_id: int, bos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[bos_id, *tokens[:max_len], eos_id] for tokens in targets], pad_id)


@item.misconception(
    "You leave room for one special token: truncated rows are one token too long.",
    why="A row has two special tokens, and both count towards max_len.",
    hint="Truncating the sentence itself is right. Count the tokens of a truncated row.",
)
def one_special_counted(
    targets: Sequence[Ids], max_len: int, pad_id: int, bos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[bos_id, *tokens[: max_len - 1], eos_id] for tokens in targets], pad_id)


@item.misconception(
    "Each row gets an `<eos>` at its end, and rows that weren't truncated now have two.",
    why="A sentence that fits would be trained to predict `<eos>` after `<eos>`.",
    hint="Fix it so that a sentence that fits comes out as before.",
)
def ends_twice(
    targets: Sequence[Ids], max_len: int, pad_id: int, bos_id: int, eos_id: int
) -> Tensors:
    rows = [[*[bos_id, *tokens, eos_id][: max_len - 1], eos_id] for tokens in targets]
    return _shifted(rows, pad_id)


@item.misconception(
    "Nothing is truncated any more.",
    why="The `<eos>` is back, but now rows are longer than max_len, which is all the model can "
    "hold.",
    hint="A sentence that is too long should still be truncated, and end properly.",
)
def not_cut_at_all(
    targets: Sequence[Ids], max_len: int, pad_id: int, bos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[bos_id, *tokens, eos_id] for tokens in targets], pad_id)


@item.misconception(
    "You truncate at the front: the first tokens are gone, and the end is kept.",
    why="The decoder would learn to start in the middle of a sentence.",
    hint="Which tokens should a truncated sentence keep: its first or its last?",
)
def keeps_the_end(
    targets: Sequence[Ids], max_len: int, pad_id: int, bos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[bos_id, *tokens[-(max_len - 2) :], eos_id] for tokens in targets], pad_id)
