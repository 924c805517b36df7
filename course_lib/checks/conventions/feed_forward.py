"""Feed-forward: what layer_norm is given, the order of axes, names of layers."""

from __future__ import annotations

import re

from torch import Tensor

from course_lib.checks.conventions.axes_otherwise import Axes, axis_conventions
from course_lib.checks.conventions.changes import (
    moved,
    on,
    parameters_renamed,
    phrases,
    self_inverse,
    value,
    words,
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
        ('"""norm(x +', f'"""{name}(x +'),
    )
    return Convention(
        f"norm_is_{name}",
        "name of the norm",
        f"The norm is called **`{name}`**.",
        {"03.add_norm": parameters_renamed(edits, norm=name)},
    )


_MOVED = (
    "with the ReLU in place of the dots.",
    "with the ReLU in place of the dots; nn.Linear works on the last axis, so move the axes before "
    "and after.",
)
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
                    ("weight 1 and bias 0", "weight 0 and bias 0"),
                    ("it is multiplied by weight,", "it is multiplied by 1 + weight,"),
                    ("before you multiply by the weight.", "before you multiply by 1 + weight."),
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
                    ("and bias is added", "and bias is subtracted"),
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
                "eps) * weight + bias.": "eps) * weight - bias.",
                "eps) * (...) + bias.": "eps) * (...) - bias.",
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
                    (
                        "over the last axis only, and keep it as an axis of size 1 so that they "
                        "broadcast.",
                        "over the first axis only. Broadcasting aligns shapes from the right, so "
                        "weight and bias need axes of size 1 behind D.",
                    ),
                    (
                        re.compile(r"eps\) \* (weight|\(\.\.\.\)) ([+-]) bias\."),
                        r"eps) * \1 \2 bias, with weight and bias in the shape (D, 1, ..., 1).",
                    ),
                ),
                left_out=("keepdim_forgotten",),  # the mean broadcasts all the same
            )
        },
        words({"column": "feature", "columns": "features"}),
    ),
    _layers_called("inner", "outer"),
    _layers_called("up", "down"),
    _norm_called("layer_norm"),
    _norm_called("ln"),
    _norm_called("normalise"),
    # Not seq_first: the network is the same at every position, so the public answer would fit.
    *axis_conventions(
        {"03.feed_forward": Axes(edits=(_MOVED,))}, ("features_second", "batch_last")
    ),
)
