"""03.predict: What else changes?"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model import FeedForward

D = 64
EPS = 1e-9  # a factor of 10 is divided out, eps or not
CHANGED = 1e-3  # the most by which a number of a vector that hasn't changed may differ


@dataclass(frozen=True)
class Twice:
    """What a layer gives before and after a change of its input.

    Attributes:
        layer: its name in ``LAYERS``.
        kind: of the change of its input: "times", "plus", "another", "exchanged", "sentence" or
            "all".
        change: in words.
        before: (sentence, position, d_model).
        after: as ``before``.
        by_layer: how many vectors each of the six layers would have changed, in their order.
    """

    layer: str
    kind: str
    _: KW_ONLY
    change: str
    before: Tensor
    after: Tensor
    by_layer: list[int]

    @property
    def changed(self) -> int:
        """How many vectors are not what they were."""
        return _changed(self.before, self.after)


def _changed(before: Tensor, after: Tensor) -> int:
    return int(((after - before).abs().amax(-1) > CHANGED).sum())


def _normed(x: Tensor, *axes: int) -> Tensor:
    """The numbers x, with mean 0 and variance 1 along these axes together."""
    mean, variance = x.mean(axes, keepdim=True), x.var(axes, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + EPS)


def _layer(name: str) -> Callable[[Tensor], Tensor]:
    """A layer that has just been made."""
    network = FeedForward(D, 4 * D).eval()
    layers: dict[str, Callable[[Tensor], Tensor]] = {
        "network": network,
        "layer_norm": lambda x: _normed(x, 2),
        "add_norm": lambda x: _normed(x + network(x), 2),
        "sentence_norm": lambda x: _normed(x, 1),
        "batch_norm": lambda x: _normed(x, 0, 1),
        "dropout": lambda x: F.dropout(network(x), 0.1),
    }
    return layers[name]


def _change(x: Tensor, drawn: random.Random, *, layer: str) -> tuple[str, str, Tensor]:
    """The kind of change, the same in words, and the input with this change."""
    sentence, (one, other) = drawn.randrange(x.size(0)), drawn.sample(range(x.size(1)), 2)
    where, after = f"the vector at position {one} of sentence {sentence}", x.clone()
    kinds = ["times", "plus", "sentence", "all"]
    if layer not in ("layer_norm", "add_norm"):  # only a factor or a constant tells these two apart
        kinds += ["another", "exchanged"]
    kind = drawn.choice(kinds)
    if kind == "times":
        after[sentence, one] *= 10
        return kind, f"{where} is multiplied by 10", after
    if kind == "plus":
        after[sentence, one] += 3
        return kind, f"3 is added to all numbers of {where}", after
    if kind == "sentence":
        after[sentence] *= 10
        return kind, f"all vectors of sentence {sentence} are multiplied by 10", after
    if kind == "all":
        return kind, "all vectors of all sentences are multiplied by 10", 10 * x
    if kind == "another":
        after[sentence, one] = torch.randn(D)
        return kind, f"{where} is replaced by another one", after
    after[sentence, [one, other]] = x[sentence, [other, one]]
    return kind, f"in sentence {sentence}, positions {one} and {other} are exchanged", after


@torch.no_grad()
def _make(drawn: random.Random) -> Twice:
    name = drawn.choice([*LAYERS])
    x = torch.randn(drawn.randint(3, 6), drawn.randint(5, 9), D)
    (kind, change, other), layer = _change(x, drawn, layer=name), _layer(name)
    before, after = layer(x), layer(other)
    layers = map(_layer, LAYERS)
    by_layer = [_changed(each(x), each(other)) for each in layers]
    return Twice(name, kind, change=change, before=before, after=after, by_layer=by_layer)


def _show(run: Twice) -> Outcome:
    batch, length, width = run.before.shape
    sizes = f"{batch} sentences, {length} positions, d_model = {width}"
    return Outcome(
        text=f"{sizes}\nthe change: {run.change}",
        values={"before": run.before, "after": run.after},
    )


LAYERS = {
    "network": "a feed-forward network without dropout",
    "layer_norm": "a LayerNorm of the input itself",
    "add_norm": "add & norm around a feed-forward network: a LayerNorm of the sum",
    "sentence_norm": "each of the D numbers is normalised over the positions of its sentence",
    "batch_norm": "each of the D numbers is normalised over all positions of all sentences",
    "dropout": "a feed-forward network whose outputs go through dropout, in training mode",
}
SAYS = {
    "network": "those whose inputs changed, since a feed-forward network sees one position at a "
    "time",
    "layer_norm": "a LayerNorm takes a constant and a factor out of each vector",
    "add_norm": "those whose inputs changed. A LayerNorm alone would have taken out the factor or "
    "constant, but the network before it has made something else of it",
    "sentence_norm": "those of the sentence that was changed, since all of them have a say in its "
    "mean and variance",
    "batch_norm": "all vectors of all sentences have a say in the mean and variance of each number",
    "dropout": "with dropout on, two runs on the same input differ as well",
}


def _why(run: Twice) -> str:
    """Why so many vectors changed, as the end of a sentence."""
    if run.layer in ("sentence_norm", "batch_norm"):
        over = "sentence" if run.layer == "sentence_norm" else "batch"
        if run.kind == "exchanged":
            return (
                f"the two that were exchanged. Mean and variance of the {over} do not depend on "
                "the order of its vectors"
            )
        if run.kind == "all" or (run.kind == "sentence" and over == "sentence"):
            return (
                f"all vectors of a {over} have the same factor, and dividing by their standard "
                "deviation takes it out"
            )
    return SAYS[run.layer]


run = NumberedRun(
    id="03.predict",
    make=_make,
    show=_show,
    questions={
        "changed": Number(
            what="the number of output vectors that changed",
            right=lambda run: run.changed,
            look='A vector of `run["after"]` has changed if any of its D numbers differs by more '
            'than 0.001 from that in `run["before"]`; less is rounding. Count vectors, not '
            "numbers.",
        ),
        "layer": Choice(
            options=LAYERS,
            right=lambda run: run.layer,
            look={
                "network": "Then exactly the vectors whose inputs changed would have changed, no "
                "output would be exactly 0, and nothing would have mean 0 and variance 1.",
                "layer_norm": "Then each vector would have mean 0 and variance 1, and neither a "
                "factor nor a constant would have changed it.",
                "add_norm": "Then each vector would have mean 0 and variance 1, and those whose "
                "inputs changed would have changed.",
                "sentence_norm": "Then each of the D numbers would have mean 0 over the positions "
                "of each single sentence.",
                "batch_norm": "Then each of the D numbers would have mean 0 over the whole batch, "
                "but not over each single sentence.",
                "dropout": "Then about a tenth of all outputs would be exactly 0.",
            },
        ),
    },
    says=lambda run: (
        f"{run.changed} of {run.before[..., 0].numel()} vectors changed: {_why(run)}. For this "
        f"change, the counts of the layers a to f are {', '.join(map(str, run.by_layer))}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Ask two things of each layer: over which numbers does it take its mean and variance, if "
        "it takes any? And does a factor, a constant or an exchange change these?",
        "Several layers may explain your count. Then look at the outputs themselves: along which "
        "axis, or axes, are their mean 0 and their variance 1? Are any of them exactly 0?",
        'changed = (run["after"] - run["before"]).abs().amax(-1) > 0.001 has one entry for each '
        'vector. Then compare run["before"].mean(-1), .mean(1) and .mean((0, 1)) with 0, and count '
        'run["before"] == 0.',
    ),
)
