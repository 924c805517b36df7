"""10.masked_cross_entropy: the mean of −ln p over the real tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib import training
from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.losses import (
    EPSILONS,
    add_wrong_axes,
    add_wrong_sign,
    as_returned,
    log_probabilities,
    mean_over_tokens,
)


def _logits_and_labels(draw: Draw) -> list[Call]:
    return [
        Call(
            (draw.normal(3, 5, 7, std=2), draw.tokens(3, 5, high=6), 0),
            about="three sentences, padded on the right",
        ),
        Call((draw.normal(2, 4, 6, std=2), draw.ids(2, 4, high=5), 0), about="nothing is padded"),
        Call(
            (draw.normal(5, 5, 5, std=2), draw.tokens(5, 5, high=4), 0),
            about="batch, length and vocabulary all of size 5",
        ),
    ]


def _long_and_short(draw: Draw) -> list[Call]:
    labels = draw.ids(2, 8, high=5)
    labels[1, 1:] = 0
    return [
        Call((draw.normal(2, 8, 6, std=3), labels, 0), about="eight real tokens, and one"),
        Call((draw.normal(1, 8, 6, std=3), labels[1:], 0), about="one real token in the batch"),
    ]


item = Item(
    "10.masked_cross_entropy",
    reference=training.masked_cross_entropy,
    probes=[
        Probe("it is the mean of −ln p over the real tokens", _logits_and_labels),
        Probe("every real token counts the same, in long and short sentences", _long_and_short),
        Probe(
            "the padding is what equals pad_id",
            lambda draw: [
                Call(
                    (draw.normal(3, 4, 8), draw.tokens(3, 4, pad_id=3, high=7), 3),
                    about="pad_id is 3, and 0 is a real token",
                ),
                Call(
                    (draw.normal(2, 6, 8), draw.tokens(2, 6, pad_id=1, left=True, high=7), 1),
                    about="padding on the left, pad_id 1",
                ),
            ],
        ),
        Probe(
            "large logits stay finite, and float64 stays float64",
            lambda draw: [
                Call(
                    (draw.normal(2, 4, 6, std=300), draw.tokens(2, 4, high=5), 0),
                    about="logits in the hundreds",
                ),
                Call(
                    (draw.normal(2, 3, 6, dtype=torch.float64), draw.tokens(2, 3, high=5), 0),
                    about="float64",
                ),
            ],
        ),
        Probe(
            "a batch of padding only has loss 0",
            lambda draw: [
                Call(
                    (draw.normal(2, 3, 6, dtype=dtype), torch.zeros(2, 3).long(), 0),
                    about=f"nothing but padding, {dtype}",
                    gradients=gradients,
                )
                for dtype, gradients in ((torch.float32, False), (torch.float64, True))
            ],
        ),
        Probe(
            "labels may be a slice, and logits a transposed tensor",
            lambda draw: [
                Call(
                    (draw.strided(3, 4, 6), draw.tokens(3, 5, high=5)[:, 1:], 0),
                    about="labels are target[:, 1:]",
                )
            ],
        ),
        Probe(
            "gradients flow to real positions, and none to padding",
            lambda draw: [
                Call(call.args, about=call.about, gradients=True)
                for call in _logits_and_labels(draw)[:2]
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Answer two questions, one after the other: what does each position cost, and which "
        "positions count?",
        "log_softmax over the vocabulary gives ln p of every token. At each position, pick that "
        "of the label, which leaves (B, T). Sum over the positions with real labels, and divide "
        "by the number of these positions.",
        "gather picks one number of each row: if x has the rows 5 6 7 and 1 2 3, x.gather(1, "
        "torch.tensor([[2], [0]])) has the rows 7 and 1. Its index has as many axes as x, so the "
        "labels need one more: [..., None] adds an axis of size 1 at the end, and [..., 0] "
        "removes it. In a product or a sum, True counts as 1. And n.clamp(min=1) is at least 1.",
    ),
)


# What `mean_over_tokens` calls the switches that have another name here.
_OF_THE_MEAN = {
    "a_sum": "not_divided",
    "divided_by_all_positions": "divides_by_all_positions",
    "logits_are_zero_and_all_counted": "pads_counted",
    "logits_are_zero_at_padding": "pads_added",
    "mean_of_sentence_means": "mean_of_sentences",
    "nan_for_pads_alone": "nothing_by_nothing",
}


@item.switchable
def loss_with(on: frozenset[str]) -> Callable[..., Any]:
    """masked_cross_entropy with these misconceptions."""

    def answer(logits: Tensor, labels: Tensor, pad_id: int) -> Any:
        if "view_of_a_slice" in on:
            labels.view(-1)
        if "always_float32" in on:
            logits = logits.float()
        real = labels != (0 if "zero_is_always_the_pad" in on else pad_id)
        if "only_padding_counts" in on:
            real = ~real
        if on & {"logits_are_zero_at_padding", "logits_are_zero_and_all_counted"}:
            logits = logits * real[..., None]
        costs = -log_probability(logits, labels)
        loss = mean_over_tokens(costs, real, {_OF_THE_MEAN.get(name, name) for name in on})
        return as_returned(loss, on)

    def log_probability(logits: Tensor, labels: Tensor) -> Tensor:
        """Of each label, (B, T)."""
        if "softmax_twice" in on:
            logits = logits.softmax(dim=-1)
        if "words_on_the_wrong_axis" in on:
            return -F.cross_entropy(logits, labels, reduction="none")
        return log_probabilities(logits, on).gather(-1, labels[..., None])[..., 0]

    return answer


item.switch(
    "pads_counted",
    "Your loss counts padding as if it were text.",
    why="The model is then trained to predict padding, and the loss depends on how much of it "
    "there is.",
    hint="Over how many positions does your sum or mean run, and how many of them have something "
    "to predict?",
)
item.switch(
    "divided_by_all_positions",
    "You leave the cost of padding out of the sum, but still divide by all positions.",
    why="The more padding, the smaller your loss: a batch of short sentences looks easy.",
    hint="What do you divide by? A mean divides by the number of all its entries, zeros included.",
)
item.switch(
    "mean_of_sentence_means",
    "You take the mean of each sentence, and then the mean of those means.",
    why="A token of a short sentence would count more than a token of a long one. The loss is a "
    "mean over tokens.",
    hint="With one sentence of eight tokens and one of one, how many numbers do you average?",
)
item.switch(
    "a_sum",
    "Your loss is a sum over the tokens, not a mean.",
    why="A sum grows with the batch, and the gradient grows with it: the same learning rate would "
    "mean something different for each batch.",
    hint="The unit is nats *per token*.",
)
item.switch(
    "divided_by_sentences",
    "You divide by the number of sentences.",
    why="Long sentences then have a higher loss than short ones, even if their tokens are "
    "predicted equally well.",
    hint="The unit is nats *per token*.",
)
item.switch(
    "nan_for_pads_alone",
    "A batch of padding only gives NaN.",
    why="The mean of no numbers is 0 / 0. A single batch like that makes the mean loss of the "
    "epoch NaN. Depending on your code, the gradients become NaN as well.",
    hint="What do you divide by when there is no real token?",
)
item.switch(
    "zero_is_always_the_pad",
    "You always take 0 as the pad token, whatever pad_id is.",
    why="Where another id is the pad token, a real token is left out and the model is trained to "
    "predict padding.",
    hint="Does your code use its third argument?",
)
item.switch(
    "only_padding_counts",
    "It's the wrong way round: padding counts, and real tokens don't.",
    why="The loss should measure how well real tokens are predicted. Yours never looks at one.",
    hint="Which positions does your code keep: those with a label that equals pad_id, or the "
    "others?",
)
item.switch(
    "logits_are_zero_at_padding",
    "You make all logits of a position equal at padding, for instance zero, but padding still has "
    "a cost.",
    why="Equal logits mean that all V tokens are equally probable, and that costs ln V, not 0.",
    hint="What has to be zero at padding: the logits, or the cost?",
    spellings=["logits_are_zero_and_all_counted"],
)
item.switch(
    "no_softmax",
    "Softmax is missing: you take logits for log-probabilities.",
    why="A logit can be any number. Without softmax the loss falls without limit when all logits "
    "grow.",
    hint="Which of your steps turns logits into log-probabilities? If you call a loss function: "
    "does it expect logits, probabilities or log-probabilities?",
)
item.switch(
    "no_logarithm",
    "The logarithm is missing: you take p, not ln p.",
    why="F.nll_loss, for instance, expects log-probabilities and takes no logarithm itself.",
    hint="Which of your steps takes the logarithm? If you call a loss function: does it expect "
    "logits, probabilities or log-probabilities?",
)
item.switch(
    "softmax_twice",
    "Softmax is applied twice.",
    why="F.cross_entropy expects logits and applies softmax itself. A second softmax makes the "
    "probabilities nearly uniform: the loss can never come close to zero.",
    hint="How often does softmax run in your code? F.cross_entropy and log_softmax apply it as "
    "well.",
)
item.switch(
    "logarithm_of_softmax",
    "With large logits your loss is infinite, or NaN.",
    why="A small probability is rounded to 0, and ln 0 is minus infinity; the exponential of a "
    "large logit is infinite. Computed together, logarithm and softmax need neither of them.",
    hint="There's a function that does both in one step.",
    spellings=["logarithm_of_softmax_by_product"],
)
item.switch(
    "logarithm_with_epsilon",
    "You keep a probability of 0 away from the logarithm with a small number.",
    why="That keeps the loss finite but makes it wrong: however improbable a label is, it never "
    "costs more than minus the logarithm of that small number, and there its gradient is 0.",
    hint="There's a function that does softmax and logarithm in one step.",
    spellings=list(EPSILONS)[1:],
)
add_wrong_sign(item)
item.switch(
    "in_bits",
    "Your loss is in bits: 1.44 times what it is in nats.",
    why="This course measures in nats, and so are ln V and the target-only baseline. Both "
    "log2 and a division by ln 2 = 0.69 give bits.",
    hint="Which logarithm has e as its base?",
)
add_wrong_axes(item)
item.switch(
    "view_of_a_slice",
    "Your code fails where labels are a slice, like target[:, 1:], or logits a transposed tensor, "
    "or both.",
    why="`view` can't join axes whose numbers don't follow each other in memory: a slice has gaps "
    "(lesson 09), and a transposed tensor is out of order.",
    hint="Which two functions do the same as `view`, and copy if they have to?",
)
item.switch(
    "always_float32",
    "Your loss is float32, whatever dtype the logits have.",
    why="float64 has twice as many digits, and whoever uses it needs them: to test gradients, for "
    "instance.",
    hint="Which line changes the dtype?",
)
item.switch(
    "cut_off_from_the_logits",
    "Your loss is detached from the logits: no gradient can flow back from it.",
    why="backward() follows the graph of tensors that the loss was computed from. A plain number, "
    "or a detached tensor, has no graph.",
    hint="Where do you leave the graph: with item(), float(), torch.tensor(), detach() or "
    "no_grad()?",
    spellings=["detached"],
)
