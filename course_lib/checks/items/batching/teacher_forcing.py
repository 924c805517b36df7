"""09.teacher_forcing: Shifted by one."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib import data
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.batching.shared import Tensors, padded

BOS, EOS = 1, 2


def _targets(draw: Draw, *lengths: int, pad_id: int = 0, left: bool = False) -> Tensor:
    """Targets of so many words between their specials, padded to the longest."""
    rows = [[BOS, *draw.ids(n, low=4).tolist(), EOS] for n in lengths]
    return padded(rows, pad_id, left=left)


item = Item(
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
            "where a pad on the left is read, there is nothing to say, not even <bos>",
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
                Call((_targets(draw, 0, 0, 0),), about="only <bos> and <eos>"),
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


@item.misconception(
    "Your labels are what the decoder reads: nothing is shifted.",
    why="To say the word that it reads, a model need only copy. The loss goes to zero, and by "
    "itself it writes `<bos>` for ever.",
    hint="Write one target down and put under each token what shall be said after it.",
)
def no_shift(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:, :-1], target[:, :-1]


@item.misconception(
    "The two are exchanged: your decoder reads the answers and says what came before.",
    why="It would learn to say the word before the one it reads, and start by saying `<bos>`.",
    hint="Which of the two begins with `<bos>`?",
)
def exchanged(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = data.teacher_forcing(target, pad_id)
    return labels, decoder_input


@item.misconception(
    "Your decoder reads the whole target: one place more than there are labels.",
    why="After the last token nothing is left to be said; logits and labels would not fit.",
    hint="Which token is never read?",
)
def reads_the_last(target: Tensor, pad_id: int = 0) -> Tensors:
    return target, data.teacher_forcing(target, pad_id)[1]


@item.misconception(
    "You shift along the batch: each sentence shall say the one below it.",
    why="The first axis counts sentences. The next *word* stands on the second.",
    hint="On which axis does a target run?",
)
def along_the_batch(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:-1], target[1:]


@item.misconception(
    "You roll the target round: the last label is what stood in the first column.",
    why="The model would be asked to say `<bos>` at the end of each of its longest sentences.",
    hint="A shift loses one token on each side. Where has it gone in yours?",
)
def rolled_round(target: Tensor, pad_id: int = 0) -> Tensors:
    return target, target.roll(-1, dims=1)


@item.misconception(
    "With pads on the left your decoder reads a pad and shall say `<bos>`.",
    why="That is a question without sense, and the loss would count it: the label is no pad.",
    hint="Print both rows of a sentence that is padded on the left, one under the other.",
)
def says_sos_after_pads(target: Tensor, pad_id: int = 0) -> Tensors:
    return target[:, :-1], target[:, 1:]


@item.misconception(
    "You always take 0 for the pad, whatever pad_id is.",
    why="Where another id is the pad, the pads on the left are asked for `<bos>`, and what follows "
    "a real word 0 is lost.",
    hint="Does your code use its second argument?",
)
def zero_is_always_the_pad(target: Tensor, pad_id: int = 0) -> Tensors:
    return data.teacher_forcing(target, 0)


@item.misconception(
    "Your labels are -100 at the pads.",
    why="PyTorch's loss ignores -100 by default, but the course's loss is told pad_id, and would "
    "look up a word number -100.",
    hint="What shall stand in the labels where there is nothing to say?",
)
def minus_hundred(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = data.teacher_forcing(target, pad_id)
    return decoder_input, labels.masked_fill(labels == pad_id, -100)


@item.misconception(
    "You write the pads into the target itself.",
    why="A slice is a view: whoever writes into the labels writes into the target, and the "
    "decoder's input is a view of the same memory. Its `<bos>` is gone.",
    hint="Which of your lines changes a tensor instead of making a new one?",
)
def writes_into_the_view(target: Tensor, pad_id: int = 0) -> Tensors:
    decoder_input, labels = target[:, :-1], target[:, 1:]
    labels[decoder_input == pad_id] = pad_id
    return decoder_input, labels
