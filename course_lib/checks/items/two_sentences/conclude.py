"""10.conclude: Far below ln V, so it translates?"""

from __future__ import annotations

from collections import Counter

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.checks.items.two_sentences.small_language import Trained, draw_trained


def _show(run: Trained) -> Outcome:
    counted = Counter(run.task.pairs)
    lines = [
        f"{' '.join(pair.source):22} {' '.join(pair.target):22} {f'{n} times' if n > 1 else ''}"
        for pair, n in counted.items()
    ]
    lines += ["", f"ln V = {run.ln_v:.3f}", ""]
    lines.append(f"{'sentences':22}   loss  sources shuffled   translated right")
    for i, (name, task) in enumerate((("trained on", run.task), ("not seen", run.others))):
        loss, shuffled = run.losses[2 * i : 2 * i + 2]
        right = f"{run.right[i]} of {len(task.pairs)}"
        lines.append(f"{name:22}  {loss:5.3f}  {shuffled:16.3f}   {right}")
    return Outcome(
        text="\n".join(line.rstrip() for line in lines),
        values={
            "pairs": run.task.pairs,
            "vocabulary": len(run.task.english),
            "loss": run.loss,
            "shuffled": run.shuffled,
            "other_pairs": run.others.pairs,
            "other_loss": run.losses[2],
        },
    )


STATES = {
    "translates": "it reads the source, and most other sentences of these words come out right as "
    "well: within this small language, it translates",
    "memorised": "it reads the source and has memorised its sentences, but most other sentences of "
    "the same words come out wrong",
    "blind": "it has learned all that the English alone can tell, and doesn't read the source",
    "early": "it was stopped too early: a model that knows only the English would have a clearly "
    "lower loss",
    "sees_the_label": "it sees the very token that it should predict, and doesn't translate at all",
}
SEEN = {  # in the losses, and in what comes out right
    "translates": "The loss is below it, shuffled sources cost a lot, and most sentences that the "
    "model hasn't seen come out right: it translates",
    "memorised": "The loss is below it, and shuffled sources cost a lot, but most sentences that "
    "the model hasn't seen come out wrong: it has memorised its own",
    "blind": "The loss is just above it, and shuffled sources cost nothing: all that the model "
    "knows is English",
    "early": "The loss is clearly above it: knowing the English sentences would already bring it "
    "lower",
    "sees_the_label": "The loss is far below it although shuffled sources cost nothing, and no "
    "sentence comes out right: the model sees its labels",
}
run = NumberedRun(
    id="10.conclude",
    make=draw_trained,
    show=_show,
    questions={
        "baseline": Number(
            what="the target-only baseline of the sentences it was trained on",
            right=lambda run: run.baseline,
            look="For each prefix of a target, count what follows it, `<eos>` included: that is "
            '`target_only_entropy(run["pairs"])`, in nats per token, with three decimals. A pair '
            "that occurs three times counts three times.",
            within=0.001,
        ),
        "conclusion": Choice(
            options=STATES,
            right=lambda run: run.state,
            look={
                "translates": "Then the loss would be below the baseline, shuffled sources would "
                "cost a lot, and most sentences that it hasn't seen would be right.",
                "memorised": "Then the loss would be below the baseline and shuffled sources "
                "would cost a lot, but few sentences that it hasn't seen would be right.",
                "blind": "Then the loss would lie on the baseline, or a few hundredths above it, "
                "and shuffled sources would cost nothing.",
                "early": "Then the loss would be clearly above the baseline: knowing the English "
                "sentences alone would already bring it further down.",
                "sees_the_label": "Then the loss would be far below the baseline although "
                "shuffled sources cost nothing, and no sentence would be right.",
            },
        ),
    },
    says=lambda run: (
        f"The loss of {run.loss:.3f} is far below ln V = {run.ln_v:.2f}, but what counts is the "
        f"baseline of {run.baseline:.3f}. {SEEN[run.state]}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "How low could a model get on these sentences that has never read a word of German?",
        "Compute the baseline of the sentences that it was trained on and put the loss beside it: "
        "above it, on it, or below it? Only then look at what shuffled sources cost, and at the "
        "sentences that it hasn't seen.",
        'target_only_entropy(run["pairs"]), and then run["loss"] and run["shuffled"]. If the loss '
        "is below it, the source must have been read, or the label.",
    ),
)
