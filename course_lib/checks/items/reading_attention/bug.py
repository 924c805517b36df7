"""13.bug: A head that depends on its company."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model.masks import masked_softmax

BUG = """\
def mean_entropy(weights, lengths):
    spread = torch.special.entr(weights).sum(dim=-1)
    places = torch.arange(weights.size(2))
    real = places < lengths[:, None]
    spread = spread.masked_fill(~real[:, None, :], 0.0)
    return spread.mean(dim=(0, 2))
"""


def _spread(weights: Tensor, lengths: Tensor) -> Tensor:
    """Entropy of each row in nats, (B, H, S); zero for pads."""
    real = torch.arange(weights.size(2)) < lengths[:, None]
    return torch.special.entr(weights).sum(dim=-1).masked_fill(~real[:, None, :], 0.0)


def _mean_entropy(weights: Tensor, lengths: Tensor) -> Tensor:
    return _spread(weights, lengths).sum(dim=(0, 2)) / lengths.sum()


def _maps(
    draw: Draw, lengths: list[int], *, heads: int = 3, pads: int = 0, about: str = ""
) -> Call:
    """Maps of a batch padded to its longest and so many more, with the pads hidden as keys."""
    size = max(lengths) + pads
    real = torch.arange(size) < torch.tensor(lengths)[:, None]
    scores = draw.normal(len(lengths), heads, size, size, std=1.5)
    return Call((masked_softmax(scores, real[:, None, None]), torch.tensor(lengths)), about=about)


def _in_company(draw: Draw) -> list[Call]:
    maps = _maps(draw, [3, 6], about="sentences of 3 and of 6 tokens")
    weights, lengths = maps.args
    alone = Call((weights[:1, :, :3, :3], lengths[:1]), about="the shorter one alone")
    return [maps, alone]


item = Item(
    "13.bug",
    reference=_mean_entropy,
    bug=Bug(BUG, line=6),
    probes=[
        Probe("a sentence counts the same beside a longer one", _in_company),
        Probe(
            "more pads change nothing",
            lambda draw: [
                _maps(draw, [4, 2, 5], pads=3, about="a batch that is padded too far"),
                _maps(draw, [5, 5, 5, 5], heads=4, pads=0, about="a batch without pads"),
            ],
        ),
        Probe(
            "each real word counts alike, and each head by itself",
            lambda draw: [
                _maps(draw, [1, 7, 2], heads=2, about="lengths 1, 7 and 2"),
                _maps(draw, [4, 1, 3], heads=3, about="as many heads as sentences"),
                _maps(draw, [6], heads=5, about="a batch of one"),
            ],
        ),
    ],
    hints=(
        "Try a batch of two sentences, one of them twice as long, in which every word reads two "
        "others evenly. The answer must be ln 2.",
        "Line 5 makes the pads' rows zero. Are they out of the sum then? And out of the mean?",
        "A mean over what is real: the sum of spread over batch and queries, divided by the number "
        "of ... words.",
    ),
)


@item.misconception(
    "The mean still runs over pads: their zeros make every head look sharper than it is.",
    why="A zero adds nothing to a sum, but it counts in a mean. The longer the other "
    "sentences of the batch, the sharper a head would seem.",
    hint="By how many rows does your last line divide?",
)
def zeros_still_count(weights: Tensor, lengths: Tensor) -> Tensor:
    return _spread(weights, lengths).mean(dim=(0, 2))


@item.misconception(
    "You take the mean of each sentence, and then the mean of these.",
    why="A word of a short sentence counts for more than a word of a long one. Here each word is "
    "to count alike.",
    hint="Divide once, at the end.",
)
def mean_of_means(weights: Tensor, lengths: Tensor) -> Tensor:
    return (_spread(weights, lengths).sum(dim=2) / lengths[:, None]).mean(dim=0)


@item.misconception(
    "You divide by the right number, but the pads' rows are in the sum again.",
    why="A pad reads like any word, only nobody asked it. Line 5 was right to leave it out.",
    hint="Keep line 5 as it was.",
)
def pads_in_the_sum(weights: Tensor, lengths: Tensor) -> Tensor:
    return torch.special.entr(weights).sum(dim=(0, 2, 3)) / lengths.sum()


@item.misconception(
    "You divide by the words of all heads together, although each head has a number of its own.",
    why="Each head reads each word once. With eight heads, your numbers are an eighth of what they "
    "should be.",
    hint="How many rows were added up for one head?",
)
def divided_by_all_heads(weights: Tensor, lengths: Tensor) -> Tensor:
    return _mean_entropy(weights, lengths) / weights.size(1)


@item.misconception(
    "Your answer is one number for all heads.",
    why="A mean over the heads hides that one of them is sharp and another one is not.",
    hint="Over which axes of (B, H, Q) should the sum run?",
)
def one_number_for_all(weights: Tensor, lengths: Tensor) -> Tensor:
    return _mean_entropy(weights, lengths).mean()


@item.misconception(
    "You have one number for each sentence and head.",
    why="What is asked for is a property of the head: all its words, of all sentences, together.",
    hint="The batch has to go as well.",
)
def one_for_each_sentence(weights: Tensor, lengths: Tensor) -> Tensor:
    return _spread(weights, lengths).sum(dim=2) / lengths[:, None]
