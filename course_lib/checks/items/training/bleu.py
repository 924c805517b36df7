"""11.bleu: Piece by piece."""

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
    judge = sacrebleu.BLEU(max_ngram_order=max_n, tokenize="none", smooth_method="none", force=True)
    said, wanted = ([" ".join(words) for words in each] for each in (hypotheses, references))
    return judge.corpus_score(said, [wanted]).score


def _sentence(draw: Draw, length: int) -> list[str]:
    return [WORDS[i] for i in draw.ids(length, low=0, high=len(WORDS) - 1).tolist()]


def _spoilt(draw: Draw, words: list[str]) -> list[str]:
    """One word in five is replaced; the first four stay, so that a piece of four agrees."""
    kept = draw.mask(len(words), share=0.8).tolist()
    other = _sentence(draw, len(words))
    return [
        a if keep or i < 4 else b
        for i, (a, b, keep) in enumerate(zip(words, other, kept, strict=True))
    ]


def _corpus(draw: Draw, *lengths: int) -> tuple[list[list[str]], list[list[str]]]:
    references = [_sentence(draw, length) for length in lengths]
    return [_spoilt(draw, words) for words in references], references


def _good_and_bad(draw: Draw) -> Call:
    said, wanted = _corpus(draw, 12, 6, 9)
    return Call(([*said, _sentence(draw, 15)], [*wanted, _sentence(draw, 15)]), about="4 sentences")


def _cut(draw: Draw, share: float) -> Call:
    said, wanted = _corpus(draw, 14, 10, 12)
    short = [words[: max(1, int(share * len(words)))] for words in said]
    return Call((short, wanted), about=f"translations of {share:.0%} of the length")


def _lengthened(draw: Draw) -> Call:
    said, wanted = _corpus(draw, 8, 10)
    said = [words + _sentence(draw, draw.integer(3, 5)) for words in said]
    return Call((said, wanted), about="translations longer than the references")


def _one_long_one_short(draw: Draw) -> Call:
    said, wanted = _corpus(draw, 9, 12, 10)
    said[0] += _sentence(draw, 4)
    said[1] = said[1][:5]
    return Call((said, wanted), about="one translation too long, another too short")


def _repeated(draw: Draw) -> list[Call]:
    wanted = ["the old dog sees the cat in the garden .".split(), _sentence(draw, 8)]
    said = ["the the the the old dog sees the cat the the".split(), list(wanted[1])]
    doubled = [wanted[0] + wanted[0], said[1]]
    return [
        Call((said, wanted), about="a word that is said too often"),
        Call((doubled, wanted), about="a sentence that is said twice"),
    ]


def _few_pieces(draw: Draw) -> list[Call]:
    long, wanted = _corpus(draw, 10, 9)
    shorts = [["the", "cat", "."], ["?"], []]
    expected = [["the", "cat", "."], [".", "?"], ["a", "dog"]]
    return [
        Call((shorts[:1], expected[:1]), about="a perfect sentence of 3 words"),
        Call(([*long, *shorts], [*wanted, *expected]), about="short sentences among longer ones"),
        Call(([["a", "dog"], []], [["the", "cat"], ["of"]]), about="no word in common"),
    ]


item = Item(
    "11.bleu",
    reference=_of_sacrebleu,
    probes=[
        Probe(
            "pieces are counted over the whole corpus, and divided once",
            lambda draw: [_good_and_bad(draw), Call(_corpus(draw, 5, 20, 7), about="3 sentences")],
        ),
        Probe(
            "the references themselves have 100",
            lambda draw: [
                Call(([words], [words]), about="one sentence")
                for words in (_sentence(draw, 9), _sentence(draw, 4))
            ],
        ),
        Probe("a piece counts at most as often as the reference has it", _repeated),
        Probe(
            "translations that are too short are punished, and longer ones are not",
            lambda draw: [
                _cut(draw, 0.5),
                _cut(draw, 0.9),
                _lengthened(draw),
                _one_long_one_short(draw),
            ],
        ),
        Probe(
            "max_n says how long the longest pieces are",
            lambda draw: [
                Call((*_corpus(draw, 11, 8, 6), max_n), about=f"max_n is {max_n}")
                for max_n in (1, 2, 3, 6)
            ],
        ),
        Probe(
            "without a match of some length it is 0, and short sentences do no harm", _few_pieces
        ),
        Probe(
            "capitals and the order of words matter",
            lambda draw: (
                [
                    Call(([["The", *words]], [["the", *words]]), about="a capital")
                    for words in (_sentence(draw, 8),)
                ]
                + [
                    Call(([words[5:] + words[:5]], [words]), about="two halves exchanged")
                    for words in (_sentence(draw, 10),)
                ]
            ),
        ),
    ],
    hints=(
        "For each n from 1 to max_n you need two numbers of the whole corpus: how many pieces of "
        "n words were said, and how many of them count.",
        "A Counter of the pieces of each sentence, for both sides; a & b keeps the smaller "
        "counts. Add up over all sentences, divide, take the geometric mean, multiply by the "
        "brevity penalty and by 100.",
        "matches += (pieces(said, n) & pieces(wanted, n)).total(), total += ... for all pairs\n"
        "precision = matches / total; if matches is 0, the score is ...\n"
        "100 * min(1, exp(1 - r / c)) * (product of precisions) ** (1 / ...)",
    ),
)


Pieces = Callable[[Sequence[str], int], Counter[tuple[str, ...]]]


