"""Honest numbers: BLEU otherwise."""

from __future__ import annotations

from course_lib.checks.conventions.changes import exchanged, times
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
)
