"""Items of lesson 02: what a token is, plus where it stands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.adapters import judge_last_dropout, use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import embedding, positions

# --- 02.transformer_embedding --------------------------------------------------------------------


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
    weights = {"tokens.weight": draw.normal(20, d_model, spread=0.5)}
    return Call((tokens,), {"init": init, "weights": weights, **kwargs}, about)


def _falling(draw: Draw) -> list[Call]:
    tokens = draw.ids(4, 40)
    one = _embed(draw, tokens, "dropout 0.25", d_model=32, dropout=0.25)
    return [one, Call(one.args, {**one.kwargs, "train": True}, one.about)]


transformer_embedding = Item(
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
            "dropout falls on the sum, and in training alone", _falling, judge_last_dropout(0.25)
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
    """A right one; the mistakes below change one thing of it."""

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


@transformer_embedding.mistake(
    "Your words come without the factor √D.",
    why="The table of this exercise starts small, with spread 1/√D. A row is then 1 long and a "
    "code √(D/2), so the place drowns the word.",
    hint="Which of the two parts is multiplied, and by what?",
)
class NoFactor(_Embedding):
    def words(self, tokens: Tensor) -> Tensor:
        return self.tokens(tokens)


@transformer_embedding.mistake(
    "You multiply the sum by √D, and the code with it.",
    why="If both parts are multiplied, nothing is balanced: the place stays as much too loud as it "
    "was.",
    hint="Which part is too quiet without the factor?",
)
class FactorOnTheSum(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout((self.tokens(tokens) + self.code[self.places(tokens)]) * self.factor)


@transformer_embedding.mistake(
    "You multiply by D where √D is due.",
    why="A row of spread 1/√D is 1 long, so this makes it D long, and a code is only √(D/2): the "
    "word drowns the place.",
    hint="How does the length of a random vector grow with its width?",
)
class FactorD(_Embedding):
    def words(self, tokens: Tensor) -> Tensor:
        row: Tensor = self.tokens(tokens)
        return row * self.factor**2


@transformer_embedding.mistake(
    "You divide the words by √D where they should be multiplied by it.",
    why="Dividing by a root is what attention does with its scores. Here the words are too quiet "
    "and have to become louder.",
    hint="How long is a row of the table, and how long is a code?",
)
class DividesByTheRoot(_Embedding):
    def words(self, tokens: Tensor) -> Tensor:
        row: Tensor = self.tokens(tokens)
        return row / self.factor


@transformer_embedding.mistake(
    "You count columns: pads on the left push the words to later places.",
    why="One sentence would get other vectors, and another translation, for having stood in a "
    "batch with a longer one.",
    hint="Which tokens of a row should be counted?",
)
class CountsColumns(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return torch.arange(tokens.size(1)).expand(tokens.shape)


@transformer_embedding.mistake(
    "You count places down the batch: the place depends on the sentences above.",
    why="The axes of tokens are (B, S). A running sum along the first goes from sentence to "
    "sentence.",
    hint="Along which axis do the tokens of one sentence stand?",
)
class CountsDownTheBatch(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return ((tokens != self.pad_id).cumsum(dim=0) - 1).clamp(min=0)


@transformer_embedding.mistake(
    "All tokens of a sentence get the same code, that of the sentence's number in the batch.",
    why="Older code has the axes (S, B, D). Here they are (B, S, D), and broadcasting hides the "
    "difference.",
    hint="Put one sentence into a batch twice. What should come out?",
)
class BatchForPlace(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return torch.arange(tokens.size(0))[:, None].expand(tokens.shape)


@transformer_embedding.mistake(
    "Your places count from 1.",
    why="A running sum is 1 at the first real token, and its place is 0. Every code would be that "
    "of the next place.",
    hint="What is the running sum at the first word?",
)
class StartsAtOne(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return (tokens != self.pad_id).cumsum(dim=1)


@transformer_embedding.mistake(
    "You take 0 for the pad, whatever pad_id is.",
    why="One of the five published systems pads with 1. There, a word would not be counted and the "
    "pads would.",
    hint="Does your code use its argument pad_id?",
)
class ZeroIsAlwaysThePad(_Embedding):
    def places(self, tokens: Tensor) -> Tensor:
        return positions.token_positions(tokens, 0)


@transformer_embedding.mistake(
    "Your words come without places.",
    why="Then dog bites man and man bites dog are the same bag of vectors.",
    hint="What is added to a word?",
)
class NoPlaces(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.words(tokens))


@transformer_embedding.mistake(
    "Your dropout falls before word and code are added, and not on their sum.",
    why="The paper drops out the sum (section 5.4). Where one part falls here, the other still "
    "stands.",
    hint="Dropout is the last thing that happens.",
)
class DropsBeforeTheSum(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.words(tokens)) + self.code[self.places(tokens)]


@transformer_embedding.mistake(
    "In training nothing is dropped.",
    why="Without dropout a small model learns its sentences by heart.",
    hint="The constructor made a dropout. Is it called?",
)
class DropsNothing(_Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return self.words(tokens) + self.code[self.places(tokens)]


@transformer_embedding.mistake(
    "Your rows are looked up past the gradient: the table would never learn.",
    why="`.data`, `.detach()` and `torch.no_grad()` cut a tensor off from training. The numbers "
    "come out right, and stay as random as they were.",
    hint="How does nn.Embedding want to be asked?",
)
class LooksUpWithoutGradient(_Embedding):
    def words(self, tokens: Tensor) -> Tensor:
        return self.tokens.weight.detach()[tokens] * self.factor


# --- 02.embedding_std ----------------------------------------------------------------------------


def _use_std(std_of: Callable[[int], float], d_model: int, *, measure: bool = False) -> Any:
    """The spread itself, or how far above ln V a tied table of that spread starts, in nats."""
    std = std_of(d_model)
    if not measure:
        return std
    source = torch.Generator().manual_seed(7)
    h = F.normalize(torch.randn(60, d_model, generator=source), dim=1) * math.sqrt(d_model)
    logits = h @ (torch.randn(3000, d_model, generator=source) * float(std)).T  # (60, V)
    loss = (logits.logsumexp(dim=1) - logits.mean(dim=1)).mean()  # any word may be the right one
    return {"first loss, above ln V": float(loss) - math.log(3000)}


embedding_std = Item(
    "02.embedding_std",
    reference=embedding.embedding_std,
    use=_use_std,
    probes=[
        Probe(
            "half the variance of the logits is 0.02 nats",
            lambda draw: [
                Call((64,), about="d_model 64"),
                Call((draw.integer(200, 700),), about="another width"),
            ],
        ),
        Probe(
            "a tied model starts 0.02 nats above ln V",
            lambda draw: [
                Call((width,), {"measure": True}, about=f"d_model {width}") for width in (16, 256)
            ],
        ),
        Probe(
            "four times the width, half the spread",
            lambda draw: [Call((w,), about=f"d_model {w}") for w in (4, 16, 1024)],
        ),
    ],
    hints=(
        "A vector h of length √D meets a row of D numbers of spread s. What is the spread of their "
        "dot product?",
        "The logits have spread σ = s √D, and the loss starts σ² / 2 above ln V. Set that to 0.02 "
        "and solve for s.",
        "σ² / 2 = 0.02, so σ = ...; and s = σ / ... .",
    ),
)


@embedding_std.mistake(
    "Your spread is 1, as nn.Embedding starts.",
    why="Then logits have spread √D, and the model is sure of nonsense from the first step: 176.7 "
    "nats in one published system, where ln V is 9.",
    hint="How large are the logits at d_model 256?",
)
def as_pytorch_starts(d_model: int) -> float:
    return 1.0


@embedding_std.mistake(
    "Your spread is 1/√D: the logits have spread 1, and the loss starts half a nat too high.",
    why="1/√D fits a table that is only an input and is multiplied by √D. As an output layer it is "
    "not small enough for 0.02.",
    hint="Which σ makes σ² / 2 equal to 0.02?",
)
def one_over_the_root(d_model: int) -> float:
    return 1 / math.sqrt(d_model)


@embedding_std.mistake(
    "You divide by D where √D is due.",
    why="The logits then become ever smaller with the width: the words vanish in wide models.",
    hint="How long is h?",
)
def by_the_width(d_model: int) -> float:
    return 0.2 / d_model


@embedding_std.mistake(
    "You give the variance where the spread is asked for.",
    why="The spread, or standard deviation, is the root of the variance; nn.init.normal_ takes the "
    "spread.",
    hint="One root is missing.",
)
def the_variance(d_model: int) -> float:
    return 0.04 / d_model


@embedding_std.mistake(
    "You lost the one half: your logits have a variance of 0.02, so they cost only 0.01 nats.",
    why="Random logits cost half of their variance, and 0.02 nats above ln V are asked for.",
    hint="Read the formula once more. What is divided by 2 there?",
)
def half_forgotten(d_model: int) -> float:
    return math.sqrt(0.02 / d_model)


@embedding_std.mistake(
    "You took 0.02 for the spread of the logits.",
    why="0.02 is the cost in nats, half of the squared spread.",
    hint="What is σ if σ² / 2 is 0.02?",
)
def nats_for_the_spread(d_model: int) -> float:
    return 0.02 / math.sqrt(d_model)


@embedding_std.mistake(
    "Your spread is 0.02 at every width.",
    why="Many models start so. But the spread of the logits grows with √D: one fixed number costs "
    "0.02 nats at a single width, less in narrower models and more in wider ones.",
    hint="Does your code use its argument?",
)
def one_for_all(d_model: int) -> float:
    return 0.02


@embedding_std.mistake(
    "Your spread grows with the width.",
    why="A wider h makes larger logits, so the rows have to become smaller.",
    hint="Multiply or divide?",
)
def grows_with_the_width(d_model: int) -> float:
    return 0.2 * math.sqrt(d_model)


# --- 02.bug --------------------------------------------------------------------------------------

BUG = """\
def both_ends(tokens, hidden, table, code):
    scale = math.sqrt(table.size(1))
    words = table[tokens] * scale
    vectors = words + code[: tokens.size(1)]
    logits = hidden @ (table * scale).T
    return vectors, logits
