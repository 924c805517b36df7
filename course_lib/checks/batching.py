"""Items of lesson 09: sentences of different lengths, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_lib import data
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.data import EncodedPair

Ids = list[int]
Pairs = Sequence[EncodedPair]
Tensors = tuple[Tensor, Tensor]

# --- 09.collate ----------------------------------------------------------------------------------


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


collate = Item(
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


def _padded(
    rows: Sequence[Ids], pad_id: int, *, left: bool = False, length: int | None = None
) -> Tensor:
    """One side, (B, longest); some mistakes give it a longer length."""
    longest = length or max(len(row) for row in rows)
    fills = [[pad_id] * (longest - len(row)) for row in rows]
    both = zip(fills, rows, strict=True)
    return torch.tensor([[*f, *row] if left else [*row, *f] for f, row in both])


def _sides(pairs: Pairs) -> tuple[list[Ids], list[Ids]]:
    return [list(pair.source) for pair in pairs], [list(pair.target) for pair in pairs]


@collate.mistake(
    "You pad both sides to one length, the longest of all.",
    why="A source and its target never stand in one tensor. What the shorter side gets too much "
    "is work for nothing.",
    hint="How many 'longest' does a batch of pairs have?",
)
def one_length_for_both(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    longest = max(len(row) for row in sources + targets)
    return (
        _padded(sources, pad_id, left=pad_left, length=longest),
        _padded(targets, pad_id, left=pad_left, length=longest),
    )


@collate.mistake(
    "You always fill up with 0, whatever pad_id is.",
    why="Where another id is the pad, 0 is a word. One of the five published systems filled with 0 "
    "while its pad was 1: no mask hid the filling, and the loss counted it.",
    hint="Does your code use pad_id in every place that it fills?",
)
def always_zero(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    return _padded(sources, 0, left=pad_left), _padded(targets, 0, left=pad_left)


@collate.mistake(
    "Your ids are right, but they are floats.",
    why="An id is a row number, and there is no row 5.0: nn.Embedding refuses it.",
    hint="Which of your lines makes floats? torch.zeros does, unless it is told a dtype.",
)
def floats(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    source, target = (_padded(side, pad_id, left=pad_left) for side in (sources, targets))
    return source.float(), target.float()


@collate.mistake(
    "You pad on the right even when pad_left is True.",
    why="Whoever asks for it needs all rows to end in one column, to go on from there.",
    hint="Does your code use its third argument?",
)
def never_left(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    return _padded(sources, pad_id), _padded(targets, pad_id)


@collate.mistake(
    "You pad on the left without being asked, and on the right when pad_left is True.",
    why="The name says where the pads go, not where the words go.",
    hint="Try it on one short row and look where the pads stand.",
)
def sides_exchanged(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    left = not pad_left
    return _padded(sources, pad_id, left=left), _padded(targets, pad_id, left=left)


@collate.mistake(
    "With pad_left your sentences run backwards.",
    why="Turning a padded row round moves the pads to the left, and turns the words round, too. "
    "One of the five published systems fed its model reversed text that way.",
    hint="If you turn a row round after padding, in which order must it go in?",
)
def reversed_text(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    source, target = _padded(sources, pad_id), _padded(targets, pad_id)
    return (source.flip(1), target.flip(1)) if pad_left else (source, target)


@collate.mistake(
    "You pad the sources on the left and leave the targets' pads on the right.",
    why="pad_left is meant for both sides. The decoder's rows would still end at unlike places.",
    hint="Where do you make the target, and does that place know of pad_left?",
)
def only_the_source_left(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    return _padded(sources, pad_id, left=pad_left), _padded(targets, pad_id)


@collate.mistake(
    "Your tensors are (length, batch): a sentence runs down a column.",
    why="The course has the batch first. With as many sentences as words the axes would be mixed "
    "up without any error.",
    hint="pad_sequence has a setting for that; otherwise look at what you stack along which axis.",
)
def length_first(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(pairs)
    source, target = (_padded(side, pad_id, left=pad_left) for side in (sources, targets))
    return source.T, target.T


@collate.mistake(
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


@collate.mistake(
    "You sort the pairs by the length of their source, longest first.",
    why="Whoever hands over pairs expects row i to be pair i. Old recurrent networks wanted sorted "
    "rows; attention does not care.",
    hint="In which order do your rows come out?",
)
def sorted_rows(pairs: Pairs, pad_id: int, pad_left: bool = False) -> Tensors:
    sources, targets = _sides(sorted(pairs, key=lambda pair: -len(pair.source)))
    return _padded(sources, pad_id, left=pad_left), _padded(targets, pad_id, left=pad_left)


@collate.mistake(
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


# --- 09.teacher_forcing --------------------------------------------------------------------------

SOS, EOS = 1, 2


def _targets(draw: Draw, *lengths: int, pad_id: int = 0, left: bool = False) -> Tensor:
    """Targets of so many words between their specials, padded to the longest."""
    rows = [[SOS, *draw.ids(n, low=4).tolist(), EOS] for n in lengths]
    return _padded(rows, pad_id, left=left)


teacher_forcing = Item(
    "09.teacher_forcing",
    reference=data.teacher_forcing,
    probes=[
        Probe(
            "each place reads a word and shall say the next",
            lambda draw: [Call((_targets(draw, 4, 4, 4),), about="three targets of one length")],
        ),
        Probe(
            "where a pad on the right is read, the label is a pad",
            lambda draw: [Call((_targets(draw, 5, 2, 1, 3),), about="padded on the right")],
        ),
        Probe(
            "where a pad on the left is read, there is nothing to say, not even <sos>",
            lambda draw: [Call((_targets(draw, 2, 5, 3, left=True),), about="padded on the left")],
        ),
        Probe(
            "it is pad_id that says what a pad is",
            lambda draw: [
                Call((_targets(draw, 3, 6, pad_id=3), 3), about="pad_id is 3"),
                Call((_targets(draw, 3, 1, pad_id=3, left=True), 3), about="pad_id 3, on the left"),
                Call(
                    (torch.cat([draw.ids(2, 3), torch.zeros(2, 1).long(), draw.ids(2, 2)], 1), 30),
                    about="pad_id is 30, and 0 is a word",
                ),
            ],
        ),
        Probe(
            "one sentence, an empty one and memory in another order will do",
            lambda draw: [
                Call((_targets(draw, 6),), about="a batch of one"),
                Call((_targets(draw, 0, 0, 0),), about="only <sos> and <eos>"),
                Call((_targets(draw, 3, 1, 2, left=True).T.contiguous().T,), about="a transpose"),
            ],
        ),
    ],
    hints=(
        "Six tokens make five questions. Which token is never read, and which is never said?",
        "Two slices along the axis of length. Then look at the places at which the decoder reads "
        "a pad: what do the labels say there if the pads stand on the left?",
        "target[:, :-1] and target[:, 1:], the second with masked_fill(…, pad_id) where the first "
        "is a pad. Without the underscore, masked_fill makes a new tensor.",
    ),
)


@teacher_forcing.mistake(
    "Your labels are what the decoder reads: nothing is shifted.",
    why="To say the word that it reads, a model need only copy. The loss goes to zero, and by "
    "itself it writes `<sos>` for ever.",
    hint="Write one target down and put under each token what shall be said after it.",
)
def no_shift(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:, :-1], target[:, :-1]


@teacher_forcing.mistake(
    "The two are exchanged: your decoder reads the answers and says what came before.",
    why="It would learn to say the word before the one it reads, and start by saying `<sos>`.",
    hint="Which of the two begins with `<sos>`?",
)
def exchanged(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = data.teacher_forcing(target, pad_id)
    return labels, decoder_input


@teacher_forcing.mistake(
    "Your decoder reads the whole target: one place more than there are labels.",
    why="After the last token nothing is left to be said; logits and labels would not fit.",
    hint="Which token is never read?",
)
def reads_the_last(target: Tensor, pad_id: int = 0) -> Tensors:
    return target, data.teacher_forcing(target, pad_id)[1]


@teacher_forcing.mistake(
    "You shift along the batch: each sentence shall say the one below it.",
    why="The first axis counts sentences. The next *word* stands on the second.",
    hint="On which axis does a target run?",
)
def along_the_batch(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:-1], target[1:]


@teacher_forcing.mistake(
    "You roll the target round: the last label is what stood in the first column.",
    why="The model would be asked to say `<sos>` at the end of each of its longest sentences.",
    hint="A shift loses one token on each side. Where has it gone in yours?",
)
def rolled_round(target: Tensor, pad_id: int = 0) -> Tensors:
    return target, target.roll(-1, dims=1)


@teacher_forcing.mistake(
    "With pads on the left your decoder reads a pad and shall say `<sos>`.",
    why="That is a question without sense, and the loss would count it: the label is no pad.",
    hint="Print both rows of a sentence that is padded on the left, one under the other.",
)
def says_sos_after_pads(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:, :-1], target[:, 1:]


@teacher_forcing.mistake(
    "You always take 0 for the pad, whatever pad_id is.",
    why="Where another id is the pad, the pads on the left are asked for `<sos>`, and what follows "
    "a real word 0 is lost.",
    hint="Does your code use its second argument?",
)
def zero_is_always_the_pad(target: Tensor, pad_id: int = 0) -> Tensors:
    return data.teacher_forcing(target, 0)


@teacher_forcing.mistake(
    "Your labels are -100 at the pads.",
    why="PyTorch's loss ignores -100 by default, but the course's loss is told pad_id, and would "
    "look up a word number -100.",
    hint="What shall stand in the labels where there is nothing to say?",
)
def minus_hundred(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = data.teacher_forcing(target, pad_id)
    return decoder_input, labels.masked_fill(labels == pad_id, -100)


@teacher_forcing.mistake(
    "You write the pads into the target itself.",
    why="A slice is a view: whoever writes into the labels writes into the target, and the "
    "decoder's input is a view of the same memory. Its `<sos>` is gone.",
    hint="Which of your lines changes a tensor instead of making a new one?",
)
def writes_into_the_view(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = target[:, :-1], target[:, 1:]
    labels[decoder_input == pad_id] = pad_id
    return decoder_input, labels


# --- 09.bucket -----------------------------------------------------------------------------------


def _lengths(draw: Draw, count: int, low: int = 2, high: int = 12) -> list[int]:
    return draw.ids(count, low=low, high=high).tolist()


bucket = Item(
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


@bucket.mistake(
    "Your batches hold the sentences as they come: nothing is sorted.",
    why="A short sentence beside a long one is mostly pads. To choose the neighbours is the point.",
    hint="In which order do you go through the sentences?",
)
def as_they_come(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(
        range(len(lengths)),
        lambda batch, i: (len(batch) + 1) * max(lengths[j] for j in [*batch, i]) <= max_tokens,
    )


@bucket.mistake(
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


@bucket.mistake(
    "A batch that would fill the budget exactly is cut before its last sentence.",
    why="The budget may be reached. Cut too early, all sentences of one length make smaller "
    "batches than they could.",
    hint="Three rows of five, and a budget of 15: what does your comparison say?",
)
def never_full(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(_sorted(lengths), lambda batch, i: (len(batch) + 1) * lengths[i] < max_tokens)


@bucket.mistake(
    "You forget to count the sentence that is about to join.",
    why="Each batch gets one row too many, and the budget is what your memory can hold.",
    hint="How many rows are there after the sentence has joined?",
)
def one_row_too_many(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(_sorted(lengths), lambda batch, i: len(batch) * lengths[i] <= max_tokens)


@bucket.mistake(
    "You measure a batch by its shortest sentence.",
    why="All rows are padded to the longest, which in a sorted row is the one that comes last.",
    hint="Which member of the batch decides how wide the rectangle is?",
)
def measured_by_the_shortest(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return _cut(
        _sorted(lengths), lambda batch, i: (len(batch) + 1) * lengths[batch[0]] <= max_tokens
    )


@bucket.mistake(
    "The last batch is missing.",
    why="Its sentences, the longest of all, would never be learnt from.",
    hint="When your loop ends, where is the batch that was being filled?",
)
def last_batch_dropped(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return data.bucket(lengths, max_tokens)[:-1]


@bucket.mistake(
    "Sentences that are longer than max_tokens are missing.",
    why="Whoever asks for batches did not ask for a choice. Such a sentence goes alone.",
    hint="What becomes of a sentence that fits into no batch?",
)
def long_ones_dropped(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    short = [i for i in _sorted(lengths) if lengths[i] <= max_tokens]
    return _cut(short, lambda batch, i: (len(batch) + 1) * lengths[i] <= max_tokens)


@bucket.mistake(
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


@bucket.mistake(
    "Your batches hold lengths, not indices.",
    why="Two sentences may be equally long: a length does not say which one is meant.",
    hint="What do you sort: the lengths, or the numbers from 0 to N - 1?",
)
def lengths_not_indices(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return [[lengths[i] for i in batch] for batch in data.bucket(lengths, max_tokens)]


@bucket.mistake(
    "Your indices are places in the sorted row.",
    why="Sorting has given the sentences new places, and a look-up of pair 0 finds another one.",
    hint="After sorting, do you still know where a sentence came from?",
)
def places_in_the_sorted_row(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    return data.bucket(sorted(lengths), max_tokens)


@bucket.mistake(
    "You begin with the longest sentences.",
    why="It wastes about as little. But here the shortest come first, and the cuts fall elsewhere.",
    hint="Which way round does your sorting go?",
)
def longest_first(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return _cut(order, lambda batch, i: (len(batch) + 1) * lengths[batch[0]] <= max_tokens)


@bucket.mistake(
    "All your batches have the same number of rows, the one that fits the longest sentence.",
    why="Nothing overflows, but batches of short sentences could hold many more rows: most of the "
    "budget stays empty.",
    hint="May a batch of short sentences have more rows than one of long ones?",
)
def as_many_rows_everywhere(lengths: Sequence[int], max_tokens: int) -> list[Ids]:
    rows = max(1, max_tokens // max(lengths, default=1))
    return _cut(_sorted(lengths), lambda batch, i: len(batch) < rows)


# --- 09.bug --------------------------------------------------------------------------------------

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


bug = Item(
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


@bug.mistake(
    "A sentence that is cut still loses its `<eos>`.",
    why="The model is never asked to stop a long sentence, so it will not stop one by itself. No "
    "error, and no loss, tells you.",
    hint="What is the last label of a sentence that is too long?",
)
def still_cut_off(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words, eos_id][:max_len] for words in targets], pad_id)


@bug.mistake(
    "You cut the words to max_len: with their specials the rows have two tokens more.",
    why="max_len is what the model can hold, the specials counted. A model with learned positions "
    "would fail here.",
    hint="You cut in the right place. How much room do the specials need?",
)
def specials_not_counted(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words[:max_len], eos_id] for words in targets], pad_id)


@bug.mistake(
    "You leave room for one special: cut rows are one token too long.",
    why="Two specials stand around the words, and both are counted in max_len.",
    hint="You cut in the right place. Count the tokens of a cut row.",
)
def one_special_counted(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words[: max_len - 1], eos_id] for words in targets], pad_id)


@bug.mistake(
    "Each row gets an `<eos>` at its end, and those that were not cut now have two.",
    why="A sentence that fits would be taught to say `<eos>` after `<eos>`.",
    hint="Mend it so that a sentence that fits comes out as before.",
)
def ends_twice(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    rows = [[*[sos_id, *words, eos_id][: max_len - 1], eos_id] for words in targets]
    return _shifted(rows, pad_id)


@bug.mistake(
    "Nothing is cut any more.",
    why="The `<eos>` is back, and the rows are longer than max_len, which is what the model holds.",
    hint="Too long a sentence shall still be cut, and end properly.",
)
def not_cut_at_all(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words, eos_id] for words in targets], pad_id)


@bug.mistake(
    "You cut from the front: the first words are gone, and the end is kept.",
    why="The decoder would learn to begin in the middle of a sentence.",
    hint="Which words shall a cut sentence keep: its first or its last?",
)
def keeps_the_end(
    targets: Sequence[Ids], max_len: int, pad_id: int, sos_id: int, eos_id: int
) -> Tensors:
    return _shifted([[sos_id, *words[-(max_len - 2) :], eos_id] for words in targets], pad_id)
