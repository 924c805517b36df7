"""07.compare: Which of two decoder blocks is right, seen from outside?"""

from __future__ import annotations

import random
from dataclasses import dataclass

from course_lib.checks.items.blocks.tested_block import PADS, Tested, tested_block
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)


@dataclass(frozen=True)
class Blocks:
    """Two blocks, of which one has an error.

    Attributes:
        honest: "A" or "B".
        error: of the other block.
        tested: by letter.
    """

    honest: str
    error: str
    tested: dict[str, Tested]

    @property
    def wrong_rows(self) -> list[int]:
        """Rows that show the error."""
        return self.tested["B" if self.honest == "A" else "A"].wrong_rows


def _make(drawn: random.Random) -> Blocks:
    error, (honest, other) = drawn.choice([*ERRORS]), drawn.sample("AB", 2)
    order, lengths = drawn.sample(range(7), 7), drawn.sample([6, 7, 8], 2)
    tested = {}  # by letter
    for letter, words in zip((honest, other), lengths, strict=True):
        word, source_word = drawn.randint(2, words - 2), drawn.randint(1, words - PADS - 1)
        tested[letter] = tested_block(
            "" if letter == honest else error,
            words=words,
            word=word,
            source_word=source_word,
            order=order,
        )
    return Blocks(honest, error, tested)


def _show(run: Blocks) -> Outcome:
    lines = []
    for letter in "AB":
        tested = run.tested[letter]
        n = tested.words
        lines.append(f"{letter}: {n} target words, a source of {n - PADS} words and {PADS} pads")
        lines.append(f"row  {'what is changed':46}outputs that move, of {n}")
        rows = zip(tested.changes, tested.moved, strict=True)
        lines += [f"{row}    {what:46}{moved}" for row, (what, moved) in enumerate(rows, start=1)]
        lines.append("")
    return Outcome(
        text="\n".join(lines).rstrip(),
        values={letter: tested.moved for letter, tested in run.tested.items()},
    )


ERRORS = {
    "future": "self-attention is not causal",
    "itself": "cross-attention takes its keys and values from the target",
    "causal": "cross-attention has the causal mask, and not the padding mask of the source",
    "pads": "cross-attention has no mask",
    "residual": "the residual around cross-attention is missing",
    "dropout": "dropout is active in evaluation mode, too",
}
run = NumberedRun(
    id="07.compare",
    make=_make,
    show=_show,
    questions={
        "honest": Choice(
            options={"A": "A", "B": "B"},
            right=lambda run: run.honest,
            look={
                letter: "Write down, row by row, how many outputs a right block moves, and compare "
                f"that with {letter}. Dropout moves all outputs in training mode, and only there; "
                "and what cross-attention returns doesn't depend on the order of the source."
                for letter in "AB"
            },
            letters="AB",
        ),
        "row": Number(
            what="the first row that shows the error",
            right=lambda run: run.wrong_rows[0],
            look="Rows count from 1, as in the table. Look for the first one in which the block "
            "with the error doesn't move as many outputs as a right block.",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error,
            look={
                "future": "Then another target word would move all outputs, and nothing else "
                "would be unusual.",
                "itself": "Then no change of the source would move any output.",
                "causal": "Then another source word would move only outputs from its own position "
                "on, and a pad of the source the last ones.",
                "pads": "Then a pad of the source would move all outputs, and nothing else would "
                "be unusual.",
                "residual": "Then, with a memory of zeros, every target word would find the same "
                "in it, and nothing would be left of the target.",
                "dropout": "Then outputs would move even where nothing is changed, in evaluation "
                "mode.",
            },
        ),
    },
    says=lambda run: (
        f"Rows that show the error: {', '.join(map(str, run.wrong_rows))}. A block with this error "
        f"passes the other {7 - len(run.wrong_rows)} of 7 tests."
    ),
)
item = own_number_item(
    run,
    hints=(
        "For each row, ask first which outputs a right block would move: who may see a target "
        "word? A source word? A pad?",
        "If several rows are wrong, ask which single error explains all of them, and look at the "
        "row in which nothing is changed. If none seems wrong, ask what a residual does when the "
        "memory is all 0.",
        "Of n outputs, a right block moves n - t with target word t (a memory of zeros changes "
        "nothing in that), n with a source word, and n in training mode. With a pad, another order "
        "of the source, or nothing, it moves none.",
    ),
)
