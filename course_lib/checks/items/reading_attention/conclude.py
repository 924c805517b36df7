"""14.conclude: Which head does it?"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.checks.items.reading_attention.ablated_heads import (
    ENGLISH,
    GERMAN,
    NAMES,
    Heads,
    draw_heads,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WITHIN = 0.0075  # two decimals, from a table with three


def _make(drawn: random.Random) -> Heads:
    why = drawn.choice([*WHY])
    while True:
        run = draw_heads(why, drawn)
        most = run.extra.abs().flatten().topk(2).values
        tells = abs(run.unsubtracted - run.extra[run.pair]) > 2 * WITHIN
        if tells and most[0] > 2 * WITHIN and most[0] - most[1] > WITHIN:
            return run


def _show(run: Heads) -> Outcome:
    lines = [
        f"loss of the whole model: {run.whole:.3f} nats a word",
        "loss without two heads; on the diagonal, without one head alone:",
        "       " + "".join(f"{name:>7}" for name in NAMES),
    ]
    for name, row in zip(NAMES, run.losses, strict=True):
        lines.append(f"  {name:>5}" + "".join(f"{loss:7.3f}" for loss in row))
    return Outcome(
        text="\n".join(lines),
        values={"maps": run.maps(), "losses": run.losses, "whole": run.whole},
        picture=lambda: _picture(run),
    )


def _picture(run: Heads) -> Axes:
    from course_lib.viz import plot_heads
    from course_lib.viz.alt_text import set_alt_text

    names = [f"head {name}" for name in NAMES]
    title = "Cross-attention: six heads, one sentence"
    figure = plot_heads(run.maps()[:, 0], ENGLISH, GERMAN, names=names, title=title)
    # By default it names the head with the lowest entropy, which is for the learner to see.
    words = "For each word, where each head looks: rows are English, columns German."
    set_alt_text(figure, f"{title}. {words}")
    return figure.axes[0]


WHY = {
    "sharpest": "the head with the sharpest maps does it: without this head alone, the "
    "loss rises most by far",
    "another": "one head does it, but not the one with the sharpest maps",
    "redundant": "two heads do it, and each can stand in for the other",
    "series": "two heads do it, and neither is of use without the other",
    "apart": "two heads do it, and each does a part of its own",
    "none": "none of the heads is needed for it, not even two of them at once",
}
run = NumberedRun(
    id="14.conclude",
    make=_make,
    show=_show,
    questions={
        "conclusion": Choice(
            options=WHY,
            right=lambda run: run.why,
            look={
                "sharpest": "Then the head with the lowest mean entropy would have by far the "
                "largest number on the diagonal. Does the one with the sharpest maps?",
                "another": "Then one number on the diagonal would stand out, that of a head whose "
                "maps are not the sharpest, and each pair with that head would cost about as much "
                "as the head alone.",
                "redundant": "Then two heads would each cost less than half a nat alone, and far "
                "more together.",
                "series": "Then two heads would each cost more than half a nat alone, and together "
                "hardly more than one of them.",
                "apart": "Then two heads would each cost more than half a nat alone, and together "
                "at least the sum of the two.",
                "none": "Then no number of the table would be more than half a nat above the loss "
                "of the whole model.",
            },
        ),
        "extra": Number(
            what="what a pair costs beyond the sum of its two heads, in nats",
            right=lambda run: run.extra[run.pair].item(),
            look="The effect of an ablation is the loss without the heads minus the loss of the "
            "whole model. From the effect of each pair, subtract those of its two heads alone. "
            "Give the number that is furthest from 0, to two decimals and with its sign; the "
            "diagonal, on which each head stands alone, has no pairs.",
            within=WITHIN,
        ),
    },
    says=lambda run: (
        f"{WHY[run.why]}. The sharpest maps are those of head {NAMES[run.sharpest]}, and "
        f"without it the loss rises by {run.alone[run.sharpest]:.2f} nats. Heads "
        f"{NAMES[run.pair[0]]} and {NAMES[run.pair[1]]} cost {run.alone[run.pair[0]]:.2f} and "
        f"{run.alone[run.pair[1]]:.2f} alone, and {run.losses[run.pair].item() - run.whole:.2f} "
        "together."
    ),
)
item = own_number_item(
    run,
    hints=(
        "The picture, or the mean entropy of its maps, tells you which head is the sharpest. What "
        "does the table say about that head?",
        "Look at the diagonal first, then at the pairs. If a pair costs more than its two heads "
        "alone, or less, what does that tell you about the two?",
        'alone = run["losses"].diagonal() - run["whole"] is what each head costs alone. For a = '
        "torch.tensor([1, 2]), a[:, None] + a[None, :] has the rows 2 3 and 3 4: the sum of each "
        "pair. Where do you find what a pair really costs? Of a table of pairs, triu(1) keeps "
        "those above the diagonal, each pair once.",
    ),
)
