"""04.compare: The same words, the same weights."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from course_lib import model
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SENTENCES = 3
SIZES = [(2, 8), (2, 12), (3, 12), (3, 16), (4, 12), (4, 16)]  # heads, d_head: no two roots alike


@dataclass(frozen=True)
class Two:
    """Two attentions over the same batch, with the same matrices.

    Attributes:
        honest: "A" or "B"; the other has the error.
        third: the sentence that is unlike the others.
        first: where a word stands in it for the first time.
        second: where it stands again.
        weights: (sentence, head, query, key) of A and B.
        outputs: (sentence, query, d_model) of A and B.
    """

    honest: str
    error: str
    _: KW_ONLY
    third: int
    first: int
    second: int
    weights: dict[str, Tensor]
    outputs: dict[str, Tensor]

    @property
    def factor(self) -> float:
        """How many times more B's logarithms of weights differ within a row, or A's."""
        a, b = (self.weights[name].log().std(-1).mean() for name in "AB")
        return float(max(a / b, b / a))


def _attend(
    x: Tensor, matrices: Sequence[Tensor], *, n_heads: int, error: str
) -> tuple[Tensor, Tensor]:
    """Weights and output of multi-head attention with one error, or with none if it is ""."""

    def split(y: Tensor) -> Tensor:
        if error == "split":
            return y.view(SENTENCES, n_heads, x.size(1), -1)
        return model.split_heads(y, n_heads)

    query, key, value = (split(x @ matrix) for matrix in matrices[:3])
    if error == "other_sentence":
        key = key.roll(1, 0)
    under_the_root = {"d_model": x.size(-1), "not_divided": 1}.get(error, query.size(-1))
    scores = query @ key.mT / math.sqrt(under_the_root)
    weights = scores.softmax(-2 if error == "over_queries" else -1)
    context = weights @ value
    merged = context.reshape(x.shape) if error == "merged" else model.merge_heads(context)
    return weights, merged @ matrices[3]


def _make(drawn: random.Random) -> Two:
    error, honest, third = drawn.choice([*ERRORS]), drawn.choice("AB"), drawn.randrange(SENTENCES)
    (n_heads, d_head), length = drawn.choice(SIZES), drawn.choice([5, 7, 9])
    second = drawn.randrange(1, length)
    first, width = drawn.randrange(second), n_heads * d_head
    x = torch.randn(length, width).repeat(SENTENCES, 1, 1)
    x[third] = torch.randn(length, width)
    x[third, second] = x[third, first]
    matrices = [torch.randn(width, width) / math.sqrt(width) for _ in range(4)]
    made = {
        name: _attend(x, matrices, n_heads=n_heads, error="" if name == honest else error)
        for name in "AB"
    }
    weights, outputs = ({name: each[i] for name, each in made.items()} for i in range(2))
    return Two(
        honest, error, third=third, first=first, second=second, weights=weights, outputs=outputs
    )


def _show(run: Two) -> Outcome:
    _, n_heads, length, _ = run.weights["A"].shape
    values = {f"weights_{name}": weights for name, weights in run.weights.items()}
    return Outcome(
        text=(
            f"{SENTENCES} sentences of {length} words, {n_heads} heads, "
            f"d_model = {run.outputs['A'].size(-1)}\n"
            "below: the weights of head 0"
        ),
        values=values | {f"output_{name}": output for name, output in run.outputs.items()},
        picture=lambda: _picture(run),
    )


def _picture(run: Two) -> Axes:
    from matplotlib.figure import Figure

    from course_lib.viz import plot_heatmap
    from course_lib.viz.alt_text import set_alt_text

    figure = Figure(figsize=(7.5, 5.4), layout="constrained")
    grid = figure.subplots(2, SENTENCES, squeeze=False)
    highest = max(float(weights[:, 0].max()) for weights in run.weights.values())
    for row, name in zip(grid, "AB", strict=True):
        for sentence, ax in enumerate(row):
            plot_heatmap(
                run.weights[name][sentence, 0],
                rows="query",
                columns="key",
                title=f"{name}, sentence {sentence}",
                value="weight",
                quantity="attention",
                limits=(0.0, highest),
                ax=ax,
            )
            positions = range(run.weights[name].size(-1))
            ax.set(xticks=positions, yticks=positions)
    first: Axes = grid[0, 0]
    # Not the ranges of all six maps, by which equal sentences could be told without a look.
    set_alt_text(
        figure,
        "Weights of head 0, of A above and of B below, with a map for each of the three sentences: "
        f"a row for each query, a column for each key. The largest weight is {highest:.2f}.",
    )
    return first


ERRORS = {
    "over_queries": "the softmax runs over the queries",
    "split": "`view` alone splits into heads, without a transpose",
    "merged": "`reshape` alone merges the heads, without a transpose",
    "other_sentence": "the queries of a sentence meet the keys of another one",
    "d_model": "the scores are divided by the root of `d_model`",
    "not_divided": "the scores are not divided",
}
SAYS = {
    "over_queries": "The columns of the other one's weights sum to 1, as if each key had to share "
    "itself out among the queries.",
    "split": "In the other one, a word has another row of weights at position {second} than at "
    "position {first}.",
    "merged": "The other one has the same weights, and only the outputs show its error: those of "
    "positions {first} and {second} should be equal.",
    "other_sentence": "In the other one, the weights of a sentence depend on the sentences beside "
    "it, so two equal sentences have different ones.",
    "d_model": "The other one's weights are too even. Their logarithms differ {factor:.2f} times "
    "less within a row: that is the root of the number of heads.",
    "not_divided": "The other one's weights are too sharp. Their logarithms differ {factor:.2f} "
    "times more within a row: that is the root of d_head.",
}
RULES = (
    "Which rules must all weights and outputs obey here: for a row, for the same word twice, for "
    "the same sentence twice? If both obey them, compare how much the logarithms of the weights "
    "differ within a row."
)
run = NumberedRun(
    id="04.compare",
    make=_make,
    show=_show,
    questions={
        "honest": which_is_right(lambda run: run.honest, look=RULES),
        "again": Number(
            what="the position at which the word stands again",
            right=lambda run: run.second,
            look="In the right one, the same word has the same row of weights in every head, and "
            "the same output, wherever it stands in its sentence. Count positions from 0.",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "over_queries": "Then the columns of the wrong one's weights would sum to 1, and "
                "its rows would not.",
                "split": "Then, in the wrong one, the word that stands in its sentence twice would "
                "have two different rows.",
                "merged": "Then A and B would have the same weights, and different outputs.",
                "other_sentence": "Then, in the wrong one, the two equal sentences would have "
                "different weights.",
                "d_model": "Then the logarithms of the weights would differ less in the wrong one, "
                "in each row by a factor of √d_head / √d_model.",
                "not_divided": "Then the logarithms of the weights would differ more in the wrong "
                "one, in each row by a factor of √d_head.",
            },
        ),
    },
    says=lambda run: (
        f"{run.honest} is right. "
        + SAYS[run.error].format(first=run.first, second=run.second, factor=run.factor)
    ),
)
item = own_number_item(
    run,
    hints=(
        "Without positions, attention knows a word only by its vector. What must then be the same "
        "for two equal words of a sentence, and what for two equal sentences?",
        "Take these rules one by one, for A and for B: rows sum to 1; two equal sentences have "
        "equal weights; two equal words have equal rows; two equal words have equal outputs. If "
        "both obey all of them, only the size of the scores is left. Logarithms of weights are "
        "scores, up to one number for each row.",
        'w = run["weights_A"]: w.sum(-1); (w[0] - w[1]).abs().max() for each pair of sentences; '
        "torch.cdist(w[i, 0], w[i, 0]) is 0 where two rows are equal; and w.log().std(-1), "
        "divided by that of B.",
    ),
)
