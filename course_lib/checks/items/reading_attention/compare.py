"""14.compare: Whose error rate is right?"""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import torch

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)
from course_lib.checks.items.reading_attention.rates_with_errors import (
    Sentence,
    draw_sentence,
    rate,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SENTENCES = 8
SHOWN = SENTENCES - 1  # the sentence of the picture: the last ones are never the plainest


@dataclass(frozen=True)
class Tables:
    """Error rates of two heads, one of them computed with an error."""

    wrong: str
    error: str
    _: KW_ONLY
    heads: dict[str, list[Sentence]]

    @property
    def honest(self) -> str:
        return "B" if self.wrong == "A" else "A"

    def rates(self, letter: str, error: str | None = None) -> list[float]:
        """The table of a head, as it was computed, or with another error."""
        if error is None:
            error = self.error if letter == self.wrong else ""
        return [rate(each, error) for each in self.heads[letter]]

    @property
    def sentence(self) -> int:
        """The first sentence whose rate is wrong, counted from 1 as in the table."""
        both = zip(self.rates(self.wrong), self.rates(self.wrong, ""), strict=True)
        return next((n for n, (a, b) in enumerate(both, 1) if abs(a - b) > 0.02), SENTENCES + 1)

    @property
    def is_clear(self) -> bool:
        """Whether some sentences are right in the wrong table, and no other error explains it."""
        logged = torch.tensor(self.rates(self.wrong))
        others = [torch.tensor(self.rates(self.wrong, each)) for each in ("", *ERRORS)]
        near = sum(bool(((logged - other).abs() < 0.02).all()) for other in others)
        off = (logged - others[0]).abs()
        in_between = bool(((off > 1e-6) & (off < 0.02)).any())
        return near == 1 and not in_between and self.sentence <= 5


def _make(drawn: random.Random) -> Tables:
    wrong, error = drawn.choice("AB"), drawn.choice([*ERRORS])
    while True:
        plain = drawn.choice([0, 1, 2, 3])  # so many sentences at the start
        heads = {}
        for letter in "AB":
            # Most heads align badly, so that a high rate is no sign of an error.
            hits = drawn.choice([0.8, 0.4, 0.15])
            heads[letter] = [
                draw_sentence(drawn, plain=n < plain, hits=hits) for n in range(SENTENCES)
            ]
        tables = Tables(wrong, error, heads=heads)
        if tables.is_clear:
            return tables


def _show(run: Tables) -> Outcome:
    lines = ["alignment error rate of each sentence", "", "sentence  words (A/B)      A      B"]
    for n in range(SENTENCES):
        words = "/".join(str(len(run.heads[letter][n].weights) - 1) for letter in "AB")
        lines.append(f"{n + 1:>8}  {words:>11}  {run.rates('A')[n]:.3f}  {run.rates('B')[n]:.3f}")
    return Outcome(
        text="\n".join(lines),
        values={
            "rates": {letter: run.rates(letter) for letter in run.heads},
            **{
                name: {
                    letter: [getattr(each, name) for each in run.heads[letter]] for letter in "AB"
                }
                for name in ("weights", "sure", "possible")
            },
        },
        picture=lambda: _picture(run),
    )


def _picture(run: Tables) -> Axes:
    # Loads Matplotlib: only where a picture is shown.
    from course_lib.checks.items.reading_attention.maps_with_links import draw_maps

    return draw_maps({letter: head[SHOWN] for letter, head in run.heads.items()}, number=SHOWN + 1)


def _mean(rates: list[float]) -> float:
    return sum(rates) / len(rates)


ERRORS = {
    "exchanged": "the links were written as (target, source)",
    "all_sure": "links that are only possible were counted as sure",
    "only_sure": "links that are only possible were counted as wrong",
    "columns": "each source word was linked to the target word that attends to it most",
    "one_row_down": "each target word was given the row one further down",
    "end_linked": "the row that predicts `<eos>` was given a link, too",
}
BY_HAND = (
    "Compute its rates again, with your own `align` and `alignment_error_rate`. Do all eight come "
    "out as in the table?"
)
run = NumberedRun(
    id="14.compare",
    make=_make,
    show=_show,
    questions={
        "honest": which_is_right(lambda run: run.honest, look=BY_HAND),
        "sentence": Number(
            what="the first sentence, counted from 1, whose rate is wrong",
            right=lambda run: run.sentence,
            look="Compute each rate of the wrong table again, in order, and stop at the first one "
            "that differs by more than rounding. Sentences count from 1, as in the table, and the "
            "numbers of sentence 1 have the index 0.",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "exchanged": "Then (2, 1) would count as (1, 2). A sentence would keep its rate "
                "if the links found stay the same, or match as many others, when they are "
                "mirrored at the diagonal.",
                "all_sure": "Then |S| would be larger wherever a link is only possible, and "
                "sentences without such links would have the right rate.",
                "only_sure": "Then a link that is found and only possible would count once less, "
                "and sentences in which none is found would have the right rate.",
                "columns": "Then there would be a link for each source word: two target words "
                "could not share one, and a target word could get none.",
                "one_row_down": "Then you would get all eight rates of the table if you took "
                "`weights[1:]` where `align` takes `weights[:-1]`.",
                "end_linked": "Then one link more would be found in every sentence, and it would "
                "always be wrong: each rate would be a little too high.",
            },
        ),
    },
    says=lambda run: (
        f"In table {run.wrong}, {ERRORS[run.error]}. So sentence {run.sentence} has "
        f"{run.rates(run.wrong)[run.sentence - 1]:.3f} instead of "
        f"{run.rates(run.wrong, '')[run.sentence - 1]:.3f}, and the mean of the eight is "
        f"{_mean(run.rates(run.wrong)):.3f} instead of {_mean(run.rates(run.wrong, '')):.3f}. "
        "Right tables of other heads have such means, too."
    ),
)
item = own_number_item(
    run,
    hints=(
        "You have already written both functions that you need. Which of the 16 numbers can't you "
        "reproduce?",
        "Take the first sentence that comes out wrong. Write down the links that the head finds, "
        "the sure ones and the possible ones, and try each error by hand: which of the six gives "
        "the number in the table? If two of them do, go on to the next sentence that comes out "
        "wrong.",
        "for n in range(8): print(n + 1, alignment_error_rate(align(weights[n]), sure[n], "
        'possible[n])), with weights = run["weights"]["A"], and so on. Then change align or the '
        "sets, one error after the other, until all eight rates are those of the wrong table.",
    ),
)
