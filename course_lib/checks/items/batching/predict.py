"""09.predict: How much of the batches is padding?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SENTENCES = 2048
SHORTEST, LONGEST = 4, 60
POOL = 8  # batches that are sorted together
SHOWN = 3  # batches in the text
TOKENS_A_ROW = 20  # of a budget

Batches = list[list[int]]


@dataclass(frozen=True)
class Padding:
    """The batches of an epoch, in the order of training: the lengths of their sentences."""

    batches: Sequence[Sequence[int]]
    way: str

    @property
    def tokens(self) -> list[int]:
        """Of each batch, pads included."""
        return [len(batch) * max(batch) for batch in self.batches]

    @property
    def share(self) -> float:
        """Of pads in all tokens, in per cent."""
        return 100 * (1 - sum(map(sum, self.batches)) / sum(self.tokens))

    @property
    def peak(self) -> float:
        """How many times as many tokens as the mean batch the largest has, pads included."""
        return max(self.tokens) * len(self.batches) / sum(self.tokens)


def _chunks(lengths: Sequence[int], rows: int) -> Batches:
    return [[*lengths[n : n + rows]] for n in range(0, len(lengths), rows)]


def _filled(lengths: Sequence[int], budget: int) -> Batches:
    """Batches in this order, each with at most ``budget`` tokens, pads included."""
    batches: Batches = []
    for length in lengths:
        if batches and (len(batches[-1]) + 1) * max(*batches[-1], length) <= budget:
            batches[-1].append(length)
        else:
            batches.append([length])
    return batches


def _shuffled(batches: Batches, drawn: random.Random) -> Batches:
    return drawn.sample(batches, len(batches))


def _make(drawn: random.Random) -> Padding:
    way, rows = drawn.choice([*WAYS]), drawn.choice([16, 32, 64])
    middle, width = drawn.uniform(2.3, 2.8), drawn.uniform(0.4, 0.6)
    drawn_lengths = (round(drawn.lognormvariate(middle, width)) for _ in range(SENTENCES))
    lengths = [min(max(length, SHORTEST), LONGEST) for length in drawn_lengths]
    budget = TOKENS_A_ROW * rows
    batches = {
        "random": _chunks(lengths, rows),
        "sorted": _chunks(sorted(lengths), rows),
        "shuffled": _shuffled(_chunks(sorted(lengths), rows), drawn),
        "pools": [
            batch for pool in _chunks(lengths, POOL * rows) for batch in _chunks(sorted(pool), rows)
        ],
        "budget": _shuffled(_filled(sorted(lengths), budget), drawn),
        "random_budget": _filled(lengths, budget),
    }[way]
    return Padding(batches, way)


def _show(run: Padding) -> Outcome:
    text = [f"{SENTENCES:,} sentences in {len(run.batches)} batches; the first three:"]
    for number, batch in enumerate(run.batches[:SHOWN]):
        text.append(
            f"batch {number:3}: {len(batch):3} sentences of {min(batch):2} to {max(batch):2} tokens"
        )
    return Outcome(
        text="\n".join(text),
        values={"batches": [[*batch] for batch in run.batches]},
        picture=lambda: _picture(run),
    )


def _picture(run: Padding) -> Axes:
    from course_lib.viz.plots.curves import plot_curves  # loads Matplotlib

    return plot_curves(
        {"longest": [*map(max, run.batches)], "shortest": [*map(min, run.batches)]},
        x_label="batch, in the order of training",
        y_label="tokens",
        title="The longest and the shortest sentence of each batch",
    )


WAYS = {
    "random": "each batch has the same number of sentences, and they come in random order",
    "sorted": "each batch has the same number of sentences, and all are sorted by length, from the "
    "first batch to the last",
    "shuffled": "each batch has the same number of sentences, all were sorted by length, and then "
    "the batches were shuffled",
    "pools": "each batch has the same number of sentences, and only eight batches at a time were "
    "sorted by length",
    "budget": "each batch was filled up to a budget of tokens, all sentences were sorted by "
    "length, and then the batches were shuffled",
    "random_budget": "each batch was filled up to a budget of tokens, and the sentences come in "
    "random order",
}
COSTS = {  # what a way gains, and what it costs
    "random": "Nothing was sorted, so nearly every batch has a long sentence that all others are "
    "padded to",
    "sorted": "So few pads cost the shuffle: each epoch begins with the shortest sentences and "
    "ends with the longest",
    "shuffled": "So few pads cost memory: all batches have equally many sentences, so those of "
    "long ones are far larger",
    "pools": "Sorting a few batches at a time saves most of the pads, but within each eight, the "
    "model goes from short sentences to long ones",
    "budget": "Memory is used evenly, but a batch of long sentences has far fewer of them than one "
    "of short sentences",
    "random_budget": "A budget bounds the memory, and does nothing against pads: that needs "
    "sentences of similar length",
}
run = NumberedRun(
    id="09.predict",
    make=_make,
    show=_show,
    questions={
        "share": Number(
            what="the share of pads in per cent",
            right=lambda run: run.share,
            look="A batch has rows × longest tokens, pads included. Add that up over all batches, "
            "and the lengths as well: the difference is pads.",
            within=0.5,
        ),
        "peak": Number(
            what="how many times as many tokens as the mean batch the largest has",
            right=lambda run: run.peak,
            look="Count the tokens of each batch with pads, rows × longest. Divide the largest of "
            "these numbers by their mean.",
            within=0.05,
        ),
        "way": Choice(
            options=WAYS,
            right=lambda run: run.way,
            look={
                "random": "Then all batches would have equally many sentences, and nearly each a "
                "short one and a long one.",
                "sorted": "Then no batch would have a sentence shorter than the longest of the "
                "batch before it.",
                "shuffled": "Then all batches would have equally many sentences of nearly one "
                "length, and long and short batches would alternate without any order.",
                "pools": "Then the longest sentence of a batch would grow for eight batches, fall "
                "back to a few tokens, and grow again.",
                "budget": "Then batches of long sentences would have few rows, those of short ones "
                "many, and each batch nearly one length.",
                "random_budget": "Then the number of rows would vary, and nearly each batch would "
                "have a short sentence and a long one.",
            },
        ),
    },
    says=lambda run: (
        f"{run.share:.1f} % of your tokens are pads, and the largest batch is {run.peak:.1f} times "
        f"the mean. {COSTS[run.way]}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Two things decide: which sentences meet in a batch, and how many. Look at each for a few "
        "batches, and then at the order of the batches.",
        "For each batch: the number of rows, the shortest, the longest. Is the number the same in "
        "all? Are shortest and longest close together? How does the longest go on from batch to "
        "batch?",
        'tokens = [len(b) * max(b) for b in run["batches"]]; the share is 1 − real / sum(tokens), '
        "where real is the sum of all lengths; the peak is max(tokens) over the mean of tokens.",
    ),
)
