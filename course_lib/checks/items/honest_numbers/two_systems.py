"""Two systems' translations of one test set, of which B has the higher BLEU for some reason."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property, lru_cache

import torch
from torch import Tensor

from course_lib.data import join_words, load_corpus

SENTENCES, RESAMPLES = 40, 10_000
STRAY = (2, 5)  # capital letters of each system, from and to, in the middle of a sentence
TELLS = 0.05  # points of BLEU by which another lead differs from the one that is asked for
STATES = ("shown", "chance", "one_sentence", "in_case", "seen")
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
    _: KW_ONLY
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

    @property
    def fair_leads(self) -> Tensor:
        """In lower case, of the sentences that aren't in the training set."""
        return self.leads_in_lower_case[~self.seen]

    @cached_property
    def a_wins(self) -> float:
        return share_of_losses(self.leads)


def scored(outputs: Sequence[str], references: Sequence[str]) -> Tensor:
    """Sentence BLEU, 0 to 100: (N,)."""
    pairs = zip(outputs, references, strict=True)
    return torch.tensor([_score(*pair) for pair in pairs], dtype=torch.float64)


@lru_cache(maxsize=1000)
def _score(output: str, reference: str) -> float:
    import sacrebleu

    return sacrebleu.sentence_bleu(output, [reference]).score


def share_of_losses(leads: Tensor) -> float:
    """The share of resamples in which the mean lead (N,) is below 0; one of 0 counts half."""
    fixed = torch.Generator().manual_seed(12)
    drawn = torch.randint(len(leads), (RESAMPLES, len(leads)), generator=fixed)
    return float((1 - leads[drawn].mean(dim=1).sign()).mean() / 2)


def _with_stray_capitals(
    drawn: random.Random, sentences: Sequence[Sequence[str]]
) -> list[list[str]]:
    """A few words in the middle of a sentence get a capital letter."""
    written = [[*words] for words in sentences]
    for words in drawn.sample([each for each in written if len(each) > 2], drawn.randint(*STRAY)):
        index = drawn.randrange(1, len(words) - 1)
        words[index] = words[index].capitalize()
    return written


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
    a, b = (_with_stray_capitals(drawn, each) for each in (a, b))
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


def draw_systems(drawn: random.Random) -> TwoSystems:
    state = drawn.choice(STATES)
    while True:
        for run in _drawn(drawn, state):
            if _is_clear(run):
                return run


def _is_clear(run: TwoSystems) -> bool:
    """Whether one conclusion holds by a clear margin, and the others don't."""
    leads, lowered, fair = run.leads, run.leads_in_lower_case, run.fair_leads
    ahead = {  # B's lead in what is left
        "all": leads.mean(),
        "one_sentence": (leads.sum() - leads.max()) / (SENTENCES - 1),
        "in_case": lowered.mean(),
        "seen": leads[~run.seen].mean(),
    }
    if run.state in ahead:
        ahead[run.state] = -ahead[run.state]  # A is ahead there
    lead = -fair.mean() if run.state in ("in_case", "seen") else fair.mean()
    if min(*ahead.values(), lead) < 0.4:
        return False
    others = (leads, lowered, leads[~run.seen])  # for whoever forgets a part of what is asked
    if any(abs(each.mean() - fair.mean()) < TELLS for each in others):
        return False
    if run.state in ("chance", "one_sentence"):
        return 0.12 < run.a_wins < 0.42
    if run.state == "shown" and max(map(share_of_losses, (lowered, leads[~run.seen], fair))) > 0.02:
        return False
    return run.a_wins < 0.03
