"""16.predict: Which outputs of one stack move when one token is replaced?"""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.items.one_stack.short_pairs import draw_short_pairs, row_of
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model import attention_matmul, causal_mask
from course_lib.modern import prefix_mask

LAYERS, WIDTH = 2, 16
MOVES, STILL = 1e-3, 1e-6


@dataclass(frozen=True)
class Changes:
    """Outputs of one stack, before and after each of its tokens was replaced.

    Attributes:
        mask: the name of the mask that all layers have.
        source: how many tokens the source has; BOS is the next one.
        tokens: of the row.
        before: outputs, (position, d_model).
        after: outputs after token i was replaced, (i, position, d_model).
    """

    mask: str
    source: int
    _: KW_ONLY
    tokens: list[str]
    before: Tensor
    after: Tensor

    def moved(self, token: int) -> int:
        """How many outputs move when this token is replaced."""
        return int(((self.after[token] - self.before).abs().amax(-1) > MOVES).sum())


def _make(drawn: random.Random) -> Changes:
    name = drawn.choice([*MASKS])
    [pair] = draw_short_pairs(
        drawn, 1, fits=lambda pair: 4 <= len(pair.source) <= 8 and 4 <= len(pair.target) <= 8
    )
    tokens, source = row_of(pair), len(pair.source)
    mask, length = mask_of(name, source, len(tokens)), len(tokens)
    while True:
        weights = torch.randn(LAYERS, 3, WIDTH, WIDTH) / WIDTH**0.5
        x = torch.randn(length, WIDTH)
        inputs = x.repeat(length + 1, 1, 1)
        at = torch.arange(length)
        inputs[at, at] = torch.randn(length, WIDTH)
        *after, before = _outputs(inputs, weights, mask)
        moves = (torch.stack(after) - before).abs().amax(-1)
        if ((moves < STILL) | (moves > 2 * MOVES)).all():
            return Changes(name, source, tokens=tokens, before=before, after=torch.stack(after))


def mask_of(name: str, source: int, length: int) -> Tensor:
    """True = may attend, (query, key)."""
    causal = causal_mask(length)[0, 0]
    at = torch.arange(length)
    inside, own = at < source, at[:, None] == at
    extra = {"short": -1, "bos": 1}.get(name, 0)
    prefix = prefix_mask(torch.tensor([source + extra]), length)[0, 0]
    if name == "causal":
        return causal
    if name == "reads_all":
        return prefix | inside[:, None]
    if name == "apart":
        return prefix & (inside[:, None] == inside)
    if name == "no_past":
        return (prefix & inside) | own
    return prefix


def _outputs(x: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """Attention, residual and norm in each layer; x (run, position, d_model)."""
    for projections in weights:
        query, key, value = ((x @ one)[:, None] for one in projections)  # one head
        context, _ = attention_matmul(query, key, value, mask[None, None])
        x = F.layer_norm(x + context[:, 0], (WIDTH,))
    return x


def _show(run: Changes) -> Outcome:
    length = len(run.tokens)
    return Outcome(
        text=(
            f"source  {' '.join(run.tokens[: run.source])}\n"
            f"then    {' '.join(run.tokens[run.source :])}\n"
            f"{length} positions, counted from 0: the source has 0 to {run.source - 1}, <bos> has "
            f"{run.source}\n"
            f"{LAYERS} layers; one run as it is, and {length} runs with one token replaced"
        ),
        values={
            "before": run.before,
            "after": run.after,
            "source": run.source,
            "tokens": run.tokens,
        },
    )


MASKS = {
    "causal": "the whole row is causal, the source as well",
    "prefix": "the source sees all of itself, and what follows is causal",
    "short": "all of the source but its last token see one another, and what follows is causal",
    "bos": "the source and `<bos>` see one another, and what follows is causal",
    "reads_all": "the source sees the whole row, and what follows is causal",
    "apart": "the source sees all of itself, and what follows is causal and doesn't see the source",
    "no_past": "the source sees all of itself, and what follows sees the source and its own "
    "position alone",
}
SAYS = {
    "causal": "Each token moved its own output and all that follow, and none before it: no source "
    "token has seen a later one.",
    "prefix": "Each source token moved all {length} outputs, and no token of the target moved "
    "an earlier one: that is an encoder and a decoder in one mask.",
    "short": "The last source token, {word!r}, moved no output before its own, and the others "
    "moved all {length}: a length that is one too small, and no error anywhere.",
    "bos": "`<bos>` moved all {length} outputs, and the next token none before its own: a prefix "
    "that is one too long. All of the source reads a token that isn't its own.",
    "reads_all": "Every token moved every output. In the first layer the source reads the target, "
    "and in the second the target reads its own future from there: nothing is left to predict.",
    "apart": "No source token moved an output after the source: without cross-attention, this mask "
    "was the only way. It is a language model, whatever stands in front.",
    "no_past": "A token of the target moved its own output alone: it knows its source, and not "
    "what has been written before it.",
}
run = NumberedRun(
    id="16.predict",
    make=_make,
    show=_show,
    questions={
        "last": Number(
            what="how many outputs move with the last token of the source",
            right=lambda run: run.moved(run.source - 1),
            look='With `i = run["source"] - 1`, count the positions in which `run["before"]` and '
            '`run["after"][i]` differ by more than 0.001 in one of their numbers.',
        ),
        "bos": Number(
            what="how many outputs move with BOS",
            right=lambda run: run.moved(run.source),
            look='With `i = run["source"]`, count the positions in which `run["before"]` and '
            '`run["after"][i]` differ by more than 0.001 in one of their numbers.',
        ),
        "mask": Choice(
            options=MASKS,
            right=lambda run: run.mask,
            look={
                "causal": "Then no token would move an output before its own.",
                "prefix": "Then each source token would move all outputs, and each token after "
                "the source its own and those that follow.",
                "short": "Then the last source token would move no output before its own, and "
                "each other source token all outputs.",
                "bos": "Then `<bos>` would move all outputs, and the next token only its own and "
                "those that follow.",
                "reads_all": "Then tokens of the target would move outputs of the source, too, "
                "and through them, in the second layer, all others.",
                "apart": "Then a source token would move outputs of the source alone.",
                "no_past": "Then a token after the source would move its own output and no other.",
            },
        ),
    },
    says=lambda run: (
        SAYS[run.mask].format(length=len(run.tokens), word=run.tokens[run.source - 1])
        + f" Under a prefix mask, `<bos>` would move {len(run.tokens) - run.source}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "For each of the seven masks, write down which outputs the first source token would move, "
        "which the last one, and which `<bos>`. Where do two masks agree in all three?",
        "Make a table of all tokens against all outputs: which output moves with which token? "
        "Then compare its upper and its lower triangle, for the source and for the rest apart.",
        '`(run["after"] - run["before"]).abs().amax(-1) > 0.001` is that table: a row for each '
        "token that was replaced, a column for each output. What is in its first `source` rows, "
        "and what below?",
    ),
)
