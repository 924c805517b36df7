"""11.bleu: BLEU from n-grams, equal to sacrebleu's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import sacrebleu

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe

Sentences = Sequence[Sequence[str]]


WORDS = "the a cat dog sees likes old garden in of . ?".split()


def _of_sacrebleu(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    metric = sacrebleu.BLEU(
        max_ngram_order=max_n, tokenize="none", smooth_method="none", force=True
    )
    lines = ([" ".join(words) for words in sentences] for sentences in (hypotheses, references))
    hypothesis_lines, reference_lines = lines
    return metric.corpus_score(hypothesis_lines, [reference_lines]).score


def _sentence(draw: Draw, length: int) -> list[str]:
    return [WORDS[i] for i in draw.ids(length, low=0, high=len(WORDS) - 1).tolist()]


def _with_errors(draw: Draw, words: list[str]) -> list[str]:
    """One word in five is replaced; the first four stay, so that one 4-gram always matches."""
    kept = draw.mask(len(words), share=0.8).tolist()
    other = _sentence(draw, len(words))
    return [
        a if keep or i < 4 else b
        for i, (a, b, keep) in enumerate(zip(words, other, kept, strict=True))
    ]


def _corpus(draw: Draw, *lengths: int) -> tuple[list[list[str]], list[list[str]]]:
    references = [_sentence(draw, length) for length in lengths]
    return [_with_errors(draw, words) for words in references], references


def _good_and_bad(draw: Draw) -> Call:
    hypotheses, references = _corpus(draw, 12, 6, 9)
    wrong, right = _sentence(draw, 15), _sentence(draw, 15)
    return Call(([*hypotheses, wrong], [*references, right]), about="4 sentences")


def _cut(draw: Draw, share: float) -> Call:
    hypotheses, references = _corpus(draw, 14, 10, 12)
    short = [words[: max(1, int(share * len(words)))] for words in hypotheses]
    return Call((short, references), about=f"translations truncated to {share:.0%} of their length")


def _lengthened(draw: Draw) -> Call:
    hypotheses, references = _corpus(draw, 8, 10)
    hypotheses = [words + _sentence(draw, draw.integer(3, 5)) for words in hypotheses]
    return Call((hypotheses, references), about="translations longer than the references")


def _one_long_one_short(draw: Draw) -> Call:
    hypotheses, references = _corpus(draw, 9, 12, 10)
    hypotheses[0] += _sentence(draw, 4)
    hypotheses[1] = hypotheses[1][:5]
    return Call((hypotheses, references), about="one translation too long, another too short")


def _repeated(draw: Draw) -> list[Call]:
    references = ["the old dog sees the cat in the garden .".split(), _sentence(draw, 8)]
    hypotheses = ["the the the the old dog sees the cat the the".split(), list(references[1])]
    doubled = [references[0] + references[0], hypotheses[1]]
    return [
        Call((hypotheses, references), about="a word repeated too often"),
        Call((doubled, references), about="a sentence repeated"),
    ]


def _few_ngrams(draw: Draw) -> list[Call]:
    long, references = _corpus(draw, 10, 9)
    shorts = [["the", "cat", "."], ["?"], []]
    expected = [["the", "cat", "."], [".", "?"], ["a", "dog"]]
    return [
        Call((shorts[:1], expected[:1]), about="a perfect sentence of 3 words"),
        Call(
            ([*long, *shorts], [*references, *expected]), about="short sentences among longer ones"
        ),
        Call(([["a", "dog"], []], [["the", "cat"], ["of"]]), about="no word in common"),
    ]


item = Item(
    "11.bleu",
    reference=_of_sacrebleu,
    probes=[
        Probe(
            "n-grams are counted over the whole corpus, and divided once",
            lambda draw: [_good_and_bad(draw), Call(_corpus(draw, 5, 20, 7), about="3 sentences")],
        ),
        Probe(
            "the references themselves score 100",
            lambda draw: [
                Call(([words], [words]), about="one sentence")
                for words in (_sentence(draw, 9), _sentence(draw, 4))
            ],
        ),
        Probe("an n-gram counts at most as often as the reference has it", _repeated),
        Probe(
            "translations that are too short get a penalty, and longer ones don't",
            lambda draw: [
                _cut(draw, 0.5),
                _cut(draw, 0.9),
                _lengthened(draw),
                _one_long_one_short(draw),
            ],
        ),
        Probe(
            "max_n sets the length of the longest n-grams",
            lambda draw: [
                Call((*_corpus(draw, 11, 8, 6), max_n), about=f"max_n is {max_n}")
                for max_n in (1, 2, 3, 6)
            ],
        ),
        Probe(
            "without a match of some length the score is 0, and short sentences do no harm",
            _few_ngrams,
        ),
        Probe(
            "capital letters and word order matter",
            lambda draw: (
                [
                    Call(([["The", *words]], [["the", *words]]), about="a capital letter")
                    for words in (_sentence(draw, 8),)
                ]
                + [
                    Call(([words[5:] + words[:5]], [words]), about="two halves swapped")
                    for words in (_sentence(draw, 10),)
                ]
            ),
        ),
    ],
    hints=(
        "For each n from 1 to max_n you need two numbers for the whole corpus: how many n-grams "
        "the translations have, and how many of them count as matches.",
        "Make a Counter of the n-grams of each sentence, for both sides; a & b keeps the smaller "
        "counts. Add up over all sentences, divide, take the geometric mean, multiply by the "
        "brevity penalty and by 100.",
        "matches += (ngrams(hypothesis, n) & ngrams(reference, n)).total(), total += ... for all "
        "pairs\n"
        "precision = matches / total; if matches is 0, the score is ...\n"
        "100 * min(1, exp(1 - r / c)) * (product of precisions) ** (1 / ...)",
    ),
)


NGrams = Callable[[Sequence[str], int], Counter[tuple[str, ...]]]


def _ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _matches(hypothesis: Counter[tuple[str, ...]], reference: Counter[tuple[str, ...]]) -> int:
    return (hypothesis & reference).total()


def _unclipped(hypothesis: Counter[tuple[str, ...]], reference: Counter[tuple[str, ...]]) -> int:
    return sum(count for ngram, count in hypothesis.items() if ngram in reference)


def _brevity(c: int, r: int) -> float:
    return 0.0 if c == 0 else math.exp(min(0.0, 1 - r / c))


def _geometric(precisions: Sequence[float]) -> float:
    return float(math.prod(precisions) ** (1 / len(precisions)))


def _score(
    hypotheses: Sentences,
    references: Sentences,
    max_n: int,
    *,
    ngrams: NGrams = _ngrams,
    matches: Callable[[Counter[tuple[str, ...]], Counter[tuple[str, ...]]], int] = _matches,
    mean: Callable[[Sequence[float]], float] = _geometric,
    brevity: Callable[[int, int], float] = _brevity,
    more: int = 0,
) -> float:
    """BLEU with one part replaced; ``more`` is added to matches and totals."""
    precisions = []
    for n in range(1, max_n + 1):
        counts = [
            (ngrams(hypothesis, n), ngrams(reference, n))
            for hypothesis, reference in zip(hypotheses, references, strict=True)
        ]
        found = sum(matches(hypothesis, reference) for hypothesis, reference in counts) + more
        total = sum(hypothesis.total() for hypothesis, _ in counts) + more
        precisions.append(found / total if total else 0.0)
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * brevity(c, r) * mean(precisions)


@item.misconception(
    "Your matches aren't clipped: an n-gram counts as often as the translation has it.",
    why="'the the the the' would have perfect precision for every reference with a 'the' in it.",
    hint="Each n-gram of the reference can be matched only once.",
)
def not_clipped(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, matches=_unclipped)


@item.misconception(
    "Your code counts each n-gram once, however often it occurs.",
    why="A sentence may contain 'the' twice, and both may be right.",
    hint="A set forgets how often. Which data structure doesn't?",
)
def sets_of_ngrams(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    def once(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(set(_ngrams(words, n)))

    return _score(hypotheses, references, max_n, ngrams=once)


@item.misconception(
    "Your score is the mean of the sentence scores.",
    why="A sentence without a matching 4-gram scores 0, however good it is. Corpus BLEU adds up "
    "the counts of all sentences before it divides.",
    hint="Which comes first: the sum over the sentences or the division?",
)
def mean_of_scores(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    scores = [
        _score([hypothesis], [reference], max_n)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    return sum(scores) / len(scores)


@item.misconception(
    "Your score has no brevity penalty.",
    why="A translation that contains only the one word that's certain would have perfect "
    "precision.",
    hint="What happens to your score when the second half of a translation is left out?",
)
def no_brevity_penalty(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, brevity=lambda c, r: 1.0 if c else 0.0)


@item.misconception(
    "Your brevity penalty rewards translations that are too long.",
    why="exp(1 − r / c) is above 1 there. The penalty is never more than 1: surplus words already "
    "lower the precisions.",
    hint="What's the largest value a penalty factor can have?",
)
def long_ones_rewarded(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(
        hypotheses, references, max_n, brevity=lambda c, r: math.exp(1 - r / c) if c else 0.0
    )


@item.misconception(
    "Your brevity penalty applies to translations that are too long instead of too short.",
    why="A short translation gets high precisions too easily, and that's what the penalty is for.",
    hint="r is the length of the references, c that of the translations. Which one is in the "
    "numerator?",
)
def long_ones_punished(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, brevity=lambda c, r: math.exp(min(0.0, 1 - c / r)))


@item.misconception(
    "Your brevity penalty is c / r, proportional to the length.",
    why="It should be exponential: at half the words you lose 63 %, not 50 %.",
    hint="Look at the formula again: what does e do there?",
)
def penalty_in_proportion(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, brevity=lambda c, r: min(1.0, c / r))


@item.misconception(
    "You take the arithmetic mean of the precisions.",
    why="BLEU multiplies them and takes the root: if one of them is 0, the score is 0.",
    hint="There is more than one kind of mean.",
)
def arithmetic_mean(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, mean=lambda all_: sum(all_) / len(all_))


@item.misconception(
    "You multiply the precisions, but the root is missing.",
    why="Without it, a larger max_n would lower every score but a perfect one.",
    hint="For the geometric mean of max_n factors, which root do you need?",
)
def no_root(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, mean=math.prod)


@item.misconception(
    "Your matches are divided by the number of n-grams in the references.",
    why="That's recall: how much of the reference was found. BLEU asks how much of the translation "
    "is right, and leaves the rest to the brevity penalty.",
    hint="Precision: out of all n-grams in the translations, how many are right?",
)
def recall(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(references, hypotheses, max_n, brevity=lambda r, c: _brevity(c, r))


@item.misconception(
    "Your score runs from 0 to 1.",
    why="sacrebleu, like every paper today, reports points from 0 to 100.",
    hint="One factor is missing.",
)
def up_to_one(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n) / 100


@item.misconception(
    "Your counts are smoothed: 1 is added to matches and totals.",
    why="Smoothed BLEU exists, but it's a different score: here, no match means 0.",
    hint="Compare with sacrebleu's smooth_method='none'.",
)
def smoothed(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, more=1)


@item.misconception(
    "Your score always uses n-grams of up to four words.",
    why="max_n is an argument: with 2, only single words and pairs count.",
    hint="Is there a 4 in your code?",
)
def always_four(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, 4)
