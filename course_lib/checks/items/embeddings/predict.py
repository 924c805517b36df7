"""02.predict: The loss before the first step."""

from __future__ import annotations

import math
import random
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model.config import TransformerConfig, Tying
from course_lib.model.transformer import Transformer

SENTENCES, LENGTH = 8, 12


@dataclass(frozen=True)
class Start:
    """What an untrained model gives for a batch.

    Attributes:
        why: what its loss comes from.
        read: the token that was read last, (prediction,).
        labels: the token that counts as right, (prediction,).
        logits: (prediction, V).
    """

    why: str
    d_model: int
    _: KW_ONLY
    read: Tensor
    labels: Tensor
    logits: Tensor

    @property
    def log_vocab(self) -> float:
        return math.log(self.logits.size(1))

    @property
    def excess(self) -> float:
        """How far the loss lies above ln V."""
        return F.cross_entropy(self.logits.double(), self.labels).item() - self.log_vocab


@torch.no_grad()
def _make(drawn: random.Random) -> Start:
    why = drawn.choices([*WHY], weights=[1, 2, 2, 2, 2])[0]  # of "close", the excess is near 0
    d_model = drawn.choice([64, 128])
    vocab, (tying, logit_std) = drawn.choice([500, 1000, 2000, 4000]), drawn.choice(STARTS[why])
    config = TransformerConfig(
        source_vocab=vocab,
        target_vocab=vocab,
        d_model=d_model,
        d_ff=4 * d_model,
        n_layers=2,
        tying=tying,
    )
    model = Transformer(config).eval()
    # What leaves the last block has the norm √d_model.
    nn.init.normal_(model.output.weight, std=logit_std / math.sqrt(d_model))
    bias_std = drawn.choice([2.0, 2.5, 3.0]) if why == "favourites" else 0.0
    nn.init.normal_(model.output.bias, std=bias_std)
    source, target = torch.randint(1, vocab, (2, SENTENCES, LENGTH + 1))
    read = target[:, :-1]
    labels = read if why == "not_shifted" else target[:, 1:]
    logits = model(source, read).flatten(0, 1)
    return Start(why, d_model, read=read.flatten(), labels=labels.flatten(), logits=logits)


def _show(run: Start) -> Outcome:
    first = "  ".join(f"{logit:.2f}" for logit in run.logits[0, :8])
    return Outcome(
        text=(
            f"V = {run.logits.size(1)}, d_model = {run.d_model}, "
            f"{len(run.labels)} predictions before any training\n"
            f"logits of the first one, tokens 0 to 7:\n{first}"
        ),
        values={"logits": run.logits, "labels": run.labels, "read": run.read},
    )


# Which output layer there is, and the standard deviation of its logits.
STARTS: dict[str, list[tuple[Tying, float]]] = {
    "close": [("none", 0.05), ("none", 0.1), ("output", 0.1), ("none", 0.2), ("output", 0.2)],
    "random": [("none", 2.0), ("none", 3.0), ("none", 4.0), ("none", 5.0)],
    "copies": [("output", 1.0), ("output", 1.5), ("output", 2.0), ("output", 3.0)],
    "not_shifted": [("output", 0.7), ("output", 0.8), ("output", 1.0), ("output", 1.2)],
    "favourites": [("none", 0.1), ("none", 0.2), ("output", 0.2)],
}
WHY = {
    "close": "the logits of a position are so close together that the model finds all tokens about "
    "equally probable",
    "favourites": "the logits are far apart, and the same few tokens have the largest ones at all "
    "positions, whatever the model has read",
    "copies": "the token that was just read has the largest logit by far, and the label is another "
    "token",
    "random": "the logits are far apart, and the largest ones belong to many different tokens, "
    "which have nothing to do with what the model has read",
    "not_shifted": "the token that was just read has the largest logit by far, and the label is "
    "this same token, and not the next one",
}
SAYS = {
    "close": "That is as it should be: the model knows nothing, and isn't sure of anything.",
    "favourites": "The bias of the output layer starts too large: it favours the same few tokens "
    "before the model has read anything.",
    "copies": "The output layer is tied to embeddings that start too large: what leaves the last "
    "block still has in it the row of the token read, which is seldom the label.",
    "random": "The output layer has a table of its own that starts too large: the model is sure "
    "of some token at each position, and wrong.",
    "not_shifted": "That is not good luck: the label is the token read, and with an output layer "
    "tied to the embeddings, this token has the largest logit.",
}
run = NumberedRun(
    id="02.predict",
    unit="nats",
    easy=lambda run: "the loss is ln V, or nearly" if run.why == "close" else "",
    make=_make,
    show=_show,
    questions={
        "excess": Number(
            what="the loss minus ln V to two decimals",
            right=lambda run: run.excess,
            look='The loss is `F.cross_entropy(run["logits"], run["labels"])`, and V is the width '
            "of the logits. If you have the loss itself, subtract ln V. If the loss is below ln V, "
            "the difference is negative.",
            within=0.006,
        ),
        "why": Choice(
            options=WHY,
            right=lambda run: run.why,
            look={
                "close": "Then the logits of a position would differ by a few tenths, and the loss "
                "would be within a few hundredths of ln V.",
                "favourites": "Then the logits of a position would have a standard deviation of 1 "
                "or more, and their argmax would be one of a few tokens, again and again.",
                "copies": "Then the argmax of the logits would be the token read nearly "
                "everywhere, and the labels would be other tokens.",
                "random": "Then the logits of a position would have a standard deviation of 1 or "
                "more, and their argmax would be another token nearly each time, and seldom the "
                "one that was read.",
                "not_shifted": "Then the labels would be the tokens read, and the loss would be "
                "below ln V: before any training, nobody can know the next token.",
            },
        ),
    },
    says=lambda run: (
        f"The loss is {run.log_vocab + run.excess:.2f}, which is ln V "
        f"{'−' if run.excess <= -0.005 else '+'} {abs(run.excess):.2f}. {SAYS[run.why]}"
    ),
)
item = own_number_item(
    run,
    hints=(
        "Compute the loss and ln V first. Is the model as good as guessing, worse, or better? "
        "Which sentences does that leave?",
        "Look at one position: how far apart are its logits, and which token has the largest? Then "
        "compare that token with the one that was read, and with the label. Is it so at all "
        "positions?",
        'With `best = run["logits"].argmax(-1)`, compare `best`, `run["read"]` and `run["labels"]` '
        "number by number; `best.unique()` lists the tokens that occur, and "
        '`run["logits"].std(-1)` says how far apart the logits of a position are.',
    ),
)
