"""08.conclude: Where are most of the parameters?"""

from __future__ import annotations

import random

from course_lib.checks.items.full_model.parameter_shares import (
    Counts,
    conclusion,
    draw_config,
    shapes,
)
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model import TransformerConfig

SHOWN = 15  # parameters in the text


def _make(drawn: random.Random) -> TransformerConfig:
    return draw_config(drawn, drawn.choice([*CONCLUSIONS]))


def _show(config: TransformerConfig) -> Outcome:
    named = shapes(config)
    first = [*named.items()][:SHOWN]
    text = [f"{name:50}{shape}" for name, shape in first]
    text.append(f"… and {len(named) - SHOWN} more, all in run['shapes']")
    return Outcome(text="\n".join(text), values={"shapes": named})


CONCLUSIONS = {
    "over_half": "more than half of the parameters are in attention, as your friend concludes",
    "largest": "attention has more than each of the others, but less than half of all parameters",
    "feed_forward": "the feed-forward networks have the most, and still would with twice the "
    "tokens in both vocabularies",
    "until_vocab": "the feed-forward networks have the most, but with twice the tokens in both "
    "vocabularies the tables would",
    "tables": "the tables have the most, and still would with twice as many blocks",
    "until_depth": "the tables have the most, but with twice as many blocks they no longer would",
}
TABLES = "Twice the tokens double the tables, and change nothing in the blocks."
BLOCKS = (
    "Twice the blocks double attention and feed-forward alike, and change nothing in the tables."
)
run = NumberedRun(
    id="08.conclude",
    make=_make,
    show=_show,
    questions={
        "share": Number(
            what="attention's share (in per cent, without the norms)",
            right=lambda config: Counts.of(config).share,
            look="A shape of (512, 512) is 262,144 parameters. Add up those whose name has "
            "“attention” in it, biases too, and divide by the sum of all three kinds. A share of "
            "0.45 is 45 %: write it in per cent, with one decimal.",
            within=0.06,
        ),
        "conclusion": Choice(
            options=CONCLUSIONS,
            right=conclusion,
            look={
                "over_half": "Then attention's share would be above 50 %.",
                "largest": "Then each of the two other sums would be smaller than attention's.",
                "feed_forward": f"{TABLES} Then the feed-forward networks would have more than "
                "twice what the tables have now, and more than attention.",
                "until_vocab": f"{TABLES} Then the feed-forward networks would have more than the "
                "tables now, and less than twice as much.",
                "tables": f"{BLOCKS} Then the tables would have more than twice what attention "
                "has, and more than twice what the feed-forward networks have.",
                "until_depth": f"{BLOCKS} Then the tables would have the most now, but less than "
                "twice as much as one of the two others.",
            },
        ),
    },
    says=lambda config: _says(config, Counts.of(config)),
)


def _says(config: TransformerConfig, counts: Counts) -> str:
    others = [100 * part / counts.total for part in (counts.feed_forward, counts.tables)]
    name = CONCLUSIONS[conclusion(config)]
    return (
        f"{name[0].upper()}{name[1:]}. With D = {config.d_model}, F = {config.d_ff}, "
        f"{config.n_layers} blocks and V = {config.target_vocab:,}, attention has "
        f"{counts.share:.1f} % of your {counts.total:,} parameters, the feed-forward networks "
        f"{others[0]:.1f} %, the tables {others[1]:.1f} %, if the norms are left out."
    )


item = own_number_item(
    run,
    hints=(
        "Sort the names into four kinds: attention, feed-forward, norm, and the tables with the "
        "output layer. Which sizes occur in the shapes of each kind?",
        "The number of parameters of a shape is the product of its sizes. Add them up for each "
        "kind. Then double the sums that grow with V, or those that grow with N, and compare "
        "again.",
        '`sum(math.prod(shape) for name, shape in run["shapes"].items() if "attention" in name)`; '
        'and so on with "feed_forward", and with what is in neither stack.',
    ),
)
