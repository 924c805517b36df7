"""12.conclude: Is B better than A?"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from textwrap import shorten
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.data import join_words, load_corpus

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SENTENCES, RESAMPLES = 40, 10_000
OTHER_WORDS = "house old goes with woman never because small they there after green had".split()


@dataclass(frozen=True)
class TwoSystems:
    """Two systems' translations of one test set.

    Attributes:
        state: which conclusion is right.
        training: the targets of sentences that both systems were trained on.
    """

    state: str
    references: list[str]
    a: list[str]
    b: list[str]
    training: list[str]

    @cached_property
    def scores(self) -> Tensor:
        """Sentence BLEU of A and of B: (2, N)."""
        return torch.stack([scored(each, self.references) for each in (self.a, self.b)])

    @property
    def leads(self) -> Tensor:
        """B's score minus A's: (N,)."""
        return self.scores[1] - self.scores[0]

    @cached_property
    def leads_in_lower_case(self) -> Tensor:
        a, b, references = (lower(each) for each in (self.a, self.b, self.references))
        return scored(b, references) - scored(a, references)

    @property
    def seen(self) -> Tensor:
        """Which of the sentences are in the training set: (N,)."""
        return torch.tensor([each in self.training for each in self.references])

    @cached_property
    def a_wins(self) -> float:
        return share_of_losses(self.leads)


def scored(outputs: Sequence[str], references: Sequence[str]) -> Tensor:
    """Sentence BLEU, 0 to 100: (N,)."""
    return torch.tensor([_score(*each) for each in zip(outputs, references, strict=True)]).double()


@lru_cache(maxsize=1000)
def _score(output: str, reference: str) -> float:
    import sacrebleu

    return sacrebleu.sentence_bleu(output, [reference]).score


def share_of_losses(leads: Tensor) -> float:
    """The share of resamples in which the mean lead (N,) is below 0; one of 0 counts half."""
    fixed = torch.Generator().manual_seed(12)
    drawn = torch.randint(len(leads), (RESAMPLES, len(leads)), generator=fixed)
    return float((1 - leads[drawn].mean(dim=1).sign()).mean() / 2)


def lower(texts: Sequence[str]) -> list[str]:
    return [text.lower() for text in texts]


def _garbled(drawn: random.Random, words: Sequence[str], errors: float) -> list[str]:
    """Now and then, a word is exchanged, left out or doubled; the last one stays."""
    written: list[str] = []
    for word in words[:-1]:
        written += drawn.choice(
            [[drawn.choice(OTHER_WORDS)], [], [word, word]] if drawn.random() < errors else [[word]]
        )
    return [*written, words[-1]]


@cache
def _targets(split: str, size: int) -> list[tuple[str, ...]]:
    return [pair.target for pair in load_corpus("grammar_de_en").pairs(split, size)]


def _drawn(drawn: random.Random, state: str) -> Iterator[TwoSystems]:
    """Systems that may be in this state; after the first, with some translations exchanged."""
    targets = drawn.sample(_targets("test", 200), SENTENCES)
    n_seen = drawn.randint(16, 20) if state == "seen" else drawn.randint(2, 4)
    special, *seen = drawn.sample(range(SENTENCES), n_seen + 1)
    errors = (0.14 if state == "shown" else 0.05, 0.07 if state == "in_case" else 0.05)
    both = [_garbled(drawn, each, 0.15) for each in targets]  # a hard sentence is hard for both
    a, b = ([_garbled(drawn, each, error) for each in both] for error in errors)
    for number in seen if state == "seen" else []:
        b[number] = [*targets[number]]
    if state == "one_sentence":
        a[special], b[special] = [*targets[special][:1]], [*targets[special]]
    capital = drawn.random() < 0.5
    a_differs = state == "in_case" or (state == "shown" and drawn.random() < 0.5)
    training = drawn.sample(_targets("train", 400), 260) + [targets[number] for number in seen]
    drawn.shuffle(training)
    for _ in range(30 if state in ("chance", "one_sentence") else 1):
        yield TwoSystems(
            state,
            references=_texts(targets, capital=capital),
            a=_texts(a, capital=capital ^ a_differs),
            b=_texts(b, capital=capital),
            training=_texts(training, capital=capital),
        )
        for number in range(SENTENCES):
            if number != special and drawn.random() < 0.5:
                a[number], b[number] = b[number], a[number]


def _texts(sentences: Iterable[Sequence[str]], *, capital: bool) -> list[str]:
    """As running text, each with a capital or a small letter first."""
    texts = [join_words(words) for words in sentences]
    return [text[0].upper() + text[1:] for text in texts] if capital else texts


def _make(drawn: random.Random) -> TwoSystems:
    state = drawn.choice([*STATES])
    while True:
        for run in _drawn(drawn, state):
            if _is_clear(run):
                return run


def _is_clear(run: TwoSystems) -> bool:
    """Whether one conclusion holds by a clear margin, and the others don't."""
    leads, lowered = run.leads, run.leads_in_lower_case
    ahead = {  # B's lead in what is left
        "all": leads.mean(),
        "one_sentence": (leads.sum() - leads.max()) / (SENTENCES - 1),
        "in_case": lowered.mean(),
        "seen": leads[~run.seen].mean(),
    }
    if run.state in ahead:
        ahead[run.state] = -ahead[run.state]  # A is ahead there
    if min(ahead.values()) < 0.4:
        return False
    if run.state in ("chance", "one_sentence"):
        return 0.12 < run.a_wins < 0.42
    if run.state == "shown" and max(map(share_of_losses, (lowered, leads[~run.seen]))) > 0.02:
        return False
    return run.a_wins < 0.03


