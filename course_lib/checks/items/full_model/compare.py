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
    which_is_right,
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
        changes = [[*CHANGES][number - 1] for number in run.tried[name]]
        for line, (what, row) in enumerate(zip(changes, moved.tolist(), strict=True), 1):
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
    "tables": "a table can be there, be counted, and never be read",
    "tying": "the row of a token that nobody reads moves the logits if, and only if, the output "
    "layer uses that table, too",
    "early": "what the last encoder block computes arrives nowhere in the decoder",
    "paired": "every decoder block should read what the whole encoder leaves, and here only the "
    "last one does",
    "same_input": "what a block leaves has to arrive in the next one, and here it doesn't",
    "positions": "without positions, the first block that reads the tokens sees no order",
}
LOOK = (
    "Go through its lines once more. Wherever it has 0.0, is there really no way "
    "from what is changed to that output? Wherever it has another number, where does the change "
    "get in?"
)
run = NumberedRun(
    id="08.compare",
    make=draw_models,
    show=_show,
    questions={
        "honest": which_is_right(lambda run: run.right, look=LOOK),
        "line": Number(
            what="the line of the wrong model in which one sees the error",
            right=lambda run: run.line,
            look="In that line, 0.0 stands where the change has to arrive, or another number where "
            "it can't. All other lines are possible in a right model of this config. Lines count "
            "from 1, in each model's log.",
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
        f"In {run.wrong}, {_error(run)}. Line {run.line} shows it: {TELLS[run.error.name]}."
    ),
)


def _error(run: TwoModels) -> str:
    """What is wrong in this run."""
    side = run.error.side
    other = "target" if side == "source" else "source"
    ties = run.config.tying == "output"
    return {
        "tables": f"the {side}'s tokens are looked up in the {other}'s table",
        "tying": "the target's embedding and the output layer "
        + ("have a table each" if ties else "share a table")
        + f", and the config says {run.config.tying!r}",
        "same_input": f"every block of the {'encoder' if side == 'source' else 'decoder'} reads "
        "what goes into the stack",
        "positions": f"the {side}'s tokens get no positional encodings",
    }.get(run.error.name, ERRORS[run.error.name])


item = own_number_item(
    run,
    hints=(
        "Draw the model of the config with its tables, blocks and arrows. For each line, follow "
        "the arrows from what is changed: which outputs can it reach?",
        "For each line, write down which outputs have to be 0.0 in a right model of your config, "
        "before you look at its numbers. Then compare.",
        'A right model has 0.0 only in an output that the change can\'t reach: `run["A"] < 0.05`. '
        "The decoder can't change what the encoder leaves, nor a block one before it. And who "
        'reads the row of a token that is in neither sentence? `run["config"].tying` decides.',
    ),
)
