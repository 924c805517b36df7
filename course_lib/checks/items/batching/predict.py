"""09.predict: How much of the batches is padding?"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from course_lib.checks.items.batching.padded_batches import SENTENCES, Padding, draw_batches
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 3  # batches in the text


def _make(drawn: random.Random) -> Padding:
    return draw_batches(drawn, drawn.choice([*WAYS]))


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
COSTS = {  # how a way is recognised, what it gains, and what it costs
    "random": "Nothing was sorted (`a`), so nearly every batch has a long sentence that all others "
    "are padded to",
    "sorted": "All were sorted and never shuffled (`b`): there are few pads, but each epoch begins "
    "with the shortest sentences and ends with the longest",
    "shuffled": "They were sorted, and the batches shuffled (`c`): there are few pads, but all "
    "batches have equally many sentences, so those of long ones need far more memory",
    "pools": "Eight batches at a time were sorted (`d`): that saves most of the pads, but within "
    "each eight, the model goes from short sentences to long ones",
    "budget": "A budget was filled with sentences of similar length (`e`): memory is used evenly, "
    "but a batch of long sentences has far fewer of them than one of short sentences",
    "random_budget": "A budget was filled in random order (`f`): that bounds the memory and does "
    "nothing against pads, which takes sentences of similar length",
}
run = NumberedRun(
    id="09.predict",
    unit="%",
    make=_make,
    show=_show,
    questions={
        "share": Number(
            what="the share of pads in per cent",
            right=lambda run: run.share,
            look="A batch has rows × longest tokens, pads included. Add that up over all batches, "
            "and the lengths as well: the difference is pads. Divide once, at the end, and write "
            "45.12 for a share of 0.4512.",
            within=0.01,
        ),
        "peak": Number(
            what="how many times as many tokens as the mean batch the largest has",
            right=lambda run: run.peak,
            look="Count the tokens of each batch with pads, rows × longest. Divide the largest of "
            "these numbers by their mean, not by their median, and write two decimals.",
            within=0.01,
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
        f"{run.share:.2f} % of the tokens are pads, and the largest batch has {run.peak:.2f} times "
        f"the tokens of the mean one. {COSTS[run.way]}. In random order and 32 to a batch, "
        f"{run.unsorted:.1f} % would be pads."
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
        'tokens = [len(b) * max(b) for b in run["batches"]]; the share is 100 × (1 − real / '
        'sum(tokens)), where real is sum(map(sum, run["batches"])); the peak is max(tokens) × '
        "len(tokens) / sum(tokens).",
    ),
)
