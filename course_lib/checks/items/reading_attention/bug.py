"""14.bug: a mean entropy that depends on the rest of the batch."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.model.attention import masked_softmax

BUG = """\
def mean_entropy(weights, lengths):
    entropy = torch.special.entr(weights).sum(dim=-1)
    positions = torch.arange(weights.size(2))
    real = positions < lengths[:, None]
    entropy = entropy.masked_fill(~real[:, None, :], 0.0)
    return entropy.mean(dim=(0, 2))
"""


def _entropy(weights: Tensor, lengths: Tensor) -> Tensor:
    """Entropy of each row in nats, (B, H, S); zero for padding."""
    real = torch.arange(weights.size(2)) < lengths[:, None]
    return torch.special.entr(weights).sum(dim=-1).masked_fill(~real[:, None, :], 0.0)


def _mean_entropy(weights: Tensor, lengths: Tensor) -> Tensor:
    return _entropy(weights, lengths).sum(dim=(0, 2)) / lengths.sum()


def _maps(
    draw: Draw, lengths: list[int], *, heads: int = 3, pads: int = 0, about: str = ""
) -> Call:
    """Maps of a batch padded to its longest plus ``pads``, with padding masked as keys."""
    size = max(lengths) + pads
    real = torch.arange(size) < torch.tensor(lengths)[:, None]
    scores = draw.normal(len(lengths), heads, size, size, std=1.5)
    return Call((masked_softmax(scores, real[:, None, None]), torch.tensor(lengths)), about=about)


def _beside_a_longer_one(draw: Draw) -> list[Call]:
    maps = _maps(draw, [3, 6], about="sentences of 3 and of 6 tokens")
    weights, lengths = maps.args
    alone = Call((weights[:1, :, :3, :3], lengths[:1]), about="the shorter one by itself")
    return [maps, alone]


item = Item(
    "14.bug",
    reference=_mean_entropy,
    bug=Bug(BUG, line=6),
    probes=[
        Probe("a sentence gives the same entropy beside a longer one", _beside_a_longer_one),
        Probe(
            "more padding changes nothing",
            lambda draw: [
                _maps(draw, [4, 2, 5], pads=3, about="a batch with more padding than necessary"),
                _maps(draw, [5, 5, 5, 5], heads=4, pads=0, about="a batch without padding"),
            ],
        ),
        Probe(
            "every real token counts the same, and heads are kept apart",
            lambda draw: [
                _maps(draw, [1, 7, 2], heads=2, about="lengths 1, 7 and 2"),
                _maps(draw, [4, 1, 3], heads=3, about="as many heads as sentences"),
                _maps(draw, [6], heads=5, about="a batch of one"),
            ],
        ),
    ],
    hints=(
        "Try a batch of two sentences, one of them twice as long, in which every token attends to "
        "two others evenly. The answer must be ln 2.",
        "Line 5 sets the rows of padding to zero. Does that take them out of the sum? And out of "
        "the mean?",
        "In numbers: take one sentence of 2 tokens and one of 4, and let each real token have the "
        "entropy ln 2. The sum over the batch is 6 ln 2. By what does mean divide it, and how "
        "many real tokens are there?",
    ),
)


@item.misconception(
    "The mean still includes padding, and its zeros make every head look sharper than it is.",
    why="A zero adds nothing to a sum, but it counts in a mean. The longer the other sentences of "
    "the batch, the sharper a head seems.",
    hint="By how many rows do you divide, and how many of them belong to real tokens?",
)
def zeros_still_count(weights: Tensor, lengths: Tensor) -> Tensor:
    return _entropy(weights, lengths).mean(dim=(0, 2))


@item.misconception(
    "You take the mean of each sentence, and then the mean of those means.",
    why="A token of a short sentence then counts more than a token of a long one. Here each token "
    "should count the same.",
    hint="Divide once, at the end.",
)
def mean_of_means(weights: Tensor, lengths: Tensor) -> Tensor:
    return (_entropy(weights, lengths).sum(dim=2) / lengths[:, None]).mean(dim=0)


@item.misconception(
    "You divide by the right number, but the rows of padding are in the sum again.",
    why="A pad token attends to others like any token, but its row means nothing. Line 5 was right "
    "to leave it out.",
    hint="Line 5 was right. Does your sum run over its result?",
)
def pads_in_the_sum(weights: Tensor, lengths: Tensor) -> Tensor:
    return torch.special.entr(weights).sum(dim=(0, 2, 3)) / lengths.sum()


@item.misconception(
    "You divide by the tokens of all heads together, although the result has one value per head.",
    why="Each head has one row per token. With eight heads, your values are an eighth of what they "
    "should be.",
    hint="How many rows do you add up for one head?",
)
def divided_by_all_heads(weights: Tensor, lengths: Tensor) -> Tensor:
    return _mean_entropy(weights, lengths) / weights.size(1)


@item.misconception(
    "Your answer is one number for all heads.",
    why="A single number hides that one head is sharp and another one isn't.",
    hint="Over which axes of (B, H, Q) should the sum run?",
)
def one_number_for_all(weights: Tensor, lengths: Tensor) -> Tensor:
    return _mean_entropy(weights, lengths).mean()


item.spelling("one_number_for_all")(
    lambda weights, lengths: _entropy(weights, lengths).sum() / lengths.sum()
)


@item.misconception(
    "You have one value for each sentence and head.",
    why="The task asks for a property of the head, over all tokens of all sentences.",
    hint="Sum over the batch, too.",
)
def one_for_each_sentence(weights: Tensor, lengths: Tensor) -> Tensor:
    return _entropy(weights, lengths).sum(dim=2) / lengths[:, None]
