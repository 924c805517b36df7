"""06.compare: Which of two attention maps is masked as it must be?"""

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
    which_is_right,
)
from course_lib.model import causal_mask, masked_softmax

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LENGTH = 6
PAD = "pad"
SENTENCES = ("the black cat drinks milk", "we like our tea hot", "she reads books at home")
SMALL = 0.005  # a weight below this one is 0.00 in two decimals
CLEARLY = 0.03  # of its weight, a row of the wrong run that does not sum to 1 lacks at least


@dataclass(frozen=True)
class Maps:
    """Two maps of the same batch, from different scores.

    Attributes:
        honest: "A" or "B".
        error: of the other map.
        tokens: of each sentence, padded on the left.
        weights: by letter, (sentence, query, key).
        rows: of real tokens in which the other map shows its error.
    """

    honest: str
    error: str
    _: KW_ONLY
    tokens: list[list[str]]
    weights: dict[str, Tensor]
    rows: int


def _make(drawn: random.Random) -> Maps:
    lengths = [LENGTH, *(drawn.randint(3, LENGTH - 1) for _ in range(2))]
    drawn.shuffle(lengths)
    real = torch.arange(LENGTH) >= LENGTH - torch.tensor(lengths)[:, None]  # (sentence, token)
    error, (honest, other) = drawn.choice([*ERRORS]), drawn.sample("AB", 2)
    may = real[:, None, :] & causal_mask(LENGTH)[0]  # (sentence, query, key)
    while True:
        good, bad = 1.3 * torch.randn(2, 3, LENGTH, LENGTH)
        wrong = _with_error(bad, real, error)
        lacking = 1 - wrong.sum(-1)
        shows = real & (((wrong > 0) != may).any(-1) | (lacking > CLEARLY))
        if (shows == real & (((wrong > 0) != may).any(-1) | (lacking > 1e-4))).all():
            break
    words = (["<bos>", *sentence.split()] for sentence in SENTENCES)
    tokens = [
        [PAD] * (LENGTH - length) + sentence[:length]
        for length, sentence in zip(lengths, words, strict=True)
    ]
    weights = {honest: masked_softmax(good, may), other: wrong}
    return Maps(honest, error, tokens=tokens, weights=weights, rows=int(shows.sum()))


def _with_error(scores: Tensor, real: Tensor, error: str) -> Tensor:
    """Weights (sentence, query, key) of a run with an error."""
    padding, causal = real[:, None, :], causal_mask(LENGTH)[0]
    if error == "after":
        return scores.softmax(-1) * (padding & causal)
    may = {
        "next": padding & torch.ones_like(causal).tril(1),
        "itself": padding & causal.tril(-1),
        "other": padding.roll(1, 0) & causal,
        "end": padding.flip(-1) & causal,
        "rows": real[:, :, None] & causal,
    }[error]
    return masked_softmax(scores, may)


def _show(run: Maps) -> Outcome:
    listed = "\n".join(f"sentence {n}: {' '.join(row)}" for n, row in enumerate(run.tokens))
    return Outcome(
        text=f"A decoder attends to itself, one head\n{listed}\n"
        'run["A"], run["B"]: weights, (3 sentences, 6 queries, 6 keys)',
        values={**run.weights, "tokens": run.tokens, "ids": _ids(run.tokens)},
        picture=lambda: _draw(run),
    )


def _ids(tokens: list[list[str]]) -> Tensor:
    """An id for each token, 0 for a pad, (sentence, token)."""
    vocabulary = [PAD, *sorted({token for row in tokens for token in row} - {PAD})]
    return torch.tensor([[vocabulary.index(token) for token in row] for row in tokens])


def _draw(run: Maps) -> Axes:
    # Loads Matplotlib: only where a picture is shown.
    from matplotlib.figure import Figure

    from course_lib import viz
    from course_lib.viz.alt_text import set_alt_text

    figure = Figure(figsize=(10.4, 7.2), layout="constrained")
    axes = figure.subplots(2, len(SENTENCES))
    for row, letter in zip(axes, "AB", strict=True):
        for n, (ax, tokens) in enumerate(zip(row, run.tokens, strict=True)):
            title = f"{letter}, sentence {n}"
            weights = run.weights[letter][n]
            viz.plot_attention(weights, tokens, tokens, title=title, ax=ax)
            _write_small(ax, weights)
    first: Axes = axes[0, 0]
    # Not the descriptions of all six maps: they would fill the screen, and compare the runs.
    set_alt_text(
        figure,
        "Attention weights of the two runs, A above and B below, with a map for each of the three "
        "sentences: a row for each query, a column for each key. A weight below 0.005 is left out.",
    )
    return first


