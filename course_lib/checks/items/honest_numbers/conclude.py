"""12.conclude: Is B better than A?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from course_lib.checks.items.honest_numbers.two_systems import (
    SENTENCES,
    TwoSystems,
    draw_systems,
)
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _show(run: TwoSystems) -> Outcome:
    a, b = run.scores
    lines = [
        f"{SENTENCES} sentences, mean of their BLEU: A {a.mean():.1f}, B {b.mean():.1f}",
        f"{len(run.training)} sentences in the training set",
    ]
    return Outcome(
        text="\n".join(lines),
        values={
            "references": run.references,
            "a": run.a,
            "b": run.b,
            "scores_a": a,
            "scores_b": b,
            "training": run.training,
        },
        picture=lambda: _picture(run),
    )


def _picture(run: TwoSystems) -> Axes:
    from course_lib.viz import plot_curves

    return plot_curves(
        {"B minus A": run.leads.sort().values},
        x=range(1, SENTENCES + 1),
        x_label="sentences, sorted",
        y_label="BLEU of B minus BLEU of A",
        title="How much better B is, sentence by sentence",
        baselines={"equal": 0.0},
    )


STATES = {
    "shown": "B's lead is shown: on other sentences of this kind, B would almost surely win again, "
    "also in lower case and on sentences not trained on",
    "chance": "B's lead is within chance, though it doesn't hang on one sentence alone",
    "one_sentence": "B's lead comes from one sentence: without it, A is ahead",
    "in_case": "B's lead comes from capital letters: with all texts in lower case, A is ahead",
    "seen": "B's lead comes from sentences that are in the training set: on the others, A is ahead",
}
SEEN = {  # in the leads
    "shown": "That isn't luck, and B stays ahead under every change",
    "chance": "Other sentences of this kind might well have had A ahead, whichever one is left out",
    "one_sentence": "Without the one sentence on which B gains most, A is ahead",
    "in_case": "That isn't luck, but in lower case A is ahead: B writes nearly all capital letters "
    "as the references do, and A doesn't",
    "seen": "That isn't luck, but on sentences that neither was trained on, A is ahead: B has "
    "memorised more",
}
run = NumberedRun(
    id="12.conclude",
    make=draw_systems,
    show=_show,
    questions={
        "a_wins": Number(
            what="the share of resamples that A wins",
            right=lambda run: run.a_wins,
            look=f"Draw {SENTENCES} of the {SENTENCES} sentences with replacement, 10,000 times, "
            "the same for both systems, and count how often A's mean is the higher one, as a share "
            "from 0 to 1. `paired_bootstrap(a, b, …)` says how often B wins, and "
            "`paired_bootstrap(b, a, …)` how often A does.",
            within=0.02,
        ),
        "lead": Number(
            what="B's mean lead in lower case, on sentences that aren't in the training set",
            right=lambda run: float(run.fair_leads.mean()),
            look="Leave out the sentences whose reference is in the training set. Turn the others, "
            "A's and B's translations and the references, into lower case, and score them again. "
            "The lead is B's mean minus A's, below 0 if A is ahead, with two decimals.",
            within=0.01,
        ),
        "conclusion": Choice(
            options=STATES,
            right=lambda run: run.state,
            look={
                "shown": "For that, A may win hardly any of the resamples, and B must stay ahead "
                "also where nothing helps it: in lower case, and on sentences that aren't in the "
                "training set.",
                "chance": "For that, A must win more than a few of the resamples, and B must stay "
                "ahead whichever sentence you leave out.",
                "one_sentence": "For that, A must be ahead in the mean of the 39 other sentences. "
                "Leave out the one on which B gains most.",
                "in_case": "For that, A must be ahead once outputs and references are in lower "
                "case and scored again.",
                "seen": "For that, A must be ahead in the mean of those sentences whose reference "
                "is not in the training set.",
            },
        ),
    },
    says=lambda run: (
        f"B leads by {run.leads.mean():.1f} points, and A wins {run.a_wins:.0%} of the resamples. "
        f"{SEEN[run.state]}. In lower case and on sentences not trained on, B's lead is "
        f"{run.fair_leads.mean():.2f}.".replace("-", "−")
    ),
)
item = own_number_item(
    run,
    hints=(
        "The bootstrap can show that a lead isn't luck. Can it show where the lead comes from?",
        "Measure B's lead four times: on all sentences with the paired bootstrap, without the "
        "sentence on which B gains most, in lower case, and on the sentences that aren't in the "
        "training set.",
        'gain = run["scores_b"] - run["scores_a"] is B\'s lead on each sentence, and gain.mean() '
        "is its lead on all. torch.randint(40, (10_000, 40)) draws 10,000 test sets: in which "
        "share of them is the mean lead below 0? gain[[True, False, …]], with one entry for each "
        "sentence, keeps those with a True: what has to be True of a reference? For lower case, "
        "each sentence has to be scored anew.",
    ),
)
