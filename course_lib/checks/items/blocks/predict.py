"""07.predict: How long do the vectors of a stack become?"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model import FeedForward, MultiHeadAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORDS, HEADS, BLOCKS = 12, 4, 10
STARTS = (0.4, 0.9)  # of the numbers of a word, the standard deviation at first
PREDICTED_FROM = 0.5  # the same of the words whose length is to be predicted
Sublayer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Stack:
    """What goes through an untrained stack of blocks.

    Attributes:
        kind: how a sublayer is joined to the stream.
        stream: before the first block and after each, (blocks passed, word, d_model).
        pre_norm: the same blocks, joined by pre-norm, and the same words, but with a standard
            deviation of ``PREDICTED_FROM`` at first.
    """

    kind: str
    stream: Tensor
    _: KW_ONLY
    pre_norm: Tensor

    @property
    def lengths(self) -> Tensor:
        """Mean length of the words, (blocks passed,)."""
        return _lengths(self.stream)

    @property
    def ratio(self) -> float:
        """How many times as long the words are after the last block as before the first."""
        return float(self.lengths[-1] / self.lengths[0])

    @property
    def pre_norm_ratio(self) -> float:
        """How many times as long those words become in pre-norm."""
        lengths = _lengths(self.pre_norm)
        return float(lengths[-1] / lengths[0])

    @property
    def clear(self) -> bool:
        """Whether one can see if what a block adds grows with the stream."""
        growth = self.lengths.diff()
        bend = float(growth[-3:].mean() / growth[:3].mean())
        pre = bend < 1 and self.ratio > 1.8
        return {"pre": pre, "bare": bend > 2.2}.get(self.kind, True)


def _lengths(stream: Tensor) -> Tensor:
    return stream.norm(dim=-1).mean(-1)


@torch.no_grad()
def _make(drawn: random.Random) -> Stack:
    kind, d_model = drawn.choice([*KINDS]), drawn.choice([64, 96, 128])
    scale = drawn.uniform(*STARTS)
    while True:
        words = torch.randn(1, WORDS, d_model)
        stream, pre_norm = [scale * words], [PREDICTED_FROM * words]
        for _ in range(BLOCKS):
            attention = MultiHeadAttention(d_model, HEADS)
            feed_forward = FeedForward(d_model, 4 * d_model, 0.0)
            for matrix in (feed_forward.expand.weight, feed_forward.contract.weight):
                nn.init.xavier_uniform_(matrix)
            for way, passed in ((kind, stream), ("pre", pre_norm)):
                x = _join(way, passed[-1], partial(_among, attention), is_attention=True)
                passed.append(_join(way, x, feed_forward, is_attention=False))
        if (stack := Stack(kind, torch.cat(stream), pre_norm=torch.cat(pre_norm))).clear:
            return stack


def _among(attention: MultiHeadAttention, x: Tensor) -> Tensor:
    """Self-attention."""
    found: Tensor = attention(x, x, x)
    return found


def _norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _join(kind: str, x: Tensor, sublayer: Sublayer, *, is_attention: bool) -> Tensor:
    """The stream after a sublayer."""
    if kind == "alone":
        return _norm(sublayer(x) if is_attention else x + sublayer(x))
    if kind in ("post", "bare"):
        return _norm(x + sublayer(x)) if kind == "post" else x + sublayer(x)
    residual = {"pre": x, "copy": _norm(x), "half": x / 2}[kind]
    return residual + sublayer(_norm(x))


def _show(run: Stack) -> Outcome:
    passed, _, d_model = run.stream.shape
    return Outcome(
        text=f"{passed - 1} untrained encoder blocks, d_model = {d_model}, {WORDS} words",
        values={"stream": run.stream, "d_model": d_model},
        picture=lambda: _draw(run),
    )


def _draw(run: Stack) -> Axes:
    # Loads Matplotlib: only where a picture is shown.
    from course_lib import viz

    return viz.plot_residual_norms({"your stack": run.lengths}, ax=viz.new_axes(height=3.4))


KINDS = {
    "post": "post-norm: LayerNorm(x + f(x))",
    "pre": "pre-norm: x + f(LayerNorm(x))",
    "copy": "a normalised copy goes on: y + f(y), with y = LayerNorm(x)",
    "bare": "no norm: x + f(x)",
    "half": "half of the stream goes on: x/2 + f(LayerNorm(x))",
    "alone": "post-norm, but without the residual around attention",
}
WHY = {
    "post": "It is post-norm: each block ends with a norm, so each vector has the standard "
    "deviation 1.00, and the words still differ.",
    "pre": "It is pre-norm: each sublayer reads a normalised copy, so what it adds does not grow "
    "with the stream.",
    "copy": "A normalised copy goes on: the norm is on the residual path, but f is added after it, "
    "so the standard deviation is about 1.1, whatever goes in.",
    "bare": "There is no norm: the longer the words are, the more f adds, so the length is "
    "multiplied in each block.",
    "half": "Half of the stream goes on: the length levels off where f adds as much as halving "
    "takes away.",
    "alone": "The residual around attention is missing: attention takes averages over the words, "
    "and after a few blocks all words are the same vector.",
}
run = NumberedRun(
    id="07.predict",
    make=_make,
    show=_show,
    questions={
        "ratio": Number(
            what="the ratio of the two mean lengths",
            right=lambda run: run.ratio,
            look='Take the lengths of the vectors in `run["stream"]`, along its last axis, and '
            "then their mean over the 12 words. Divide the last of these means by the first.",
            within=0.006,
        ),
        "stack": Choice(
            options=KINDS,
            right=lambda run: run.kind,
            look={
                "post": "Then after each block each vector would have the standard deviation "
                "1.00, and the words of the sentence would still differ.",
                "pre": "Then the length would grow from the first block to the last, and a late "
                "block would add about as much as an early one, or less.",
                "copy": "Then the length would be about the same after each block, whatever it was "
                "at first, and the standard deviation of a vector about 1.1, not exactly 1.",
                "bare": "Then what a block adds would grow with the stream: the last three blocks "
                "would add more than twice as much as the first three.",
                "half": "Then the length would level off after a few blocks, where the standard "
                "deviation is clearly below 1.",
                "alone": "Then after each block each vector would have the standard deviation "
                "1.00, and after a few blocks all words would be the same vector.",
            },
        ),
    },
    says=lambda run: (
        f"The words became {run.ratio:.2f} times as long. {WHY[run.kind]} In pre-norm, words that "
        f"start with a standard deviation of {PREDICTED_FROM} would become "
        f"{run.pre_norm_ratio:.2f} times as long in your blocks."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Does the length grow, fall, or stay? If it stays, since which block? If it grows, does "
        "each block add as much as the one before, or does it multiply by as much?",
        "A vector that comes out of a fresh LayerNorm has the standard deviation 1. And two "
        "stacks can have the same lengths, though in one of them all words have become one.",
        'With `lengths = run["stream"].norm(dim=-1).mean(-1)`, look at `lengths.diff()`; then at '
        '`run["stream"].std(-1, correction=0)`; and, with `x = run["stream"][-1]`, at how far the '
        "words are from their mean: `(x - x.mean(0)).norm() / x.norm()`.",
    ),
)
