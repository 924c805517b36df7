"""12.experiment: Which BLEU is this?"""

from __future__ import annotations

from typing import Any

from course_lib.checks.items.experiment import BlackBox, experiment_item
from course_lib.checks.items.honest_numbers.bleu import item as bleu


def _problem(hypotheses: Any, references: Any) -> str:
    """What keeps arguments from being those that the task of bleu names."""
    for corpus in (hypotheses, references):
        if not isinstance(corpus, (list, tuple)) or not corpus:
            return "hypotheses and references as lists of sentences"
        for sentence in corpus:
            words = isinstance(sentence, (list, tuple))
            if not words or not all(isinstance(word, str) and word for word in sentence):
                return "a sentence as a list of words, such as 'a dog sleeps'.split()"
    if len(hypotheses) != len(references):
        return "one reference for each hypothesis"
    return ""


box = BlackBox(
    of=bleu,
    wrong={
        "not_clipped": "matches are not clipped",
        "mean_of_scores": "it is the mean of the sentences' scores",
        "no_brevity_penalty": "it has no brevity penalty",
        "arithmetic_mean": "it takes the arithmetic mean of the precisions, also where "
        "one of them is 0",
        "smoothed": "for each n from 1 to 4, 1 is added to matches and totals",
        "lower_case": "capital letters are ignored",
    },
    problem=_problem,
    most_numbers=120,
    most_calls=3,
    digits=2,
)
item = experiment_item(
    "12.experiment",
    box,
    hints=(
        "Before each call, write down what each error would give. A good call is one for which "
        "many of them give different scores.",
        "Some errors show only in certain texts: a word that is repeated, a translation that is "
        "shorter than its reference, one that is longer, a capital letter, two sentences of "
        "different quality, no match of four words.",
        "A long sentence with one difference in the middle gives matches of all lengths. Change it "
        "in one respect per call: leave out its end, repeat a word, take away a capital letter.",
    ),
)