def _pieces(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _matches(said: Counter[tuple[str, ...]], wanted: Counter[tuple[str, ...]]) -> int:
    return (said & wanted).total()


def _unclipped(said: Counter[tuple[str, ...]], wanted: Counter[tuple[str, ...]]) -> int:
    return sum(count for piece, count in said.items() if piece in wanted)


def _brevity(said: int, wanted: int) -> float:
    return 0.0 if said == 0 else math.exp(min(0.0, 1 - wanted / said))


def _geometric(precisions: Sequence[float]) -> float:
    return float(math.prod(precisions) ** (1 / len(precisions)))


def _score(
    hypotheses: Sentences,
    references: Sentences,
    max_n: int,
    *,
    pieces: Pieces = _pieces,
    matches: Callable[[Counter[tuple[str, ...]], Counter[tuple[str, ...]]], int] = _matches,
    mean: Callable[[Sequence[float]], float] = _geometric,
    brevity: Callable[[int, int], float] = _brevity,
    more: int = 0,
) -> float:
    """BLEU with one part replaced; ``more`` is added to both counts."""
    precisions = []
    for n in range(1, max_n + 1):
        counts = [
            (pieces(said, n), pieces(wanted, n))
            for said, wanted in zip(hypotheses, references, strict=True)
        ]
        found = sum(matches(said, wanted) for said, wanted in counts) + more
        total = sum(said.total() for said, _ in counts) + more
        precisions.append(found / total if total else 0.0)
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * brevity(c, r) * mean(precisions)


@item.misconception(
    "Your matches are not clipped: a piece counts as often as it was said.",
    why="'the the the the' would have a perfect precision for every reference with a 'the' in it.",
    hint="Each piece of the reference can be matched once.",
)
def not_clipped(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, matches=_unclipped)


@item.misconception(
    "Your code counts each piece once, however often it is said.",
    why="A sentence may say 'the' twice, and be right both times.",
    hint="A set forgets how often. What does not?",
)
def sets_of_pieces(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    def once(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(set(_pieces(words, n)))

    return _score(hypotheses, references, max_n, pieces=once)


@item.misconception(
    "Your score is the mean of the sentences' scores.",
    why="A sentence without a matching piece of four words has the score 0, however good it is. "
    "Corpus BLEU adds up the counts of all sentences before it divides.",
    hint="Which comes first, the sum over the sentences or the division?",
)
def mean_of_scores(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    pairs = list(zip(hypotheses, references, strict=True))
    return sum(_score([said], [wanted], max_n) for said, wanted in pairs) / len(pairs)


@item.misconception(
    "Your score has no brevity penalty.",
    why="Whoever says only the one word that is sure to be right would have a perfect precision.",
    hint="What happens to your score when the second half of a translation is left out?",
)
def no_brevity_penalty(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, brevity=lambda c, r: 1.0 if c else 0.0)


@item.misconception(
    "Your brevity penalty rewards translations that are too long.",
    why="exp(1 − r / c) is above 1 there. The penalty is never more than 1: what is too much "
    "already lowers the precisions.",
    hint="A penalty has a largest value.",
)
def long_ones_rewarded(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(
        hypotheses, references, max_n, brevity=lambda c, r: math.exp(1 - r / c) if c else 0.0
    )


@item.misconception(
    "Your brevity penalty punishes translations that are too long instead of short ones.",
    why="Whoever says little has high precisions without merit. That is what it is for.",
    hint="r is the length of the references, c that of the translations. Which stands above?",
)
def long_ones_punished(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, brevity=lambda c, r: math.exp(min(0.0, 1 - c / r)))


@item.misconception(
    "Your brevity penalty is c / r, in proportion to the length.",
    why="It is exponential: half of the words cost 63 %, not 50 %.",
    hint="Look at the formula again: what does e do there?",
)
def penalty_in_proportion(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, brevity=lambda c, r: min(1.0, c / r))


@item.misconception(
    "Your precisions are averaged by adding them.",
    why="BLEU multiplies them and takes the root: one that is 0 makes the score 0.",
    hint="There is more than one kind of mean.",
)
def arithmetic_mean(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, mean=lambda all_: sum(all_) / len(all_))


@item.misconception(
    "Your precisions are multiplied, and the root is missing.",
    why="Without it, longer pieces would lower the score of everything but a perfect translation.",
    hint="The mean of max_n factors: which root is that?",
)
def no_root(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, mean=math.prod)


@item.misconception(
    "Your matches are divided by the pieces of the references.",
    why="That is recall: how much of the reference was said. BLEU asks how much of what was said "
    "is right, and leaves the rest to the brevity penalty.",
    hint="Precision: of all pieces that were said, how many are right?",
)
def recall(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(references, hypotheses, max_n, brevity=lambda r, c: _brevity(c, r))


@item.misconception(
    "Your score runs from 0 to 1.",
    why="sacrebleu, and so every paper of today, says it in points from 0 to 100.",
    hint="One factor is missing.",
)
def up_to_one(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n) / 100


@item.misconception(
    "Your counts are smoothed: 1 is added above and below.",
    why="There are such BLEUs, but it is another score: here, no match means 0.",
    hint="Compare with sacrebleu's smooth_method='none'.",
)
def smoothed(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, max_n, more=1)


@item.misconception(
    "Your score always uses pieces of up to four words.",
    why="max_n is an argument: with 2, single words and pairs count and nothing else.",
    hint="Where does a 4 stand in your code?",
)
def always_four(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    return _score(hypotheses, references, 4)
