"""11.label_smoothed_loss: cross-entropy with softened labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.losses import (
    EPSILONS,
    add_wrong_axes,
    add_wrong_sign,
    as_returned,
    log_probabilities,
    mean_over_tokens,
)
from course_lib.training import loss


def _smoothed(
    draw: Draw,
    labels: Tensor,
    smoothing: float,
    *,
    pad_id: int = 0,
    vocab: int = 11,
    std: float = 2.0,
    dtype: torch.dtype = torch.float32,
) -> Call:
    logits = draw.normal(*labels.shape, vocab, std=std, dtype=dtype)
    about = f"{labels.size(0)} × {labels.size(1)} labels, V = {vocab}, smoothing {smoothing}"
    return Call((logits, labels, pad_id, smoothing), about=about)


def _shares(draw: Draw) -> list[Call]:
    full = draw.ids(2, 4, high=10)
    return [_smoothed(draw, full, smoothing) for smoothing in (0.1, 0.3, 1.0)]


def _padded(draw: Draw) -> list[Call]:
    return [
        _smoothed(draw, draw.tokens(4, 7, high=10), 0.1),
        _smoothed(draw, draw.tokens(3, 5, high=10, left=True), 0.2),
        _smoothed(draw, draw.tokens(3, 6, pad_id=4, high=10), 0.1, pad_id=4),
    ]


item = Item(
    "11.label_smoothed_loss",
    reference=loss.label_smoothed_loss,
    probes=[
        Probe("the share `smoothing` of each label is divided equally among all V tokens", _shares),
        Probe("padding isn't counted, in the sum or in the divisor", _padded),
        Probe(
            "with smoothing 0 it is the masked cross-entropy",
            lambda draw: [_smoothed(draw, draw.tokens(3, 5, high=10), 0.0)],
        ),
        Probe(
            "a batch of padding only has the loss 0, not NaN",
            lambda draw: [_smoothed(draw, torch.full((2, 3), 2), 0.1, pad_id=2)],
        ),
        Probe(
            "any sizes, float64, and logits in the hundreds",
            lambda draw: [
                _smoothed(draw, draw.tokens(2, 4, high=1), 0.1, vocab=2),
                _smoothed(draw, draw.ids(1, 1, high=6), 0.1, vocab=7),
                _smoothed(draw, draw.tokens(5, 5, high=4), 0.1, vocab=5, dtype=torch.float64),
                _smoothed(draw, draw.tokens(3, 4, high=10), 0.1, std=300.0),
            ],
        ),
        Probe(
            "the gradient reaches all real positions, and no padding",
            lambda draw: [
                Call(call.args, about=call.about, gradients=True)
                for call in (*_padded(draw), *_shares(draw)[:1])
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Compute two numbers for each position: the surprisal of the right token, and the mean "
        "surprisal of all tokens.",
        "Take log_softmax over V. For the first number, gather the value of the right token. For "
        "the second, take the mean over V. Mix the two, keep the real positions, and divide by "
        "the number of these positions.",
        "In numbers: with smoothing 0.1, a position costs 0.9 · 2 + 0.1 · 5 = 2.3 if the right "
        "token has a surprisal of 2 and all tokens have one of 5 on average. x[keep] holds the "
        "numbers of x where keep is True. And n.clamp(min=1) is at least 1, so that a batch of "
        "padding alone doesn't divide by 0.",
    ),
)


@item.switchable
def smoothed_with(on: frozenset[str]) -> Callable[..., Any]:
    """label_smoothed_loss with these misconceptions."""

    def answer(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Any:
        if "smoothing_ignored" in on:
            smoothing = 0.0
        if "parts_exchanged" in on:
            smoothing = 1 - smoothing
        if "softmax_twice" in on:
            logits = logits.softmax(dim=-1)
        real = labels != (0 if "zero_is_always_the_pad" in on else pad_id)
        if "only_padding_counts" in on:
            real = ~real
        if "words_on_the_wrong_axis" in on:
            costs = F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")
        else:
            soft = soft_labels(logits, labels, pad_id, smoothing)
            costs = -(soft * log_probabilities(logits, on)).sum(dim=-1)
            if "one_sign_wrong" in on:
                costs += 2 * smoothing * log_probabilities(logits, on).mean(dim=-1)
            if on & {"kl_divergence", "as_in_the_annotated_transformer"}:
                costs = costs + torch.xlogy(soft, soft).sum(dim=-1)
        loss = mean_over_tokens(costs, real, on)
        if any("pads_share_the_smoothing" in name for name in on):
            uniform = -log_probabilities(logits, on).mean(dim=-1)
            all_pads = "pads_share_the_smoothing_but_not_alone" in on and not real.any()
            of_all = 0.0 if all_pads else uniform.mean()
            loss = loss + smoothing * (of_all - mean_over_tokens(uniform, real, on))
        return as_returned(loss, on)

    def soft_labels(logits: Tensor, labels: Tensor, pad_id: int, smoothing: float) -> Tensor:
        """The probability that each token should have, (B, T, V)."""
        right = F.one_hot(labels, logits.size(-1)).to(logits.dtype)
        shared = torch.ones_like(logits)
        tokens = logits.size(-1)
        copied = "as_in_the_annotated_transformer" in on
        if copied or on & {"shared_by_the_others", "others_get_a_part_of_v"}:
            shared = shared - right
            tokens -= copied or "shared_by_the_others" in on
        if copied or "no_share_for_the_pad" in on:
            shared[..., pad_id] = 0.0
            tokens -= 1
        share = smoothing if "a_share_for_each" in on else smoothing / tokens
        kept = 1.0 if "nothing_taken_from_the_label" in on else 1 - smoothing
        return kept * right + share * shared

    return answer


item.switch(
    "pads_counted",
    "Your loss counts padding as if it were text.",
    why="A model soon knows that padding follows padding. The mean then falls with the amount of "
    "padding and says little about the real tokens.",
    hint="Which positions have a label that the model should learn to predict?",
)
item.switch(
    "divides_by_all_positions",
    "Your loss leaves padding out of the sum, but divides by all positions.",
    why="Then the same sentences have a lower loss in a batch with more padding.",
    hint="How many of the numbers that you add up belong to real tokens? Divide by that.",
)
item.switch(
    "pads_share_the_smoothing",
    "You mask the part of the right tokens, but the uniform part is averaged over all positions, "
    "pads included.",
    why="The uniform part belongs to each softened label, so it counts where a label counts: at "
    "the real positions.",
    hint="Your loss has two parts. Over which positions does each of them run?",
    spellings=["pads_share_the_smoothing_but_not_alone"],
)
item.switch(
    "mean_of_sentences",
    "Your loss is the mean over sentences of each sentence's mean.",
    why="A token of a short sentence then counts more than a token of a long one.",
    hint="Add up over the whole batch first, and divide once.",
)
item.switch(
    "not_divided",
    "Your loss is a sum over the tokens, not a mean.",
    why="It then grows with the batch, and so does the gradient.",
    hint="Nats per token: what do you have to divide by?",
)
item.switch(
    "divided_by_sentences",
    "You divide by the number of sentences.",
    why="A long sentence then has a higher loss than a short one, even if its tokens are "
    "predicted just as well.",
    hint="Nats per token: what do you have to divide by?",
)
item.switch(
    "nothing_by_nothing",
    "A batch of padding only has the loss NaN.",
    why="Somewhere 0 is divided by 0, either by your own division or inside a mean over no "
    "numbers. A single batch like that makes the mean loss of an epoch NaN, and perhaps the "
    "gradients as well.",
    hint="What should come out when no token is real? See to it before you divide or take a mean.",
)
item.switch(
    "zero_is_always_the_pad",
    "You always take 0 as the pad token, whatever pad_id is.",
    why="Where another id is the pad token, 0 is a real token, which you leave out, and padding "
    "is counted.",
    hint="Does your code use its third argument?",
)
item.switch(
    "only_padding_counts",
    "Your loss has it the wrong way round: padding counts, and real tokens don't.",
    why="The loss should measure how well real tokens are predicted. Yours never looks at one.",
    hint="Print which positions your code counts in a sentence with padding. Which should it "
    "count?",
)
item.switch(
    "shared_by_the_others",
    "Your `smoothing` goes only to the wrong tokens, not to the right one.",
    why="Then the right token keeps exactly 1 − smoothing. Here all V tokens get a share, the "
    "right one as well: it ends up with 1 − smoothing + smoothing / V.",
    hint="The task divides it among all V tokens. Is the right token one of them?",
    spellings=["others_get_a_part_of_v"],
)
item.switch(
    "no_share_for_the_pad",
    "Your `smoothing` leaves out the pad token: it goes only to the other tokens.",
    why="That's a sensible choice, but a different loss: here all V tokens get a share, the pad "
    "token included. What's left out are the positions whose label is padding.",
    hint="What should padding be left out of: the positions that count, or the tokens that share "
    "`smoothing`?",
)
item.switch(
    "a_share_for_each",
    "Your `smoothing` isn't divided by V: every token gets all of it.",
    why="With a vocabulary of 30,000 and smoothing 0.1, the smoothing would have a weight of 3,000 "
    "and the label 0.9.",
    hint="The share is divided among V tokens: what does each of them get?",
)
item.switch(
    "nothing_taken_from_the_label",
    "You add the smoothing on top: the label keeps its whole weight of 1.",
    why="The softened label is a probability distribution, so the share of all tokens has to be "
    "taken from the label. Yours sums to more than 1.",
    hint="Add up what the V tokens get in your loss. Is it 1?",
)
item.switch(
    "parts_exchanged",
    "Your two shares are swapped: the right token gets `smoothing`, and all tokens together get 1 "
    "− `smoothing`.",
    why="With smoothing 0.1 the label would be nine tenths uniform.",
    hint="With smoothing 0, which part should be left?",
)
item.switch(
    "smoothing_ignored",
    "Your loss does not depend on smoothing.",
    why="Without smoothing, the loss is lowest for infinite logits: the label allows no "
    "uncertainty.",
    hint="With smoothing 1, all tokens should be equally right.",
)
item.switch(
    "kl_divergence",
    "Your loss is the KL divergence: the cross-entropy less the entropy of the soft labels.",
    why="Both have the same gradient, so training is the same. But the values differ, and the task "
    "asks for the cross-entropy.",
    hint="Does the logarithm of the soft labels come into your loss, perhaps inside a function "
    "such as F.kl_div?",
)
item.switch(
    "as_in_the_annotated_transformer",
    "Your loss is that of The Annotated Transformer: a KL divergence in which neither the right "
    "token nor the pad token gets a share of `smoothing`.",
    why="The task asks for the cross-entropy, as in PyTorch, and `smoothing` is divided among all "
    "V tokens.",
    hint="How many tokens share `smoothing`, and does your loss subtract an entropy?",
)
item.switch(
    "one_sign_wrong",
    "The two parts of your loss have different signs.",
    why="The part that `smoothing` weights is a cost, too: minus the mean logarithm. With the "
    "other sign, the wrong tokens are pushed to probability 0.",
    hint="Logarithms of probabilities are negative. What sign should each part have?",
)
item.switch(
    "softmax_twice",
    "Your loss contains two softmaxes: the second one takes probabilities for logits.",
    why="The second softmax gets numbers between 0 and 1, so no token can be more than e times as "
    "probable as another. The loss can't fall far.",
    hint="Count the softmaxes between logits and loss: cross_entropy and log_softmax contain one "
    "each.",
)
item.switch(
    "logarithm_of_softmax",
    "With large logits your loss is infinite, or NaN.",
    why="A small probability is rounded to 0, and ln 0 is minus infinity; the exponential of a "
    "large logit is infinite itself. Smoothing asks for the logarithm of every probability, the "
    "smallest included.",
    hint="There's a function that does softmax and logarithm in one step.",
    spellings=["logarithm_of_softmax_by_product"],
)
item.switch(
    "logarithm_with_epsilon",
    "You keep a probability of 0 away from the logarithm with a small number.",
    why="The loss is finite now but wrong: however improbable a token is, it never costs more "
    "than minus the logarithm of that small number.",
    hint="There's a function that does softmax and logarithm in one step.",
    spellings=list(EPSILONS)[1:],
)
add_wrong_axes(item)
add_wrong_sign(item)
item.switch(
    "in_bits",
    "Your loss is in bits: 1.44 times what it is in nats.",
    why="The task asks for nats. Both log2 and a division by ln 2 = 0.69 give bits.",
    hint="Which logarithm has e as its base?",
)
item.switch(
    "cut_off_from_the_logits",
    "Your loss is detached from the logits: no gradient can flow back from it.",
    why="backward() follows the graph of tensors that the loss was computed from. A plain number, "
    "or a detached tensor, has no graph.",
    hint="Where do you leave the graph: with item(), float(), .data, detach(), torch.tensor() or "
    "no_grad()?",
    spellings=["detached"],
)
