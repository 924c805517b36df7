"""07.compare: Which of two decoder blocks is right, seen from outside?"""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass

from course_lib.checks.items.blocks.tested_block import PADS, Tested, tested_block
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)

IN_BOTH = (0, 1)  # tests, in the order of `tested_block`
SHARED_OUT = (2, 3, 4, 5, 6)  # each for one block: the two tables can't be compared line by line
SHOWS = {  # the tests that show an error; each tells it from all others
    "future": (2, 6),
    "itself": (3,),
    "causal": (3, 4),
    "pads": (4,),
    "residual": (6,),
    "dropout": (0,),
}


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
    _: KW_ONLY
    tested: dict[str, Tested]

    @property
    def wrong(self) -> str:
        """The letter of the block with the error."""
        return "B" if self.honest == "A" else "A"

    @property
    def wrong_lines(self) -> list[int]:
        """Lines that show the error."""
        return self.tested[self.wrong].wrong_lines


def _make(drawn: random.Random) -> Blocks:
    error, (honest, other) = drawn.choice([*ERRORS]), drawn.sample("AB", 2)
    lengths, shows = drawn.sample([6, 7, 8], 2), drawn.choice(SHOWS[error])
    rest = [test for test in SHARED_OUT if test != shows]
    drawn.shuffle(rest)
    size = drawn.choice([1, 2]) if shows in SHARED_OUT else drawn.choice([2, 3])
    tests = {honest: rest[size:], other: [*rest[:size], shows]}
    tested = {}  # by letter
    for letter, words in zip((honest, other), lengths, strict=True):
        word, source_word = drawn.randint(2, words - 2), drawn.randint(1, words - PADS - 1)
        order = sorted({*IN_BOTH, *tests[letter]})
        drawn.shuffle(order)
        tested[letter] = tested_block(
            "" if letter == honest else error,
            words=words,
            word=word,
            source_word=source_word,
            order=order,
        )
    return Blocks(honest, error, tested=tested)


def _show(run: Blocks) -> Outcome:
    text = []
    for letter in "AB":
        tested = run.tested[letter]
        n = tested.words
        text.append(f"{letter}: {n} target words, a source of {n - PADS} words and {PADS} pads")
        text.append(f"line  {'what is changed':46}outputs that move, of {n}")
        pairs = zip(tested.changes, tested.moved, strict=True)
        text += [f"{line}     {what:46}{moved}" for line, (what, moved) in enumerate(pairs, 1)]
        text.append("")
    return Outcome(
        text="\n".join(text).rstrip(),
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
WHY = {
    "future": "a target word moves all outputs, also those before it",
    "itself": "no change of the source moves anything",
    "causal": "a word of the source moves only the outputs from its own position on, and a pad the "
    "last ones",
    "pads": "a pad of the source moves all outputs",
    "residual": "with a memory of zeros, every target word finds the same in it, and nothing of "
    "the target is left",
    "dropout": "two runs differ even when nothing is changed",
}
run = NumberedRun(
    id="07.compare",
    make=_make,
    show=_show,
    questions={
        "honest": which_is_right(
            lambda run: run.honest,
            look="Write down, line by line, how many outputs a right block moves, and compare that "
            "with {run}. Dropout moves all outputs in training mode, and only there; and what "
            "cross-attention returns doesn't depend on the order of the source.",
        ),
        "line": Number(
            what="the first line that shows the error",
            right=lambda run: run.wrong_lines[0],
            look="Lines count from 1, as in the table. Look for the first one in which the block "
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
        f"In {run.wrong}, {ERRORS[run.error]}: {WHY[run.error]}. It passes "
        f"{_passed(run.tested[run.wrong])}."
    ),
)


def _passed(tested: Tested) -> str:
    tests = len(tested.changes)
    return f"{tests - len(tested.wrong_lines) or 'none'} of its {tests} tests"


item = own_number_item(
    run,
    hints=(
        "For each line, ask first which outputs a right block would move: who may see a target "
        "word? A source word? A pad?",
        "If several lines are wrong, ask which single error explains all of them, and look at the "
        "line in which nothing is changed. If none seems wrong, ask what a residual does when the "
        "memory is all 0.",
        "With target word t, a right block moves the outputs from t on, `n - t` of them, whatever "
        "the memory is. All other lines have either n or 0 there: cross-attention is a weighted "
        "sum over the words of the source, and each target word may read all of them.",
    ),
)
