"""10.bug: A test that is blind itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.checks.items.two_sentences.shared import SIZES, Toy, draw_batch, loss_of, toy_model
from course_lib.data import Batch

BUG = """\
def wrong_source_gap(model, source, target, pad_id):
    decoder_input, labels = target[:, :-1], target[:, 1:]
    wrong = source.roll(1, dims=1)
    losses = []
    for given in (source, wrong):
        with torch.no_grad():
            logits = model(given, decoder_input).flatten(0, 1)
        loss = F.cross_entropy(logits, labels.flatten(), ignore_index=pad_id)
        losses.append(loss.item())
    return losses[1] - losses[0]
"""


Give = Callable[[Tensor], Tensor]


def _use_gap(
    gap: Callable[..., Any],
    weights: Mapping[str, Tensor],
    source: Tensor,
    target: Tensor,
    pad_id: int,
) -> Any:
    return gap(toy_model(weights).eval(), source, target, pad_id)


def _gap(model: nn.Module, source: Tensor, target: Tensor, pad_id: int, give: Give) -> float:
    """What the loss gains when each sentence is given a source by ``give``."""
    with torch.no_grad():
        right, wrong = (loss_of(model, Batch(s, target), pad_id) for s in (source, give(source)))
    return (wrong - right).item()


def _neighbours(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1, dims=0))


def _measure(draw: Draw, *lengths: int, about: str, pad_id: int = 0) -> Call:
    source, target = draw_batch(draw, *lengths, pad_id=pad_id)
    return Call((draw.weights(Toy(*SIZES), std=1.5), source, target, pad_id), about=about)


item = Item(
    "10.bug",
    reference=_neighbours,
    use=_use_gap,
    bug=Bug(BUG, line=3),
    tolerance=1e-4,
    probes=[
        Probe(
            "two sentences exchange their sources",
            lambda draw: [_measure(draw, 4, 4, about="two sentences of four words")],
        ),
        Probe(
            "of three or more, none keeps its own",
            lambda draw: [
                _measure(draw, 4, 4, 4, about="three sentences"),
                _measure(draw, 3, 5, 2, 4, 1, about="five, padded"),
            ],
        ),
        Probe(
            "any pad_id, any length",
            lambda draw: [
                _measure(draw, 1, 1, 1, 1, about="sources of one word"),
                _measure(draw, 2, 6, 3, about="pad_id is 3", pad_id=3),
            ],
        ),
    ],
    hints=(
        "Two sentences of four words, ids 1 2 3 4 and 5 6 7 8: write down what each is given.",
        "A model that has learnt no word order, as the lesson's, gives nearly no gap here. Is it "
        "blind, or was it asked the wrong question?",
        "roll moves along an axis. Which axis of (B, S) counts the sentences?",
    ),
)


@item.misconception(
    "Each sentence still keeps its own words, in another order.",
    why="The lesson's model weighs words and does not mind their order. Its gap would be close "
    "to zero, and you would call a model blind that reads.",
    hint="Write down the ids of two sources, and next to them what is read instead.",
)
def still_its_own_words(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1, dims=1))


@item.misconception(
    "Each sentence still keeps its own words: they run backwards.",
    why="It is the right source, read from its end. A model without word order does not notice.",
    hint="You look for the source of *another* sentence.",
)
def backwards(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.flip(1))


@item.misconception(
    "The sources move by one word, over the ends of the sentences.",
    why="Without dims, roll takes the tensor for one long row: each sentence gets one word of its "
    "neighbour and keeps all others.",
    hint="How many words of its neighbour does each sentence get?",
)
def one_word_over(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1))


@item.misconception(
    "In a batch of three, the sentence in the middle keeps its own source.",
    why="Turning the batch round exchanges first and last; in an odd batch the middle stays, and "
    "makes the gap smaller than it is.",
    hint="It is right for two sentences. Try three.",
)
def batch_turned_round(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.flip(0))


@item.misconception(
    "Each sentence gets the source of the one after it.",
    why="It is a wrong source, too, but another one than was asked for, and a number that cannot "
    "be compared.",
    hint="Where does the first source go, down or up?",
)
def the_one_after_it(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(-1, dims=0))


@item.misconception(
    "You give it pads, which are no source at all.",
    why="An empty source says nothing; a wrong one speaks *against* the label. Only the second "
    "shows that the model listens.",
    hint="Whose source is each sentence to be given?",
)
def no_source_at_all(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: torch.full_like(s, pad_id))
