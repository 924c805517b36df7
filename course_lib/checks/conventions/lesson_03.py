"""Feed-forward: what layer_norm is given, the order of axes, names of layers."""

from __future__ import annotations

from torch import Tensor

from course_lib.checks.conventions.axes_otherwise import Axes, axis_conventions
from course_lib.checks.conventions.changes import (
    moved,
    on,
    parameters_renamed,
    phrases,
    self_inverse,
    value,
)
from course_lib.checks.conventions.convention import Convention, Translation


def _negative(x: Tensor) -> Tensor:
    return -x


def _layers_called(first: str, second: str) -> Convention:
    edits = (
        ("`expand`, with `expand.weight`", f"`{first}`, with `{first}.weight`"),
        ("`expand.bias`", f"`{first}.bias`"),
        ("`contract`, with `contract.weight`", f"`{second}`, with `{second}.weight`"),
        ("`contract.bias`", f"`{second}.bias`"),
        (
            "named expand (d_model to d_ff) and contract",
            f"named {first} (d_model to d_ff) and {second}",
        ),
        (
            "self.contract(self.dropout(... (self.expand(x))))",
            f"self.{second}(self.dropout(... (self.{first}(x))))",
        ),
    )
    return Convention(
        f"layers_are_{first}_{second}",
        "names of the layers",
        f"The two linear layers are called **`{first}`** and **`{second}`**.",
        {"03.feed_forward": parameters_renamed(edits, expand=first, contract=second)},
    )


def _norm_called(name: str) -> Convention:
    edits = (
        ("`norm`, with `norm.weight`", f"`{name}`, with `{name}.weight`"),
        ("`norm.bias`", f"`{name}.bias`"),
        ("self.norm(x", f"self.{name}(x"),
    )
    return Convention(
        f"norm_is_{name}",
        "name of the norm",
        f"The norm is called **`{name}`**.",
        {"03.add_norm": parameters_renamed(edits, norm=name)},
    )


_FORMULA = r"\odot \text{weight} + \text{bias}"
CONVENTIONS = (
    Convention(
        "weight_from_one",
        "weight",
        "`weight` is stored as its **difference from one**: multiply by 1 + `weight`, so that "
        "zeros change nothing.",
        {
            "03.layer_norm": Translation(
                on(weight=lambda w: w - 1),
                on(weight=lambda w: w + 1),
                edits=(
                    ("then multiply by `weight` (D,)", "then multiply by 1 + `weight` (D,)"),
                    (r"\odot \text{weight}", r"\odot (1 + \text{weight})"),
                    ("torch.sqrt(... + eps) * weight", "torch.sqrt(... + eps) * (...)"),
                    ("With weight 1 and bias 0", "With weight 0 and bias 0"),
                ),
            )
        },
    ),
    Convention(
        "bias_subtracted",
        "bias",
        "`bias` is **subtracted**, not added.",
        {
            "03.layer_norm": self_inverse(
                _negative,
                "bias",
                edits=(
                    ("and add `bias` (D,)", "and subtract `bias` (D,)"),
                    (r"+ \text{bias}", r"- \text{bias}"),
                    (
                        "You add the bias before you multiply",
                        "You subtract the bias before you multiply",
                    ),
                ),
            )
        },
        phrases(
            {
                "eps) * weight + bias.": "eps) * weight, and the bias.",
                "eps) * (...) + bias.": "eps) * (...), and the bias.",
            }
        ),
    ),
    Convention(
        "vectors_first",
        "vectors",
        "A vector runs along the **first axis**: x is (D, …).",
        {
            "03.layer_norm": Translation(
                on(x=moved(-1, 0)),
                on(x=moved(0, -1)),
                value(moved(-1, 0)),
                edits=(
                    ("x (…, D)", "x (D, …)"),
                    ("any number of axes in front of D", "any number of axes after D"),
                    ("(…, D) to (…, D)", "(D, …) to (D, …)"),
                    ("over the last axis only", "over the first axis only"),
                    ("has lost the last axis", "has lost the first axis"),
                    (
                        "Broadcasting aligns shapes from the right: with x of shape (2, 3, 4), a "
                        "mean of shape (2, 3) raises an error. If all sizes are equal there's no "
                        "error, and each vector gets another vector's mean or variance.",
                        "A tensor of which an axis is averaged lines up with other axes than you "
                        "mean, unless that axis stays with size 1.",
                    ),
                ),
            )
        },
    ),
    _layers_called("inner", "outer"),
    _layers_called("up", "down"),
    _norm_called("layer_norm"),
    _norm_called("ln"),
    _norm_called("normalise"),
    # Not seq_first: the network is the same at every position, so the public answer would fit.
    *axis_conventions({"03.feed_forward": Axes()}, ("features_second", "batch_last")),
)
