"""04.predict: How many keys does a query attend to?"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)

QUERIES, KEYS = 400, 16


@dataclass(frozen=True)
class Attention:
    """Attention of random queries to random keys.

    Attributes:
        why: what is done to the scores, or to the keys.
        scores: (query, key).
    """

    d_head: int
    why: str
    scores: Tensor

    @property
    def weights(self) -> Tensor:
        """(query, key)."""
        return self.scores.softmax(-1)

    @property
    def keys_attended(self) -> float:
        """Exp of the mean entropy of a row of weights."""
        entropy = -(self.weights * self.weights.clamp_min(1e-30).log()).sum(-1)
        return math.exp(entropy.mean().item())


def _make(drawn: random.Random) -> Attention:
    d_head, why = drawn.choice([64, 100, 144, 256]), drawn.choice([*WHY])
    queries, keys = torch.randn(QUERIES, d_head), torch.randn(QUERIES, KEYS, d_head)
    if why == "alike":
        keys = keys[:, :1] + 0.02 * keys / math.sqrt(d_head)
    scores = torch.einsum("nd,nkd->nk", queries, keys)
    divisor = {"divided": math.sqrt(d_head), "twice": float(d_head)}.get(why, 1.0)
    return Attention(d_head, why, scores / divisor)


def _show(run: Attention) -> Outcome:
    first = "  ".join(f"{score:.2f}" for score in run.scores[0, :6])
    return Outcome(
        text=(
            f"{QUERIES} queries, {KEYS} keys each, d_head = {run.d_head}\n"
            f"scores of the first query: {first} …\n"
            f"standard deviation of all scores: {run.scores.std():.2f}"
        ),
        values={"scores": run.scores, "weights": run.weights, "d_head": run.d_head},
    )


WHY = {
    "divided": "the scores were divided by the root of `d_head`",
    "not": "the scores were not divided",
    "twice": "the scores were divided by `d_head` itself",
    "alike": "the scores were not divided, and the keys of a query are almost one vector",
}
run = NumberedRun(
    id="04.predict",
    make=_make,
    show=_show,
    questions={
        "keys": Number(
            what="exp of the mean entropy of the rows",
            right=lambda run: run.keys_attended,
            look='The entropy of one row of `run["weights"]` is −Σ w ln w. Take its mean over all '
            "rows, then exp.",
            within=0.15,
        ),
        "why": Choice(
            options=WHY,
            right=lambda run: run.why,
            look={
                "divided": "Then one query's scores would differ by about 1 from key to key.",
                "not": "Then one query's scores would differ from key to key by about the root of "
                "`d_head`, and nearly all weight would lie on one key.",
                "twice": "Then all scores would be small, also compared with those of other "
                "queries.",
                "alike": "Then all scores of one query would be nearly the same number, and that "
                "number a large one.",
            },
        ),
    },
    says=lambda run: (
        f"With d_head = {run.d_head}, a query of yours attends to {run.keys_attended:.1f} of "
        f"{KEYS} keys."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Softmax sees only the differences between the scores of one row. How large are they, and "
        "how large would you expect them to be?",
        "A score is a sum of `d_head` products of two standard normal numbers: its standard "
        "deviation is the root of `d_head`. What is it here, over all scores, and within a row?",
        'Compare `run["scores"].std()` with `run["scores"].std(-1).mean()` and with the root '
        "of `d_head`.",
    ),
)
