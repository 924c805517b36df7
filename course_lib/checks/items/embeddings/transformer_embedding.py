"""02.transformer_embedding: Word plus place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.adapters import compare_last_dropout, use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.model import embedding, positions


def _use_embedding(
    make: Callable[..., nn.Module], tokens: Tensor, *, init: dict[str, Any], **kwargs: Any
) -> Any:
    """As ``use_module``, with zeros where a pad stands: nobody reads what comes out there."""
    output = use_module(make, tokens, init=init, **kwargs)
    if isinstance(output, Tensor) and output.ndim == 3 and output.shape[:2] == tokens.shape:
        return output.masked_fill((tokens == init.get("pad_id", 0))[..., None], 0.0)
    return output


def _embed(
    draw: Draw,
    tokens: Tensor,
    about: str,
    *,
    d_model: int = 6,
    pad_id: int = 0,
    dropout: float = 0.0,
    **kwargs: Any,
) -> Call:
    init = {"vocab_size": 20, "d_model": d_model, "pad_id": pad_id, "dropout": dropout}
    weights = {"tokens.weight": draw.normal(20, d_model, std=0.5)}
    return Call((tokens,), {"init": init, "weights": weights, **kwargs}, about)


def _falling(draw: Draw) -> list[Call]:
    tokens = draw.ids(4, 40)
    one = _embed(draw, tokens, "dropout 0.25", d_model=32, dropout=0.25)
    return [one, Call(one.args, {**one.kwargs, "train": True}, one.about)]


item = Item(
    "02.transformer_embedding",
    reference=embedding.TransformerEmbedding,
    use=_use_embedding,
    tolerance=1e-4,
    probes=[
        Probe(
            "a token is its row times √D, plus the code of its place",
            lambda draw: [
                _embed(draw, draw.ids(2, 5), "two sentences without pads"),
                _embed(draw, torch.full((2, 4), 7), "the same word everywhere", d_model=16),
            ],
        ),
        Probe(
            "pads on the left do not move the words",
            lambda draw: [
                _embed(draw, draw.tokens(3, 6, left=True), "padded on the left"),
                _embed(draw, draw.tokens(3, 7, left=True).flip(0), "the longest comes last"),
            ],
        ),
        Probe(
            "pads on the right do not either, whatever pad_id is",
            lambda draw: [
                _embed(draw, draw.tokens(3, 6), "padded on the right"),
                _embed(draw, draw.tokens(3, 6, pad_id=3), "pad_id is 3, and 0 a word", pad_id=3),
                _embed(draw, draw.tokens(3, 5, pad_id=1, left=True), "pad_id is 1", pad_id=1),
            ],
        ),
        Probe(
            "any batch and any length fit",
            lambda draw: [
                _embed(draw, draw.ids(1, 1), "a single token"),
                _embed(draw, draw.ids(5, 5), "as many sentences as tokens"),
                _embed(draw, draw.ids(8, 4).T, "not contiguous, and longer than wide"),
                Call(
                    (draw.tokens(2, 70, left=True),),
                    {
                        "init": {"vocab_size": 20, "d_model": 4},
                        "weights": {"tokens.weight": draw.normal(20, 4)},
                    },
                    about="70 tokens, and the other arguments left as they are",
                ),
            ],
        ),
        Probe(
            "dropout falls on the sum, and in training alone", _falling, compare_last_dropout(0.25)
        ),
        Probe(
            "a row learns from each place where its word stands",
            lambda draw: [
                _embed(draw, draw.ids(3, 7, high=9), "gradients of the table", learns=True)
            ],
        ),
    ],
    hints=(
        "Three parts: the rows of the words, the codes of their places, the sum of both. With pads "
        "on the left, which place has the first real word?",
        "A token's place is how many real tokens stand in its row up to it, minus one. A running "
        "sum over 'is no pad' counts them.",
        "places = (tokens ... self.pad_id).cumsum(dim=...) - 1, not below 0; then "
        "self.dropout(self.tokens(tokens) * ... + self.code[places]).",
    ),
)


class _Embedding(nn.Module):
    """A right one; the misconceptions below change one thing of it."""

    code: Tensor

    def __init__(
        self, vocab_size: int, d_model: int, pad_id: int = 0, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.pad_id, self.factor = pad_id, math.sqrt(d_model)
        self.tokens = nn.Embedding(vocab_size, d_model)
        code = positions.sinusoidal_positions(5000, d_model)
        self.register_buffer("code", code, persistent=False)
        self.dropout = nn.Dropout(dropout)

    def words(self, tokens: Tensor) -> Tensor:
        row: Tensor = self.tokens(tokens)
        return row * self.factor

    def places(self, tokens: Tensor) -> Tensor:
        return positions.token_positions(tokens, self.pad_id)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.words(tokens) + self.code[self.places(tokens)])


@item.misconception(
    "Your words come without the factor √D.",
    why="The table of this exercise starts small, with spread 1/√D. A row is then 1 long and a "
    "code √(D/2), so the place drowns the word.",
    hint="Which of the two parts is multiplied, and by what?",
)
class NoFactor(_Embedding):
    def words(self, tokens: Tensor) -> Tensor:
        return self.tokens(tokens)


@item.misconception(
    "You multiply the sum by √D, and the code with it.",
    why="If both parts are multiplied, nothing is balanced: the place stays as much too loud as it "
    "was.",
    hint="Which part is too quiet without the factor?",
)
class FactorOnTheSum(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout((self.tokens(tokens) + self.code[self.places(tokens)]) * self.factor)


@item.misconception(
    "You multiply by D where √D is due.",
    why="A row of spread 1/√D is 1 long, so this makes it D long, and a code is only √(D/2): the "
    "word drowns the place.",
    hint="How does the length of a random vector grow with its width?",
)
class FactorD(_Embedding):
    def words(self, tokens: Tensor) -> Tensor:
        row: Tensor = self.tokens(tokens)
        return row * self.factor**2


@item.misconception(
    "You divide the words by √D where they should be multiplied by it.",
    why="Dividing by a root is what attention does with its scores. Here the words are too quiet "
    "and have to become louder.",
    hint="How long is a row of the table, and how long is a code?",
)
class DividesByTheRoot(_Embedding):
    def words(self, tokens: Tensor) -> Tensor:
        row: Tensor = self.tokens(tokens)
        return row / self.factor


@item.misconception(
    "You count columns: pads on the left push the words to later places.",
    why="One sentence would get other vectors, and another translation, for having stood in a "
    "batch with a longer one.",
    hint="Which tokens of a row should be counted?",
)
class CountsColumns(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return torch.arange(tokens.size(1)).expand(tokens.shape)


@item.misconception(
    "You count places down the batch: the place depends on the sentences above.",
    why="The axes of tokens are (B, S). A running sum along the first goes from sentence to "
    "sentence.",
    hint="Along which axis do the tokens of one sentence stand?",
)
class CountsDownTheBatch(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return ((tokens != self.pad_id).cumsum(dim=0) - 1).clamp(min=0)


@item.misconception(
    "All tokens of a sentence get the same code, that of the sentence's number in the batch.",
    why="Older code has the axes (S, B, D). Here they are (B, S, D), and broadcasting hides the "
    "difference.",
    hint="Put one sentence into a batch twice. What should come out?",
)
class BatchForPlace(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return torch.arange(tokens.size(0))[:, None].expand(tokens.shape)


@item.misconception(
    "Your places count from 1.",
    why="A running sum is 1 at the first real token, and its place is 0. Every code would be that "
    "of the next place.",
    hint="What is the running sum at the first word?",
)
class StartsAtOne(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return (tokens != self.pad_id).cumsum(dim=1)


@item.misconception(
    "You take 0 for the pad, whatever pad_id is.",
    why="One of the five published systems pads with 1. There, a word would not be counted and the "
    "pads would.",
    hint="Does your code use its argument pad_id?",
)
class ZeroIsAlwaysThePad(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return positions.token_positions(tokens, 0)


@item.misconception(
    "Your words come without places.",
    why="Then dog bites man and man bites dog are the same bag of vectors.",
    hint="What is added to a word?",
)
class NoPlaces(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.words(tokens))


@item.misconception(
    "Your dropout falls before word and code are added, and not on their sum.",
    why="The paper drops out the sum (section 5.4). Where one part falls here, the other still "
    "stands.",
    hint="Dropout is the last thing that happens.",
)
class DropsBeforeTheSum(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.words(tokens)) + self.code[self.places(tokens)]


@item.misconception(
    "In training nothing is dropped.",
    why="Without dropout a small model learns its sentences by heart.",
    hint="The constructor made a dropout. Is it called?",
)
class DropsNothing(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.words(tokens) + self.code[self.places(tokens)]


@item.misconception(
    "Your rows are looked up past the gradient: the table would never learn.",
    why="`.data`, `.detach()` and `torch.no_grad()` cut a tensor off from training. The numbers "
    "come out right, and stay as random as they were.",
    hint="How does nn.Embedding want to be asked?",
)
class LooksUpWithoutGradient(_Embedding):
    def words(self, tokens: Tensor) -> Tensor:
        return self.tokens.weight.detach()[tokens] * self.factor
