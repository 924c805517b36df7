"""03.feed_forward: The same network at every position."""

from __future__ import annotations

from collections.abc import Sequence
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


def _network(draw: Draw, x: Tensor, d_ff: int, about: str, **kwargs: Any) -> Call:
    init: dict[str, Any] = {"d_model": x.size(-1), "d_ff": d_ff, "dropout": 0.0}
    weights = {name: w.to(x.dtype) for name, w in draw.weights(model.FeedForward(**init)).items()}
    return Call((x,), {"init": init, "weights": weights, **kwargs}, about)


_WIDTH, _SHARE = 16, 0.25  # of the input; dropout rate


def _pairs(draw: Draw) -> list[Call]:
    """Each output is 10 plus the sum of two hidden units, both equal to the input there."""
    eye = torch.eye(_WIDTH)
    weights = {
        "expand.weight": torch.cat((eye, eye)),
        "expand.bias": torch.zeros(2 * _WIDTH),
        "contract.weight": torch.cat((eye, eye), dim=1),
        "contract.bias": torch.full((_WIDTH,), 10.0),
    }
    init = {"d_model": _WIDTH, "d_ff": 2 * _WIDTH, "dropout": _SHARE}
    x = 1 + draw.normal(4, 30, _WIDTH).sigmoid()
    return [
        Call((x,), {"init": init, "weights": weights, "train": train}, "dropout 0.25")
        for train in (False, True)
    ]


def _compare_hidden_dropout(
    calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
) -> Difference | None:
    """The first answer must be the reference's; the second shows which hidden units are dropped."""
    if difference := answers_differ(expected[0], answers[0], tolerance=1e-4):
        unchanged = answers_differ(expected[0], answers[1], tolerance=1e-4) is None
        where = (
            "in evaluation mode, and not in training mode" if unchanged else "in evaluation mode"
        )
        return Difference(difference.kind, difference.expected, difference.got, where)
    noisy, clean = answers[1].value, expected[0].value
    if not isinstance(noisy, Tensor) or noisy.shape != clean.shape:
        return answers_differ(expected[0], answers[1])
    if torch.allclose(noisy, clean, atol=1e-4):
        return Difference("value", "some hidden units dropped", "none", "training mode")
    if (zeros := noisy == 0).any():
        alone = torch.allclose(noisy[~zeros] * (1 - _SHARE), clean[~zeros], atol=1e-3)
        where = "output in training mode" if alone else "output and more in training mode"
        return Difference("value", "no zeros", "some", where)
    left = (noisy - 10.0) / calls[1].args[0] * (1 - _SHARE)  # how many of the two are left
    if (left - left.round()).abs().max() > 1e-3 or left.max() > 2.1:
        where = "scale of what dropout keeps"
        return Difference("value", "1 / 0.75", "another factor", where)
    if abs((share := 1 - float(left.mean()) / 2) - _SHARE) > 0.05:
        return Difference("value", f"a share of {_SHARE}", f"{share:.2f}", "hidden units dropped")
    if abs(float((left.round() == 1).float().mean()) - 2 * _SHARE * (1 - _SHARE)) > 0.08:
        where = "two hidden units with the same input"
        return Difference("value", "each dropped independently", "both or neither", where)
    if torch.equal(left[0].round(), left[1].round()):
        where = "hidden units dropped in two sentences"
        return Difference("value", "different ones", "the same", where)
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
            _pairs,
            _compare_hidden_dropout,
        ),
        Probe(
            "all four parameters get gradients",
            lambda draw: [
                _network(draw, draw.normal(2, 5, 4), 6, "gradients of the parameters", learns=True)
            ],
        ),
    ],
    hints=(
        "The first layer computes d_ff hidden units, the ReLU sets the negative ones to zero, and "
        "the second layer combines the others.",
        "Two nn.Linear, named expand (d_model to d_ff) and contract (d_ff to d_model), and dropout "
        "between them, on the hidden layer.",
        "self.contract(self.dropout(... (self.expand(x)))), with the ReLU in place of the dots.",
    ),
)


class _Network(nn.Module):
    """A correct module; each misconception below changes one thing."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.contract(self.dropout(F.relu(self.expand(x))))
        return hidden


@item.misconception(
    "There's no activation between your two linear layers.",
    why="Without it, two linear layers in a row are equivalent to one: the hidden layer would be "
    "useless.",
    hint="Which non-linear function does equation 2 use?",
)
class NoRelu(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(self.expand(x)))


@item.misconception(
    "Your ReLU comes last, so no output is negative.",
    why="The result is added to the residual stream, so it must be able to be negative, too. And "
    "without an activation between them, the two linear layers are equivalent to one.",
    hint="Where is the max in equation 2?",
)
class ReluAtTheEnd(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.contract(self.dropout(self.expand(x))))


@item.misconception(
    "You have two ReLUs, and the second one sets all negative outputs to zero.",
    why="The result is added to the residual stream, so it must be able to be negative, too.",
    hint="How often does max occur in equation 2?",
)
class ReluTwice(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.contract(self.dropout(F.relu(self.expand(x)))))


@item.misconception(
    "Your ReLU comes before the first linear layer, so the negative elements of x are lost.",
    why="The ReLU belongs on the hidden units. x itself has negative elements that matter.",
    hint="Which numbers go into the max of equation 2?",
)
class ReluAtTheStart(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(self.expand(F.relu(x))))


@item.misconception(
    "Your activation is GELU instead of ReLU.",
    why="One of the five published systems uses GELU, and it works as well. But weights trained "
    "with one don't work with the other, and the paper has max(0, …).",
    hint="Which activation is max(0, x)?",
)
class GeluForRelu(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(F.gelu(self.expand(x))))


@item.misconception(
    "Your activation is a sigmoid instead of ReLU.",
    why="A sigmoid is never zero, and for large inputs its gradient nearly vanishes.",
    hint="What does equation 2 do with a negative number, and with a positive one?",
)
class SigmoidForRelu(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(torch.sigmoid(self.expand(x))))


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
    "Nothing is dropped in training mode.",
    why="One of the five published systems closes a bracket too late and passes its dropout rate "
    "to nn.Linear as the third argument, which is bias. That raises no error, but there's no "
    "dropout either.",
    hint="Is there a dropout layer among the module's children, and do you call it?",
)
class DropsNothing(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(F.relu(self.expand(x)))


@item.misconception(
    "You apply dropout to the output of the network.",
    why="AddNorm already does that (section 5.4 of the paper). This dropout is for the hidden "
    "layer.",
    hint="Between which two layers should it be?",
)
class DropsTheOutput(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.contract(F.relu(self.expand(x))))


@item.misconception(
    "You apply dropout to x, before the first layer.",
    why="Then all hidden units lose the same elements of x. On the hidden layer, each unit is "
    "dropped independently.",
    hint="Between which two layers should it be?",
)
class DropsTheInput(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(F.relu(self.expand(self.dropout(x))))


@item.misconception(
    "Your dropout is active in evaluation mode, too.",
    why="By default, F.dropout is in training mode whatever the mode of your module is, and so is "
    "an nn.Dropout created in forward. If you translated a sentence twice, you'd get two different "
    "results.",
    hint="How does dropout find out that your module is in evaluation mode?",
)
class DropsAlways(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(F.dropout(F.relu(self.expand(x)), self.dropout.p))
