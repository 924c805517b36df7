"""03.add_norm: Residual connection, then norm."""

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

SHARE = 0.25  # dropout rate


def _use_add_norm(
    make: Callable[..., nn.Module],
    x: Tensor,
    *,
    mix: Tensor,
    matrix: Tensor,
    shift: Tensor,
    **kwargs: Any,
) -> Any:
    """As ``use_module``, with the sublayer mix · x · matrix + shift, which mixes positions."""
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


def _dropped(draw: Draw) -> list[Call]:
    """The sublayer gives 0 in the left half of the columns, sums of two x in the right half."""
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
    """Undo the norm with the help of the left half; the right half shows what was dropped."""
    clean, noisy, x = expected[0].value, answers[1].value, calls[1].args[0]
    if difference := answers_differ(expected[0], answers[0], tolerance=1e-4):
        unchanged = answers_differ(expected[0], answers[1], tolerance=1e-4) is None
        where = (
            "in evaluation mode, and not in training mode" if unchanged else "in evaluation mode"
        )
        return Difference(difference.kind, difference.expected, difference.got, where)
    if not isinstance(noisy, Tensor) or noisy.shape != clean.shape:
        return answers_differ(expected[0], answers[1])
    if torch.allclose(noisy, clean, atol=1e-4):
        return Difference("value", "some of the sublayer's output dropped", "none", "training mode")
    if (noisy == 0).float().mean() > 0.05:
        return Difference("value", "no zeros", "some", "output in training mode")
    half = x.size(-1) // 2
    residual, seen = x[..., :half], noisy[..., :half]
    centred = residual - residual.mean(dim=-1, keepdim=True)
    slope = (seen * centred).sum(dim=-1, keepdim=True) / centred.square().sum(dim=-1, keepdim=True)
    offset = (seen - slope * residual).mean(dim=-1, keepdim=True)
    if (slope * residual + offset - seen).abs().max() > 1e-2:
        return Difference("value", "all of x", "parts of it dropped", "the residual path")
    added = ((noisy - offset) / slope - x)[..., half:]
    kept = added / (x @ calls[1].kwargs["matrix"])[..., half:] * (1 - SHARE)  # 0 or 1 each
    if (kept - kept.round()).abs().max() > 0.02 or kept.max() > 1.1:
        level = kept[kept.abs() > 0.02]
        where = "scale of what dropout keeps" if level.std() < 0.02 else "input of the sublayer"
        expected_scale = "0 or 1 / 0.75 of the sublayer's output"
        return Difference("value", expected_scale, "other multiples of it", where)
    zeroed = kept < 0.5
    where = "elements dropped"
    if abs((share := float(zeroed.float().mean())) - SHARE) > 0.05:
        return Difference("value", f"a share of {SHARE}", f"{share:.2f}", where)
    if zeroed.all(dim=-1).any() or torch.equal(zeroed[0], zeroed[1]):
        return Difference("value", "each element dropped independently", "many at once", where)
    return None


