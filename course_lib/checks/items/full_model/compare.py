"""08.compare: Two models of one config, one of them connected wrongly."""

from __future__ import annotations

from course_lib.checks.items.full_model.connections import CHANGES
from course_lib.checks.items.full_model.two_models import (
    TwoModels,
    draw_models,
    parameters_of_parts,
)
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)


def _show(run: TwoModels) -> Outcome:
    c = run.config
    text = [
        f"{c.n_layers} blocks in each stack, D = {c.d_model}, F = {c.d_ff}, tying = {c.tying!r}",
        "parameters of each part, the same in A and B:",
        *(f"  {part:17}{count:7,}" for part, count in parameters_of_parts(c).items()),
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
    make=draw_models,
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
