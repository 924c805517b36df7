"""04.predict: How many keys does a query attend to?"""

from __future__ import annotations

import math
import random
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)

QUERIES, KEYS = 200, 16


@dataclass(frozen=True)
class Attention:
    """Attention of random queries to random keys.

    Attributes:
        why: what is done to the scores, or to the keys.
        scores: (query, key).
        as_drawn: (query, key), undivided, of keys that are independent of one another.
    """

    d_head: int
    why: str
    _: KW_ONLY
    scores: Tensor
    as_drawn: Tensor

    @property
    def weights(self) -> Tensor:
        """(query, key)."""
        return self.scores.softmax(-1)

    @property
    def keys_attended(self) -> float:
        """Exp of the mean entropy of a row of weights."""
        return _keys_attended(self.scores)

    @property
    def within_a_row(self) -> float:
        """The standard deviation of the scores of one query, in the mean over the queries."""
        return float(self.scores.std(-1).mean())


def _keys_attended(scores: Tensor) -> float:
    return math.exp(torch.special.entr(scores.softmax(-1)).sum(-1).mean().item())


def _make(drawn: random.Random) -> Attention:
    d_head, why = round(2 ** drawn.uniform(4, 8)), drawn.choice([*WHY])
    queries, keys = torch.randn(QUERIES, d_head), torch.randn(QUERIES, KEYS, d_head)
    as_drawn = torch.einsum("nd,nkd->nk", queries, keys)
    scores = as_drawn / {"divided": math.sqrt(d_head), "twice": float(d_head)}.get(why, 1.0)
    if why == "alike":
        differ = drawn.uniform(0.3, 0.6) / math.sqrt(d_head)
        almost_one = torch.randn(QUERIES, 1, d_head) + differ * keys
        standard_normal = almost_one / math.sqrt(1 + differ**2)  # each number, taken alone
        scores = torch.einsum("nd,nkd->nk", queries, standard_normal)
    return Attention(d_head, why, scores=scores, as_drawn=as_drawn)


def _show(run: Attention) -> Outcome:
    return Outcome(
        text=f"{QUERIES} queries, {KEYS} keys for each of them, d_head = {run.d_head}",
        values={"scores": run.scores, "weights": run.weights, "d_head": run.d_head},
    )


def _says(run: Attention) -> str:
    because = SAYS[run.why].format(
        root=math.sqrt(run.d_head), all=run.scores.std(), row=run.within_a_row
    )
    divided, undivided = (_keys_attended(run.as_drawn / by) for by in (math.sqrt(run.d_head), 1.0))
    return (
        f"A query attends to {run.keys_attended:.3f} of {KEYS} keys. {because} Of independent "
        f"keys, it attends to {divided:.2f} if the scores are divided by the root of d_head = "
        f"{run.d_head}, and to {undivided:.2f} if they are not."
    )


WHY = {
    "divided": "the scores were divided by the root of `d_head`",
    "not": "the scores were not divided, and the keys of a query are independent of one another",
    "twice": "the scores were divided by `d_head` itself",
    "alike": "the scores were not divided, and the keys of a query are almost one vector",
}
SAYS = {
    "divided": "Its scores differ by {row:.2f} (standard deviation within a row): divided by the "
    "root of d_head, they do so at any d_head.",
    "not": "Its scores differ by {row:.2f} (standard deviation within a row), about {root:.2f}, "
    "the root of d_head: they were not divided, and the largest takes nearly all weight.",
    "twice": "Its scores differ by only {row:.2f} (standard deviation within a row), about one "
    "over the root of d_head: divided by d_head itself, they are so small that all keys get "
    "almost the same weight.",
    "alike": "Over all queries, the standard deviation of the scores is {all:.2f}, about the root "
    "of d_head: they were not divided. Within a row it is only {row:.2f}, since the keys are "
    "almost one vector, and softmax sees nothing but the differences within a row.",
}
run = NumberedRun(
    id="04.predict",
    make=_make,
    show=_show,
    questions={
        "keys": Number(
            what="exp of the mean entropy of the rows",
            right=lambda run: run.keys_attended,
            look='Give three decimals. The entropy of one row of `run["weights"]` is −Σ w ln w. '
            "Take its mean over all rows first, and then exp of this mean.",
            within=0.0006,
        ),
        "why": Choice(
            options=WHY,
            right=lambda run: run.why,
            look={
                "divided": "Then the standard deviation of the scores would be about 1, over all "
                "queries and within a row.",
                "not": "Then the standard deviation of the scores would be about the root of "
                "`d_head`, over all queries and within a row.",
                "twice": "Then the standard deviation of the scores would be far below 1, over "
                "all queries and within a row.",
                "alike": "Then the standard deviation of the scores would be much larger over all "
                "queries than within a row.",
            },
        ),
    },
    says=_says,
)
item = own_number_item(
    run,
    hints=(
        "Softmax sees only the differences between the scores of one row. How large are they, and "
        "how large would you expect them to be?",
        "A score is a sum of `d_head` products of two standard normal numbers: its standard "
        "deviation is the root of `d_head`. What is it here, over all scores, and within a row?",
        'For the number: w = run["weights"], and torch.special.entr(w) has −w ln w of each '
        'weight. For the letter: compare run["scores"].std() and run["scores"].std(-1).mean() '
        'with run["d_head"] ** 0.5.',
    ),
)
