"""10.bug: a shuffled-source control that shuffles the wrong axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.checks.items.two_sentences.toy_translator import (
    SIZES,
    ToyTranslator,
    draw_batch,
    loss_of,
    toy_translator,
)
from course_lib.data import Batch

BUG = """\
def shuffled_source_gap(model, source, target, pad_id):
    decoder_input, labels = target[:, :-1], target[:, 1:]
    shuffled = source.roll(1, dims=1)
    losses = []
    for given in (source, shuffled):
        with torch.no_grad():
            logits = model(given, decoder_input).flatten(0, 1)
        loss = F.cross_entropy(logits, labels.flatten(), ignore_index=pad_id)
        losses.append(loss.item())
    return losses[1] - losses[0]
"""


Shuffle = Callable[[Tensor], Tensor]


def _use_gap(
    gap: Callable[..., Any],
    weights: Mapping[str, Tensor],
    source: Tensor,
    target: Tensor,
    pad_id: int,
) -> Any:
    return gap(toy_translator(weights).eval(), source, target, pad_id)


def _gap(model: nn.Module, source: Tensor, target: Tensor, pad_id: int, shuffle: Shuffle) -> float:
    """How much the loss rises when ``shuffle`` has been applied to the sources."""
    with torch.no_grad():
        own, other = (
            loss_of(model, Batch(given, target), pad_id) for given in (source, shuffle(source))
        )
    return (other - own).item()


def _neighbours(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1, dims=0))


def _measure(draw: Draw, *lengths: int, about: str, pad_id: int = 0) -> Call:
    source, target = draw_batch(draw, *lengths, pad_id=pad_id)
    return Call((draw.weights(ToyTranslator(*SIZES), std=1.5), source, target, pad_id), about=about)


item = Item(
    "10.bug",
    reference=_neighbours,
    use=_use_gap,
    bug=Bug(BUG, line=3),
    tolerance=1e-4,
    probes=[
        Probe(
            "two sentences swap their sources",
            lambda draw: [_measure(draw, 4, 4, about="two sentences of four tokens")],
        ),
        Probe(
            "with three or more sentences, none keeps its own source",
            lambda draw: [
                _measure(draw, 4, 4, 4, about="three sentences"),
                _measure(draw, 3, 5, 2, 4, 1, about="five sentences, padded"),
            ],
        ),
        Probe(
            "any pad_id, any length",
            lambda draw: [
                _measure(draw, 1, 1, 1, 1, about="sources of one token"),
                _measure(draw, 2, 6, 3, about="pad_id is 3", pad_id=3),
            ],
        ),
    ],
    hints=(
        "Take two sentences of four tokens, with ids 1 2 3 4 and 5 6 7 8, and write down which "
        "source each is given.",
        "A model that has learned no word order, like the one in the lesson, shows hardly any gap "
        "here. Does it ignore its source, or does the test ask the wrong question?",
        "roll shifts along an axis. Which axis of (B, S) counts the sentences?",
    ),
)


@item.misconception(
    "Each sentence still has its own tokens, in another order.",
    why="The lesson's model hardly uses word order. The gap would be close to zero, and you'd call "
    "a model source-blind although it uses its source.",
    hint="Write down the ids of two sources, and next to them the ids that are used instead.",
)
def still_its_own_words(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1, dims=1))


@item.misconception(
    "Each sentence still has its own tokens, in reverse.",
    why="It's the right source, read backwards. A model that ignores word order doesn't notice.",
    hint="You want the source of *another* sentence.",
)
def backwards(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.flip(1))


@item.misconception(
    "The sources shift by one token, across the ends of the sentences.",
    why="Without dims, roll moves the whole batch as one long row. Each sentence gets one token "
    "of its neighbour, and keeps all of its own tokens but one.",
    hint="How many tokens of its neighbour does each sentence get?",
)
def one_word_over(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1))


@item.misconception(
    "In a batch of three, the middle sentence keeps its own source.",
    why="Reversing the batch swaps the first and the last sentence. If the number of sentences is "
    "odd, the middle one keeps its own source, which makes the gap smaller than it should be.",
    hint="It is right for two sentences. Try three.",
)
def batch_turned_round(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.flip(0))


@item.misconception(
    "Each sentence gets the source of the one after it.",
    why="That's also a shuffled source, but not the one that was asked for, so the numbers can't "
    "be compared.",
    hint="Where does the first source go, down or up?",
)
def the_one_after_it(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(-1, dims=0))


@item.misconception(
    "You give the model padding, which is no source at all.",
    why="An empty source only removes information, but the source of another sentence points to "
    "the *wrong* label. A model that reads its source gets worse by that, and one that doesn't "
    "read stays as it was.",
    hint="Whose source should each sentence be given?",
)
def no_source_at_all(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: torch.full_like(s, pad_id))


@item.misconception(
    "The sources are in random order, so a sentence may keep its own.",
    why="In a small batch that's common, and it makes the gap smaller. The result also changes "
    "from call to call.",
    hint="The task says which source each sentence gets.",
)
def at_random(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s[torch.randperm(len(s))])
