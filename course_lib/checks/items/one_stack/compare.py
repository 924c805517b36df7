"""16.compare: Two programs that compute the loss of one stack, one of them with an error."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor

from course_lib.checks.items.one_stack.short_pairs import (
    PAD,
    draw_short_pairs,
    row_of,
)
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)
from course_lib.data import SentencePair

ROWS = 3
WIDEST = 70  # characters of a row of tokens
APART = 0.05  # nats, by which two losses differ at least


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What each label costs, and the mean of that.

    Attributes:
        log_p: of each token of the vocabulary after each position, (row, position, V).
        costs: -ln p of the label at each position, 0 where none counts, (row, position).
        loss: their mean.
    """

    log_p: Tensor
    costs: Tensor
    loss: float


@dataclass(frozen=True)
class TwoPrograms:
    """Two losses of the same rows, by two models and two programs.

    Attributes:
        right: "A" or "B".
        error: of the other program.
        rows: of tokens, pads included.
        sources: how many tokens each source has.
        vocabulary: all tokens; an id is an index.
        programs: by letter.
        loss: what the wrong program should have given.
    """

    right: str
    error: str
    _: KW_ONLY
    rows: list[list[str]]
    sources: list[int]
    vocabulary: list[str]
    programs: dict[str, Costs]
    loss: float

    @property
    def wrong(self) -> str:
        return "B" if self.right == "A" else "A"

    @property
    def ids(self) -> Tensor:
        return _ids(self.rows, self.vocabulary)


