"""09.teacher_forcing: the decoder's input, and the labels one position ahead."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib import data
from course_lib.checks.engine import Call, Draw, Item, Probe

BOS, EOS = 1, 2
Tensors = tuple[Tensor, Tensor]


def _targets(draw: Draw, *lengths: int, pad_id: int = 0, left: bool = False) -> Tensor:
    """Targets of these lengths plus <bos> and <eos>, padded to the longest."""
    rows = [[BOS, *draw.ids(n, low=4).tolist(), EOS] for n in lengths]
    return data.pad_sequences(rows, pad_id, pad_left=left)


item = Item(
    "09.teacher_forcing",
    reference=data.teacher_forcing,
    probes=[
        Probe(
            "at each position the decoder reads one token, and the label is the next",
            lambda draw: [Call((_targets(draw, 4, 4, 4),), about="three targets of equal length")],
        ),
        Probe(
            "where the input is padding on the right, the label is padding",
            lambda draw: [Call((_targets(draw, 5, 2, 1, 3),), about="padded on the right")],
        ),
        Probe(
            "where the input is padding on the left, the label is padding, and not <bos>",
            lambda draw: [Call((_targets(draw, 2, 5, 3, left=True),), about="padded on the left")],
        ),
        Probe(
            "the padding is pad_id",
            lambda draw: [
                Call((_targets(draw, 3, 6, pad_id=3), 3), about="pad_id is 3"),
                Call((_targets(draw, 3, 1, pad_id=3, left=True), 3), about="pad_id 3, padded left"),
                Call(
                    (torch.cat([draw.ids(2, 3), torch.zeros(2, 1).long(), draw.ids(2, 2)], 1), 30),
                    about="pad_id is 30, and 0 is a real token",
                ),
            ],
        ),
        Probe(
            "one sentence, an empty one and a transposed tensor work, too",
            lambda draw: [
                Call((_targets(draw, 6),), about="a batch of one"),
                Call((_targets(draw, 0, 0, 0),), about="only <bos> and <eos>"),
                Call((_targets(draw, 3, 1, 2, left=True).T.contiguous().T,), about="a transpose"),
            ],
        ),
    ],
    hints=(
        "Six tokens make five predictions. Which token is never an input, and which is never a "
        "label?",
        "Take two slices along the length axis. Then look at the positions where the input is "
        "padding: what are the labels there if the padding is on the left?",
        "In a slice, a negative number counts from the end: if t has the columns 7, 8 and 9, t[:, "
        ":-2] has 7, and t[:, 2:] has 9. x.masked_fill(y == 5, 0) is a new tensor, with 0 "
        "wherever y is 5 and the numbers of x elsewhere. masked_fill_, with an underscore at its "
        "end, would change x itself, and through it the target.",
    ),
)


@item.misconception(
    "Your labels equal the decoder's input: nothing is shifted.",
    why="To predict the token it has just read, a model need only copy it. The loss goes to zero, "
    "but at inference it only repeats what it is given.",
    hint="Write down one target, and under each token the one that should be predicted after it.",
)
def no_shift(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:, :-1], target[:, :-1]


item.spelling("no_shift")(lambda target, pad_id=0: (target, target))
item.spelling("no_shift")(lambda target, pad_id=0: (target[:, 1:], target[:, 1:]))


@item.misconception(
    "Your two tensors are swapped: the decoder reads the labels and predicts what came before.",
    why="It would learn to predict the token before the one it reads, and start by predicting "
    "`<bos>`.",
    hint="Which of the two starts with `<bos>`?",
)
def exchanged(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = data.teacher_forcing(target, pad_id)
    return labels, decoder_input


item.spelling("exchanged")(lambda target, pad_id=0: (target[:, 1:], target[:, :-1]))


@item.misconception(
    "Your decoder reads the whole target: one position more than there are labels.",
    why="After the last token there's nothing left to predict; logits and labels would have "
    "different lengths.",
    hint="Which token is never an input?",
)
def reads_the_last(target: Tensor, pad_id: int = 0) -> Tensors:
    return target, data.teacher_forcing(target, pad_id)[1]


item.spelling("reads_the_last")(lambda target, pad_id=0: (target, target[:, 1:]))


@item.misconception(
    "Your labels are the whole target, `<bos>` included: one position more than the input.",
    why="`<bos>` is never predicted: it's what the decoder starts from. Logits and labels would "
    "have different lengths.",
    hint="Which token is never a label?",
)
def labels_not_cut(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:, :-1], target


@item.misconception(
    "You shift along the batch: the label of each sentence is the sentence below it.",
    why="The first axis counts sentences. The next *token* is on the second.",
    hint="Along which axis does a target run?",
)
def along_the_batch(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:-1], target[1:]


item.spelling("along_the_batch")(
    lambda target, pad_id=0: (target[:-1], target[1:].masked_fill(target[:-1] == pad_id, pad_id))
)


@item.misconception(
    "Your labels are the whole target, rolled by one: what was in the first column is now in the "
    "last.",
    why="The model would be trained to predict `<bos>` at the end of its longest sentences.",
    hint="A shift loses one token on each side. Where did it go in yours?",
)
def rolled_round(target: Tensor, pad_id: int = 0) -> Tensors:
    return target, target.roll(-1, dims=1)


item.spelling("rolled_round")(
    lambda target, pad_id=0: (target, target.roll(-1, dims=1).masked_fill(target == pad_id, pad_id))
)


@item.misconception(
    "With padding on the left, your decoder reads padding and has to predict `<bos>`.",
    why="There's nothing to predict from, yet the loss would count it, because the label isn't "
    "padding.",
    hint="Print the input and the labels of a left-padded sentence, one under the other.",
)
def predicts_bos_after_padding(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:, :-1], target[:, 1:]


@item.misconception(
    "You always take 0 as the pad token, whatever pad_id is.",
    why="Where another id is the pad token, padding on the left gets the label `<bos>`, and the "
    "label after a real token 0 is lost.",
    hint="Does your code use its second argument?",
)
def zero_is_always_the_pad(target: Tensor, pad_id: int = 0) -> Tensors:
    return data.teacher_forcing(target, 0)


@item.spelling("zero_is_always_the_pad")
def zero_is_the_pad_of_the_input(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = target[:, :-1], target[:, 1:]
    return decoder_input, labels.masked_fill(decoder_input == 0, pad_id)


@item.misconception(
    "Some of your labels are -100, where the label should be pad_id.",
    why="PyTorch's loss ignores -100 by default, but this course's loss is told pad_id, and would "
    "look up token -100.",
    hint="What should the label be where there's nothing to predict?",
)
def minus_hundred(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = data.teacher_forcing(target, pad_id)
    return decoder_input, labels.masked_fill(labels == pad_id, -100)


@item.spelling("minus_hundred")
def minus_hundred_where_it_reads_padding(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = target[:, :-1], target[:, 1:]
    return decoder_input, labels.masked_fill(decoder_input == pad_id, -100)


@item.spelling("minus_hundred")
def minus_hundred_where_the_label_is_padding(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = target[:, :-1], target[:, 1:]
    return decoder_input, labels.masked_fill(labels == pad_id, -100)


@item.misconception(
    "You mask the wrong tensor: where a label is padding, the decoder's input is padding, too.",
    why="The `<eos>` of a short sentence would be hidden from the decoder, while padding on the "
    "left still has the label `<bos>`.",
    hint="Which of the two tensors should stay a plain slice of the target?",
)
def masks_the_input(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = target[:, :-1], target[:, 1:]
    return decoder_input.masked_fill(labels == pad_id, pad_id), labels


@item.misconception(
    "You write pad_id into the target itself.",
    why="A slice is a view: writing into the labels writes into the target. Its `<bos>` is gone "
    "for the caller, and for whatever else is a view of it.",
    hint="Which of your lines changes a tensor in place instead of making a new one?",
)
def writes_into_the_view(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = target[:, :-1], target[:, 1:]
    labels[decoder_input == pad_id] = pad_id
    return decoder_input, labels


@item.spelling("writes_into_the_view")
def writes_into_the_labels_alone(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input = target[:, :-1].clone()
    return decoder_input, target[:, 1:].masked_fill_(decoder_input == pad_id, pad_id)
