"""02.transformer_embedding: Token plus position."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import compare_last_dropout, use_module
from course_lib.checks.items.dropout_misconceptions import DROPS_ALWAYS, DROPS_BEFORE_THE_SUM
from course_lib.model import embedding, positions


def _use_embedding(
    make: Callable[..., nn.Module], tokens: Tensor, *, init: dict[str, Any], **kwargs: Any
) -> Any:
    """As ``use_module``, with zeros at the padding: what comes out there is never used."""
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
    return Call((tokens,), {"init": init, "weights": weights, **kwargs}, about=about)


def _dropped(draw: Draw) -> list[Call]:
    tokens = draw.ids(4, 40)
    one = _embed(draw, tokens, "dropout 0.25", d_model=32, dropout=0.25)
    return [one, Call(one.args, {**one.kwargs, "train": True}, about=one.about)]


item = Item(
    "02.transformer_embedding",
    reference=embedding.TransformerEmbedding,
    use=_use_embedding,
    constructor_given=True,
    tolerance=1e-4,
    probes=[
        Probe(
            "a token becomes its row times √d_model, plus the encoding of its position",
            lambda draw: [
                _embed(draw, draw.ids(2, 5), "two sentences without padding"),
                _embed(draw, torch.full((2, 4), 7), "the same token everywhere", d_model=16),
            ],
        ),
        Probe(
            "padding on the left doesn't change the positions of the tokens",
            lambda draw: [
                _embed(draw, draw.tokens(3, 6, left=True), "padded on the left"),
                _embed(
                    draw,
                    draw.tokens(3, 7, left=True).flip(0),
                    "padded on the left, the longest sentence last",
                ),
            ],
        ),
        Probe(
            "padding on the right works, too, whatever pad_id is",
            lambda draw: [
                _embed(draw, draw.tokens(3, 6), "padded on the right"),
                _embed(
                    draw,
                    draw.tokens(3, 6, pad_id=3),
                    "pad_id is 3, and 0 is a real token",
                    pad_id=3,
                ),
                _embed(draw, draw.tokens(3, 5, pad_id=1, left=True), "pad_id is 1", pad_id=1),
                _embed(
                    draw,
                    torch.tensor([[5, 0, 2, 9, 3, 3], [1, 8, 0, 4, 2, 3]]),
                    "pad_id is 3, with real ids below and above",
                    pad_id=3,
                ),
            ],
        ),
        Probe(
            "it works for any batch size and length",
            lambda draw: [
                _embed(draw, draw.ids(1, 1), "a single token"),
                _embed(draw, draw.ids(5, 5), "as many sentences as tokens"),
                _embed(draw, draw.ids(8, 4).T, "a tensor that is not contiguous"),
                Call(
                    (draw.tokens(2, 70, left=True),),
                    {
                        "init": {"vocab_size": 20, "d_model": 4},
                        "weights": {"tokens.weight": draw.normal(20, 4)},
                    },
                    about="70 tokens, pad_id and dropout left at their defaults",
                ),
            ],
        ),
        Probe(
            "dropout is applied to the sum, in training mode only",
            _dropped,
            compare=compare_last_dropout(0.25),
        ),
        Probe(
            "a row gets a gradient from every position of its token",
            lambda draw: [
                _embed(draw, draw.ids(3, 7, high=9), "gradients of the table", learns=True)
            ],
        ),
    ],
    hints=(
        "Look up the embeddings of the tokens, find the position of each token and its "
        "encoding, and add the two. If the padding is on the left, what is the position of "
        "the first real token?",
        "A token's position is the number of real tokens in its row up to and including "
        "itself, minus one. A cumulative sum over 'is not padding' counts them. Before the "
        "first real token it gives −1, which mustn't be used as an index.",
        "Small examples: torch.tensor([False, True, True]).cumsum(0) is 0 1 2, and "
        "torch.tensor([-3, 5]).clamp(min=2) is 2 5. If you index a table with positions (B, S), "
        "you get a row for each of them, (B, S, D). Along which axis of tokens do you count?",
    ),
)


class _Embedding(nn.Module):
    """A correct module; each misconception below changes one thing."""

    encodings: Tensor

    def __init__(
        self, vocab_size: int, d_model: int, pad_id: int = 0, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.pad_id, self.factor = pad_id, math.sqrt(d_model)
        self.tokens = nn.Embedding(vocab_size, d_model)
        encodings = positions.sinusoidal_positions(5000, d_model)
        self.register_buffer("encodings", encodings, persistent=False)
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.tokens(tokens) * self.factor

    def positions_of(self, tokens: Tensor) -> Tensor:
        return positions.token_positions(tokens, self.pad_id)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.embed(tokens) + self.encodings[self.positions_of(tokens)])


@item.misconception(
    "You don't multiply the embeddings by √d_model.",
    why="The table of this exercise starts with standard deviation 1/√d_model. A row then has norm "
    "1 and an encoding √(d_model/2), so the position dominates the token.",
    hint="Which of the two parts is multiplied, and by what?",
)
class NoFactor(_Embedding):
    def embed(self, tokens: Tensor) -> Tensor:
        return self.tokens(tokens)


@item.misconception(
    "You multiply the whole sum by √d_model, positional encoding included.",
    why="If both parts are multiplied, their ratio stays the same: the position still dominates "
    "the token.",
    hint="Which part is too small without the factor?",
)
class FactorOnTheSum(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(
            (self.tokens(tokens) + self.encodings[self.positions_of(tokens)]) * self.factor
        )


@item.misconception(
    "You multiply by d_model instead of √d_model.",
    why="A row with standard deviation 1/√d_model has norm 1, so now it has norm d_model. An "
    "encoding only has √(d_model/2): the token dominates the position.",
    hint="How does the norm of a random vector grow with its width?",
)
class FactorD(_Embedding):
    def embed(self, tokens: Tensor) -> Tensor:
        return self.tokens(tokens) * self.factor**2


@item.misconception(
    "You divide the embeddings by √d_model instead of multiplying.",
    why="Attention divides its scores by a square root. Here the embeddings are too small and have "
    "to become larger.",
    hint="What is the norm of a row of the table, and what is the norm of an encoding?",
)
class DividesByTheRoot(_Embedding):
    def embed(self, tokens: Tensor) -> Tensor:
        return self.tokens(tokens) / self.factor


@item.misconception(
    "You count padding, too, so padding on the left moves the tokens to later positions.",
    why="The vectors of a sentence, and so its translation, would depend on whether the batch "
    "contains a longer one.",
    hint="Which tokens of a sentence should be counted?",
)
class CountsColumns(_Embedding):
    def positions_of(self, tokens: Tensor) -> Tensor:
        return torch.arange(tokens.size(1)).expand(tokens.shape)


@item.misconception(
    "You count along the batch axis: a position depends on the sentences before it in the batch.",
    why="The axes of tokens are (batch, seq). A cumulative sum along the first one goes from "
    "sentence to sentence.",
    hint="Which axis runs over the tokens of one sentence?",
)
class CountsDownTheBatch(_Embedding):
    def positions_of(self, tokens: Tensor) -> Tensor:
        return ((tokens != self.pad_id).cumsum(dim=0) - 1).clamp(min=0)


@item.misconception(
    "All tokens of a sentence get the same encoding: that of the sentence's index in the batch.",
    why="Older code has the axes (seq, batch, d_model). Here they are (batch, seq, d_model), and "
    "nothing raises an error.",
    hint="Suppose that a batch contains the same sentence twice. Should the two copies get "
    "different vectors?",
)
class BatchForPosition(_Embedding):
    def positions_of(self, tokens: Tensor) -> Tensor:
        return torch.arange(tokens.size(0))[:, None].expand(tokens.shape)


@item.misconception(
    "Your positions count from 1.",
    why="The first real token is at position 0. In your code each token gets the encoding of the "
    "next position.",
    hint="Which position does your code give to the first real token of a sentence?",
)
class StartsAtOne(_Embedding):
    def positions_of(self, tokens: Tensor) -> Tensor:
        return (tokens != self.pad_id).cumsum(dim=1)


@item.misconception(
    "You always treat 0 as padding, whatever pad_id is.",
    why="pad_id can be any id. Where it isn't 0, your code counts the padding, and leaves out the "
    "tokens with id 0.",
    hint="Where does your forward use self.pad_id?",
)
class ZeroIsAlwaysThePad(_Embedding):
    def positions_of(self, tokens: Tensor) -> Tensor:
        return positions.token_positions(tokens, 0)


@item.misconception(
    "You count the padding instead of the real tokens.",
    why="A token's position is the number of real tokens before it. In your code all tokens of a "
    "sentence without padding are at the same position.",
    hint="Which positions does your code give to a sentence without padding? What does it count?",
)
class CountsThePadding(_Embedding):
    def positions_of(self, tokens: Tensor) -> Tensor:
        return ((tokens == self.pad_id).cumsum(dim=1) - 1).clamp(min=0)


item.spelling_with(
    "CountsThePadding",
    positions_of=lambda module, tokens: (tokens == module.pad_id).cumsum(dim=1) - 1,
)
item.spelling_with(
    "CountsThePadding",
    positions_of=lambda module, tokens: (tokens == module.pad_id).cumsum(dim=1),
)


@item.misconception(**DROPS_ALWAYS)
class DropsAlways(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        total = self.embed(tokens) + self.encodings[self.positions_of(tokens)]
        return F.dropout(total, self.dropout.p)


@item.misconception(
    "You don't add any positional encoding.",
    why="Then 'dog bites man' and 'man bites dog' are the same set of vectors.",
    hint="What is added to the embedding of a token?",
)
class NoPositions(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.embed(tokens))


@item.misconception(**DROPS_BEFORE_THE_SUM)
class DropsBeforeTheSum(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.embed(tokens)) + self.encodings[self.positions_of(tokens)]


@item.misconception(
    "Nothing is dropped in training mode.",
    why="With dropout, a model memorises its training sentences less easily (lesson 03).",
    hint="The constructor creates a dropout layer. Do you call it, and do you return what it "
    "gives?",
)
class DropsNothing(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.embed(tokens) + self.encodings[self.positions_of(tokens)]


@item.misconception(
    "No gradient reaches the table, so it would never be trained.",
    why="`.data`, `.detach()` and `torch.no_grad()` stop the gradient. The output doesn't show "
    "it, but the embeddings stay as random as they were.",
    hint="Which line of your forward cuts the path from the result back to the table? "
    "self.tokens(tokens) doesn't.",
)
class LooksUpWithoutGradient(_Embedding):
    def embed(self, tokens: Tensor) -> Tensor:
        return self.tokens.weight.detach()[tokens] * self.factor
