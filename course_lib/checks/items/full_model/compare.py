"""08.compare: Two models of one config, one of them connected wrongly."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from course_lib.checks.items.full_model.connections import (
    CHANGES,
    Error,
    Sentence,
    Side,
    changes,
)
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model import Transformer, TransformerConfig

LINES: dict[str, dict[Side, int]] = {  # of an error, by the side that has it: where alone it shows
    "tables": {"source": 2, "target": 6},
    "tying": {"target": 7},
    "early": {"source": 4},
    "paired": {"source": 4},
    "same_input": {"source": 3, "target": 8},
    "positions": {"source": 1, "target": 5},
}


@dataclass(frozen=True)
class TwoModels:
    """Two models of one config.

    Attributes:
        right: "A" or "B".
        error: of the other.
        seed: of their weights and of the sentence that they read.
    """

    config: TransformerConfig
    right: str
    error: Error
    seed: int

    @property
    def wrong(self) -> str:
        return "B" if self.right == "A" else "A"

    @property
    def line(self) -> int:
        return LINES[self.error.name][self.error.side]

    @cached_property
    def moved(self) -> dict[str, Tensor]:
        """How far changes reach, by model: (change, output)."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            sentence = Sentence.draw(min(self.config.source_vocab, self.config.target_vocab))
            errors = {name: Error() if name == self.right else self.error for name in "AB"}
            return {
                name: changes(error.build(self.config), sentence, error)
                for name, error in errors.items()
            }


def _make(drawn: random.Random) -> TwoModels:
    name = drawn.choice([*LINES])
    side = drawn.choice([*LINES[name]])
    d_model = drawn.choice([16, 24, 32])
    config = TransformerConfig(
        source_vocab=drawn.randint(30, 60),
        target_vocab=drawn.randint(30, 60),
        d_model=d_model,
        d_ff=4 * d_model,
        n_heads=4,
        n_layers=drawn.choice([2, 3, 4]),
        tying=drawn.choice(["none", "output"]),
    )
    return TwoModels(config, drawn.choice("AB"), Error(name, side), drawn.getrandbits(32))


def _parts(config: TransformerConfig) -> dict[str, int]:
    """The parameters of each part; a shared table counts in each part that uses it."""
    with torch.random.fork_rng(devices=[]):
        model = Transformer(config)
    return {
        name: sum(parameter.numel() for parameter in part.parameters())
        for name, part in model.named_children()
    }


def _show(run: TwoModels) -> Outcome:
    c = run.config
    text = [
        f"{c.n_layers} blocks in each stack, D = {c.d_model}, F = {c.d_ff}, tying = {c.tying!r}",
        "parameters of each part, the same in A and B:",
        *(f"  {part:17}{count:7,}" for part, count in _parts(c).items()),
        "",
        "how far each output moves, in per cent:",
    ]
    blocks = "".join(f"{f'dec {n}':>6}" for n in range(1, c.n_layers + 1))
    for name, moved in run.moved.items():
        text += ["", f"model {name}: what is changed {'encoder':>23}{blocks}{'logits':>7}"]
        for line, (what, row) in enumerate(zip(CHANGES, moved.tolist(), strict=True), 1):
            first, *decoder, logits = (f"{each:.1f}" for each in row)
            cells = "".join(f"{each:>6}" for each in decoder)
            text.append(f"{line:2}  {what:36}{first:>7}{cells}{logits:>7}")
    return Outcome(text="\n".join(text), values={"config": c, **run.moved})


ERRORS = {
    "tables": "the tokens of one side are looked up in the table of the other side",
    "tying": "the target's embedding and the output layer share a table though the config says no, "
    "or have one each though it says yes",
    "early": "the decoder reads what the last but one encoder block leaves",
    "paired": "the first decoder block reads what the first encoder block leaves, the second what "
    "the second leaves, and so on",
    "same_input": "in one stack, every block reads what goes into the stack, and not what the "
    "block before it leaves",
    "positions": "the tokens of one side get no positional encodings",
}
TELLS = {  # what one may remember of an error
    "tables": "A table can be there, be counted, and never be read",
    "tying": "With tied tables, even a token that nobody reads has a say in the logits",
    "early": "A block can compute something that nobody reads",
    "paired": "There is one hand-over from encoder to decoder, and every decoder block reads it",
    "same_input": "A stack is a stack only if each block reads the one before",
    "positions": "Without positions the first block that reads the tokens sees no order",
}
LOOK = (
    "Go through the lines of the other model as well. Wherever it has 0.0, is there a way from "
    "what is changed to that output? Wherever it has another number, where does the change get in?"
)
run = NumberedRun(
    id="08.compare",
    make=_make,
    show=_show,
    questions={
        "honest": Choice(
            letters="AB",
            options={"A": "A is connected as the config says", "B": "B is"},
            right=lambda run: run.right,
            look={"A": LOOK, "B": LOOK},
        ),
        "line": Number(
            what="the line of the wrong model in which one sees the error",
            right=lambda run: run.line,
            look="In that line, 0.0 stands where the change has to arrive, or another number where "
            "it can't. All other lines are possible in a right model of this config.",
        ),
        "error": Choice(
            options=ERRORS,
            right=lambda run: run.error.name,
            look={
                "tables": "Then the blocks of one side would not notice that a row of their own "
                "table is new, although the token of that row is in the sentence.",
                "tying": "Then a row of no token would move the logits where the config ties "
                "nothing, or leave them alone where it does.",
                "early": "Then no output of the decoder would notice that the last encoder block "
                "is new.",
                "paired": "Then only the last decoder block and the logits would notice that the "
                "last encoder block is new.",
                "same_input": "Then a new first block would reach the output of no other block of "
                "its own stack.",
                "positions": "Then the first block that reads the tokens would leave the same at "
                "the last position, in whichever order the others stand.",
            },
        ),
    },
    says=lambda run: (
        f"{TELLS[run.error.name]}: line {run.line} of {run.wrong} shows it. The number of "
        "parameters of each part is right."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Draw the model of the config with its tables, blocks and arrows. For each line, follow "
        "the arrows from what is changed: which outputs can it reach?",
        "Mark where A has 0.0 and where B has it. Where the marks differ, one of the two can't be "
        "right: which one do your arrows bear out?",
        '((run["A"] < 0.05) != (run["B"] < 0.05)).nonzero() has the row and the column of each '
        "difference, both counted from 0. What is it that the change should have passed?",
    ),
)
