"""03.add_norm: Residual connection, then norm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import Finding, compare_under_dropout, use_module
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import Difference
from course_lib.checks.items.dropout_misconceptions import DROPS_ALWAYS, add_wrong_rates
from course_lib.model import add_norm as model

SHARE = 0.25  # dropout rate


def _use_add_norm(
    make: Callable[..., nn.Module],
    x: Tensor,
    *,
    mix: Tensor,
    matrix: Tensor,
    shift: Tensor,
    same: bool = False,
    **kwargs: Any,
) -> Any:
    """As ``use_module``, with the sublayer mix · x · matrix + shift, which mixes positions; or,
    for ``same``, with one that returns x itself.
    """
    return use_module(make, x, lambda x: x if same else mix @ x @ matrix + shift, **kwargs)


def _around(draw: Draw, x: Tensor, about: str, *, gradients: bool = False, **kwargs: Any) -> Call:
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
    return Call((x,), {**parts, **kwargs}, about=about, gradients=gradients)


def _dropped(*positional: float, **init: float) -> list[Call]:
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
        "positional": positional,
        "init": init,
        "weights": {"norm.weight": torch.ones(2 * half), "norm.bias": torch.zeros(2 * half)},
    }
    rate = f"dropout {SHARE}" if SHARE in (*positional, *init.values()) else "no dropout given"
    return [Call((steps,), {**kwargs, "train": t}, about=rate) for t in (False, True)]


def _find_in_output(share: float, call: Call, clean: Tensor, noisy: Tensor) -> Finding | None:
    """What is wrong with the output of ``_dropped`` in training mode, with this dropout rate.

    Undo the norm with the help of the left half; the right half shows what was dropped.
    """
    if torch.allclose(noisy, clean, atol=1e-4):
        return "in training mode", "some of the sublayer's output dropped", "nothing"
    if (noisy == 0).float().mean() > 0.05:
        where = "the output in training mode"
        return where, "no zeros, since the norm comes last", "zeros"
    x = call.args[0]
    half = x.size(-1) // 2
    residual, seen = x[..., :half], noisy[..., :half]
    centred = residual - residual.mean(dim=-1, keepdim=True)
    squares = centred.square().sum(dim=-1, keepdim=True)
    slope = (seen * centred).sum(dim=-1, keepdim=True) / squares
    offset = (seen - slope * residual).mean(dim=-1, keepdim=True)
    if (slope * residual + offset - seen).abs().max() > 1e-2:
        where = "the residual path in training mode"
        return where, "all of x", "x with some elements dropped"
    added = ((noisy - offset) / slope - x)[..., half:]
    kept = added / (x @ call.kwargs["matrix"])[..., half:] * (1 - share)  # 0 or 1 each
    level = kept[kept.abs() > 0.02]
    found = 1 - level.numel() / kept.numel()
    if abs(found - share) > 0.05 and level.std() < 0.02:
        where = "the share of the sublayer's output that is dropped"
        return where, f"about {share:.2f}", f"{found:.2f}"
    if (kept - kept.round()).abs().max() > 0.02 or kept.max() > 1.1:
        if level.std() < 0.02:
            where = "what dropout keeps of the sublayer's output"
            return where, f"it divided by {1 - share:g}", "another multiple"
        where = "the sublayer's output in training mode"
        return where, "sublayer(x), or 0 where dropped", "other numbers"
    zeroed = kept < 0.5
    if zeroed.all(dim=-1).any() or torch.equal(zeroed[0], zeroed[1]):
        where = "what is dropped of the sublayer's output"
        return where, "each element independently", "many at once"
    return None


def _compare_what_became_of_x(
    calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
) -> Difference | None:
    if not answers[0].changed_inputs:
        return None
    return Difference(
        "changed input",
        expected="x as it was",
        got="x with elements dropped",
        where="x after the call",
    )


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
            "it works if x is zero, and if the sublayer returns zeros or x itself",
            lambda draw: [
                _around(
                    draw,
                    draw.normal(2, 5, 6),
                    "a sublayer that returns zeros",
                    matrix=torch.zeros(6, 6),
                    shift=torch.zeros(6),
                ),
                _around(draw, torch.zeros(2, 4, 6), "x is zero"),
                _around(draw, draw.normal(2, 4, 6), "a sublayer that returns x itself", same=True),
            ],
        ),
        Probe(
            "it works for any shape and for large numbers",
            lambda draw: [
                _around(draw, draw.normal(1, 1, 5), "a single position"),
                _around(draw, draw.normal(4, 4, 4), "all sizes equal"),
                _around(
                    draw,
                    draw.normal(3, 4, 5),
                    "a sublayer that does something else to each sentence",
                    mix=draw.normal(3, 4, 4),
                ),
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
            "eps is 1e-5",
            lambda draw: [
                _around(
                    draw,
                    draw.normal(2, 3, 4, std=3e-4),
                    "vectors with numbers of less than a thousandth",
                    shift=torch.zeros(4),
                )
            ],
        ),
        Probe(
            "dropout is applied to the sublayer's output only",
            lambda draw: _dropped(d_model=256, dropout=SHARE),
            compare=compare_under_dropout(partial(_find_in_output, SHARE)),
        ),
        Probe(
            "dropout leaves x as it was, even if the sublayer returns x itself",
            lambda draw: [
                _around(
                    draw,
                    draw.normal(2, 4, 6),
                    "a sublayer that returns x itself, training mode",
                    same=True,
                    init={"d_model": 6, "dropout": SHARE},
                    train=True,
                )
            ],
            compare=_compare_what_became_of_x,
        ),
        Probe(
            "the dropout rate is the second argument",
            lambda draw: _dropped(256, SHARE),
            compare=compare_under_dropout(partial(_find_in_output, SHARE)),
        ),
        Probe(
            "the dropout rate is 0.1 by default",
            lambda draw: _dropped(256),
            compare=compare_under_dropout(partial(_find_in_output, 0.1)),
        ),
        Probe(
            "the norm gets gradients, and x gets them on both paths",
            lambda draw: [
                _around(
                    draw, draw.normal(2, 3, 4), "gradients of the norm's parameters", learns=True
                ),
                _around(draw, draw.normal(2, 3, 4), "gradient of x", gradients=True),
            ],
        ),
    ],
    hints=(
        "Two paths lead from x to the norm: one through the sublayer, and one that skips it. "
        "On which of the two does dropout stand?",
        "Create the norm and the dropout in the constructor, so that the norm's weight and "
        "bias belong to the module. In forward one line is enough. Build it from the inside "
        "out: the sublayer's output is innermost.",
        "Try it in numbers, without a norm and without dropout: for x = 1 and a sublayer that "
        "triples its input, the sum is 1 + 3 = 4. To which of the three numbers 1, 3 and 4 does "
        "dropout belong, and to which the norm?",
    ),
)


class _AddNorm(nn.Module):
    """A correct module; each misconception below changes one thing."""

    def __init__(self, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = self.make_norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def make_norm(self, d_model: int) -> nn.Module:
        return nn.LayerNorm(d_model)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.last(self.add(x, self.update(x, sublayer)))

    def update(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(sublayer(x))

    def add(self, x: Tensor, update: Tensor) -> Tensor:
        return x + update

    def last(self, total: Tensor) -> Tensor:
        return self.norm(total)


@item.misconception(
    "Your norm comes before the sublayer.",
    why="That's pre-norm. It trains well, and you'll build it in lesson 07, but the paper and this "
    "task apply the norm after the sum. Many texts describe one and implement the other.",
    hint="What is the last operation in LayerNorm(x + Sublayer(x))?",
)
class PreNorm(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.add(x, self.update(self.norm(x), sublayer))


@item.misconception(
    "You apply the norm to x, use the result for both paths, and return the sum without a norm.",
    why="The residual path should carry x unchanged, and the paper applies the norm to the sum.",
    hint="What is the last operation in LayerNorm(x + Sublayer(x)), and what is added there?",
)
class NormForBothPaths(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.norm(x)
        return self.add(x, self.update(x, sublayer))


@item.misconception(
    "The residual connection is missing: you don't add x.",
    why="A deep stack is much harder to train without it, even if norms keep the gradient "
    "from vanishing: Q3b trains such a stack. And without x, attention makes all "
    "positions alike.",
    hint="What does 'Add' stand for in AddNorm?",
)
class NoResidual(_AddNorm):
    def add(self, x: Tensor, update: Tensor) -> Tensor:
        return update


@item.misconception(
    "You add the sublayer's output to itself: x is gone before the sum.",
    why="If x is overwritten with sublayer(x), nothing carries the input past the sublayer, which "
    "is what the residual connection is for.",
    hint="Which two tensors does your sum add? Follow the name x line by line.",
)
class InputOverwritten(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = sublayer(x)
        return self.last(self.add(x, self.dropout(x)))


@item.misconception(
    "You apply the norm to the sublayer's output, and add x afterwards.",
    why="Then the residual stream grows with every block. The paper applies the norm to the sum.",
    hint="What does the norm get in LayerNorm(x + Sublayer(x)), and what does it get in your code?",
)
class NormBeforeTheSum(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.add(x, self.norm(self.update(x, sublayer)))


@item.misconception(
    "You return the sum without a norm.",
    why="Without it the vectors grow with every block.",
    hint="What does 'Norm' stand for in AddNorm? Is its result what you return?",
)
class NoNorm(_AddNorm):
    def last(self, total: Tensor) -> Tensor:
        return total


@item.misconception(
    "You apply the norm twice: to x, and again to the sum.",
    why="The residual path should carry x unchanged. A norm in front of it changes what is added.",
    hint="How many norms are there in LayerNorm(x + Sublayer(x))?",
)
class NormTwice(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return super().forward(self.norm(x), sublayer)


@item.misconception(
    "You apply the norm to the sublayer's input, and again to the sum.",
    why="There's only one norm in LayerNorm(x + Sublayer(x)), after the sum. It already "
    "normalises what the next sublayer gets.",
    hint="What does the sublayer get in LayerNorm(x + Sublayer(x))?",
)
class NormAroundAndInside(_AddNorm):
    def update(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return super().update(self.norm(x), sublayer)


@item.misconception(
    "You multiply x by the sublayer's output instead of adding them.",
    why="Where the sublayer returns zeros, nothing of x is left. In a sum, x always gets through.",
    hint="What does 'Add' stand for in AddNorm?",
)
class Multiplies(_AddNorm):
    def add(self, x: Tensor, update: Tensor) -> Tensor:
        return x * update


@item.misconception(
    "You take the mean of x and the sublayer's output, not their sum.",
    why="The norm hides the factor 1/2 for large vectors. For small ones it doesn't, since eps is "
    "added to a variance that's a quarter of what it should be.",
    hint="What stands inside the brackets of LayerNorm(x + Sublayer(x))?",
)
class TakesTheMean(_AddNorm):
    def add(self, x: Tensor, update: Tensor) -> Tensor:
        return (x + update) / 2


@item.misconception(
    "Your module has no parameters for its norm.",
    why="The norm needs a trainable weight and bias, created in the constructor. F.layer_norm "
    "creates none, elementwise_affine=False leaves them out, a norm in a plain list isn't "
    "registered, and one created in forward starts anew at each call. In a model of the "
    "paper's size, 30,720 parameters would be missing.",
    hint="What are the trainable parameters of a norm, and where do you create them?",
)
class NormMadeInForward(_AddNorm):
    def make_norm(self, d_model: int) -> nn.Module:
        return nn.LayerNorm(d_model, elementwise_affine=False)


@item.misconception(
    "The eps of your norm isn't 1e-5.",
    why="For most vectors you won't see the difference. But small ones come out larger or "
    "smaller than they should, so trained weights give other results. BERT uses 1e-12; "
    "this task wants the default of nn.LayerNorm.",
    hint="What is the default of nn.LayerNorm, and do you need another one?",
)
class AnotherEps(_AddNorm):
    eps = 1e-6

    def make_norm(self, d_model: int) -> nn.Module:
        return nn.LayerNorm(d_model, eps=self.eps)


for _eps in (1e-12, 1e-8, 1e-3):
    item.spelling_with("AnotherEps", eps=_eps)


class _NormByStd(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / (x.std(dim=-1, keepdim=True) + self.eps) * self.weight + self.bias


@item.misconception(
    "Your norm divides by the unbiased standard deviation plus eps.",
    why="x.std() divides by d_model − 1, and eps belongs inside the square root. A widely read "
    "implementation has this norm. With large d_model you hardly see the difference.",
    hint="Compare your norm with the formula of layer_norm.",
)
class NormByStd(_AddNorm):
    eps = 1e-5

    def make_norm(self, d_model: int) -> nn.Module:
        return _NormByStd(d_model, eps=self.eps)


item.spelling_with("NormByStd", eps=1e-6)


@item.misconception(
    "You apply dropout after the norm.",
    why="That drops parts of the residual path as well. One published system does this.",
    hint="What should dropout be applied to: the final result, or what is added to x?",
)
class DropsAfterTheNorm(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(self.last(self.add(x, sublayer(x))))


@item.misconception(
    "In training mode, parts of x are dropped on the residual path.",
    why="The residual path should carry all of x. If you apply dropout to x or to the sum, each "
    "block drops more of it.",
    hint="Section 5.4 applies dropout to the output of the sublayer, before it is added.",
)
class DropsTheResidual(_AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.last(self.dropout(self.add(x, sublayer(x))))


@item.misconception(
    "Nothing of the sublayer's output is dropped in training mode.",
    why="Section 5.4 of the paper drops a tenth of it before it is added.",
    hint="Does the sublayer's output go through dropout, with the right rate, and do you use what "
    "dropout returns?",
)
class DropsNothingOfIt(_AddNorm):
    def update(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return sublayer(x)


@item.misconception(
    "You apply dropout to the input of the sublayer.",
    why="The sublayer should see all of x. Only its output is dropped.",
    hint="Section 5.4 applies dropout to the output of the sublayer, and to nothing else.",
)
class DropsTheInputOfTheSublayer(_AddNorm):
    def update(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return sublayer(self.dropout(x))


@item.misconception(**DROPS_ALWAYS)
class DropsAlways(_AddNorm):
    def update(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return F.dropout(sublayer(x), self.dropout.p)


item.spelling_with("DropsAlways", update=lambda module, x, sublayer: F.dropout(sublayer(x)))
add_wrong_rates(item, _AddNorm, call="AddNorm(d_model)")


@item.misconception(
    "Your code modifies its input in place.",
    why="Operations in place, such as x += … or add_, change the caller's tensor. Other code that "
    "still needs the original, such as another residual connection, gets wrong values.",
    hint="Create a new tensor for the sum.",
)
class EditsItsInput(_AddNorm):
    def add(self, x: Tensor, update: Tensor) -> Tensor:
        x += update
        return x
