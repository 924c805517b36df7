"""Honest numbers: BLEU and the paired bootstrap otherwise."""

from __future__ import annotations

from course_lib.checks.conventions.changes import (
    exchanged,
    self_inverse,
    swapped,
    times,
    words,
)
from course_lib.checks.conventions.convention import Convention, Translation

CONVENTIONS = (
    Convention(
        "bleu_to_one",
        "scale of BLEU",
        "BLEU runs **from 0 to 1**.",
        {
            "12.bleu": Translation(
                result=times(0.01),
                edits=(
                    ("the BLEU of a corpus, from 0 to 100.", "the BLEU of a corpus, from 0 to 1."),
                    (
                        "It has to equal sacrebleu's corpus score",
                        "It has to equal a hundredth of sacrebleu's corpus score",
                    ),
                    ("Corpus BLEU, 0 to 100.", "Corpus BLEU, 0 to 1."),
                    (
                        "multiply by the brevity penalty and by 100.",
                        "multiply by the brevity penalty.",
                    ),
                    ("100 * min(1, exp(1 - r / c))", "min(1, exp(1 - r / c))"),
                    ("the references themselves score 100", "the references themselves score 1"),
                ),
                left_out=("up_to_one",),
            )
        },
    ),
    Convention(
        "references_first",
        "order of the sides",
        "The references come **before** the translations: `bleu(references, hypotheses, max_n=4)`.",
        {
            "12.bleu": Translation(
                exchanged("hypotheses", "references"),
                exchanged("hypotheses", "references"),
                edits=(
                    (
                        "bleu(hypotheses, references, max_n=4)",
                        "bleu(references, hypotheses, max_n=4)",
                    ),
                    (
                        "hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]",
                        "references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]",
                    ),
                ),
            )
        },
    ),
    Convention(
        "samples_are_columns",
        "resamples",
        "`resamples` has the shape **(N, R)**: each column is one sample.",
        {
            "12.paired_bootstrap": self_inverse(
                swapped(0, 1),
                "resamples",
                edits=(
                    ("(R, N)", "(N, R)"),
                    ("each row is one sample", "each column is one sample"),
                ),
                left_out=("means_over_samples",),
            )
        },
    ),
    Convention(
        "first_wins",
        "direction",
        "The result is the share of the samples that the **first** system wins.",
        {
            "12.paired_bootstrap": Translation(
                exchanged("first", "second"),
                exchanged("first", "second"),
                edits=(("(b > a)", "(a > b)"),),
                left_out=("first_higher",),
            )
        },
        words({"first system": "second system", "second system": "first system"}),
    ),
    Convention(
        "wins_in_percent",
        "scale of the share",
        "The result is a **percentage**, from 0 to 100.",
        {
            "12.paired_bootstrap": Translation(
                result=times(100),
                edits=(
                    ("the share of the samples", "the percentage of the samples"),
                    ("The share of the samples", "The percentage of the samples"),
                    ("Return a number from 0 to 1.", "Return a number from 0 to 100."),
                    (
                        "average what they count: 1, ½ or 0.",
                        "average what they count, 1, ½ or 0, and multiply by 100.",
                    ),
                    (".mean().item()", ".mean().item() * 100"),
                    ("With ½ for each tie, the result is ½.", "With half a win each, it gets 50."),
                    ("A single comparison gives 0, ½ or 1.", "One comparison gives 0, 50 or 100."),
                    ("it runs from −1 to 1.", "it runs from −100 to 100."),
                    ("from you, and should get ½.", "from you, and should get 50."),
                    ("asks for the share of samples", "asks for the percentage of samples"),
                ),
                left_out=("in_per_cent", "a_count", "mean_difference"),
            )
        },
    ),
)
