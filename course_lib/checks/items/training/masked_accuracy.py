"""11.masked_accuracy: the share of real tokens that are predicted correctly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.training import metrics


def _predictions(draw: Draw, labels: Tensor, *, pad_id: int = 0, vocab: int = 9) -> Call:
    """Logits that are right at some positions; padding is often predicted, rightly or wrongly."""
    at_random = draw.ids(*labels.shape, low=0, high=vocab - 1)
    predicted = torch.where(draw.mask(*labels.shape, share=0.5), labels, at_random)
    predicted = predicted.masked_fill(draw.mask(*labels.shape, share=0.15), pad_id)
    logits = draw.normal(*labels.shape, vocab) + 20.0 * F.one_hot(predicted, vocab)
    about = f"{labels.size(0)} × {labels.size(1)} labels, V = {vocab}, pad_id {pad_id}"
    return Call((logits, labels, pad_id), about=about)


item = Item(
    "11.masked_accuracy",
    reference=metrics.masked_accuracy,
    probes=[
        Probe(
            "without padding it is the share of tokens that are right",
            lambda draw: [
                _predictions(draw, draw.ids(3, 8, high=8)),
                _predictions(draw, draw.ids(1, 5, high=8)),
                _one_sentence_right(draw),
            ],
        ),
        Probe(
            "padding isn't counted, neither as right nor as a token",
            lambda draw: [
                _predictions(draw, draw.tokens(6, 9, high=8)),
                _predictions(draw, draw.tokens(5, 7, high=8, left=True)),
            ],
        ),
        Probe(
            "a real token for which padding is predicted is wrong",
            lambda draw: [_padding_predicted(draw), _predictions(draw, draw.tokens(8, 6, high=8))],
        ),
        Probe(
            "any pad_id",
            lambda draw: [_predictions(draw, draw.tokens(4, 9, pad_id=5, high=8), pad_id=5)],
        ),
        Probe(
            "a batch of padding only has the accuracy 0, not NaN",
            lambda draw: [_predictions(draw, torch.full((2, 4), 3), pad_id=3)],
        ),
        Probe(
            "any sizes, equal ones too, and logits of any magnitude",
            lambda draw: [
                _predictions(draw, draw.tokens(9, 9, high=8)),
                _negative(draw),
                _single(draw),
            ],
        ),
    ],
    hints=(
        "Two questions for each position: is it real, and is the most probable token the right "
        "one?",
        "argmax over V gives (B, T); compare it with the labels. Count the positions where both "
        "hold, and divide by the number of real ones.",
        "real = labels != pad_id\n"
        "right = (logits.argmax(...) == labels) & ...\n"
        "right.sum() / real.sum().clamp(min=...)",
    ),
)


def _one_sentence_right(draw: Draw) -> Call:
    labels = torch.tensor([[1, 2, 3, 4], [1, 5, 6, 7], [2, 3, 4, 5]])
    logits = draw.normal(3, 4, 9)
    logits[0] += 20.0 * F.one_hot(labels[0], 9)
    logits[0, 0] *= 2.0  # the largest of all logits
    logits[1, 0] += 20.0 * F.one_hot(labels[1, 0], 9)
    return Call((logits, labels, 0), about="the first of three sentences is all right")


def _padding_predicted(draw: Draw) -> Call:
    labels = draw.tokens(3, 5, high=8)
    logits = draw.normal(3, 5, 9)
    logits[:2, :, 0] += 20.0  # the last sentence is predicted at random
    return Call((logits, labels, 0), about="the model predicts padding nearly everywhere")


def _negative(draw: Draw) -> Call:
    call = _predictions(draw, draw.tokens(4, 4, high=3), vocab=4)
    logits, labels, pad_id = call.args
    return Call((logits - 100.0, labels, pad_id), about="all logits are far below zero")


def _single(draw: Draw) -> Call:
    labels = draw.ids(1, 1, high=5)
    logits = draw.normal(1, 1, 6) + 20.0 * F.one_hot(labels, 6)
    return Call((logits, labels, 0), about="a single token, and it is right")


@item.switchable
def accuracy_with(on: frozenset[str]) -> Callable[..., Any]:
    """masked_accuracy with these misconceptions."""

    def answer(logits: Tensor, labels: Tensor, pad_id: int) -> Any:
        predicted = predictions(logits)
        real = labels != (0 if "zero_is_always_the_pad" in on else pad_id)
        if "only_padding_counts" in on:
            real = ~real
        if "leaves_out_predicted_padding" in on:
            real = predicted != pad_id
        if "leaves_out_both" in on:
            real &= predicted != pad_id
        right = predicted == labels
        if "never_right" in on:
            right = torch.zeros_like(right)
        share = share_of(right, real)
        return 100 * share if "in_per_cent" in on else share

    def predictions(logits: Tensor) -> Tensor:
        if "argmax_of_all" in on:
            return logits.argmax()
        return logits.argmax(dim=1 if "argmax_over_positions" in on else -1)

    def share_of(right: Tensor, real: Tensor) -> float:
        if any("but_nothing_of_nothing" in name for name in on) and not real.any():
            return 0.0
        if "whole_sentences" in on:
            return float(((right | ~real).all(dim=1) & real.any(dim=1)).float().mean())
        if "whole_sentences_and_empty_ones" in on:
            return float((right | ~real).all(dim=1).float().mean())
        if "whole_sentences_with_padding" in on:
            return float(right.all(dim=1).float().mean())
        if on & {"counts_pads", "counts_pads_but_nothing_of_nothing"}:
            real = torch.ones_like(real)
        with_pads = on & {"more_than_all", "more_than_all_but_nothing_of_nothing"}
        counted = right if with_pads else right & real
        if "a_count" in on:
            return float(counted.sum())
        if "out_of_all_positions" in on:
            real = torch.ones_like(real)
        if "whole_number" in on:
            return float(counted.sum() // real.sum().clamp(min=1))
        if "nothing_of_nothing_raises" in on:
            return counted.sum().item() / real.sum().item()
        least = 0 if "nothing_of_nothing" in on else 1
        if "mean_over_sentences" in on:
            return float((counted.sum(dim=1) / real.sum(dim=1).clamp(min=least)).mean())
        return float(counted.sum() / real.sum().clamp(min=least))

    return answer


item.switch(
    "counts_pads",
    "Your accuracy counts padding as if it were text.",
    why="Padding predicted as padding counts as right. In a batch that is half padding, a model "
    "that predicts nothing else would be half right.",
    hint="Which positions of the batch are real tokens?",
    spellings=["counts_pads_but_nothing_of_nothing"],
)
item.switch(
    "out_of_all_positions",
    "Your accuracy leaves correctly predicted padding out of the count, but divides by all "
    "positions.",
    why="More padding then makes the same model look worse.",
    hint="Divide by the number of positions that could have been right.",
)
item.switch(
    "more_than_all",
    "Your accuracy divides by the real tokens, but counts correctly predicted padding.",
    why="It can get above 1.",
    hint="In the numerator, too, only real tokens count.",
    spellings=["more_than_all_but_nothing_of_nothing"],
)
item.switch(
    "leaves_out_predicted_padding",
    "Your code leaves out the positions where the model predicts padding.",
    why="A model could raise its accuracy by predicting padding whenever it is unsure.",
    hint="What decides whether a position is real: the label, or the prediction?",
    spellings=["leaves_out_both"],
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
    "Your accuracy has it the wrong way round: padding counts, and real tokens don't.",
    why="The accuracy should measure how many real tokens are right. Yours never looks at one.",
    hint="Print which positions your code counts in a sentence with padding. Which should it "
    "count?",
)
item.switch(
    "mean_over_sentences",
    "Your accuracy is the mean over sentences of each sentence's accuracy.",
    why="A token of a short sentence then counts more than a token of a long one.",
    hint="Count over the whole batch, and divide once.",
)
item.switch(
    "whole_sentences",
    "Your accuracy counts sentences in which every token is right.",
    why="That's a stricter measure. Here each token counts by itself.",
    hint="If 3 of the 4 tokens of a sentence are right, what does it add to your numerator?",
    spellings=["whole_sentences_and_empty_ones", "whole_sentences_with_padding"],
)
item.switch(
    "nothing_of_nothing",
    "For a batch of padding only you get an error or NaN: it's 0 divided by 0, or a mean of "
    "nothing.",
    why="One such batch stops the evaluation, or makes the mean of an epoch NaN.",
    hint="What should come out when no token is real? See to it before you divide or take a mean.",
    spellings=["nothing_of_nothing_raises"],
)
item.switch(
    "argmax_over_positions",
    "You look for the largest logit over a wrong axis, or over all of them, not over the "
    "vocabulary.",
    why="At each position you want the most probable of V tokens. Any other axis compares the "
    "numbers of different positions or sentences.",
    hint="Which axis of (B, T, V) is the vocabulary, and which shape do your predictions have?",
    spellings=["argmax_of_all"],
)
item.switch(
    "never_right",
    "Your accuracy is always 0.",
    why="Many of the predictions are right. But if what you compare with the labels isn't a token "
    "id, the largest logit for instance, the two are never equal.",
    hint="Print how many positions are right before you divide. If none is, what do you compare "
    "with the labels: the id of a token at each position?",
)
item.switch(
    "a_count",
    "You return how many tokens are right, not which share.",
    why="A count grows with the batch, so you can't compare it with the next batch's.",
    hint="Out of how many?",
)
item.switch(
    "whole_number",
    "Your accuracy is 0 unless all tokens are right, as if the share were rounded down to a whole "
    "number.",
    why="Almost every share lies between 0 and 1, and you lose it.",
    hint="What do you return for 3 of 4? Look for //, int(), a dtype of integers, or a test "
    "whether all are right.",
)
item.switch(
    "in_per_cent",
    "Your accuracy is a percentage.",
    why="The task asks for a share from 0 to 1.",
    hint="What do you return when all tokens are right, and what should it be?",
)