"""
Ends = tuple[Tensor, Tensor]


def _both_ends(
    tokens: Tensor,
    hidden: Tensor,
    table: Tensor,
    code: Tensor,
    *,
    scale_in: float | None = None,
    scale_out: float = 1.0,
) -> Ends:
    """The vectors that enter and the logits that leave, each with a factor of its own."""
    scale = math.sqrt(table.size(1)) if scale_in is None else scale_in
    return table[tokens] * scale + code[: tokens.size(1)], hidden @ table.T * scale_out


def _ends(draw: Draw, *shape: int, d_model: int = 8, about: str, gradients: bool = False) -> Call:
    table = draw.normal(20, d_model, spread=0.2)
    code = positions.sinusoidal_positions(12, d_model)
    hidden = draw.normal(*shape, d_model)
    return Call((draw.ids(*shape), hidden, table, code), about=about, gradients=gradients)


bug = Item(
    "02.bug",
    reference=_both_ends,
    bug=Bug(BUG, line=5),
    tolerance=1e-4,
    probes=[
        Probe(
            "words enter as loud as places, and logits leave small",
            lambda draw: [_ends(draw, 2, 5, about="two sentences of five tokens")],
        ),
        Probe(
            "any width, any batch, any length",
            lambda draw: [
                _ends(draw, 3, 4, d_model=18, about="another width"),
                _ends(draw, 1, 1, d_model=4, about="a single token"),
            ],
        ),
        Probe(
            "the one table learns from both of its uses",
            lambda draw: [_ends(draw, 2, 6, about="gradients", gradients=True)],
        ),
    ],
    hints=(
        "The loss starts far above ln V. Which of the two results decides about that?",
        "Where does the paper multiply by √D, at the input, at the output, or at both?",
        "logits = hidden @ ..., with the table as it is stored.",
    ),
)


@bug.mistake(
    "The logits are still √D times too large.",
    why="A row of spread 0.2/√D gives logits of spread 0.2. Times √D they have spread 0.2 √D, "
    "which is 4.5 at D = 512: the model is sure before it knows anything.",
    hint="Which spread did embedding_std choose, and for which logits?",
)
def still_too_sure(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, code, scale_out=math.sqrt(table.size(1)))


@bug.mistake(
    "The factor is gone at both ends: now the words are too quiet.",
    why="At the input it was right. A small row without it is drowned by the code of its place.",
    hint="Only one of the two uses of scale was wrong.",
)
def no_factor_at_all(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, code, scale_in=1.0)


@bug.mistake(
    "You took the factor from the wrong end: words enter too quiet, and logits leave too large.",
    why="The factor belongs to the embedding (section 3.4 of the paper), where word and place are "
    "added.",
    hint="Which of the two results is compared with a code, and which goes into a softmax?",
)
def the_wrong_end(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, code, scale_in=1.0, scale_out=table.size(1) ** 0.5)


@bug.mistake(
    "You divide the logits by √D.",
    why="The spread 0.2/√D already makes up for the width. Divided once more, the logits of a wide "
    "model are nearly equal and its gradients nearly zero.",
    hint="How large are the logits of the table as it is stored?",
)
def divided_at_the_output(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    return _both_ends(tokens, hidden, table, code, scale_out=table.size(1) ** -0.5)


@bug.mistake(
    "Your output layer no longer learns: the table was cut off from the gradient there.",
    why="Tied means one table with two uses, and it learns from both.",
    hint="The logits are a product with the table itself, not with a copy.",
)
def cut_off(tokens: Tensor, hidden: Tensor, table: Tensor, code: Tensor) -> Ends:
    vectors, _ = _both_ends(tokens, hidden, table, code)
    return vectors, hidden @ table.detach().T
