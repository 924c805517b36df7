"""13.compare: Which beam search is right?"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from course_lib.checks.items.decoding.search_logs import Step, search
from course_lib.checks.items.decoding.table_search import (
    Table,
    cuts_are_clear,
    draw_table,
    table_lines,
)
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)

NUMBERS = re.compile(r"-\d+\.\d\d")  # in a line of a log
FAR = 0.03  # nats: more than rounding can do


@dataclass(frozen=True)
class Pair:
    """Two logs, each of a table of its own; the search of one has an error."""

    wrong: str
    error: str
    _: KW_ONLY
    width: int
    length_penalty: float
    tables: Mapping[str, Table]

    def log(self, letter: str) -> list[Step]:
        """What the search of this letter logged."""
        error = self.error if letter == self.wrong else ""
        return self.log_of(letter, error)

    def log_of(self, letter: str, error: str) -> list[Step]:
        """What a search with this error would log; "" for a right one."""
        return search(self.tables[letter], self.width, self.length_penalty, error=error)

    @property
    def honest(self) -> str:
        return "B" if self.wrong == "A" else "A"

    @property
    def step(self) -> int:
        """The first step, from 1, at which the wrong log differs from that of a right search."""
        logged, right = self.log(self.wrong), self.log_of(self.wrong, "")
        return next(
            n for n, step in enumerate(right, 1) if n > len(logged) or logged[n - 1] != step
        )

    @property
    def is_clear(self) -> bool:
        """Whether no other error, and no rounding, explains the wrong log."""
        logged = self.log(self.wrong)
        others = (self.log_of(self.wrong, each) for each in ("", *ERRORS) if each != self.error)
        cut = [cuts_are_clear(table, self.width) for table in self.tables.values()]
        return all(logged != other for other in others) and all(cut) and self._is_visible

    @property
    def _is_visible(self) -> bool:
        """Whether the first wrong step has another prefix, or a number that is off by far."""
        logged, n = self.log(self.wrong), self.step - 1
        if n == len(logged):
            return True
        both = [" ".join(step) for step in (logged[n], self.log_of(self.wrong, "")[n])]
        words = [NUMBERS.sub("", step) for step in both]
        numbers = [map(float, NUMBERS.findall(step)) for step in both]
        return words[0] != words[1] or any(abs(a - b) > FAR for a, b in zip(*numbers, strict=True))


def _make(drawn: random.Random) -> Pair:
    wrong, error = drawn.choice("AB"), drawn.choice([*ERRORS])
    while True:
        tables = {letter: draw_table(drawn, drawn.choice([2, 3, 4])) for letter in "AB"}
        pair = Pair(
            wrong,
            error,
            width=drawn.choice([2, 3]),
            length_penalty=drawn.choice([0.6, 1.0]),
            tables=tables,
        )
        steps = {letter: len(pair.log_of(letter, "")) for letter in "AB"}
        long_enough = min(steps.values()) > 2 and len(pair.log(wrong)) > 1
        if long_enough and pair.is_clear and pair.step > 1:  # at step 1, only one error can show
            return pair


def _show(run: Pair) -> Outcome:
    lines = [f"width {run.width}, length penalty {run.length_penalty}"]
    for letter, table in run.tables.items():
        lines += ["", f"log {letter}"]
        for number, step in enumerate(run.log(letter), 1):
            lines += [
                f"  step {number}" * (n == 0) + " " * 8 * (n > 0) + f"   {line}"
                for n, line in enumerate(step)
            ]
        lines += ["", f"the table that {letter} searched", *table_lines(table)]
    return Outcome(
        text="\n".join(lines),
        values={
            "width": run.width,
            "length_penalty": run.length_penalty,
            "table": run.tables,
            "log": {letter: run.log(letter) for letter in run.tables},
        },
    )


ERRORS = {
    "one_each": "after the first step, only the best continuation of each beam is kept",
    "last_alone": "continuations are chosen by the probability of their last word alone",
    "divided": "each step divides the sums by the length penalty's divisor, and the score is "
    "divided once more",
    "slot_lost": "a hypothesis that has ended still counts as one of the beams to keep",
    "stops": "the search is over as soon as one hypothesis has ended",
    "bos_counted": "the length of a hypothesis counts `<bos>`",
}
run = NumberedRun(
    id="13.compare",
    make=_make,
    show=_show,
    questions={
        "honest": which_is_right(
            lambda run: run.honest,
            look="Do the first steps of {run} by hand: all continuations of all beams, their sums "
            "of ln p, the best of them. Is there a step that you can't reproduce?",
        ),
        "step": Number(
            what="the first step that a right search would have logged differently",
            right=lambda run: run.step,
            look="Take the table, and what the step before kept: which continuations are the best, "
            "what is their ln p, and what is the score of those that end? If steps are missing at "
            "the end, give the first that is missing. Steps count from 1.",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "one_each": "Then no step after the first would keep two continuations of one "
                "beam, not even where the second one is better than any other.",
                "last_alone": "Then each step would keep the continuations whose last word has the "
                "highest probability in its row, and each ln p would still be the right sum.",
                "divided": "Then from step 2 on, no ln p would be the sum of the words' ln p: all "
                "would be nearer to 0. In step 1 the divisor is 1.",
                "slot_lost": "Then after a step in which a hypothesis ended, all further steps "
                "would keep one continuation less, although there are more.",
                "stops": "Then the log would end with a step in which one hypothesis ended and "
                "another prefix did not.",
                "bos_counted": "Then the same prefixes would be kept with the right ln p, and only "
                "the scores would be wrong: divided by ((6 + n) / 6) ** α for n tokens.",
            },
        ),
    },
    says=lambda run: (
        f"Log {run.wrong} is wrong from step {run.step} on: {ERRORS[run.error]}. That search still "
        "returns a sentence, and only its log shows the error."
    ),
)
item = own_number_item(
    run,
    hints=(
        "You can't compare A with B: they searched different tables. Compare each with what you "
        "get by hand.",
        "For each step, continue every beam that the step before kept and that hasn't ended. Add "
        "ln p. Keep the best of all, as many as the width. Check the score of each that ends, too.",
        'for prefix in beams: for word, p in run["table"]["A"].get(prefix, {"<eos>": 1.0}).items()'
        ": print the ln p of prefix plus ln p of the word. Sort, and keep the first ones. n counts "
        "<eos>, and nothing else beside the words.",
    ),
)
