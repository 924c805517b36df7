"""03.feed_forward: The same network at every position."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.engine import Call, Draw, Item, Probe, variation
from course_lib.checks.engine.adapters import Finding, compare_under_dropout, use_module
from course_lib.checks.items.dropout_misconceptions import DROPS_ALWAYS, add_wrong_rates
from course_lib.model import feed_forward as model


def _network(draw: Draw, x: Tensor, d_ff: int, about: str, **kwargs: Any) -> Call:
    init: dict[str, Any] = {"d_model": x.size(-1), "d_ff": d_ff, "dropout": 0.0}
    weights = {name: w.to(x.dtype) for name, w in draw.weights(model.FeedForward(**init)).items()}
    return Call((x,), {"init": init, "weights": weights, **kwargs}, about=about)


_WIDTH, _SHARE = 16, 0.25  # of the input; dropout rate


def _pairs(draw: Draw, *positional: float, **init: float) -> list[Call]:
    """Each output is 10 plus the sum of two hidden units, both equal to the input there."""
    eye = torch.eye(_WIDTH)
    weights = {
        "expand.weight": torch.cat((eye, eye)),
        "expand.bias": torch.zeros(2 * _WIDTH),
        "contract.weight": torch.cat((eye, eye), dim=1),
        "contract.bias": torch.full((_WIDTH,), 10.0),
    }
    kwargs = {"positional": positional, "init": init, "weights": weights}
    x = 1 + draw.normal(4, 30, _WIDTH).sigmoid()
    rate = f"dropout {_SHARE}" if _SHARE in (*positional, *init.values()) else "no dropout given"
    return [Call((x,), {**kwargs, "train": train}, about=rate) for train in (False, True)]


def _find_in_pairs(share: float, call: Call, clean: Tensor, noisy: Tensor) -> Finding | None:
    """What is wrong with the output of ``_pairs`` in training mode, with this dropout rate."""
    if torch.allclose(noisy, clean, atol=1e-4):
        return "in training mode", "some hidden units dropped", "nothing dropped"
    if (zeros := noisy == 0).any():
        level = noisy[~zeros] / clean[~zeros]
        alone = level.std() < 1e-3
        where = "the output in training mode" if alone else "the output, and more, in training"
        return where, "no zeros, since the bias comes last", "zeros"
    left = (noisy - 10.0) / call.args[0]  # how many of the two are left, times their scale
    if (left < 0.01).all(dim=-1).any():
        where = "the hidden units of a position"
        return where, "each dropped independently", "all dropped at once"
    scale = left[left > 0.01].min()
    if left.max() < 1.1 * scale:
        where = "two hidden units with the same input"
        return where, "each dropped independently", "both dropped, or neither"
    left = left / scale
    if (left - left.round()).abs().max() > 1e-3 or left.max() > 2.1:
        where = "the hidden units in training mode"
        return where, "each dropped or scaled by one factor", "others"
    if abs((found := 1 - float(left.mean()) / 2) - share) > 0.05:
        where = "the share of hidden units that are dropped"
        return where, f"about {share:.2f}", f"{found:.2f}"
    if abs(float(scale) * (1 - share) - 1) > 0.01:
        where = "the factor on the hidden units that dropout keeps"
        return where, f"1 / {1 - share:g}", f"{float(scale):.4g}"
    if torch.equal(left[0].round(), left[1].round()):
        return "the hidden units dropped in two sentences", "different ones", "the same"
    return None


item = Item(
    "03.feed_forward",
    reference=model.FeedForward,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe(
            "it is a linear layer, a ReLU, and a linear layer",
            lambda draw: [_network(draw, draw.normal(2, 3, 4), 6, "d_model 4, d_ff 6")],
        ),
        Probe(
            "each position is processed on its own, whatever the shape",
            lambda draw: [
                _network(draw, draw.normal(1, 1, 4), 7, "a single position"),
                _network(draw, draw.normal(5, 5, 5), 5, "all sizes equal"),
                _network(draw, draw.strided(2, 6, 3), 8, "a tensor that is not contiguous"),
                _network(draw, 50 * draw.normal(2, 3, 4), 6, "large numbers"),
            ],
        ),
        Probe(
            "the hidden layer may have any width",
            lambda draw: [
                _network(draw, draw.normal(2, 4, 6), 3, "narrower than d_model"),
                _network(draw, draw.normal(2, 4, 6), 1, "a single hidden unit"),
                _network(draw, draw.normal(2, 3, 4, dtype=torch.float64), 16, "float64"),
                _network(
                    draw,
                    draw.normal(2, 3, 4),
                    8,
                    "dropout left at its default",
                    init={"d_model": 4, "d_ff": 8},
                ),
            ],
        ),
        Probe(
            "dropout is applied to the hidden layer, in training mode only",
            lambda draw: _pairs(draw, d_model=_WIDTH, d_ff=2 * _WIDTH, dropout=_SHARE),
            compare=compare_under_dropout(partial(_find_in_pairs, _SHARE)),
        ),
        Probe(
            "the arguments are d_model, d_ff and the dropout rate, in this order",
            lambda draw: _pairs(draw, _WIDTH, 2 * _WIDTH, _SHARE),
            compare=compare_under_dropout(partial(_find_in_pairs, _SHARE)),
        ),
        Probe(
            "the dropout rate is 0.1 by default",
            lambda draw: _pairs(draw, _WIDTH, 2 * _WIDTH),
            compare=compare_under_dropout(partial(_find_in_pairs, 0.1)),
        ),
        Probe(
            "all four parameters get gradients",
            lambda draw: [
                _network(draw, draw.normal(2, 5, 4), 6, "gradients of the parameters", learns=True)
            ],
        ),
    ],
    hints=(
        "The first layer computes d_ff hidden units for each position. The ReLU sets the "
        "negative ones to zero, and the second layer combines the others. Which of the three "
        "needs parameters?",
        "In the constructor, create two nn.Linear: expand leads from d_model to d_ff, and "
        "contract leads back. Dropout belongs between them, on the hidden layer.",
        "Layers are called like functions, and calls nest: g(f(x)) applies f to x, and then g to "
        "the result. ReLU is a method of a tensor, x.relu(). What happens to the hidden layer "
        "before it reaches the last layer, and in which order?",
    ),
)


class _Network(nn.Module):
    """A correct module; each misconception below changes one thing."""

    activation: Callable[[Tensor], Tensor] = staticmethod(F.relu)

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def first(self, x: Tensor) -> Tensor:
        return self.expand(x)

    def drop(self, hidden: Tensor) -> Tensor:
        return self.dropout(hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.drop(self.activation(self.first(x))))


item.add(
    variation(_Network, "NoRelu", activation=staticmethod(lambda hidden: hidden)),
    "No activation takes effect between your two linear layers.",
    why="Without it, two linear layers in a row are equivalent to one: the hidden layer would be "
    "useless.",
    hint="Which non-linear function does equation 2 use? Does its result reach the second layer?",
)


@item.misconception(
    "Your ReLU comes last, so no output is negative.",
    why="The result is added to the residual stream, so it must be able to be negative, too. And "
    "without an activation between them, the two linear layers are equivalent to one.",
    hint="Where is the max in equation 2?",
)
class ReluAtTheEnd(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.contract(self.drop(self.first(x))))


@item.misconception(
    "You have two ReLUs, and the second one sets all negative outputs to zero.",
    why="The result is added to the residual stream, so it must be able to be negative, too.",
    hint="How often does max occur in equation 2?",
)
class ReluTwice(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.activation(super().forward(x))


@item.misconception(
    "Your ReLU comes before the first linear layer, so the negative elements of x are lost.",
    why="The ReLU belongs on the hidden units. x itself has negative elements that matter.",
    hint="Which numbers go into the max of equation 2?",
)
class ReluAtTheStart(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.drop(self.first(self.activation(x))))


item.add(
    variation(_Network, "GeluForRelu", activation=staticmethod(F.gelu)),
    "Your activation is GELU instead of ReLU.",
    why="One of the five published systems uses GELU, and it works as well. But weights trained "
    "with one don't work with the other, and the paper has max(0, …).",
    hint="Which activation is max(0, x)?",
)
item.spelling_with("GeluForRelu", activation=staticmethod(partial(F.gelu, approximate="tanh")))
item.add(
    variation(_Network, "SigmoidForRelu", activation=staticmethod(torch.sigmoid)),
    "Your activation is a sigmoid instead of ReLU.",
    why="A sigmoid is never zero, and for large inputs its gradient nearly vanishes.",
    hint="What does equation 2 do with a negative number, and with a positive one?",
)
item.add(
    variation(_Network, "TanhForRelu", activation=staticmethod(torch.tanh)),
    "Your activation is tanh instead of ReLU.",
    why="tanh never exceeds 1, and for large inputs its gradient nearly vanishes. ReLU leaves "
    "positive numbers as they are.",
    hint="What does equation 2 do with a negative number, and with a positive one?",
)
item.add(
    variation(_Network, "LeakyRelu", activation=staticmethod(F.leaky_relu)),
    "Your activation lets a hundredth of each negative number through.",
    why="A leaky ReLU multiplies negative numbers by 0.01 instead of setting them to zero. The "
    "paper has max(0, …), and a hidden unit that is 0 takes no part in the result.",
    hint="What is max(0, x) for a negative x?",
)
item.add(
    variation(_Network, "MinForMax", activation=staticmethod(lambda hidden: hidden.clamp(max=0))),
    "Your activation keeps the negative numbers and sets the positive ones to zero.",
    why="That's min(0, …). ReLU is max(0, …).",
    hint="What is max(0, x) for x = 2, and for x = -2?",
)
item.add(
    variation(
        _Network, "SoftmaxForRelu", activation=staticmethod(lambda hidden: hidden.softmax(dim=-1))
    ),
    "Your hidden units go through a softmax instead of ReLU.",
    why="A softmax makes the hidden units of a position compete for a sum of 1. In equation 2 "
    "each is on its own, and as many as it takes can be active.",
    hint="Which function does equation 2 use, and does it look at one number or at many?",
)


@item.misconception(
    "You add x to the result.",
    why="That's the residual connection, which AddNorm puts around the network. Here x would be "
    "added twice.",
    hint="Does equation 2 add x itself?",
)
class ResidualInside(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


@item.misconception(
    "The result goes through a LayerNorm.",
    why="That's the norm of AddNorm, which comes after the sum with x. Equation 2 has none.",
    hint="What does equation 2 do with the output of the second layer?",
)
class NormInside(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(super().forward(x), x.shape[-1:])


@item.misconception(
    "The bias of your first layer has no effect.",
    why="Equation 2 is max(0, xW₁ + b₁)W₂ + b₂. Without b₁, every hidden unit switches on at 0.",
    hint="Which of the four parameters does your forward never use?",
)
class FirstBiasLeftOut(_Network):
    def first(self, x: Tensor) -> Tensor:
        return x @ self.expand.weight.T


@item.misconception(
    "Nothing is dropped in training mode.",
    why="One of the five published systems closes a bracket too late, and so passes its "
    "dropout to nn.Linear as the third argument, which is bias. That raises no error, but "
    "there's no dropout either.",
    hint="Do the hidden units go through dropout in training mode, with the right rate, and do "
    "you use what it returns?",
)
class DropsNothing(_Network):
    def drop(self, hidden: Tensor) -> Tensor:
        return hidden


@item.misconception(
    "You apply dropout to the output of the network.",
    why="AddNorm already does that (section 5.4 of the paper). This dropout is for the hidden "
    "layer.",
    hint="Between which two layers should it be?",
)
class DropsTheOutput(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.contract(self.activation(self.first(x))))


@item.misconception(
    "You apply dropout twice: to the hidden layer, and to the output.",
    why="AddNorm already drops a share of the output (section 5.4 of the paper), so it would be "
    "dropped twice.",
    hint="How many of your dropouts are between the two layers?",
)
class DropsTwice(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(super().forward(x))


@item.misconception(
    "You apply dropout to x, before the first layer.",
    why="Then all hidden units lose the same elements of x. On the hidden layer, each unit is "
    "dropped independently.",
    hint="Between which two layers should it be?",
)
class DropsTheInput(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.activation(self.first(self.dropout(x))))


@item.misconception(**DROPS_ALWAYS)
class DropsAlways(_Network):
    def drop(self, hidden: Tensor) -> Tensor:
        return F.dropout(hidden, self.dropout.p)


item.spelling_with("DropsAlways", drop=lambda module, hidden: F.dropout(hidden))
add_wrong_rates(item, _Network, call="FeedForward(d_model, d_ff)")


@item.misconception(
    "Your constructor takes d_ff before d_model.",
    why="Calls such as FeedForward(512, 2048) then get a network for vectors of 2048 numbers.",
    hint="In which order does your constructor take its arguments, and in which order does the "
    "task list them?",
)
class TakesTheHiddenWidthFirst(_Network):
    def __init__(self, d_ff: int, d_model: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, d_ff, dropout)
