"""03.feed_forward: Each position by itself."""

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


_WIDTH, _SHARE = 16, 0.25


def _pairs(draw: Draw) -> list[Call]:
    """Each output is ten plus the sum of two hidden units, both equal to the input there."""
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
    """The first answer is the reference's; the second shows which of each two units fell."""
    if difference := answers_differ(expected[0], answers[0], tolerance=1e-4):
        quiet = answers_differ(expected[0], answers[1], tolerance=1e-4) is None
        where = "in use, and not in training" if quiet else "in use"
        return Difference(difference.kind, difference.expected, difference.got, where)
    noisy, clean = answers[1].value, expected[0].value
    if not isinstance(noisy, Tensor) or noisy.shape != clean.shape:
        return answers_differ(expected[0], answers[1])
    if torch.allclose(noisy, clean, atol=1e-4):
        return Difference("value", "some hidden units at zero", "none", "in training")
    if (zeros := noisy == 0).any():
        alone = torch.allclose(noisy[~zeros] * (1 - _SHARE), clean[~zeros], atol=1e-3)
        where = "outputs in training" if alone else "outputs, and more, in training"
        return Difference("value", "no output at zero", "some", where)
    left = (noisy - 10.0) / calls[1].args[0] * (1 - _SHARE)  # how many of the two are left
    if (left - left.round()).abs().max() > 1e-3 or left.max() > 2.1:
        where = "growth of what is left"
        return Difference("value", "1 / 0.75", "another factor", where)
    if abs((share := 1 - float(left.mean()) / 2) - _SHARE) > 0.05:
        return Difference("value", f"a share of {_SHARE}", f"{share:.2f}", "hidden units that fall")
    if abs(float((left.round() == 1).float().mean()) - 2 * _SHARE * (1 - _SHARE)) > 0.08:
        where = "of two units with the same input"
        return Difference("value", "each to fall by itself", "both or none", where)
    if torch.equal(left[0].round(), left[1].round()):
        where = "units that fall in two sentences"
        return Difference("value", "others in each", "the same", where)
    return None


item = Item(
    "03.feed_forward",
    reference=model.FeedForward,
    use=use_module,
    tolerance=1e-4,
    probes=[
        Probe(
            "it is a linear layer, a ReLU and a linear layer",
            lambda draw: [_network(draw, draw.normal(2, 3, 4), 6, "d_model 4, d_ff 6")],
        ),
        Probe(
            "no position sees another, whatever the shape",
            lambda draw: [
                _network(draw, draw.normal(1, 1, 4), 7, "a single position"),
                _network(draw, draw.normal(5, 5, 5), 5, "all sizes alike"),
                _network(draw, draw.strided(2, 6, 3), 8, "not contiguous"),
                _network(draw, 50 * draw.normal(2, 3, 4), 6, "large numbers"),
            ],
        ),
        Probe(
            "the hidden layer may be of any width",
            lambda draw: [
                _network(draw, draw.normal(2, 4, 6), 3, "narrower than d_model"),
                _network(draw, draw.normal(2, 4, 6), 1, "a single hidden unit"),
                _network(draw, draw.normal(2, 3, 4, dtype=torch.float64), 16, "float64"),
                _network(
                    draw,
                    draw.normal(2, 3, 4),
                    8,
                    "dropout left as it is",
                    init={"d_model": 4, "d_ff": 8},
                ),
            ],
        ),
        Probe(
            "dropout falls on the hidden layer, and in training alone",
            _pairs,
            _compare_hidden_dropout,
        ),
        Probe(
            "all four parameters learn",
            lambda draw: [
                _network(draw, draw.normal(2, 5, 4), 6, "gradients of the parameters", learns=True)
            ],
        ),
    ],
    hints=(
        "The network asks F questions, silences those that come out negative, and adds up answers.",
        "Two nn.Linear, named expand (D to F) and contract (F to D), and a dropout between them, "
        "on the hidden layer.",
        "self.contract(self.dropout(... (self.expand(x)))), with the ReLU in place of the dots.",
    ),
)


class _Network(nn.Module):
    """A right one; the misconceptions below change one thing of it."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.contract(self.dropout(F.relu(self.expand(x))))
        return hidden


@item.misconception(
    "There is nothing between your two linear layers.",
    why="Two matrices in a row are one matrix: all the width in between would be for nothing.",
    hint="What lets a unit say 'only if'?",
)
class NoRelu(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(self.expand(x)))


@item.misconception(
    "Your ReLU stands at the end: no output is negative.",
    why="The result is added to the residual stream. It has to be able to take away, too. And the "
    "two matrices without a kink between them are one.",
    hint="Where in equation 2 does the max stand?",
)
class ReluAtTheEnd(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.contract(self.dropout(self.expand(x))))


@item.misconception(
    "You have two ReLUs, and the second one cuts off all negative outputs.",
    why="The result is added to the residual stream. It has to be able to take away, too.",
    hint="How many max are there in equation 2?",
)
class ReluTwice(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.contract(self.dropout(F.relu(self.expand(x)))))


@item.misconception(
    "Your ReLU stands before the first linear layer: what is negative in x is lost.",
    why="It is the questions that may be silenced, not the vector that is asked.",
    hint="Which numbers go into the max of equation 2?",
)
class ReluAtTheStart(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(self.expand(F.relu(x))))


@item.misconception(
    "Your activation is GELU where ReLU is asked for.",
    why="One of the five published systems takes GELU, and it works as well. But weights trained "
    "with one do not fit the other, and the paper has max(0, …).",
    hint="What is max(0, x) called?",
)
class GeluForRelu(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(F.gelu(self.expand(x))))


@item.misconception(
    "Your activation is a sigmoid where ReLU is asked for.",
    why="A sigmoid never keeps silent, and for large questions its gradient is nearly zero.",
    hint="What does equation 2 do with a negative number, and with a positive one?",
)
class SigmoidForRelu(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(torch.sigmoid(self.expand(x))))


@item.misconception(
    "You add x to the result.",
    why="That is the residual, and it is the business of AddNorm, around the network. Here it "
    "would be added twice.",
    hint="Is there a plain x in equation 2?",
)
class ResidualInside(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


@item.misconception(
    "In training nothing is dropped.",
    why="One of the five published systems closed a bracket too late and gave its dropout to "
    "nn.Linear, as the third argument, which is bias. No error came, and no dropout either.",
    hint="Is there a dropout among the module's children, and is it called?",
)
class DropsNothing(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(F.relu(self.expand(x)))


@item.misconception(
    "Your dropout falls on the output of the network.",
    why="There AddNorm has one of its own (section 5.4 of the paper). This one is for the hidden "
    "layer.",
    hint="Between which two layers should it stand?",
)
class DropsTheOutput(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.contract(F.relu(self.expand(x))))


@item.misconception(
    "Your dropout falls on x, before the first layer.",
    why="All questions then get to see the same holes. On the hidden layer each unit falls by "
    "itself.",
    hint="Between which two layers should it stand?",
)
class DropsTheInput(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(F.relu(self.expand(self.dropout(x))))


@item.misconception(
    "Your dropout never stops, not even in eval mode.",
    why="The function F.dropout does not know the module's mode. Two translations of one sentence "
    "would differ.",
    hint="How does dropout learn whether the module is training? nn.Dropout asks by itself.",
)
class DropsAlways(_Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(F.dropout(F.relu(self.expand(x)), self.dropout.p))
