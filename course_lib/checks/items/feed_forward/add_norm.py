"""03.add_norm: Beside the straight road."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.adapters import use_module
from course_lib.checks.call import Answer, Call
from course_lib.checks.compare import Difference, answers_differ
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.model import feed_forward as model

SHARE = 0.25  # of what falls in training


def _use_add_norm(
    make: Callable[..., nn.Module],
    x: Tensor,
    *,
    mix: Tensor,
    matrix: Tensor,
    shift: Tensor,
    **kwargs: Any,
) -> Any:
    """As ``use_module``, with the sublayer mix · x · matrix + shift, which mixes positions, too."""
    return use_module(make, x, lambda x: mix @ x @ matrix + shift, **kwargs)


def _around(draw: Draw, x: Tensor, about: str, **kwargs: Any) -> Call:
    length, d_model = x.shape[-2:]
    parts = {
        "mix": draw.normal(length, length, dtype=x.dtype),
        "matrix": draw.normal(d_model, d_model, dtype=x.dtype),
        "shift": draw.normal(d_model, dtype=x.dtype),
        "init": {"d_model": d_model, "dropout": 0.0},
        "weights": {
            "norm.weight": 1 + draw.normal(d_model, std=0.3, dtype=x.dtype),
            "norm.bias": draw.normal(d_model, dtype=x.dtype),
        },
    }
    return Call((x,), {**parts, **kwargs}, about)


def _falling(draw: Draw) -> list[Call]:
    """In the left half of the columns the sublayer gives 0, in the right half sums of two x."""
    half, length = 128, 12
    steps = torch.linspace(-1, 1, 2 * half).expand(2, length, -1)
    two = torch.eye(half) + torch.eye(half).flip(0)  # x_j + x_(half - 1 - j), which is about -1
    matrix = torch.zeros(2 * half, 2 * half)
    matrix[:half, half:] = two
    kwargs = {
        "mix": torch.eye(length),
        "matrix": matrix,
        "shift": torch.zeros(2 * half),
        "init": {"d_model": 2 * half, "dropout": SHARE},
        "weights": {"norm.weight": torch.ones(2 * half), "norm.bias": torch.zeros(2 * half)},
    }
    return [Call((steps,), {**kwargs, "train": t}, "dropout 0.25") for t in (False, True)]


def _compare_dropout_of_output(
    calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
) -> Difference | None:
    """Undo the norm by means of the left half, and see in the right half what fell."""
    clean, noisy, x = expected[0].value, answers[1].value, calls[1].args[0]
    if difference := answers_differ(expected[0], answers[0], tolerance=1e-4):
        quiet = answers_differ(expected[0], answers[1], tolerance=1e-4) is None
        where = "in use, and not in training" if quiet else "in use"
        return Difference(difference.kind, difference.expected, difference.got, where)
    if not isinstance(noisy, Tensor) or noisy.shape != clean.shape:
        return answers_differ(expected[0], answers[1])
    if torch.allclose(noisy, clean, atol=1e-4):
        return Difference("value", "some of the sublayer's output at zero", "none", "in training")
    if (noisy == 0).float().mean() > 0.05:
        return Difference("value", "no zeros", "some", "after the norm, in training")
    half = x.size(-1) // 2
    road, seen = x[..., :half], noisy[..., :half]
    centred = road - road.mean(dim=-1, keepdim=True)
    slope = (seen * centred).sum(dim=-1, keepdim=True) / centred.square().sum(dim=-1, keepdim=True)
    start = (seen - slope * road).mean(dim=-1, keepdim=True)
    if (slope * road + start - seen).abs().max() > 1e-2:
        return Difference("value", "x to arrive whole", "holes in it", "the straight road")
    added = ((noisy - start) / slope - x)[..., half:]
    kept = added / (x @ calls[1].kwargs["matrix"])[..., half:] * (1 - SHARE)  # 0 or 1 each
    if (kept - kept.round()).abs().max() > 0.02 or kept.max() > 1.1:
        level = kept[kept.abs() > 0.02]
        where = "growth of what is left" if level.std() < 0.02 else "what the sublayer is given"
        return Difference("value", "0 or 1 / 0.75 of its output", "other shares of it", where)
    fallen = kept < 0.5
    if abs((share := float(fallen.float().mean())) - SHARE) > 0.05:
        return Difference("value", f"a share of {SHARE}", f"{share:.2f}", "what falls")
    if fallen.all(dim=-1).any() or torch.equal(fallen[0], fallen[1]):
        return Difference("value", "each number to fall by itself", "many at once", "what falls")
    return None


item = Item(
    "03.add_norm",
    reference=model.AddNorm,
    use=_use_add_norm,
    tolerance=1e-3,
    probes=[
        Probe(
            "the norm is taken of x plus what the sublayer makes of x",
            lambda draw: [_around(draw, draw.normal(2, 3, 4), "a sublayer that mixes positions")],
        ),
        Probe(
            "x alone is normed, and the sublayer's output alone, too",
            lambda draw: [
                _around(
                    draw,
                    draw.normal(2, 5, 6),
                    "output zero",
                    matrix=torch.zeros(6, 6),
                    shift=torch.zeros(6),
                ),
                _around(draw, torch.zeros(2, 4, 6), "x zero"),
            ],
        ),
        Probe(
            "any shape and any size of number",
            lambda draw: [
                _around(draw, draw.normal(1, 1, 5), "a single position"),
                _around(draw, draw.normal(4, 4, 4), "all sizes alike"),
                _around(draw, draw.strided(3, 6, 4), "not contiguous"),
                _around(draw, draw.normal(2, 3, 4, std=100), "large numbers"),
                _around(
                    draw,
                    draw.normal(2, 3, 8, dtype=torch.float64),
                    "float64, dropout left as it is",
                    init={"d_model": 8},
                ),
            ],
        ),
        Probe("dropout falls on the sublayer's output alone", _falling, _compare_dropout_of_output),
        Probe(
            "the norm learns, and x gets its gradient on both roads",
            lambda draw: [
                _around(draw, draw.normal(2, 3, 4), "gradients of the norm", learns=True),
                Call(
                    (call := _around(draw, draw.normal(2, 3, 4), "")).args,
                    call.kwargs,
                    "gradient of x",
                    True,
                ),
            ],
        ),
    ],
    hints=(
        "Two roads lead from x to the norm: one through the sublayer, one straight past it.",
        "Run the sublayer on x, drop out what it gives, add x, and take the norm of the sum.",
        "self.norm(x + self....(sublayer(...))).",
    ),
)


class _AddNorm(nn.Module):
    """A right one; the misconceptions below change one thing of it."""

    def __init__(self, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + self.dropout(sublayer(x)))


@item.misconception(
    "Your norm stands in front of the sublayer.",
    why="That is pre-norm. It trains well, and lesson 07 builds it, but the paper, and this task, "
    "take the norm after the sum. Many texts print one and run the other.",
    hint="What is the last thing that happens in LayerNorm(x + Sublayer(x))?",
)
class PreNorm(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.dropout(sublayer(self.norm(x)))


@item.misconception(
    "The straight road is missing: x is not added.",
    why="Without the residual the gradient dies out, or turns into noise, after some layers, and "
    "attention makes all positions alike.",
    hint="What does 'add' in the name stand for?",
)
class NoResidual(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(self.dropout(sublayer(x)))


@item.misconception(
    "You take the norm of the sublayer's output, and add x afterwards.",
    why="Then nothing keeps the stream from growing block by block. The paper norms the sum.",
    hint="Where does the bracket of the norm close?",
)
class NormBeforeTheSum(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.norm(self.dropout(sublayer(x)))


@item.misconception(
    "There is no norm: you give back the sum.",
    why="Without it the vectors grow with every block.",
    hint="What does 'norm' in the name stand for?",
)
class NoNorm(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.dropout(sublayer(x))


@item.misconception(
    "You norm x first, and then the sum once more.",
    why="The straight road should carry x as it came. A norm in front of it changes what is added.",
    hint="How many norms are there in LayerNorm(x + Sublayer(x))?",
)
class NormTwice(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.norm(x)
        return self.norm(x + self.dropout(sublayer(x)))


@item.misconception(
    "Your module has no norm among its parameters.",
    why="A norm that is made in forward is a new one at each call, with weight 1 and bias 0. No "
    "optimizer ever hears of it. One published system lacks 30,720 parameters for this reason.",
    hint="Where are modules made that are to be trained?",
)
class NormMadeInForward(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return F.layer_norm(x + self.dropout(sublayer(x)), x.shape[-1:])


@item.misconception(
    "Your dropout falls after the norm.",
    why="It then makes holes in what comes along the straight road as well. One published system "
    "does this, and its deep models lose their words.",
    hint="What should be dropped: the sum, or what is added to x?",
)
class DropsAfterTheNorm(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(self.norm(x + sublayer(x)))


@item.misconception(
    "Your dropout makes holes in x, on the straight road.",
    why="The straight road has to carry x whole. Each block would make new holes in it.",
    hint="Section 5.4 drops the output of the sublayer, before it is added.",
)
class HolesInTheStraightRoad(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(self.dropout(x + sublayer(x)))


@item.misconception(
    "In training nothing is dropped of the sublayer's output.",
    why="Section 5.4 of the paper drops a tenth of it before it is added.",
    hint="Is the dropout that you made also called?",
)
class DropsNothingOfIt(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + sublayer(x))


@item.misconception(
    "Your dropout falls on what goes into the sublayer.",
    why="The sublayer has to work on x as it is. What may fall is its answer.",
    hint="Section 5.4 drops the output of the sublayer, and nothing else.",
)
class DropsTheInputOfTheSublayer(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + sublayer(self.dropout(x)))


@item.misconception(
    "Your code writes into the x that it was given.",
    why="x += … changes the caller's tensor. Whoever holds it, another residual or a test, now "
    "holds something else.",
    hint="Make a new tensor of the sum.",
)
class EditsItsInput(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x += self.dropout(sublayer(x))
        return self.norm(x)
