"""What ``make new-item`` writes for an item that asks what a run of one's own number shows."""

from string import Template

MODULE = Template('''\
"""$item_id: FILL IN: a title."""

from __future__ import annotations

import random

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)


# FILL IN: in place of this list, a dataclass with what the run gives.
def _make(drawn: random.Random) -> list[int]:
    return [drawn.randrange(10) for _ in range(5)]


def _show(run: list[int]) -> Outcome:
    return Outcome(text=f"FILL IN: {run}", values={"run": run})


run = NumberedRun(
    id="$item_id",
    make=_make,
    show=_show,
    questions={
        "most": Number(
            what="FILL IN: the largest number",
            right=max,
            look="FILL IN: where it is found.",
        ),
        "why": Choice(
            options={
                "up": "FILL IN: a sentence that may be true",
                "down": "FILL IN: another sentence",
            },
            right=lambda run: "up" if run[0] < run[-1] else "down",
            look={
                "up": "FILL IN: what tells against it.",
                "down": "FILL IN: what tells against that.",
            },
        ),
    },
    says=lambda run: f"FILL IN: one true sentence about this run, {max(run)}.",
)
item = own_number_item(
    run,
    hints=(
        "FILL IN: a nudge.",
        "FILL IN: an approach.",
        "FILL IN: the operation, or a small example of it, and not the line itself.",
    ),
)
''')
SETTINGS = {
    "predict": "FILL IN: what runs, and what your number decides.\n\n"
    "Before you run it, write down FILL IN: what to predict, as a number. What you predict earns "
    "nothing and costs nothing: what counts is what you measure, and why it came out that way.",
    "compare": "FILL IN: what the two runs are. One of them is right, and the other has an error; "
    "your number decides which.",
    "conclude": "FILL IN: what was measured, and what somebody concluded from it. Your number "
    "decides the data.",
}
CELLS = {
    "task": Template("""\
## FILL IN: a title

$setting

In a cell of your own, call `run = make_run("$item_id", number=...)` with a whole number that is \
yours, such as your birthday, and look at `run`. FILL IN: what `run["run"]` holds, with its axes.

One of these sentences is true of your run:

- `a`: FILL IN: a sentence that may be true
- `b`: FILL IN: another sentence

`$name()` returns a dict with your `number`, FILL IN: each key and what it is."""),
    "hints": Template("`make exercises` writes the item's hints here."),
    "import": Template("from course_lib.checks import make_run"),
    "answer": Template('''\
def $name() -> list[dict[str, object]]:
    """Your numbers, and what their runs show."""
    ### BEGIN SOLUTION
    # FILL IN: what the run of number 0 shows, and how one sees it.
    return [
        {"number": 0, "most": 8, "why": "b"},
        {"number": 1, "most": 8, "why": "b"},  # FILL IN: the same of another number
    ]
    ### END SOLUTION'''),
    "check": Template('check("$item_id", $name)'),
}