item = Item(
    "03.add_norm",
    reference=model.AddNorm,
    use=_use_add_norm,
    tolerance=1e-3,
    probes=[
        Probe(
            "the output is the norm of x + sublayer(x)",
            lambda draw: [_around(draw, draw.normal(2, 3, 4), "a sublayer that mixes positions")],
        ),
        Probe(
            "it works if the sublayer returns zeros, and if x is zero",
            lambda draw: [
                _around(
                    draw,
                    draw.normal(2, 5, 6),
                    "a sublayer that returns zeros",
                    matrix=torch.zeros(6, 6),
                    shift=torch.zeros(6),
                ),
                _around(draw, torch.zeros(2, 4, 6), "x is zero"),
            ],
        ),
        Probe(
            "it works for any shape and for large numbers",
            lambda draw: [
                _around(draw, draw.normal(1, 1, 5), "a single position"),
                _around(draw, draw.normal(4, 4, 4), "all sizes equal"),
                _around(draw, draw.strided(3, 6, 4), "a tensor that is not contiguous"),
                _around(draw, draw.normal(2, 3, 4, std=100), "large numbers"),
                _around(
                    draw,
                    draw.normal(2, 3, 8, dtype=torch.float64),
                    "float64, dropout left at its default",
                    init={"d_model": 8},
                ),
            ],
        ),
        Probe(
            "dropout is applied to the sublayer's output only", _dropped, _compare_dropout_of_output
        ),
        Probe(
            "the norm gets gradients, and x gets them on both paths",
            lambda draw: [
                _around(
                    draw, draw.normal(2, 3, 4), "gradients of the norm's parameters", learns=True
                ),
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
        "Two paths lead from x to the norm: one through the sublayer, and one that skips it.",
        "Run the sublayer on x, apply dropout to its output, add x, and take the norm of the sum.",
        "self.norm(x + self....(sublayer(...))).",
    ),
)


class _AddNorm(nn.Module):
    """A correct module; each misconception below changes one thing."""

    def __init__(self, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + self.dropout(sublayer(x)))


@item.misconception(
    "Your norm comes before the sublayer.",
    why="That's pre-norm. It trains well, and you'll build it in lesson 07, but the paper and this "
    "task apply the norm after the sum. Many texts describe one and implement the other.",
    hint="What is the last operation in LayerNorm(x + Sublayer(x))?",
)
class PreNorm(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.dropout(sublayer(self.norm(x)))


@item.misconception(
    "The residual connection is missing: you don't add x.",
    why="Without it, gradients vanish or turn into noise in deep models, and attention makes all "
    "positions alike.",
    hint="What does 'Add' stand for in AddNorm?",
)
class NoResidual(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(self.dropout(sublayer(x)))


@item.misconception(
    "You apply the norm to the sublayer's output, and add x afterwards.",
    why="Then the residual stream grows with every block. The paper applies the norm to the sum.",
    hint="Where does the bracket of the norm close?",
)
class NormBeforeTheSum(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.norm(self.dropout(sublayer(x)))


@item.misconception(
    "There's no norm: you return the sum.",
    why="Without it the vectors grow with every block.",
    hint="What does 'Norm' stand for in AddNorm?",
)
class NoNorm(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.dropout(sublayer(x))


@item.misconception(
    "You apply the norm twice: to x, and again to the sum.",
    why="The residual path should carry x unchanged. A norm in front of it changes what is added.",
    hint="How many norms are there in LayerNorm(x + Sublayer(x))?",
)
class NormTwice(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.norm(x)
        return self.norm(x + self.dropout(sublayer(x)))


@item.misconception(
    "Your module has no parameters for its norm.",
    why="The weight and bias of a norm have to be created in the constructor. A norm created in "
    "forward starts anew at each call, and no optimizer ever sees it. One published system lacks "
    "30,720 parameters for this reason.",
    hint="Where do you create modules that should be trained?",
)
class NormMadeInForward(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return F.layer_norm(x + self.dropout(sublayer(x)), x.shape[-1:])


@item.misconception(
    "You apply dropout after the norm.",
    why="That drops parts of the residual path as well. One published system does this, and it "
    "trains worse the deeper it is.",
    hint="What should dropout be applied to: the sum, or what is added to x?",
)
class DropsAfterTheNorm(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(self.norm(x + sublayer(x)))


@item.misconception(
    "You apply dropout to the sum, so parts of x are dropped on the residual path.",
    why="The residual path should carry all of x. Here each block would drop more of it.",
    hint="Section 5.4 applies dropout to the output of the sublayer, before it is added.",
)
class DropsTheResidual(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(self.dropout(x + sublayer(x)))


@item.misconception(
    "Nothing of the sublayer's output is dropped in training mode.",
    why="Section 5.4 of the paper drops a tenth of it before it is added.",
    hint="You created a dropout layer. Do you call it?",
)
class DropsNothingOfIt(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + sublayer(x))


@item.misconception(
    "You apply dropout to the input of the sublayer.",
    why="The sublayer should see all of x. Only its output is dropped.",
    hint="Section 5.4 applies dropout to the output of the sublayer, and to nothing else.",
)
class DropsTheInputOfTheSublayer(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + sublayer(self.dropout(x)))


@item.misconception(
    "Your code modifies its input in place.",
    why="x += … changes the caller's tensor. Other code that still needs the original, such as "
    "another residual connection, gets wrong values.",
    hint="Create a new tensor for the sum.",
)
class EditsItsInput(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x += self.dropout(sublayer(x))
        return self.norm(x)