def _show(run: TwoSystems) -> Outcome:
    a, b = run.scores
    lines = [
        f"{SENTENCES} sentences, mean of their BLEU: A {a.mean():.1f}, B {b.mean():.1f}",
        f"{len(run.training)} sentences in the training set",
        "",
    ]
    for number in range(4):
        sides = ((None, run.references), (a, run.a), (b, run.b))
        for name, (scores, texts) in zip(("reference", "A", "B"), sides, strict=True):
            score = "" if scores is None else f"{scores[number]:5.1f}"
            lines.append(f"{name:9} {score:5} {shorten(texts[number], 64, placeholder=' …')}")
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
    "shown": "B's lead is shown: on other sentences of this kind, B would almost surely win again",
    "chance": "B's lead is within chance, though it doesn't hang on one sentence alone",
    "one_sentence": "B's lead comes from one sentence: without it, A is ahead",
    "in_case": "B's lead comes from capital letters: with all texts in lower case, A is ahead",
    "seen": "B's lead comes from sentences that are in the training set: on the others, A is ahead",
}
run = NumberedRun(
    id="12.conclude",
    make=_make,
    show=_show,
    questions={
        "a_wins": Number(
            what="the share of resamples that A wins",
            right=lambda run: run.a_wins,
            look=f"Draw {SENTENCES} of the {SENTENCES} sentences with replacement, at least 1,000 "
            "times, the same for both systems, and count how often A's mean is the higher one. "
            "Take all sentences, with their scores as they are.",
            within=0.06,
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
        "The bootstrap asks only about other sentences of the same kind, scored in the same way."
    ),
)
item = own_number_item(
    run,
    hints=(
        "The bootstrap can show that a lead isn't luck. Can it show where the lead comes from?",
        "Measure B's lead four times: on all sentences with the paired bootstrap, without the "
        "sentence on which B gains most, in lower case, and on the sentences that aren't in the "
        "training set.",
        'gain = run["scores_b"] - run["scores_a"]. The bootstrap: gain[torch.randint(40, (1000, '
        "40))].mean(1). Without one sentence: gain.sort().values[:-1].mean(). Not seen: "
        'gain[torch.tensor([r not in run["training"] for r in run["references"]])].mean().',
    ),
)