def _write_small(ax: Axes, weights: Tensor) -> None:
    """0.00 where a weight is that small: only a weight of exactly 0 is an empty cell."""
    from course_lib.viz.style import SOFT

    for query, key in ((weights > 0) & (weights < SMALL)).nonzero().tolist():
        ax.text(key, query, "0.00", ha="center", va="center", fontsize=9, color=SOFT)


ERRORS = {
    "next": "the causal mask lets each query see one token of its future",
    "itself": "the causal mask hides each query's own token",
    "other": "each sentence got the padding mask of another sentence of the batch",
    "end": "the padding mask was made for padding on the right",
    "rows": "the padding mask hides the pads' rows, and not their columns",
    "after": "the mask was applied after the softmax",
}
SIGNS = {  # by which an error is known
    "next": "there are weights directly to the right of the diagonal, and nothing else is wrong",
    "itself": "the diagonal is 0, and `<bos>` has nothing left to attend to",
    "other": "as many keys are hidden on the left as another sentence has pads",
    "end": "as many keys are hidden as there are pads, but at the end",
    "rows": "real tokens attend to all pads on their left, and no key of theirs is missing",
    "after": "what it hid is missing from the sums of the rows",
}
run = NumberedRun(
    id="06.compare",
    make=_make,
    show=_show,
    questions={
        "honest": which_is_right(
            lambda run: run.honest,
            look="Go through the rows of real tokens in {run} once more: may each key with a "
            "weight be attended to, has each key that may be attended to a weight, and do the "
            "weights sum to 1? Rows of pads may be all zeros.",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "next": "Then each real token but the last would have a weight directly to the "
                "right of the diagonal.",
                "itself": "Then the diagonal would be exactly 0, and `<bos>` would have nothing to "
                "attend to.",
                "other": "Then the number of keys that are hidden on the left of a sentence would "
                "be the number of pads of another one.",
                "end": "Then a sentence with n pads would have no weight in its last n columns, "
                "and real tokens would attend to its pads.",
                "rows": "Then real tokens would attend to all pads on their left, no key that may "
                "be attended to would be missing, and a sentence without pads would be right.",
                "after": "Then only keys that may be attended to would have a weight, and the "
                "weights of most rows would sum to less than 1.",
            },
        ),
        "rows": Number(
            what="the number of rows of real tokens that show the error",
            right=lambda run: run.rows,
            look="Leave out the rows of pads, and count through all three sentences. A row shows "
            "the error if a key has a weight that it mustn't have, if one has none that may be "
            "attended to, or if the weights don't sum to 1.",
        ),
    },
    says=lambda run: (
        f"In {'B' if run.honest == 'A' else 'A'}, {ERRORS[run.error]}: {SIGNS[run.error]}. "
        f"{_rows(run)}"
    ),
)


def _rows(run: Maps) -> str:
    """How many rows show the error, and what that means for a test."""
    real = sum(token != PAD for row in run.tokens for token in row)
    if run.rows == real:
        return f"All {real} rows of real tokens show it."
    rest = f"the other {real - run.rows}" if real - run.rows > 1 else "the other one"
    return f"Only {run.rows} of {real} rows of real tokens show it: a test of {rest} passes."


item = own_number_item(
    run,
    hints=(
        "Draw the right mask of one sentence with pads on the left. Which rows have nothing left, "
        "and is that an error?",
        "For each real token, ask three things: may it attend to every key that has a weight, has "
        "every key that it may attend to a weight, and is the sum 1? A weight of 0.00 in the "
        "picture is small, and not 0.",
        'With `may = decoder_mask(run["ids"], 0)[:, 0]`, look at the cells where '
        '`(run["A"] > 0) != may`, and then at `run["A"].sum(-1)`. Do the same with B. In which '
        'rows of real tokens, `run["ids"] > 0`, is something wrong?',
    ),
)
