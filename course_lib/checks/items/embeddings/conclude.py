"""02.conclude: Do token and position count alike in the sum?"""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model.positions import sinusoidal_positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOKENS = 20


@dataclass(frozen=True)
class Parts:
    """The two parts of a sum.

    Attributes:
        shows: which conclusion they bear out.
        tokens: each token's row as it enters the sum, (token, D).
        positions: the encoding of each position, (position, D).
    """

    shows: str
    tokens: Tensor
    _: KW_ONLY
    positions: Tensor

    @property
    def norms(self) -> float:
        """The mean norm of a token, divided by that of an encoding."""
        return (self.tokens.norm(dim=1).mean() / self.positions.norm(dim=1).mean()).item()

    @property
    def changes(self) -> float:
        """The mean distance of two tokens, divided by that of two encodings."""
        return (torch.pdist(self.tokens).mean() / torch.pdist(self.positions).mean()).item()


def _make(drawn: random.Random) -> Parts:
    shows, d_model = drawn.choice([*SHOWS]), drawn.choice([64, 128, 256])
    positions = sinusoidal_positions(drawn.choice([30, 40, 50]), d_model)
    noise = torch.randn(TOKENS, d_model)
    std = drawn.uniform(0.4, 0.6)  # an encoding's numbers have 0.7
    if shows == "token":
        std = drawn.uniform(2.5, 8)
    elif shows == "position":
        std = drawn.uniform(0.04, 0.085)
    tokens = std * noise
    if shows == "tokens_alike":
        tokens = std * torch.randn(d_model) + drawn.uniform(0.04, 0.08) * noise
    elif shows == "positions_alike":
        frequencies = 10_000 ** (-torch.arange(0, d_model, 2) / d_model)
        steps = torch.arange(len(positions))[:, None] / drawn.uniform(20, 60)
        positions = torch.stack(((steps * frequencies).sin(), (steps * frequencies).cos()), dim=-1)
        positions = positions.flatten(1)
    return Parts(shows, tokens, positions=positions)


def _show(run: Parts) -> Outcome:
    def numbers(row: Tensor) -> str:
        return "  ".join(f"{each:6.2f}" for each in row[:8])

    return Outcome(
        text=(
            f"{len(run.tokens)} tokens and {len(run.positions)} positions, "
            f"d_model = {run.tokens.size(1)}; the first eight columns of two:\n"
            f"token 0     {numbers(run.tokens[0])}\n"
            f"position 9  {numbers(run.positions[9])}"
        ),
        values={"tokens": run.tokens, "positions": run.positions},
        picture=lambda: _picture(run),
    )


def _picture(run: Parts) -> Axes:
    from matplotlib.figure import Figure  # here: a check is to load no Matplotlib

    from course_lib.viz.plots.heatmaps import plot_heatmap

    sums = (run.tokens[:, None] + run.positions[:TOKENS])[..., :64]  # (token, position, column)
    largest = sums.abs().max().item()
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for ax, shown, rows, title in zip(
        figure.subplots(1, 2),
        (sums[0], sums[:, 0]),
        ("position", "token"),
        ("Sums of token 0 and twenty positions", "Sums of twenty tokens and position 0"),
        strict=True,
    ):
        limits = (-largest, largest)
        plot_heatmap(shown, rows=rows, columns="column", title=title, limits=limits, ax=ax)
        ax.set_yticks(range(0, TOKENS, 5))
    return ax


def _says(run: Parts) -> str:
    shown = {
        "alike": "So they do count alike, and a later layer can tell both from the sum.",
        "token": "Rows with standard deviation 1, times √D, do this: word order is then hard "
        "to see.",
        "position": "Small rows without the factor √D do this: which word it is is then hard to "
        "see.",
        "positions_alike": "The encodings are long, but nearly the same: what all have in common "
        "tells no two of them apart.",
        "tokens_alike": "The vectors of the tokens are long, but nearly the same: what all have in "
        "common tells no two of them apart.",
    }[run.shows]
    return (
        f"The norms of tokens are {run.norms:.2f} times those of encodings, and another token "
        f"changes the sum {run.changes:.2f} times as much as another position does. {shown}"
    )


SHOWS = {
    "tokens_alike": "the position dominates, though the norms are alike: the vectors of these "
    "tokens are all nearly the same",
    "token": "the token dominates, as the norms say",
    "alike": "they do count alike: both the norms and the distances are alike",
    "positions_alike": "the token dominates, though the norms are alike: the encodings of these "
    "positions are all nearly the same",
    "position": "the position dominates, as the norms say",
}
run = NumberedRun(
    id="02.conclude",
    make=_make,
    show=_show,
    questions={
        "ratio": Number(
            what="the mean distance of tokens divided by that of positions to three decimals",
            right=lambda run: run.changes,
            look='`torch.pdist(run["tokens"])` has the distances of all pairs of tokens. Divide '
            "their mean by the same mean for the positions. If you have the ratio of the mean "
            "norms: a norm says how long a vector is, and not how far it is from another.",
            within=0.0006,
        ),
        "shows": Choice(
            options=SHOWS,
            right=lambda run: run.shows,
            look={
                "tokens_alike": "Then tokens would be about as long as encodings, but two of them "
                "would differ by much less than their norm.",
                "token": "Then tokens would be several times as long as encodings, and differ by "
                "several times as much.",
                "alike": "Then neither of the two ratios, of norms and of distances, would be "
                "above 3 or below 1/3.",
                "positions_alike": "Then encodings would be about as long as tokens, but two of "
                "them would differ by much less than their norm.",
                "position": "Then tokens would be several times shorter than encodings, and differ "
                "by several times less.",
            },
        ),
    },
    says=_says,
)
item = own_number_item(
    run,
    hints=(
        "What has to differ between two sums, so that a later layer can tell two tokens apart? And "
        "two positions?",
        "Compute two ratios, of tokens to positions: that of the mean norms, and that of the mean "
        "distances between two of a kind. Where they say something else, what do all vectors of "
        "one kind have in common?",
        'Mean norms: `run["tokens"].norm(dim=1).mean()`, and the same for `run["positions"]`. Mean '
        'distances: `torch.pdist(run["tokens"]).mean()`, and the same for `run["positions"]`.',
    ),
)
