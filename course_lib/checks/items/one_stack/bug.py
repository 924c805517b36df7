"""16.bug: a prefix that takes in what is to be predicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import GradientCut, load_weights
from course_lib.modern import DecoderConfig, DecoderOnly, join_pairs

BUG = """\
def target_loss(model, tokens, labels, pad_id):
    real = tokens != pad_id
    counted = labels != IGNORED
    prefix = real.sum(dim=1)
    logits = model(tokens, prefix=prefix)
    return F.cross_entropy(logits[counted], labels[counted])
"""

CONFIG = DecoderConfig(vocab=20, d_model=8, d_ff=12, n_heads=2, n_layers=2, max_len=32)
Prefix = Callable[[Tensor, Tensor], Tensor]  # from which tokens are real, and which labels count


def _use_loss(
    loss: Callable[..., Any],
    weights: Mapping[str, Tensor],
    tokens: Tensor,
    labels: Tensor,
    pad_id: int,
) -> Any:
    model = DecoderOnly(CONFIG)
    load_weights(model, weights)
    result = loss(model, tokens, labels, pad_id)
    if isinstance(result, Tensor) and not result.requires_grad:
        raise GradientCut(
            "expected a loss that trains the model, got one from which no gradient reaches a "
            "parameter: is it computed under no_grad, or detached?"
        )
    return result


def _loss(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int, prefix: Prefix) -> Tensor:
    real, counted = tokens != pad_id, labels != -100
    logits = model(tokens, prefix=prefix(real, counted))
    return F.cross_entropy(logits[counted], labels[counted])


def _target_loss(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(model, tokens, labels, pad_id, lambda real, counted: counted.int().argmax(dim=1))


def _call(draw: Draw, *lengths: tuple[int, int], about: str, pad_id: int = 0) -> Call:
    """Pairs of these lengths, joined to rows."""
    pairs = [(draw.ids(s, low=4).tolist(), draw.ids(t, low=4).tolist()) for s, t in lengths]
    batch = join_pairs(pairs, pad_id=pad_id, bos_id=1, eos_id=2)
    weights = draw.weights(DecoderOnly(CONFIG), std=0.9)
    return Call((weights, batch.tokens, batch.labels, pad_id), about=about)


item = Item(
    "16.bug",
    reference=_target_loss,
    use=_use_loss,
    bug=Bug(BUG, line=4),
    tolerance=1e-4,
    probes=[
        Probe(
            "the source sees all of itself, and no token sees a later one of the target",
            lambda draw: [
                _call(draw, (4, 5), about="one pair, of 4 and 5 tokens"),
                _call(draw, (3, 4), (3, 4), about="two pairs of equal lengths"),
            ],
        ),
        Probe(
            "each row has a prefix of its own, whatever its padding",
            lambda draw: [
                _call(draw, (5, 3), (2, 3), (4, 6), about="sources of 5, 2 and 4 tokens"),
                _call(draw, (1, 5), (6, 2), about="the longest target has the shortest source"),
            ],
        ),
        Probe(
            "it works for any pad_id",
            lambda draw: [_call(draw, (3, 5), (5, 1), about="pad_id is 3", pad_id=3)],
        ),
    ],
    hints=(
        "In training the loss falls to almost 0, and the translations are nonsense. What would a "
        "model have to see for that?",
        "Take a row of 7 8 BOS 9 EOS, without padding. What is the prefix that this code gives to "
        "the model, and what should it be?",
        "Everything is there to count with. In the row above, 5 tokens are real, and 2 labels "
        "count: those below BOS and 9. How do you get from these two numbers to 2? Or: which is "
        "the first position with a label that counts?",
    ),
)


@item.misconception(
    "The prefix is still the whole row: each target token sees those that it should predict.",
    why="The prefix is what all of it may see. With the target in it, the model reads off the "
    "next token, and the loss falls to almost 0 without any translating.",
    hint="Which tokens of a row may be seen by all the others?",
)
def still_the_whole_row(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(model, tokens, labels, pad_id, lambda real, _: real.sum(dim=1))


@item.spelling("still_the_whole_row")
def with_the_padding(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(
        model, tokens, labels, pad_id, lambda real, _: real.long().sum(1) * 0 + len(real[0])
    )


@item.spelling("still_the_whole_row")
def without_the_end(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(model, tokens, labels, pad_id, lambda real, _: real.sum(dim=1) - 1)


@item.misconception(
    "Your prefix is one token too long: the source sees BOS.",
    why="Of a row's real tokens, the target has one more than labels that count: BOS has a label, "
    "and so has each word, but EOS has none.",
    hint="In the row 7 8 BOS 9 EOS, which positions have a label that counts, and what is your "
    "prefix?",
)
def sees_bos(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(model, tokens, labels, pad_id, lambda real, counted: (real & ~counted).sum(dim=1))


@item.misconception(
    "Your prefix counts the padding as well.",
    why="Where no label counts there is the source, but also EOS and all the padding. In a short "
    "row, the prefix then reaches into the target.",
    hint="In a row with three pads, at how many positions does no label count?",
)
def counts_the_padding(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(
        model,
        tokens,
        labels,
        pad_id,
        lambda real, counted: (~counted).sum(dim=1).clamp(max=counted.size(1)),
    )


@item.spelling("counts_the_padding")
def counts_the_padding_without_eos(
    model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int
) -> Tensor:
    return _loss(model, tokens, labels, pad_id, lambda real, counted: (~counted).sum(dim=1) - 1)


@item.spelling("counts_the_padding")
def counts_the_padding_but_two(
    model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int
) -> Tensor:
    def prefix(real: Tensor, counted: Tensor) -> Tensor:
        return ((~counted).sum(dim=1) - 2).clamp(min=0)

    return _loss(model, tokens, labels, pad_id, prefix)


@item.misconception(
    "Your prefix is one token too short: the source doesn't see its last token.",
    why="Only BOS and EOS stand between the number of real tokens and those of source and target. "
    "The last word of a source is often its verb.",
    hint="In the row 7 8 BOS 9 EOS, the prefix is 2. What does your line give?",
)
def one_short(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(
        model,
        tokens,
        labels,
        pad_id,
        lambda real, counted: (counted.int().argmax(dim=1) - 1).clamp(min=0),
    )


@item.misconception(
    "There's no prefix any more: the source is read causally.",
    why="That can be trained, but it's another model: a source token no longer sees those after "
    "it. The wrong line has to be fixed, not removed.",
    hint="How many tokens does the source of each row have?",
)
def causal(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(model, tokens, labels, pad_id, lambda real, _: 0 * real.sum(dim=1))


@item.misconception(
    "Every row has the same prefix.",
    why="Sources have different lengths. Where the prefix is too long it reaches into the target, "
    "and where it is too short the end of the source is hidden from its start.",
    hint="One number for each row: along which axis do you count?",
)
def one_for_all(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    def prefix(real: Tensor, counted: Tensor) -> Tensor:
        return counted.int().argmax(dim=1).max().expand(len(real))

    return _loss(model, tokens, labels, pad_id, prefix)


@item.spelling("one_for_all")
def shortest_for_all(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    def prefix(real: Tensor, counted: Tensor) -> Tensor:
        return counted.int().argmax(dim=1).min().expand(len(real))

    return _loss(model, tokens, labels, pad_id, prefix)


@item.spelling("one_for_all")
def first_for_all(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    def prefix(real: Tensor, counted: Tensor) -> Tensor:
        return counted.int().argmax(dim=1)[:1].expand(len(real))

    return _loss(model, tokens, labels, pad_id, prefix)


@item.misconception(
    "Your prefix is as long as the target, not as the source.",
    why="The labels that count are the target's: as many as it has words, and one for EOS. The "
    "source is the rest of the row.",
    hint="Which part of the row has the labels that count?",
)
def as_long_as_the_target(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(model, tokens, labels, pad_id, lambda real, counted: counted.sum(dim=1))


@item.misconception(
    "Your prefix is as long as the padding.",
    why="How many pads a row has says nothing about its source; a row without any has no prefix.",
    hint="Which tokens does your line count: the real ones, or the others?",
)
def as_long_as_the_padding(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _loss(model, tokens, labels, pad_id, lambda real, _: (~real).sum(dim=1))


@item.misconception(
    "The prefix is right, but the labels are shifted once more.",
    why="The labels of join_pairs are shifted already: below each token stands the next one. "
    "Shifted again, the model is trained to predict the one after that.",
    hint="Which token stands in the labels below BOS?",
)
def shifted_again(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    logits = model(tokens, prefix=(labels != -100).int().argmax(dim=1))
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


@item.misconception(
    "The prefix is right, but your loss is a sum and not a mean.",
    why="A sum grows with the batch, and so does its gradient.",
    hint="What was the last line of the given code for?",
)
def a_sum(model: nn.Module, tokens: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    logits = model(tokens, prefix=(labels != -100).int().argmax(dim=1))
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