def _ids(rows: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Tensor:
    return torch.tensor([[vocabulary.index(token) for token in row] for row in rows])


def _fits(pair: SentencePair) -> bool:
    return 3 <= len(pair.source) <= 6 and 3 <= len(pair.target) <= 6


def _make(drawn: random.Random) -> TwoPrograms:
    error, right = drawn.choice([*ERRORS]), drawn.choice("AB")
    while True:
        pairs = draw_short_pairs(drawn, ROWS, fits=_fits)
        lengths = [len(row_of(pair)) for pair in pairs]
        rows = [[*row_of(pair), *[PAD] * (max(lengths) - len(row_of(pair)))] for pair in pairs]
        differ = len({*lengths}) > 1 and len({len(pair.target) for pair in pairs}) > 1
        if differ and all(len(" ".join(row)) < WIDEST for row in rows):
            break
    vocabulary = [PAD, *sorted({token for row in rows for token in row} - {PAD})]
    ids, sources = _ids(rows, vocabulary), [len(pair.source) for pair in pairs]
    while True:
        log_p = (1.5 * torch.randn(2, *ids.shape, len(vocabulary))).log_softmax(-1)
        honest, wrong, fixed = (
            _costs(log_p[which], ids, sources, lengths, name)
            for which, name in ((0, ""), (1, error), (1, ""))
        )
        if abs(wrong.loss - fixed.loss) > APART:
            return TwoPrograms(
                right,
                error,
                rows=rows,
                sources=sources,
                vocabulary=vocabulary,
                programs={each: honest if each == right else wrong for each in "AB"},
                loss=fixed.loss,
            )


def _costs(
    log_p: Tensor, ids: Tensor, sources: Sequence[int], lengths: Sequence[int], error: str
) -> Costs:
    """The costs that a program with this error writes down."""
    ahead = {"same": 0, "twice": 2}.get(error, 1)
    costs, counts = torch.zeros(ids.shape), torch.zeros(ids.shape, dtype=torch.bool)
    for n, (source, length) in enumerate(zip(sources, lengths, strict=True)):
        start, stop = source, length - 1  # from BOS to the last word of the target
        if error == "same":
            start, stop = start + 1, stop + 1
        if error in ("twice", "end"):
            stop -= 1
        if error == "source":
            start = 0
        if error == "longest":
            start = max(sources)
        if error == "pads":
            stop = ids.size(1) - 1
        at = torch.arange(start, max(start, stop))
        costs[n, at] = -log_p[n, at, ids[n, at + ahead]]
        counts[n, at] = True
    by_row = costs.sum(1) / counts.sum(1).clamp(min=1)
    mean = by_row.mean() if error == "rows" else costs.sum() / counts.sum()
    return Costs(log_p=log_p, costs=costs, loss=float(mean))


def _show(run: TwoPrograms) -> Outcome:
    text = [f"row {n}: {' '.join(row)}" for n, row in enumerate(run.rows)]
    for letter, program in run.programs.items():
        text += ["", f"{letter}: loss {program.loss:.3f}; what each position costs"]
        text.append("      " + "".join(f"{at:5}" for at in range(len(run.rows[0]))))
        for n, costs in enumerate(program.costs.tolist()):
            text.append(
                f"row {n}:" + "".join(f"{cost:5.1f}" if cost else "    ·" for cost in costs)
            )
    return Outcome(
        text="\n".join(text),
        values={
            "tokens": run.ids,
            "words": [" ".join(row) for row in run.rows],
            "sources": run.sources,
            "vocabulary": run.vocabulary,
            **{
                letter: {"log_p": each.log_p, "costs": each.costs, "loss": each.loss}
                for letter, each in run.programs.items()
            },
        },
    )


ERRORS = {
    "source": "the tokens of the source are labels, too",
    "same": "the labels aren't shifted: the label of a position is the token that it reads",
    "twice": "the labels are shifted twice: the label of a position is the token after the next",
    "end": "`<eos>` is no label",
    "longest": "the labels of every row begin where the longest source ends",
    "pads": "after `<eos>`, the pads are labels, too",
    "rows": "the loss is the mean of the three rows' means",
}
TELLS = {
    "source": "Much of that loss is about guessing German, which a translator is given",
    "same": "A model has only to copy what it reads, and its loss goes to 0",
    "twice": "At <bos> the second word is trained, so nothing trains a model to write the first",
    "end": "Nothing teaches the model to stop",
    "longest": "In the other rows, the first words of the translation aren't trained",
    "pads": "Pads are easy to predict, so a batch with much padding looks good",
    "rows": "A word of a short sentence counts more than one of a long sentence",
}
run = NumberedRun(
    id="16.compare",
    make=_make,
    show=_show,
    questions={
        "honest": which_is_right(
            lambda run: run.right,
            look="A right program has a cost from <bos> to the last word of the target, in each "
            "row, and nowhere else; each is −ln p of the next token; and the loss is the mean "
            "over all of them.",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "source": "Then the first position of every row would have a cost.",
                "same": "Then <bos> would have no cost, and <eos> would have one.",
                "twice": "Then the last word of a target would have no cost, since nothing comes "
                "two tokens later, and the cost at <bos> would be that of the second word.",
                "end": "Then the last word of a target would have no cost, and the other costs "
                "would be −ln p of the next token.",
                "longest": "Then the costs of all rows would begin at one position, and the row "
                "with the longest source would be right.",
                "pads": "Then <eos> would have a cost in the rows that have pads.",
                "rows": "Then all costs would be right, and only their mean would be wrong.",
            },
        ),
        "loss": Number(
            what="the loss that the wrong program should have given",
            right=lambda run: run.loss,
            look='Take `run[...]["log_p"]` of the program that you call wrong, and of each '
            "position from <bos> to the last word of the target the −ln p of the next token. The "
            "loss is their mean, over all rows together.",
            within=0.006,
        ),
    },
    says=lambda run: (
        f"In {run.wrong}, {ERRORS[run.error]}. {TELLS[run.error]}. It gave "
        f"{run.programs[run.wrong].loss:.3f} instead of {run.loss:.3f}, and the other one, of "
        f"another model, is right with {run.programs[run.right].loss:.3f}: a loss alone doesn't "
        "tell."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Which tokens does a translator have to write, and at which positions are they predicted? "
        "Mark these positions in each row before you look at the costs.",
        "First see where there are costs: do they begin at <bos>, and end at the last word? If "
        "they do in both, take one position and look which token its cost belongs to. Then "
        "compute the means again.",
        'The costs of every token at position i of row 0 are `-run["A"]["log_p"][0, i]`, and '
        '`run["vocabulary"]` says whose they are. Your labels of `16.join_pairs` say which '
        "positions count.",
    ),
)
